"""Changing what happened: each edit gives a new trace and says what of it can no longer be believed.

An edit never invents. Events that remain keep their place, their ids and the edges between them; where an event in the
middle goes, its edges go with it and nothing bridges the gap (the order inside an agent, which is implied, closes by
itself). Rewards, costs, metrics and the seed belong to what happened and are absent afterwards; `parent` says what was
changed where. A lawful trace stays lawful. `trace_id` names the result; absent, it is `<trace_id>~drop:<event_id>`, and
so on.

    drop      an event, and what cannot exist without it
    replace   an event by another one with its id
    truncate  everything after an event
    graft     other events after one

The **stale set** holds the remaining events that the change had a part in: a replay has to run them again.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

import msgspec

from orchestrace.errors import TraceError
from orchestrace.trace.build import Deliveries, implied_edges, sorted_edges
from orchestrace.trace.events import (
    Agent,
    Aggregate,
    Delegate,
    Edge,
    EdgeType,
    Event,
    HumanIntervention,
    Message,
    Parent,
    Return,
    Spawn,
    ToolResult,
    Trace,
)
from orchestrace.trace.graph import Graph
from orchestrace.trace.validate import violations
from orchestrace.trace.views import addressee, blobs_named, prefix, spawn_tree


class Edit(NamedTuple):
    """A changed trace."""

    trace: Trace
    stale: frozenset[str]
    """Ids of its events that descend from the change (in the trace before it): what they say may not hold any more."""
    dropped: tuple[str, ...]
    """Ids of the events that are gone, in trace order."""


def drop(trace: Trace, event_id: str, *, trace_id: str | None = None) -> Edit:
    """The trace without an event, and without what cannot exist without it by the laws.

    With a turn go the events that it made; with a tool call its result; with a spawn the agent, its offspring and what
    was said to them; with a delegate, in a native trace, the returns that answered nothing else; with the last input
    of an aggregate the aggregate (one that keeps some inputs stays, without the dropped ones).

    Raises:
      TraceError: there is no such event, or the trace has a cycle.
    """
    place = _place(trace, event_id)
    graph = Graph.of(trace)
    gone, gone_agents = _fallen(trace, event_id)
    dropped = tuple(event.id for event in trace.events if event.id in gone)
    beyond = graph.descendants_of_many([graph.index[name] for name in dropped])
    edited = _Change(trace, trace_id, f"drop:{event_id}", trace.events[place - 1].id if place else None).trace(
        (_without_inputs(event, gone) for event in trace.events if event.id not in gone),
        (edge for edge in trace.edges if edge.src not in gone and edge.dst not in gone),
        (agent for agent in trace.agents if agent.id not in gone_agents),
    )
    return Edit(edited, frozenset(graph.ids[place] for place in beyond.tolist()) - gone, dropped)


def replace(trace: Trace, event: Event, *, trace_id: str | None = None) -> Edit:
    """The trace with another event in the place of the one with its id.

    Edges that its fields imply follow the fields. Where it is sent to someone else, or not delivered any more, its
    delivery is cut; who would have read it instead is for a replay to find out. The event itself is not stale.

    Raises:
      TraceError: there is no event with its id, it belongs to another agent, or the result breaks a law that the trace
        kept; or the trace has a cycle.
    """
    place = _place(trace, event.id)
    old = trace.events[place]
    if event.agent != old.agent:
        problem = f"event {event.id!r} belongs to agent {old.agent!r}, its replacement to {event.agent!r}"
        raise TraceError(problem, place=f"$.events[{place}].agent", remedy="drop it, and graft what follows")
    graph = Graph.of(trace)
    events = (*trace.events[:place], event, *trace.events[place + 1 :])
    implied = list(implied_edges(event))
    outdated = {(edge.src, edge.type) for edge in implied_edges(old)} - {(edge.src, edge.type) for edge in implied}
    delivery = _delivery(old) if _delivery(old) != _delivery(event) else None
    edges = [
        edge
        for edge in trace.edges
        if not (edge.dst == event.id and (edge.src, edge.type) in outdated)
        and not (edge.src == event.id and (edge.type, trace.events[graph.index[edge.dst]].agent) == delivery)
    ]
    for edge in implied:
        if edge.src not in graph.index:
            raise TraceError(f"there is no event {edge.src!r}", place=f"$.events[{place}]")
    change = _Change(trace, trace_id, f"replace:{event.id}", trace.events[place - 1].id if place else None)
    edited = change.trace(events, sorted_edges([*edges, *implied], graph.index), trace.agents)
    _check(edited, trace)
    beyond = graph.descendants(place)
    return Edit(edited, frozenset(graph.ids[place] for place in beyond.tolist()), ())


def truncate(trace: Trace, event_id: str, *, trace_id: str | None = None) -> Edit:
    """The trace up to and with an event (see `views.prefix`), as a trace of its own. Nothing in it is stale.

    Raises:
      TraceError: there is no such event.
    """
    kept = prefix(trace, event_id)
    change = _Change(trace, trace_id, f"truncate:{event_id}", event_id)
    dropped = tuple(event.id for event in trace.events[len(kept.events) :])
    return Edit(change.trace(kept.events, kept.edges, kept.agents), frozenset(), dropped)


def graft(
    trace: Trace,
    event_id: str,
    *,
    events: Iterable[Event],
    edges: Iterable[Edge] = (),
    agents: Iterable[Agent] = (),
    trace_id: str | None = None,
) -> Edit:
    """The trace up to and with an event, gone on with other events. Nothing in it is stale.

    Edges that fields and order imply are written, as `Builder` writes them: explicit in a native trace, else the
    deliveries are positional.

    Args:
      trace: what is edited.
      event_id: the last event that stays.
      events: what follows, in order, with ids that are new to the prefix.
      edges: further edges into the new events, from the prefix or from each other.
      agents: those that are new to the prefix; one with the id of an agent there replaces it.
      trace_id: of the result.

    Raises:
      TraceError: there is no such event, an edge names an unknown one, or the result breaks a law that the trace kept.
    """
    kept = prefix(trace, event_id)
    added = tuple(events)
    everything = (*kept.events, *added)
    positions = {event.id: place for place, event in enumerate(everything)}
    given = tuple(edges)
    if unknown := [end for edge in given for end in (edge.src, edge.dst) if end not in positions]:
        raise TraceError(f"there is no event {unknown[0]!r}", place="$.edges")
    written = [edge for edge in _continued(kept, added, given) if edge.src in positions]
    declared = {agent.id: agent for agent in (*kept.agents, *agents)}
    edited = _Change(trace, trace_id, f"graft:{event_id}", event_id).trace(
        everything, sorted_edges([*kept.edges, *given, *written], positions), declared.values()
    )
    _check(edited, trace)
    return Edit(edited, frozenset(), tuple(event.id for event in trace.events[len(kept.events) :]))


class _Change(NamedTuple):
    """What is done to a trace, and where."""

    before: Trace
    trace_id: str | None
    intervention: str
    shared: str | None
    """The last event before the change; None where it is at the very beginning."""

    def trace(self, events: Iterable[Event], edges: Iterable[Edge], agents: Iterable[Agent]) -> Trace:
        remaining = tuple(events)
        blobs = self.before.blobs
        return msgspec.structs.replace(
            self.before,
            trace_id=self.trace_id or f"{self.before.trace_id}~{self.intervention}",
            parent=Parent(self.before.trace_id, self.shared, self.intervention),
            agents=tuple(agents),
            events=remaining,
            edges=tuple(edges),
            blobs={name: blobs[name] for name in sorted(blobs_named(remaining)) if name in blobs},
            rewards={},
            costs={},
            metrics={},
            seed=None,
        )


def _place(trace: Trace, event_id: str) -> int:
    place = next((place for place, event in enumerate(trace.events) if event.id == event_id), None)
    if place is None:
        raise TraceError(f"trace {trace.trace_id!r} has no event {event_id!r}", place="$.events")
    return place


def _fallen(trace: Trace, event_id: str) -> tuple[set[str], set[str]]:
    """The events and agents that cannot exist without an event."""
    gone, gone_agents = {event_id}, set[str]()
    children = spawn_tree(trace).children
    n_before = 0
    # Everything falls forward but what was said to an agent before its spawn: a second pass finds that.
    while n_before < len(gone) + len(gone_agents):
        n_before = len(gone) + len(gone_agents)
        standing: set[tuple[str, str]] = set()
        revoked: set[tuple[str, str]] = set()
        for event in trace.events:
            if event.id not in gone and (
                _needs_one_of(event, gone, gone_agents)
                or (trace.native and isinstance(event, Return) and (event.to, event.agent) in revoked - standing)
            ):
                gone.add(event.id)
            if isinstance(event, Spawn | Delegate):
                (revoked if event.id in gone else standing).add((event.agent, event.to))
            if isinstance(event, Spawn) and event.id in gone and event.to not in gone_agents:
                gone_agents.update(_with_offspring(event.to, children))
    return gone, gone_agents


def _needs_one_of(event: Event, gone: Collection[str], gone_agents: Collection[str]) -> bool:
    if event.turn in gone or event.agent in gone_agents or addressee(event) in gone_agents:
        return True
    match event:
        case ToolResult():
            return event.call in gone
        case Aggregate():
            return bool(event.inputs) and all(source in gone for source in event.inputs)
        case _:
            return False


def _with_offspring(agent: str, children: Mapping[str, tuple[str, ...]]) -> set[str]:
    found, waiting = {agent}, [agent]
    while waiting:
        new = [child for child in children[waiting.pop()] if child not in found]
        found.update(new)
        waiting += new
    return found


def _without_inputs(event: Event, gone: Collection[str]) -> Event:
    if isinstance(event, Aggregate) and any(source in gone for source in event.inputs):
        return msgspec.structs.replace(event, inputs=tuple(source for source in event.inputs if source not in gone))
    return event


def _delivery(event: Event) -> tuple[EdgeType, str] | None:
    """The type of the edge that brings an event to its reader, and who that is."""
    match event:
        case Spawn():
            return "spawn", event.to
        case Delegate():
            return "delegate", event.to
        case Return():
            return "return", event.to
        case Message():
            return None if event.delivered is False else ("message", event.to)
        case ToolResult() | HumanIntervention():
            return "causal", event.agent
        case _:
            return None


def _continued(kept: Trace, added: Iterable[Event], given: Iterable[Edge]) -> Iterable[Edge]:
    """The edges into added events that fields and order imply."""
    linked = {(edge.src, edge.type) for edge in (*kept.edges, *given)}
    deliveries = Deliveries("explicit" if kept.native else "positional", linked)
    for event in kept.events:
        deliveries.add(event)
    for event in added:
        yield from implied_edges(event)
        yield from deliveries.peek(event)
        deliveries.add(event)


def _check(edited: Trace, before: Trace) -> None:
    """An edit that breaks a law which its trace kept is refused."""
    found = violations(edited)
    if found:
        known = {(violation.law, violation.event, violation.message) for violation in violations(before)}
        for violation in found:
            if (violation.law, violation.event, violation.message) not in known:
                raise TraceError(f"the edit would break law {violation.law}: {violation.message}", place=violation.path)
