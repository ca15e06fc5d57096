"""The survey's published form of a trace, read and written.

`load` gives any document that is valid under the survey's JSON schema as a trace, as it is written: `validate` then
says which of our laws it breaks, for its schema allows cycles, disorder and repeated ids. `dump` writes any trace as a
document that is valid under that schema.

What our model has no field for travels as a label `survey.<name>`: `dump` puts it back, so that what was read comes out
again. Extras of ours ride on events, where the schema allows them.

Reading
  - An extra that a field of ours fits becomes that field; what no label can hold (null, list, object) is counted.
  - A tool result belongs to the agent that made the call, which an edge into it names; the survey writes the tool there
    (label `survey.agent`).
  - An aggregate's inputs are the returns and messages to its agent from which aggregate edges lead to it.
  - Agents are those that events name, in that order; who spawned one is its parent.
  - What `dump` wrote of shared memory is read as that again: as a tool's result it would lack its call.

Writing
  - A root's turns become orchestrator decisions, so that there is an event at least. Other turns are folded: their
    tokens go to the costs, their edges are joined through, and what reached one reaches what its agent did next.
  - delegate becomes message, memory a call or a result of the tool `memory`, stop a decision; `was` says so.
  - t where absent is the last known one, else the place in the trace (`t_source`: "order"); read back it is absent
    again. The survey's t starts at 0: where one of ours is below, all move up.
"""

from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any

import msgspec

from orchestrace.errors import TraceError
from orchestrace.trace.codec import encode
from orchestrace.trace.events import (
    KINDS,
    Agent,
    Aggregate,
    Delegate,
    Edge,
    EdgeType,
    Event,
    Memory,
    Message,
    Return,
    Scalar,
    Source,
    Spawn,
    Stop,
    ToolResult,
    Trace,
    Turn,
    kind,
)
from orchestrace.trace.survey_form import COUNTED_COSTS, Document, DocumentEdge, checked
from orchestrace.trace.values import MEASURES, as_float, header_with_floats, is_finite

ADAPTER = "survey"
_PREFIX = "survey."
_OURS = ("id", "t", "agent", "to", "tool", "trusted", "status", "duration_s", "delivered", "usd")
"""Keys of an event that have a field of ours, where the event's class has it and the value fits."""
_NUMBERS = ("t", "duration_s", "usd")
_STATUSES = ("error", "denied", "timeout", "failed", "cancelled", "truncated")  # three of results, three of returns
_CALLING: Mapping[str, int] = {"tool_dependency": 0, "return": 1}
"""How likely an edge from a call into a result joins the two; others last."""
_ORDER = "order"
_EDGE_TYPES: Mapping[EdgeType, str] = {"delegate": "message", "memory": "causal"}
"""Our edge types that the survey lacks, and what they become."""


def load(data: bytes) -> Trace:
    """The trace in a survey document, as it is written.

    Raises:
      TraceError: it is no JSON, or not of the survey's form; names the place.
    """
    document, replaced = checked(data)
    callers = _callers(document)
    read = [_event(raw, callers.get(place)) for place, raw in enumerate(document.events)]
    events = list(_with_inputs([event for event, _ in read], document.edges))
    counted = {"dropped_extras": sum(dropped for _, dropped in read), "surrogates": replaced}
    return Trace(
        schema=1,
        trace_id=document.trace_id,
        task_id=document.task_id,
        clock="recorded" if any(event.t is not None for event in events) else None,
        system=None if document.system is msgspec.UNSET else document.system,
        topology=None if document.topology is msgspec.UNSET else document.topology,
        source=Source(ADAPTER, "1"),
        agents=tuple(_agents(events)),
        events=tuple(events),
        edges=tuple(Edge(edge.src, edge.dst, edge.type) for edge in document.edges),
        diagnostics={name: n for name, n in counted.items() if n},
        **header_with_floats({name: getattr(document, name) for name in MEASURES}),
    )


