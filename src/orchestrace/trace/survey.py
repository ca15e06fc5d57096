"""The survey's published form of a trace, read and written.

`load` gives any document that is valid under the survey's JSON schema as a trace, as it is written: `validate` then
says which of our laws it breaks, for its schema allows cycles, disorder and repeated ids. `dump` writes any trace as a
document that is valid under that schema.

What our model has no field for travels as a label `survey.<name>`: `dump` puts it back, so that what was read comes out
again. Extras of ours ride on events, where the schema allows them.

Reading
  - A tool result belongs to the agent that made the call, which an edge into it names; the survey writes the tool there
    (label `survey.agent`).
  - An aggregate's inputs are the returns and messages to its agent from which aggregate edges lead to it.
  - Agents are those that events name, in that order; who spawned one is its parent.

Writing
  - A root's turns become orchestrator decisions, so that there is an event at least. Other turns are folded: their
    tokens go to the costs, their edges are joined through.
  - delegate becomes message, memory a call or a result of the tool `memory`, stop a decision; `was` says so.
  - t where absent is the last known one, else the place in the trace (`t_source`: "order").
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from orchestrace.errors import TraceError
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
    Topology,
    Trace,
    Turn,
    kind,
)

ADAPTER = "survey"
_PREFIX = "survey."
_KINDS = (
    "orchestrator_decision", "spawn", "despawn", "message", "tool_call", "tool_result", "return", "aggregate",
    "human_intervention", "safety_event",
)  # fmt: skip
_OURS = ("id", "t", "type", "agent", "to", "tool", "trusted", "status", "duration_s", "delivered", "usd", "labels")
"""Keys of an event that have a field of ours, where the event's class has it."""
_EDGE_TYPES: Mapping[EdgeType, str] = {"delegate": "message", "memory": "causal"}
"""Our edge types that the survey lacks, and what they become."""


class _Edge(msgspec.Struct, forbid_unknown_fields=True):
    src: str
    dst: str
    type: Literal["temporal", "causal", "spawn", "message", "tool_dependency", "return", "aggregate", "safety_flow"]


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    trace_id: str
    task_id: str
    events: list[dict[str, Any]]
    edges: list[_Edge]
    rewards: dict[str, float]
    costs: dict[str, float]
    system: str | None = None
    topology: Topology | None = None
    metrics: dict[str, float] = {}


def load(data: bytes) -> Trace:
    """The trace in a survey document, as it is written.

    Raises:
      TraceError: it is no JSON, or not of the survey's form; names the place.
    """
    document = _decoded(data)
    lost = 0
    events: list[Event] = []
    callers = _callers(document)
    for place, raw in enumerate(document.events):
        event, dropped = _event(raw, callers.get(place), place=place)
        lost += dropped
        events.append(event)
    events = list(_with_inputs(events, document.edges))
    return Trace(
        schema=1,
        trace_id=document.trace_id,
        task_id=document.task_id,
        clock="recorded",
        system=document.system,
        topology=document.topology,
        source=Source(ADAPTER, "1"),
        rewards=document.rewards,
        costs=document.costs,
        metrics=document.metrics,
        agents=tuple(_agents(events)),
        events=tuple(events),
        edges=tuple(Edge(edge.src, edge.dst, edge.type) for edge in document.edges),
        diagnostics={"dropped_extras": lost} if lost else {},
    )


def dump(trace: Trace) -> bytes:
    """A document that is valid under the survey's schema, as JSON with sorted keys: equal traces, equal bytes.

    Raises:
      TraceError: the trace holds no event that the survey's form can hold, or an id is empty.
    """
    for place, event in enumerate(trace.events):
        if not event.id or not event.agent:
            raise TraceError("the survey's form needs an id and an agent", place=f"$.events[{place}]")
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
        **({"system": trace.system} if trace.system is not None else {}),
        **({"topology": trace.topology} if trace.topology is not None else {}),
        "events": events,
        "edges": [{"src": src, "dst": dst, "type": type_} for src, dst, type_ in _joined(trace, folded)],
        "rewards": dict(trace.rewards),
        "costs": costs,
        **({"metrics": dict(trace.metrics)} if trace.metrics else {}),
    }
    return msgspec.json.encode(document, order="sorted")


