"""Bytes and traces: one canonical JSON document a trace.

Equal traces give equal bytes: fields in the order of their definition, maps sorted by key, defaults left out. A digest
is the sha256 of those bytes without what says how the trace came here.
"""

import hashlib
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from orchestrace.errors import TraceError
from orchestrace.trace.events import KINDS, Trace
from orchestrace.trace.values import Flaw, mended

# A number -0 or -0.0 between JSON punctuation; dates, ids and texts have "-0" too, so the neighbours decide.
_NEGATIVE_ZERO = re.compile(rb"-(?<=[\s:,\[]-)0(?:\.0*)?(?:[eE][+-]?\d+)?(?=[\s,\]}])")
_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(Trace)


def encode(trace: Trace) -> bytes:
    """The canonical bytes of a trace, blobs included.

    Raises:
      TraceError: a number is NaN or infinite, or a text holds a lone surrogate. Built and decoded traces hold neither.
    """
    try:
        data = _ENCODER.encode(trace)
    except ValueError:
        mended(trace, "$", _refuse)
        raise
    # msgspec writes NaN and infinities as null, and null nowhere else here, since absent fields are left out.
    if b"null" in data:
        mended(trace, "$", _refuse)
    return data


def decode(data: bytes) -> Trace:
    """The trace in a document. Unknown fields are skipped (`unknown_fields` lists them).

    Raises:
      TraceError: it is no JSON, no trace, or holds an event type that this version does not know.
    """
    try:
        trace = _DECODER.decode(data)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise TraceError(f"no JSON document: {error}", remedy="check that the file is complete") from None
    except RecursionError:
        raise TraceError("the document is nested too deeply", remedy="a trace nests about six levels") from None
    if _NEGATIVE_ZERO.search(data):  # it equals 0.0, and must give the same bytes
        sound: Trace = mended(trace, "$", _refuse)
        return sound
    return trace


def digest(trace: Trace) -> str:
    """sha256, lower-case hex, of the canonical bytes without diagnostics, source and blobs."""
    return hashlib.sha256(encode(msgspec.structs.replace(trace, diagnostics={}, source=None, blobs={}))).hexdigest()


def content_digest(trace: Trace) -> str:
    """The digest of what happened, whenever it happened: without t, duration_s, started_at and clock as well."""
    replace = msgspec.structs.replace
    events = tuple(replace(event, t=None, duration_s=None) for event in trace.events)
    return digest(replace(trace, events=events, started_at=None, clock=None))


def unknown_fields(data: bytes) -> list[str]:
    """The paths of a decodable document's fields that this version does not know: `$.events[3].colour`."""
    return list(_unknown(msgspec.json.decode(data), msgspec.inspect.type_info(Trace), "$"))


def _refusal(error: msgspec.ValidationError) -> TraceError:
    problem, _, place = str(error).partition(" - at `")
    place = place.rstrip("`") or "$"
    remedy = None
    if place.startswith("$.events[") and place.endswith("].type"):
        problem = problem.replace("Invalid value", "unknown event type")
        remedy = "the known types are " + ", ".join(KINDS)
    elif "`schema`" in problem or place == "$.schema":
        remedy = 'a trace says "schema": 1; a survey file is read with --format survey'
    return TraceError(problem, place=place, remedy=remedy)


def _refuse(flaw: Flaw) -> NoReturn:
    remedy = "build traces with Builder, which refuses it"
    raise TraceError(flaw.problem, place=flaw.place, remedy=remedy)


def _unknown(value: Any, info: msgspec.inspect.Type | None, path: str) -> Iterator[str]:
    """Fields of `value` that no struct in the described type has."""
    if isinstance(info, msgspec.inspect.UnionType):
        info = _member(info, value)
    if isinstance(info, msgspec.inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field.type for field in info.fields}
        for name, item in value.items():
            if name in fields:
                yield from _unknown(item, fields[name], f"{path}.{name}")
            elif name != info.tag_field:
                yield f"{path}.{name}"
    elif isinstance(info, msgspec.inspect.VarTupleType) and isinstance(value, list):
        for place, item in enumerate(value):
            yield from _unknown(item, info.item_type, f"{path}[{place}]")
    elif isinstance(info, msgspec.inspect.DictType) and isinstance(value, dict):
        for key, item in value.items():
            yield from _unknown(item, info.value_type, f"{path}.{key}")


def _member(union: msgspec.inspect.UnionType, value: Any) -> msgspec.inspect.Type | None:
    """The struct of a union that a value is: by its tag, else the only one."""
    structs = [member for member in union.types if isinstance(member, msgspec.inspect.StructType)]
    tagged = [member for member in structs if isinstance(value, dict) and member.tag == value.get(member.tag_field)]
    return next(iter(tagged or structs), None)