def dump(trace: Trace) -> bytes:
    """A document that is valid under the survey's schema, as JSON with sorted keys: equal traces, equal bytes.

    Raises:
      TraceError: the trace holds no event that the survey's form can hold, an id is empty, a number is not finite, or a
        text holds a lone surrogate.
    """
    names = [("trace_id", trace.trace_id), ("task_id", trace.task_id)]
    for place, name in names + [(f"events[{n}]", event.id and event.agent) for n, event in enumerate(trace.events)]:
        if not name:
            raise TraceError("the survey's form needs a name here", place=f"$.{place}")
    roots = {agent.id for agent in trace.agents if agent.parent is None and not agent.unlinked}
    roots -= {event.to for event in trace.events if isinstance(event, Spawn)}
    folded = {event.id for event in trace.events if isinstance(event, Turn) and event.agent not in roots}
    events = list(_written(trace, folded))
    if not events:
        raise TraceError("holds no event that the survey's form can hold", place="$.events")
    costs, notes = _costs(trace)
    events[0].update(notes)
    document = {
        "trace_id": trace.trace_id,
        "task_id": trace.task_id,
        "events": events,
        "edges": [{"src": src, "dst": dst, "type": type_} for src, dst, type_ in _joined(trace, folded)],
        "rewards": dict(trace.rewards),
        "costs": costs,
    }
    said = {"system": trace.system, "topology": trace.topology, "metrics": dict(trace.metrics) or None}
    document |= {name: value for name, value in said.items() if value is not None}
    try:
        data = msgspec.json.encode(document, order="sorted")
    except ValueError:  # a lone surrogate
        data = b"null"
    if b"null" in data:  # how NaN and infinities are written; texts have the word too
        encode(trace)  # which names the place
    return data


def _callers(document: Document) -> dict[int, tuple[str, str]]:
    """Place of a tool result -> (id, agent) of the call that an edge into it comes from; a typed edge before others."""
    plain = [(place, raw) for place, raw in enumerate(document.events) if not _is_memory(raw)]
    calls = {raw["id"]: raw["agent"] for _, raw in plain if raw["type"] == "tool_call"}
    results = {raw["id"]: place for place, raw in reversed(plain) if raw["type"] == "tool_result"}
    found: dict[int, tuple[str, str]] = {}
    for edge in sorted(document.edges, key=lambda edge: _CALLING.get(edge.type, len(_CALLING))):
        caller = calls.get(edge.src)
        if caller is not None and edge.dst in results:
            found.setdefault(results[edge.dst], (edge.src, caller))
    return found


def _event(raw: Mapping[str, Any], caller: tuple[str, str] | None) -> tuple[Event, int]:
    """An event as it is written, and how many extras no label can hold."""
    if _is_memory(raw):
        kind_: type[Event] = Memory
        fields = {"op": "write" if raw["type"] == "tool_call" else "read", "key": raw["key"]}
        known = {"type", "tool", "was", "key"}
    else:
        kind_, fields, known = KINDS[raw["type"]], {}, {"type"}
    own = set(kind_.__struct_fields__) - known
    fields |= {name: raw[name] for name in _OURS if name in raw and name in own and _fits(name, raw[name], kind_)}
    labels, dropped = _labels(raw, known | set(fields))
    if raw.get("t_source") == _ORDER:
        labels[_PREFIX + "t"] = float(fields.pop("t")) + 0.0
    if caller is not None:
        fields["call"] = caller[0]
        if fields["agent"] != caller[1]:
            labels[_PREFIX + "agent"] = fields["agent"]
            fields["agent"] = caller[1]
    fields |= {name: as_float(fields[name]) for name in _NUMBERS if name in fields}
    return kind_(**fields, labels=labels), dropped


def _is_memory(raw: Mapping[str, Any]) -> bool:
    """Whether `dump` wrote this of a memory event."""
    return raw.get("was") == raw.get("tool") == "memory" and "tool_" in raw["type"] and type(raw.get("key")) is str


def _fits(name: str, value: Any, kind_: type[Event]) -> bool:
    """Whether our field of that name can hold the value and give it back."""
    if name == "status":
        return value in (_STATUSES[:3] if kind_ is ToolResult else _STATUSES[3:])
    if name in _NUMBERS:
        return type(value) in (int, float) and is_finite(value)
    return isinstance(value, bool) if name == "delivered" else bool(value != "")


