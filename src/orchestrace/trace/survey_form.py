"""What a survey document looks like, before it means anything: its keys, and what each may hold.

The schema is the survey's own; it allows any extras on an event.
"""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from orchestrace.errors import TraceError
from orchestrace.trace.events import Topology

_SURROGATE = re.compile("[\ud800-\udfff]")
KINDS_OF_SURVEY = (
    "orchestrator_decision", "spawn", "despawn", "message", "tool_call", "tool_result", "return", "aggregate",
    "human_intervention", "safety_event",
)  # fmt: skip


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
    """The top level, whose keys are all known. Events are checked one by one (`check_event`)."""

    trace_id: _Name
    task_id: _Name
    events: list[dict[str, Any]]
    edges: list[DocumentEdge]
    rewards: dict[str, float]
    costs: dict[str, float]
    system: str | None = None
    topology: Topology | None = None
    metrics: dict[str, float] = {}


def decoded(data: bytes) -> tuple[Document, int]:
    """The document, and how many lone surrogates became "?" in it."""
    try:
        try:
            return msgspec.json.decode(data, type=Document), 0
        except msgspec.ValidationError:
            raise
        except (msgspec.MsgspecError, UnicodeError):  # lone surrogates, a byte-order mark: valid, and refused
            text, replaced = _SURROGATE.subn("?", json.dumps(json.loads(data), ensure_ascii=False))
            return msgspec.json.decode(text, type=Document), replaced
    except msgspec.ValidationError as error:
        raise _refusal(error, "$") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise TraceError(f"no JSON document: {error}", remedy="check that the file is complete") from None
    except RecursionError:
        raise TraceError("the document is nested too deeply") from None


def _refusal(error: msgspec.ValidationError, place: str) -> TraceError:
    problem, _, at = str(error).partition(" - at `$")
    return TraceError(problem, place=place + at.rstrip("`"))


def check_event(raw: Mapping[str, Any], place: int) -> None:
    """Refuse an event that the schema refuses."""
    if raw.get("type") not in KINDS_OF_SURVEY:
        problem = f"unknown event type {raw.get('type')!r}"
        raise TraceError(
            problem, place=f"$.events[{place}].type", remedy=f"the survey's are {', '.join(KINDS_OF_SURVEY)}"
        )
    try:
        msgspec.convert(raw, _Event)
    except msgspec.ValidationError as error:
        raise _refusal(error, f"$.events[{place}]") from None
