"""What a survey document looks like, before it means anything: its keys, and what each may hold.

The schema is the survey's own; it allows any extras on an event.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from orchestrace.errors import TraceError
from orchestrace.trace.events import Topology
from orchestrace.trace.surrogates import JsonDocument, json_document

KINDS_OF_SURVEY = (
    "orchestrator_decision", "spawn", "despawn", "message", "tool_call", "tool_result", "return", "aggregate",
    "human_intervention", "safety_event",
)  # fmt: skip

REQUIRED_COSTS = ("tokens", "wall_clock_s")
COUNTED_COSTS = (*REQUIRED_COSTS, "tool_calls", "messages")
"""Costs that are never negative."""

_Name = Annotated[str, msgspec.Meta(min_length=1)]


class _Event(msgspec.Struct):
    """What the schema says of an event's own keys; extras may be anything."""

    id: _Name
    t: Annotated[float, msgspec.Meta(ge=0)]
    agent: _Name
    role: str = ""
    sender: str = msgspec.field(default="", name="from")
    to: str = ""
    tool: str = ""
    content_ref: str = ""
    trusted: bool = False


class DocumentEdge(msgspec.Struct, forbid_unknown_fields=True):
    """An edge, whose keys are all known."""

    src: _Name
    dst: _Name
    type: Literal["temporal", "causal", "spawn", "message", "tool_dependency", "return", "aggregate", "safety_flow"]


class Document(msgspec.Struct, forbid_unknown_fields=True):
    """The top level, whose keys are all known. Events and numbers are checked one by one (`checked`)."""

    trace_id: _Name
    task_id: _Name
    events: Annotated[list[dict[str, Any]], msgspec.Meta(min_length=1)]
    edges: list[DocumentEdge]
    rewards: dict[str, Any]
    costs: dict[str, Any]
    system: str | msgspec.UnsetType = msgspec.UNSET
    topology: Topology | msgspec.UnsetType = msgspec.UNSET
    metrics: dict[str, Any] = {}


_DECODER = msgspec.json.Decoder(Document)


def checked(data: bytes) -> tuple[Document, int]:
    """The document, and how many lone surrogates became "?" in it.

    Raises:
      TraceError: it is no JSON, or the schema refuses it; names the place.
    """
    document, _, replaced = _decoded(data)
    for place, raw in enumerate(document.events):
        _check_event(raw, place)
    for name in ("rewards", "costs", "metrics"):
        for key, value in getattr(document, name).items():
            _check_number(value, f"$.{name}.{key}", low=0 if name == "costs" and key in COUNTED_COSTS else None)
    for key in REQUIRED_COSTS:
        if key not in document.costs:
            raise TraceError(f"missing required field `{key}`", place="$.costs")
    return document, replaced


def _decoded(data: bytes) -> JsonDocument[Document]:
    try:
        return json_document(data, _DECODER)
    except msgspec.ValidationError as error:
        raise _refusal(error, "$") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise TraceError(f"no JSON document: {error}", remedy="check that the file is complete") from None
    except RecursionError:
        raise TraceError("the document is nested too deeply") from None


def _refusal(error: msgspec.ValidationError, place: str) -> TraceError:
    problem, _, at = str(error).partition(" - at `$")
    return TraceError(problem, place=place + at.rstrip("`"))


def _check_number(value: Any, place: str, *, low: float | None) -> None:
    try:
        msgspec.convert(value, float)
    except msgspec.ValidationError as error:
        raise TraceError(str(error), place=place) from None
    if low is not None and value < low:
        raise TraceError(f"{value} is less than {low}", place=place)


def _check_event(raw: Mapping[str, Any], place: int) -> None:
    at = f"$.events[{place}]"
    if "type" not in raw:
        raise TraceError("missing required field `type`", place=at)
    if raw["type"] not in KINDS_OF_SURVEY:
        remedy = f"the survey's are {', '.join(KINDS_OF_SURVEY)}"
        raise TraceError(f"unknown event type {raw['type']!r:.60}", place=f"{at}.type", remedy=remedy)
    try:
        msgspec.convert(raw, _Event)
    except msgspec.ValidationError as error:
        raise _refusal(error, at) from None