def _labels(raw: Mapping[str, Any], known: set[str]) -> tuple[dict[str, Scalar], int]:
    """The labels that an event was given, and its extras as labels; how many are neither."""
    extras = [(_PREFIX + name, value) for name, value in raw.items() if name not in known and name != "labels"]
    given = raw.get("labels", {})
    if isinstance(given, dict):  # a label that looks like an extra would come out as one
        extras += [(name, None if name.startswith(_PREFIX) else value) for name, value in given.items()]
    else:
        extras.append(("labels", None))
    labels: dict[str, Scalar] = {name: value for name, value in extras if isinstance(value, str | int | float | bool)}
    return labels, sum(value is None or isinstance(value, list | dict) for _, value in extras)


def _with_inputs(events: list[Event], edges: list[DocumentEdge]) -> Iterator[Event]:
    by_id = {event.id: event for event in reversed(events)}
    sources: dict[str, list[str]] = {}
    for edge in edges:
        if edge.type == "aggregate":
            sources.setdefault(edge.dst, []).append(edge.src)
    for event in events:
        if isinstance(event, Aggregate):
            ends = (by_id.get(src) for src in dict.fromkeys(sources.get(event.id, ())))
            inputs = tuple(end.id for end in ends if isinstance(end, Return | Message) and end.to == event.agent)
            event = msgspec.structs.replace(event, inputs=inputs)
        yield event


def _agents(events: list[Event]) -> Iterator[Agent]:
    named: dict[str, None] = {}
    parents: dict[str, str] = {}
    roles: dict[str, str] = {}
    for event in events:
        to: str = getattr(event, "to", "")
        role = event.labels.get(_PREFIX + "role")
        named |= {event.agent: None, **({to: None} if to else {})}
        if isinstance(event, Spawn) and to != event.agent:
            parents.setdefault(to, event.agent)
        if isinstance(role, str) and _PREFIX + "agent" not in event.labels:
            roles.setdefault(to if isinstance(event, Spawn) else event.agent, role)
    for name in named:
        yield Agent(name, role=roles.get(name, ""), parent=parents.get(name))


def _written(trace: Trace, folded: set[str]) -> Iterator[dict[str, Any]]:
    roles = {agent.id: agent.role for agent in trace.agents}
    is_survey = trace.source is not None and trace.source.adapter == ADAPTER
    for event, t in zip(trace.events, _times(trace), strict=True):
        if event.id in folded:
            continue
        raw: dict[str, Any] = {"id": event.id, "t": t, **_kind(event), "agent": event.agent}
        if event.t is None:
            raw["t_source"] = _ORDER
            written = event.labels.get(_PREFIX + "t")
            if is_survey and isinstance(written, int | float) and 0 <= written < inf:
                raw["t"] = float(written)
        raw |= _fields(event)
        raw |= _restored(event) if is_survey else _ours(event, roles)
        labels = {k: v for k, v in event.labels.items() if not k.startswith(_PREFIX)}
        yield {**raw, "labels": labels} if labels else raw


def _times(trace: Trace) -> Iterator[float]:
    """When each event is said to have started: none below 0, none absent."""
    known = [event.t for event in trace.events if event.t is not None]
    shift = -min([0.0, *known])
    first_t = known[0] + shift if known else inf
    last_t: float | None = None
    for place, event in enumerate(trace.events):
        last_t = event.t + shift if event.t is not None else last_t
        yield min(float(place), first_t) if last_t is None else last_t


def _restored(event: Event) -> dict[str, Any]:
    """What `load` kept in labels, where the schema lets it stand."""
    raw = {k.removeprefix(_PREFIX): value for k, value in event.labels.items() if k.startswith(_PREFIX)}
    for name in ("id", "t", "type", "trusted", "labels", *([] if raw.get("agent") else ["agent"])):
        raw.pop(name, None)
    texts = ("agent", "role", "from", "to", "tool", "content_ref")
    return {name: value for name, value in raw.items() if isinstance(value, str) or name not in texts}


def _kind(event: Event) -> dict[str, str]:
    match event:
        case Turn():
            return {"type": "orchestrator_decision", "was": "turn"}
        case Delegate():
            return {"type": "message", "was": "delegate"}
        case Memory():
            type_ = "tool_call" if event.op == "write" else "tool_result"
            return {"type": type_, "tool": "memory", "was": "memory", "key": event.key}
        case Stop():
            return {"type": "orchestrator_decision", "was": "stop", "decision": "stop", "reason": event.reason}
        case _:
            return {"type": kind(event)}


