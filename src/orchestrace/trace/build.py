"""Building a trace in order: what runtimes, environments and tests use.

A `Builder` takes events one by one, in the order in which they happened, refuses the first that breaks a law, and
writes the edges that fields and order imply. Logs whose order is not known go through `assemble` instead.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from orchestrace.errors import TraceError
from orchestrace.trace.content import described
from orchestrace.trace.events import (
    Agent,
    Content,
    Delegate,
    Edge,
    EdgeType,
    Event,
    EventFields,
    Evidence,
    HumanIntervention,
    Memory,
    Message,
    Return,
    Spawn,
    ToolResult,
    Trace,
    Turn,
)
from orchestrace.trace.validate import Fault, Prefix, edge_faults, implied
from orchestrace.trace.values import header_with_floats, sound, with_floats

P = ParamSpec("P")
E = TypeVar("E", bound=EventFields)

_IMPLIED_TYPE: Mapping[int, EdgeType] = {3: "tool_dependency", 4: "aggregate", 5: "causal"}
_STRENGTH: Mapping[Evidence, int] = {"explicit": 0, "matched": 1, "positional": 2}


class Builder:
    """An append-only trace, lawful at every moment.

    Args:
      trace_id, task_id: see `Trace`.
      header: any other header field of `Trace`; without `source` the trace is native and obeys laws 7 and 8 too.
    """

    def __init__(self, *, trace_id: str, task_id: str, **header: Any) -> None:
        self._header: dict[str, Any] = {"trace_id": trace_id, "task_id": task_id, **header}
        self._prefix = Prefix(native=header.get("source") is None)
        self._events: list[Event] = []
        self._positions: dict[str, int] = {}
        self._edges: list[Edge] = []
        self._deliveries = Deliveries("explicit")
        self._written: defaultdict[str, int] = defaultdict(int)
        self.blobs: dict[str, bytes] = {}
        """Texts by hash, as `text` kept them."""

    def agent(self, agent: Agent) -> None:
        """Declare an agent; before its first event.

        Raises:
          TraceError: its id is taken or empty, or a field holds something else than it should.
        """
        place = f"$.agents[{len(self._prefix.agents)}]"
        agent = sound(agent, place)
        if agent.id in self._prefix.agents or not agent.id:
            problem = f"agent id {agent.id!r} is {'taken' if agent.id else 'empty'} (law 1)"
            raise TraceError(problem, place=f"{place}.id")
        self._prefix.declare(agent)

    def text(self, text: str | bytes, *, media: str = "text/plain") -> Content:
        """The content record of a text, which is kept in `blobs`."""
        content, data = described(text, media=media)
        self.blobs[content.hash] = data
        return content

    def append(self, make: Callable[Concatenate[str, P], E], /, *args: P.args, **fields: P.kwargs) -> E:
        """Append the next event: `append(Turn, "main", t=0.0)`. Its id is made here: `main.0`, `main.1`...

        Raises:
          TraceError: it breaks a law or a field holds something else than it should; the message names event, law and
            place, and nothing was appended.
        """
        event = with_floats(make("", *args, **fields))
        event_id = f"{event.agent}.{self._written[event.agent]}"
        event = sound(event, f"$.events[{len(self._events)}]", event=event_id)
        msgspec.structs.force_setattr(event, "id", event_id)
        self._take(event)  # type: ignore[arg-type]  # every EventFields class is in the union
        self._written[event.agent] += 1
        return event

    def link(self, src: str, dst: str, type: EdgeType, evidence: Evidence = "explicit") -> None:  # noqa: A002
        """Add an edge that neither fields nor order imply, between two events that stand already.

        Raises:
          TraceError: it breaks a law, or is of no type that edges have.
        """
        place = f"$.edges[{len(self._edges)}]"
        source, target = self._positions.get(src, -1), self._positions.get(dst, -1)
        if source < 0 or target <= source:
            raise TraceError(f"{src!r} does not stand before {dst!r} (law 1)", place=place)
        edge = sound(Edge(src, dst, type, evidence), place)
        for law, _, message in self._edge_faults(edge):
            raise TraceError(f"{message} (law {law})", place=place)
        self._edges.append(edge)

    def build(self, **header: Any) -> Trace:
        """The trace so far; header fields given here win. The builder may go on afterwards.

        Raises:
          TraceError: an agent's spawn or parent is missing, or a header field holds something else than it should.
        """
        for law, field, message in self._prefix.ending_faults():
            raise TraceError(f"{message} (law {law})", place=f"$.{field}")
        return msgspec.structs.replace(
            sound(Trace(schema=1, **header_with_floats({**self._header, **header})), "$"),
            agents=tuple(self._prefix.agents.values()),
            events=tuple(self._events),
            edges=sorted_edges(self._edges, self._positions),
        )

    def _take(self, event: Event) -> None:
        place = f"$.events[{len(self._events)}]"
        for law, field, message in self._prefix.faults(event):
            raise TraceError(f"{message} (law {law}, event {event.id!r})", place=f"{place}.{field}")
        edges = [*implied_edges(event), *self._deliveries.peek(event)]
        self._positions[event.id] = len(self._events)
        self._events.append(event)
        for edge in edges:
            for law, _, message in self._edge_faults(edge):
                del self._positions[self._events.pop().id]
                raise TraceError(f"{message} (law {law}, event {event.id!r})", place=f"{place}.t")
        self._deliveries.add(event)
        self._prefix.add(event)
        self._edges += edges

    def _edge_faults(self, edge: Edge) -> Iterator[Fault]:
        src, dst = (self._events[self._positions[end]] for end in (edge.src, edge.dst))
        return edge_faults(edge, src, dst, native=self._prefix.native)


class Deliveries:
    """The edges that order implies: what was sent to an agent reaches its next turn.

    spawn, delegate -> first later event of `to`; return -> first later turn of `to`; a delivered message -> first later
    turn of `to`; tool result, human intervention -> first later turn of the agent (causal); the latest write of a
    memory's key -> each read of it until the next write.

    Args:
      evidence: what these edges carry.
      linked: (src, type) pairs that have such an edge already.
    """

    def __init__(self, evidence: Evidence, linked: Iterable[tuple[str, EdgeType]] = ()) -> None:
        self._evidence: Evidence = evidence
        self._linked = set(linked)
        self._to_event: defaultdict[str, list[tuple[str, EdgeType]]] = defaultdict(list)
        self._to_turn: defaultdict[str, list[tuple[str, EdgeType]]] = defaultdict(list)
        self._writes: dict[str, str] = {}

    def peek(self, event: Event) -> list[Edge]:
        """The edges into this event, were it the next one."""
        waiting = list(self._to_event.get(event.agent, ()))
        if isinstance(event, Turn):
            waiting += self._to_turn.get(event.agent, ())
        if isinstance(event, Memory) and event.op == "read" and event.key in self._writes:
            waiting.append((self._writes[event.key], "memory"))
        return [Edge(src, event.id, type_, self._evidence) for src, type_ in waiting]

    def add(self, event: Event) -> None:
        """Take the event as the next one."""
        self._to_event.pop(event.agent, None)
        if isinstance(event, Turn):
            self._to_turn.pop(event.agent, None)
        match event:
            case Spawn():
                self._wait(self._to_event[event.to], event.id, "spawn")
            case Delegate():
                self._wait(self._to_event[event.to], event.id, "delegate")
            case Return():
                self._wait(self._to_turn[event.to], event.id, "return")
            case Message() if event.delivered:
                self._wait(self._to_turn[event.to], event.id, "message")
            case Memory() if event.op == "write":
                self._writes[event.key] = event.id
            case ToolResult() | HumanIntervention():
                self._wait(self._to_turn[event.agent], event.id, "causal")
            case _:
                pass

    def _wait(self, queue: list[tuple[str, EdgeType]], src: str, type_: EdgeType) -> None:
        if (src, type_) not in self._linked:
            queue.append((src, type_))


def implied_edges(event: Event) -> Iterator[Edge]:
    """The edges that its own fields imply: from its turn, its call, its inputs."""
    for law, _, source in implied(event):
        yield Edge(source, event.id, _IMPLIED_TYPE[law], "explicit")


def sorted_edges(edges: Iterable[Edge], positions: Mapping[str, int]) -> tuple[Edge, ...]:
    """Edges by place of dst, then src, then type; of doubles the strongest evidence stays."""
    best: dict[tuple[int, int, str], Edge] = {}
    for edge in edges:
        key = (positions[edge.dst], positions[edge.src], edge.type)
        held = best.get(key)
        if held is None or _STRENGTH[edge.evidence] < _STRENGTH[held.evidence]:
            best[key] = edge
    return tuple(best[key] for key in sorted(best))