def _decoded(data: bytes) -> _Document:
    try:
        return msgspec.json.decode(data, type=_Document)
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `")
        raise TraceError(problem, place=place.rstrip("`") or "$") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise TraceError(f"no JSON document: {error}", remedy="check that the file is complete") from None
    except RecursionError:
        raise TraceError("the document is nested too deeply") from None


def _callers(document: _Document) -> dict[int, tuple[str, str]]:
    """Place of a tool result -> (id, agent) of the call that an edge into it comes from; a typed edge before others."""
    calls = {raw.get("id"): raw.get("agent") for raw in document.events if raw.get("type") == "tool_call"}
    results: dict[Any, int] = {}
    for place, raw in enumerate(document.events):
        if raw.get("type") == "tool_result":
            results.setdefault(raw.get("id"), place)
    found: dict[int, tuple[str, str]] = {}
    for edge in sorted(document.edges, key=lambda edge: edge.type not in ("tool_dependency", "return")):
        caller = calls.get(edge.src)
        if caller is not None and edge.dst in results:
            found.setdefault(results[edge.dst], (edge.src, caller))
    return found


def _event(raw: Mapping[str, Any], caller: tuple[str, str] | None, *, place: int) -> tuple[Event, int]:
    """An event as it is written, and how many extras no label can hold."""
    if raw.get("type") not in _KINDS:
        known = ", ".join(_KINDS)
        problem = f"unknown event type {raw.get('type')!r}"
        raise TraceError(problem, place=f"$.events[{place}].type", remedy=f"the survey's are {known}")
    own = set(KINDS[raw["type"]].__struct_fields__)
    fields = {name: raw[name] for name in _OURS if name in raw and name in own and name != "labels"}
    given = raw.get("labels")
    labels: dict[str, Scalar] = {k: v for k, v in given.items() if _is_scalar(v)} if isinstance(given, dict) else {}
    dropped = 0
    for name, value in raw.items():
        if name in fields or name in ("type", "labels"):
            continue
        if _is_scalar(value):
            labels[_PREFIX + name] = value
        else:
            dropped += 1
    if caller is not None:
        fields["call"] = caller[0]
        if fields["agent"] != caller[1]:
            labels[_PREFIX + "agent"] = fields["agent"]
            fields["agent"] = caller[1]
    try:
        return msgspec.convert({**fields, "type": raw["type"], "labels": labels}, KINDS[raw["type"]]), dropped
    except msgspec.ValidationError as error:
        problem, _, at = str(error).partition(" - at `$")
        raise TraceError(problem, place=f"$.events[{place}]{at.rstrip('`')}") from None


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _with_inputs(events: list[Event], edges: list[_Edge]) -> Iterator[Event]:
    by_id = {event.id: event for event in reversed(events)}
    sources: dict[str, list[str]] = {}
    for edge in edges:
        if edge.type == "aggregate":
            sources.setdefault(edge.dst, []).append(edge.src)
    for event in events:
        if isinstance(event, Aggregate):
            ends = (by_id.get(src) for src in dict.fromkeys(sources.get(event.id, ())))
            inputs = tuple(end.id for end in ends if isinstance(end, Return | Message) and end.to == event.agent)
            yield msgspec.structs.replace(event, inputs=inputs)
        else:
            yield event


def _agents(events: list[Event]) -> Iterator[Agent]:
    named: dict[str, None] = {}
    parents: dict[str, str] = {}
    roles: dict[str, str] = {}
    for event in events:
        to: str = getattr(event, "to", "")
        role = event.labels.get(_PREFIX + "role")
        named.setdefault(event.agent)
        if to:
            named.setdefault(to)
        if isinstance(event, Spawn) and to != event.agent:
            parents.setdefault(to, event.agent)
        if isinstance(role, str):
            roles.setdefault(to if isinstance(event, Spawn) else event.agent, role)
    for name in named:
        yield Agent(name, role=roles.get(name, ""), parent=parents.get(name))


