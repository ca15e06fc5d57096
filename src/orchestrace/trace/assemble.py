"""Building a trace from a log: what adapters use.

A log comes as records of several writers, in each writer's own order, with times that may be absent or wrong and links
that may contradict each other. An `Assembler` takes them as they come and makes a lawful trace of them by ordering,
dropping and counting; it never invents.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec, TypeVar

import msgspec

from orchestrace.trace.build import Deliveries, implied_edges, sorted_edges
from orchestrace.trace.content import described
from orchestrace.trace.events import (
    Agent,
    Aggregate,
    Content,
    Edge,
    EdgeType,
    Event,
    EventFields,
    Evidence,
    Spawn,
    Trace,
    kind,
)
from orchestrace.trace.order import Link, ordering
from orchestrace.trace.surrogates import without_surrogates
from orchestrace.trace.validate import Fault, Prefix, edge_faults, parent_faults
from orchestrace.trace.values import header_with_floats, is_sound, mended, with_floats

P = ParamSpec("P")
E = TypeVar("E", bound=EventFields)
V = TypeVar("V")


class Assembler:
    """Records in, a lawful trace out.

    Diagnostics that it counts itself: `dropped_edges`, `reordered` (a writer's own order gave way), `dropped_<kind>`
    (the event would break a law), `cleared_turn`, `dropped_inputs` and `dropped_parents` (a reference would),
    `not_finite`, `negative_duration` and `out_of_range` (a value was dropped to absent), `surrogates` (each became
    "?"), `unlinked` and `undeclared` agents.
    """

    def __init__(self) -> None:
        self._agents: dict[str, Agent] = {}
        self._events: list[Event] = []
        self._writers: list[int] = []
        self._writer_numbers: dict[str, int] = {}
        self._written: Counter[str] = Counter()
        self._places: dict[str, int] = {}
        self._links: dict[tuple[str, str, EdgeType], Evidence] = {}
        self._counts: Counter[str] = Counter()
        self._root: str | None = None
        self.blobs: dict[str, bytes] = {}
        """Texts by hash, as `text` kept them."""

    def agent(self, agent: Agent) -> None:
        """Declare an agent; a later declaration of the same id replaces the earlier one."""
        agent = self._sound(agent)
        self._agents[agent.id] = agent

    def text(self, text: str | bytes, *, media: str = "text/plain") -> Content:
        """The content record of a text, which is kept in `blobs`."""
        if isinstance(text, str):
            text = self._sound(text)
        content, data = described(text, media=media)
        self.blobs[content.hash] = data
        return content

    def append(self, writer: str, make: Callable[Concatenate[str, P], E], /, *args: P.args, **fields: P.kwargs) -> E:
        """Append the writer's next event: `append("main", Spawn, "main", to="a1", t=3.0)`, with id `main.<n>`."""
        writer, event = self._sound(writer), self._in_range(with_floats(make("", *args, **fields)))
        msgspec.structs.force_setattr(event, "id", f"{writer}.{self._written[writer]}")
        self._written[writer] += 1
        self._places[event.id] = len(self._events)
        self._events.append(event)  # type: ignore[arg-type]  # every EventFields class is in the union
        self._writers.append(self._writer_numbers.setdefault(writer, len(self._writer_numbers)))
        return event

    def replace(self, event: Event) -> None:
        """Put a completed event in the place of the one with its id."""
        self._events[self._places[event.id]] = self._in_range(with_floats(msgspec.structs.replace(event)))

    def link(self, src: str, dst: str, type: EdgeType, evidence: Evidence) -> None:  # noqa: A002
        """Add an edge, which is a constraint on the order too; of doubles the first stays."""
        if src not in self._places or dst not in self._places:
            missing = src if src not in self._places else dst
            raise ValueError(f"there is no event {missing!r}; append both ends before linking them")
        self._links.setdefault((src, dst, type), evidence)

    def count(self, diagnostic: str, n: int = 1) -> None:
        """Count something that was skipped, repaired or guessed."""
        if n:
            self._counts[without_surrogates(diagnostic)[0]] += n

    @property
    def diagnostics(self) -> Mapping[str, int]:
        """What was counted so far."""
        return dict(self._counts)

    def assemble(self, *, trace_id: str, task_id: str, **header: Any) -> Trace:
        """The trace; to be called once. The header names a `source`, since what comes out of a log is not native."""
        header = self._sound(header_with_floats({"trace_id": trace_id, "task_id": task_id, **header}))
        agents = self._settled_agents()
        ordered = self._ordered()
        prefix = Prefix(agents, native=header.get("source") is None)
        kept = self._lawful(ordered, prefix)
        positions = {event.id: place for place, event in enumerate(kept)}
        agents = self._with_known_parents([self._final_agent(agent, prefix) for agent in agents], prefix)
        self.count("unlinked", sum(agent.unlinked for agent in agents) - self._counts["unlinked"])
        return Trace(
            schema=1,
            agents=tuple(agents),
            events=tuple(kept),
            edges=sorted_edges(self._edges(kept, positions), positions),
            diagnostics={name: n for name, n in sorted(self._counts.items()) if n},
            **header,
        )

    def _sound(self, value: V) -> V:
        """The value without what no trace may hold, which is counted."""
        if is_sound(value):
            return value
        clean: V = mended(value, "", lambda flaw: self.count(flaw.kind, flaw.n))
        return clean

    def _in_range(self, event: E) -> E:
        event = self._sound(event)
        if event.duration_s is not None and event.duration_s < 0:
            self.count("negative_duration")
            return msgspec.structs.replace(event, duration_s=None)
        return event

    def _settled_agents(self) -> list[Agent]:
        """Every agent that is named anywhere, unlinked where it has a parent or events but no spawn."""
        spawned = {event.to: event.agent for event in reversed(self._events) if isinstance(event, Spawn)}
        self._root = self._forced_root(spawned)
        spawned.pop(self._root or "", None)
        acting = {event.agent for event in self._events}
        named = acting | {to for event in self._events if (to := getattr(event, "to", ""))}
        rootless = all(agent.parent is not None or agent.unlinked for agent in self._agents.values())
        for name in sorted(named - self._agents.keys()):
            lost = name in acting and name not in spawned and not rootless
            self._agents[name] = Agent(name, parent=spawned.get(name), unlinked=lost)
            self.count("undeclared")
        settled = []
        for agent in self._agents.values():
            if agent.id in spawned:
                settled.append(msgspec.structs.replace(agent, parent=spawned[agent.id], unlinked=False))
            else:
                settled.append(msgspec.structs.replace(agent, unlinked=agent.unlinked or agent.parent is not None))
        return settled

    def _forced_root(self, spawned: Mapping[str, str]) -> str | None:
        """The agent that stays a root although something claims to have spawned it: only where no other is one."""
        first = None
        for agent in self._agents.values():
            if agent.parent is None and not agent.unlinked:
                if agent.id not in spawned:
                    return None
                first = first or agent.id
        return first

    def _ordered(self) -> list[Event]:
        links = [
            Link(self._places[src], self._places[dst], evidence) for (src, dst, _), evidence in self._links.items()
        ]
        n_given = len(links)
        links += self._implied_links()
        result = ordering([event.t for event in self._events], self._writers, links)
        given = list(self._links)
        for place in result.dropped_links:
            if place < n_given:
                del self._links[given[place]]
        self.count("dropped_edges", sum(1 for place in result.dropped_links if place < n_given))
        self.count("reordered", result.reordered)
        return [self._events[place] for place in result.order]

    def _implied_links(self) -> Iterable[Link]:
        """Constraints from fields, and from each spawn to the first event that each writer has of the child."""
        first: dict[tuple[str, int], int] = {}
        for place, event in enumerate(self._events):
            first.setdefault((event.agent, self._writers[place]), place)
            for edge in implied_edges(event):
                if edge.src in self._places:
                    yield Link(self._places[edge.src], place, "explicit")
        starts: dict[str, list[int]] = {}
        for (agent, _), place in first.items():
            starts.setdefault(agent, []).append(place)
        evidence = {src: how for (src, _, type_), how in self._links.items() if type_ == "spawn"}
        for place, event in enumerate(self._events):
            if isinstance(event, Spawn):
                for start in starts.get(event.to, ()):
                    yield Link(place, start, evidence.get(event.id, "explicit"))

    def _lawful(self, events: Iterable[Event], prefix: Prefix) -> list[Event]:
        kept = []
        for event in events:
            faults = prefix.faults(event)
            if isinstance(event, Spawn) and event.to == self._root:
                faults.append(Fault(2, "to", "it would leave no root"))
            lawful = self._mended(event, faults) if faults else event
            if lawful is None:
                self.count(f"dropped_{kind(event)}")
                continue
            prefix.add(lawful)
            kept.append(lawful)
        return kept

    def _mended(self, event: Event, faults: Sequence[Fault]) -> Event | None:
        """The event without its unlawful references; None where it is unlawful itself, or nothing of it is left."""
        fields = {law: {fault.field for fault in faults if fault.law == law} for law, _, _ in faults}
        if fields.keys() - {0, 4, 5}:
            return None
        if isinstance(event, Aggregate) and 4 in fields:
            inputs = tuple(source for n, source in enumerate(event.inputs) if f"inputs[{n}]" not in fields[4])
            self.count("dropped_inputs", len(event.inputs) - len(inputs))
            if not inputs:
                return None
            event = msgspec.structs.replace(event, inputs=inputs)
        if 5 in fields:
            self.count("cleared_turn")
            event = msgspec.structs.replace(event, turn=None)
        for field in fields.get(0, ()):
            self.count("out_of_range")
            event = _without(event, field)
        return event

    def _final_agent(self, agent: Agent, prefix: Prefix) -> Agent:
        """Unlinked after all, where its spawn was dropped."""
        if agent.parent is not None and agent.id not in prefix.spawned:
            return msgspec.structs.replace(agent, unlinked=True)
        return agent

    def _with_known_parents(self, agents: list[Agent], prefix: Prefix) -> list[Agent]:
        """Without parents that nobody is, or that run in a circle; only an unlinked agent has such."""
        for place, _ in parent_faults(agents, prefix.spawned):
            self.count("dropped_parents")
            agents[place] = msgspec.structs.replace(agents[place], parent=None)
        return agents

    def _edges(self, kept: Iterable[Event], positions: Mapping[str, int]) -> list[Edge]:
        events, edges = list(kept), []
        for (src, dst, type_), evidence in self._links.items():
            edge, at = Edge(src, dst, type_, evidence), (positions.get(src), positions.get(dst))
            stands = at[0] is not None and at[1] is not None and at[0] < at[1]
            if stands and not any(edge_faults(edge, events[positions[src]], events[positions[dst]], native=False)):
                edges.append(edge)
            else:
                self.count("dropped_edges")
        deliveries = Deliveries("positional", {(edge.src, edge.type) for edge in edges})
        for event in events:
            edges += implied_edges(event)
            edges += deliveries.peek(event)
            deliveries.add(event)
        return edges


def _without(event: Event, field: str) -> Event:
    """The event without a value that is out of range: `duration_s`, `choice.legal`, `tokens.output`."""
    name, _, part = field.partition(".")
    held = getattr(event, name)
    if held is None:  # it went as a whole
        return event
    if part in ("legal", "logprob", "value") or name == "tokens":
        return msgspec.structs.replace(event, **{name: msgspec.structs.replace(held, **{part: None})})
    return msgspec.structs.replace(event, **{name: None})