def _ours(event: Event, roles: Mapping[str, str]) -> dict[str, Any]:
    """What the survey's own fields can say of an event of ours, and its choice as plain extras."""
    raw: dict[str, Any] = {}
    if role := roles.get(event.to if isinstance(event, Spawn) else event.agent):
        raw["role"] = role
    if isinstance(event, Message | Return | Delegate):
        raw["from"] = event.agent
    if event.content is not None:
        raw["content_ref"] = event.content.hash
    if event.choice is not None and 0 <= event.choice.chosen < len(event.choice.options):
        raw |= {"sub_decision": event.choice.sub_decision, "chosen": event.choice.options[event.choice.chosen]}
        if event.choice.logprob is not None:
            raw["logprob"] = event.choice.logprob
    return raw


def _fields(event: Event) -> dict[str, Any]:
    """The fields that both forms have, where they say something."""
    both = ("to", "tool", "trusted", "duration_s", "delivered", "usd")
    raw = {name: value for name in both if (value := getattr(event, name, None)) not in (None, "")}
    if isinstance(event, ToolResult | Return) and event.status not in ("ok", "completed"):
        raw["status"] = event.status
    return raw


def _joined(trace: Trace, folded: set[str]) -> list[tuple[str, str, str]]:
    """Edges between what stays: a folded turn's causes become causes of what it caused."""
    delegates = {event.id for event in trace.events if isinstance(event, Delegate)}
    edges = [*trace.edges, *_onward(trace, folded)]
    into: dict[str, list[Edge]] = {event.id: [] for event in trace.events if event.id in folded}
    known = {event.id for event in trace.events}
    for edge in edges:
        if edge.dst in folded and edge.src in known:
            into[edge.dst].append(edge)
    reached: dict[str, dict[tuple[str, EdgeType], None]] = {}

    def causes(edge: Edge) -> Iterable[tuple[str, EdgeType]]:
        if edge.src not in folded:
            return [(edge.src, edge.type)]
        # What came by way of a turn is no longer the call of a result, nor an input as such.
        joined = {(src, edge.type if type_ == "causal" else type_): None for src, type_ in reached.get(edge.src, ())}
        return [(src, "causal" if type_ in ("tool_dependency", "aggregate") else type_) for src, type_ in joined]

    for turn, arriving in into.items():
        reached[turn] = {cause: None for edge in arriving for cause in causes(edge)}
    found: dict[tuple[str, str, str], None] = {}
    for edge in edges:
        if edge.dst not in folded and edge.src and edge.dst:
            for src, type_ in causes(edge):
                if type_ == "aggregate" and src in delegates:  # as a message it would be an input
                    type_ = "causal"
                found[src, edge.dst, _EDGE_TYPES.get(type_, type_)] = None
    return list(found)


def _onward(trace: Trace, folded: set[str]) -> Iterator[Edge]:
    """From each folded turn to what its agent did next, where no edge leads there: order alone said so."""
    linked = {(edge.src, edge.dst) for edge in trace.edges}
    waiting: dict[str, list[str]] = {}
    for event in trace.events:
        if event.id in folded:
            waiting.setdefault(event.agent, []).append(event.id)
            continue
        for turn in waiting.pop(event.agent, ()):
            if (turn, event.id) not in linked:
                yield Edge(turn, event.id, "causal")


def _costs(trace: Trace) -> tuple[dict[str, float], dict[str, Scalar]]:
    """The costs that the schema asks for, and notes for the first event on those that are not known."""
    notes: dict[str, Scalar] = {}
    spent = [event.tokens.total for event in trace.events if isinstance(event, Turn) and event.tokens is not None]
    known = [n for n in spent if n is not None]
    times = [(event.t, event.t + (event.duration_s or 0.0)) for event in trace.events if event.t is not None]
    costs: dict[str, float] = {
        "tokens": float(sum(known)),
        "wall_clock_s": max(end for _, end in times) - min(start for start, _ in times) if times else 0.0,
    }
    if not known and "tokens" not in trace.costs:
        notes["tokens_source"] = "unknown"
    if not times and "wall_clock_s" not in trace.costs:
        notes["wall_clock_source"] = "unknown"
    costs |= trace.costs
    for name in COUNTED_COSTS:
        if costs.get(name, 0.0) < 0:
            notes[f"{name}_reported"] = costs[name]
            costs[name] = 0.0
    return costs, notes