def _written(trace: Trace, folded: set[str]) -> Iterator[dict[str, Any]]:
    roles = {agent.id: agent.role for agent in trace.agents}
    is_survey = trace.source is not None and trace.source.adapter == ADAPTER
    last_t: float | None = None
    for place, event in enumerate(trace.events):
        last_t = event.t if event.t is not None else last_t
        if event.id in folded:
            continue
        t = float(place) if last_t is None else max(0.0, last_t)
        raw: dict[str, Any] = {"id": event.id, "t": t, **_kind(event), "agent": event.agent}
        if event.t is None:
            raw["t_source"] = "order"
        if not is_survey:
            raw |= _ours(event, roles)
        raw |= _fields(event)
        labels = {k: v for k, v in event.labels.items() if not k.startswith(_PREFIX)}
        raw |= {k.removeprefix(_PREFIX): v for k, v in event.labels.items() if k.startswith(_PREFIX)}
        yield {**raw, "labels": labels} if labels else raw


def _kind(event: Event) -> dict[str, str]:
    match event:
        case Turn():
            return {"type": "orchestrator_decision", "was": "turn"}
        case Delegate():
            return {"type": "message", "was": "delegate"}
        case Memory():
            return {"type": "tool_call" if event.op == "write" else "tool_result", "tool": "memory", "was": "memory"}
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
    if isinstance(event, Memory):
        raw["key"] = event.key
    if event.choice is not None and 0 <= event.choice.chosen < len(event.choice.options):
        raw |= {"sub_decision": event.choice.sub_decision, "chosen": event.choice.options[event.choice.chosen]}
        if event.choice.logprob is not None:
            raw["logprob"] = event.choice.logprob
    return raw


def _fields(event: Event) -> dict[str, Any]:
    """The fields that both forms have, where they say something."""
    raw: dict[str, Any] = {}
    for name in ("to", "tool", "trusted", "duration_s", "delivered", "usd"):
        value = getattr(event, name, None)
        if value is not None and value != "":
            raw[name] = value
    if isinstance(event, ToolResult | Return) and event.status not in ("ok", "completed"):
        raw["status"] = event.status
    return raw


def _joined(trace: Trace, folded: set[str]) -> list[tuple[str, str, str]]:
    """Edges between what stays: a folded turn's causes become causes of what it caused."""
    known = {event.id for event in trace.events}
    into: dict[str, list[Edge]] = {}
    for edge in trace.edges:
        if edge.dst in folded and edge.src in known:
            into.setdefault(edge.dst, []).append(edge)
    reached: dict[str, dict[tuple[str, EdgeType], None]] = {}
    for event in trace.events:
        if event.id in folded:
            own = reached.setdefault(event.id, {})
            for edge in into.get(event.id, ()):
                own |= reached.get(edge.src, {}) if edge.src in folded else {(edge.src, edge.type): None}
    found: dict[tuple[str, str, str], None] = {}
    for edge in trace.edges:
        if edge.dst in folded or not edge.src or not edge.dst:
            continue
        if edge.src in folded:
            for src, type_ in reached[edge.src]:
                joined = edge.type if type_ == "causal" else type_
                found[src, edge.dst, _EDGE_TYPES.get(joined, joined)] = None
        else:
            found[edge.src, edge.dst, _EDGE_TYPES.get(edge.type, edge.type)] = None
    return list(found)


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
    for name in ("tokens", "wall_clock_s", "tool_calls", "messages"):
        if costs.get(name, 0.0) < 0:
            notes[f"{name}_reported"] = costs[name]
            costs[name] = 0.0
    return costs, notes
