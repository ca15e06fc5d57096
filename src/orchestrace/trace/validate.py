"""The laws of a trace, one event at a time and as a whole.

Every trace
  0. Fields are in range: numbers finite; durations, spans, lengths and token counts not negative; reasoning no more
     than the output that it is part of; a choice's index among its options.
  1. Ids are unique and not empty; edge ends exist; src stands before dst.
  2. There is a root. Every other agent has exactly one spawn, by its parent, or is `unlinked`. Agents are declared,
     parents too, and no chain of parents runs in a circle. No event of a spawned agent stands before its spawn.
  3. A tool result names an earlier call of the same agent; one result a call.
  4. An aggregate's inputs are earlier returns or messages to that agent, each in one aggregate at most.
  5. `turn` names an earlier turn of the same agent.
  6. Only roots stop.
Native traces (no `source`) also
  7. Nothing of an agent stands after its despawn. An agent returns to who spawned it or delegated to it. There is one
     stop at most; after it come only human interventions, safety events, despawns and cancelled returns.
  8. t does not go back within an agent, and is never before a cause's.

A field that names an event implies an edge between the two, and an edge that says more than the fields is reported
under the field's law. Observations are counted facts about a log, never violations.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from orchestrace.trace.events import (
    Agent,
    Aggregate,
    Delegate,
    Despawn,
    Edge,
    Event,
    HumanIntervention,
    Message,
    Return,
    SafetyEvent,
    Spawn,
    Stop,
    ToolCall,
    ToolResult,
    Trace,
    Turn,
)
from orchestrace.trace.values import out_of_range


class Violation(NamedTuple):
    """One law that one place of a trace breaks."""

    law: int
    event: str | None
    """Id of the event; None where no event is at fault."""
    path: str
    """`$.events[17].to`"""
    message: str

    def __str__(self) -> str:
        """`$.events[17].to: agent 'w3' acts before its spawn (law 2)`"""
        return f"{self.path}: {self.message} (law {self.law})"


class Fault(NamedTuple):
    """A violation by one event, before its place in a trace is known."""

    law: int
    field: str
    message: str


class Prefix:
    """The events checked so far, as far as the laws need to remember them.

    Args:
      agents: every agent of the trace; more may be declared later.
      native: check laws 7 and 8 as well.
    """

    def __init__(self, agents: Iterable[Agent] = (), *, native: bool) -> None:
        self.native = native
        self.agents: dict[str, Agent] = {agent.id: agent for agent in agents}
        self.spawned: dict[str, str] = {}
        """Agent -> who spawned it."""
        self._ids: set[str] = set()
        self._turns: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        self._answered: set[str] = set()
        self._addressed: dict[str, str] = {}
        self._taken_up: set[str] = set()
        self._acted: set[str] = set()
        self._delegated: set[tuple[str, str]] = set()
        self._despawned: set[str] = set()
        self._stopped = False
        self._last_t: dict[str, float] = {}

    def declare(self, agent: Agent) -> None:
        """Know one more agent."""
        self.agents[agent.id] = agent

    def faults(self, event: Event) -> list[Fault]:
        """Every law that this event would break, were it the next one."""
        found = [Fault(0, field, message) for field, message in out_of_range(event)]
        if event.id == "" or event.id in self._ids:
            found.append(Fault(1, "id", f"event id {event.id!r} is {'empty' if event.id == '' else 'taken'}"))
        found += self._agent_faults(event)
        if event.turn is not None and self._turns.get(event.turn) != event.agent:
            found.append(Fault(5, "turn", f"{event.turn!r} is no earlier turn of agent {event.agent!r}"))
        match event:
            case Spawn() | Delegate() | Message() | Return() | Despawn():
                found += self._address_faults(event)
            case ToolResult():
                found += self._result_faults(event)
            case Aggregate():
                found += self._input_faults(event)
            case Stop():
                if event.agent in self.agents and not self._is_root(event.agent):
                    found.append(Fault(6, "agent", f"agent {event.agent!r} stops, but is no root; it returns"))
            case _:
                pass
        if self.native:
            found += self._native_faults(event)
        return found

    def add(self, event: Event) -> None:
        """Take the event as the next one, whatever it breaks."""
        self._ids.add(event.id)
        self._acted.add(event.agent)
        if event.t is not None:
            self._last_t[event.agent] = event.t
        match event:
            case Turn():
                self._turns[event.id] = event.agent
            case Spawn():
                self.spawned.setdefault(event.to, event.agent)
            case Delegate():
                self._delegated.add((event.agent, event.to))
            case Despawn():
                self._despawned.add(event.to)
            case Message() | Return():
                self._addressed[event.id] = event.to
            case ToolCall():
                self._calls[event.id] = event.agent
            case ToolResult():
                self._answered.add(event.call)
            case Aggregate():
                self._taken_up.update(event.inputs)
            case Stop():
                self._stopped = True
            case _:
                pass

    def ending_faults(self) -> list[Fault]:
        """What is missing once the last event is in: a root, an agent's spawn. `field` is a path in the trace."""
        found = []
        if not any(self._is_root(agent_id) for agent_id in self.agents):
            found.append(Fault(2, "agents", "no agent is a root"))
        for place, agent in enumerate(self.agents.values()):
            if agent.parent is not None and not agent.unlinked and agent.id not in self.spawned:
                found.append(Fault(2, f"agents[{place}]", f"agent {agent.id!r} has no spawn and is not unlinked"))
        for place, message in parent_faults(list(self.agents.values()), self.spawned):
            found.append(Fault(2, f"agents[{place}].parent", message))
        return found

    def _is_root(self, agent_id: str) -> bool:
        agent = self.agents[agent_id]
        return agent.parent is None and not agent.unlinked and agent_id not in self.spawned

    def _agent_faults(self, event: Event) -> Iterator[Fault]:
        agent = self.agents.get(event.agent)
        if agent is None:
            yield Fault(2, "agent", f"agent {event.agent!r} is not declared")
        elif agent.parent is not None and not agent.unlinked and agent.id not in self.spawned:
            yield Fault(2, "agent", f"agent {event.agent!r} acts before its spawn")

    def _address_faults(self, event: Spawn | Delegate | Message | Return | Despawn) -> Iterator[Fault]:
        child = self.agents.get(event.to)
        if child is None:
            yield Fault(2, "to", f"agent {event.to!r} is not declared" if event.to else "the agent is not named")
        elif isinstance(event, Spawn):
            if event.to in self.spawned:
                yield Fault(2, "to", f"agent {event.to!r} is spawned twice")
            elif child.unlinked:
                yield Fault(2, "to", f"agent {event.to!r} is unlinked, yet spawned here")
            elif event.to in self._acted or event.to == event.agent:
                yield Fault(2, "to", f"agent {event.to!r} acts before its spawn")
            if child.parent is not None and child.parent != event.agent:
                yield Fault(2, "to", f"agent {event.to!r} has parent {child.parent!r}, not {event.agent!r}")

    def _result_faults(self, event: ToolResult) -> Iterator[Fault]:
        caller = self._calls.get(event.call)
        if caller is None:
            yield Fault(3, "call", f"{event.call!r} is no earlier tool call")
        elif caller != event.agent:
            yield Fault(3, "agent", f"the call {event.call!r} was made by agent {caller!r}, not {event.agent!r}")
        elif event.call in self._answered:
            yield Fault(3, "call", f"{event.call!r} has a result already")

    def _input_faults(self, event: Aggregate) -> Iterator[Fault]:
        seen: set[str] = set()
        for place, source in enumerate(event.inputs):
            field = f"inputs[{place}]"
            if self._addressed.get(source) != event.agent:
                yield Fault(4, field, f"{source!r} is no earlier return or message to agent {event.agent!r}")
            elif source in self._taken_up or source in seen:
                yield Fault(4, field, f"{source!r} is in an aggregate already")
            seen.add(source)

    def _native_faults(self, event: Event) -> Iterator[Fault]:
        if event.agent in self._despawned:
            yield Fault(7, "agent", f"agent {event.agent!r} acts after its despawn")
        if isinstance(event, Return) and self.spawned.get(event.agent) != event.to:
            if (event.to, event.agent) not in self._delegated:
                yield Fault(7, "to", f"{event.to!r} neither spawned agent {event.agent!r} nor delegated to it")
        if self._stopped and not _may_follow_a_stop(event):
            yield Fault(7, "type", "it stands after the stop")
        if event.t is not None and event.t < self._last_t.get(event.agent, event.t):
            yield Fault(8, "t", f"t goes back from {self._last_t[event.agent]} to {event.t}")


def _may_follow_a_stop(event: Event) -> bool:
    match event:
        case HumanIntervention() | SafetyEvent() | Despawn():
            return True
        case Return():
            return event.status == "cancelled"
        case _:
            return False


def parent_faults(agents: Sequence[Agent], spawned: Mapping[str, str]) -> Iterator[tuple[int, str]]:
    """Unlinked agents whose parent is not declared, or comes back to them: (place, message).

    Args:
      agents: all of them.
      spawned: agent -> who spawned it.
    """
    parents = {agent.id: spawned.get(agent.id, agent.parent) for agent in agents}
    circular = _in_circles(parents)
    for place, agent in enumerate(agents):
        if not agent.unlinked or agent.parent is None:
            continue
        if agent.parent not in parents:
            yield place, f"agent {agent.id!r} has parent {agent.parent!r}, who is not declared"
        elif agent.id in circular:
            yield place, f"agent {agent.id!r} is among its own parents"


def _in_circles(parents: Mapping[str, str | None]) -> set[str]:
    """The names whose chain of parents comes back to them."""
    met: dict[str, int] = {}
    found: set[str] = set()
    for round_, start in enumerate(parents):
        chain: list[str] = []
        name: str | None = start
        while name is not None and name in parents and name not in met:
            met[name] = round_
            chain.append(name)
            name = parents[name]
        if name is not None and met.get(name) == round_:
            found.update(chain[chain.index(name) :])
    return found


def violations(trace: Trace) -> list[Violation]:
    """Every law that the trace breaks, at every place; empty for a lawful one. Linear in events and edges."""
    found: list[Violation] = []
    prefix = Prefix(trace.agents, native=trace.native)
    if len(prefix.agents) < len(trace.agents):
        names = Counter(agent.id for agent in trace.agents)
        for place, agent in enumerate(trace.agents):
            if names[agent.id] > 1:
                found.append(Violation(1, None, f"$.agents[{place}].id", f"agent id {agent.id!r} is taken"))
    for place, event in enumerate(trace.events):
        for law, field, message in prefix.faults(event):
            found.append(Violation(law, event.id, f"$.events[{place}].{field}", message))
        prefix.add(event)
    found += (Violation(law, None, f"$.{field}", message) for law, field, message in prefix.ending_faults())
    found += _edge_violations(trace)
    return found


def _edge_violations(trace: Trace) -> Iterator[Violation]:
    positions: dict[str, int] = {}
    for place, event in enumerate(trace.events):
        positions.setdefault(event.id, place)
    pairs: set[tuple[str, str]] = set()
    for place, edge in enumerate(trace.edges):
        pairs.add((edge.src, edge.dst))
        src, dst = positions.get(edge.src), positions.get(edge.dst)
        for end, position in (("src", src), ("dst", dst)):
            if position is None:
                name = edge.src if end == "src" else edge.dst
                yield Violation(1, None, f"$.edges[{place}].{end}", f"there is no event {name!r}")
        if src is None or dst is None:
            continue
        if src >= dst:
            message = f"{edge.src!r} does not stand before {edge.dst!r}"
            yield Violation(1, edge.dst, f"$.edges[{place}]", message)
        else:
            for law, _, message in edge_faults(edge, trace.events[src], trace.events[dst], native=trace.native):
                yield Violation(law, edge.dst, f"$.edges[{place}]", message)
    for place, event in enumerate(trace.events):
        for law, field, source in implied(event):
            if source in positions and (source, event.id) not in pairs:
                path = f"$.events[{place}].{field}"
                yield Violation(law, event.id, path, f"there is no edge from {source!r} to {event.id!r}")


def edge_faults(edge: Edge, src: Event, dst: Event, *, native: bool) -> Iterator[Fault]:
    """An edge between two events that says more than their fields do, or (native) runs back in time."""
    if edge.type == "tool_dependency" and isinstance(src, ToolCall) and isinstance(dst, ToolResult):
        if dst.call != src.id:
            yield Fault(3, "", f"{dst.id!r} is the result of {dst.call!r}, not of {src.id!r}")
    if edge.type == "aggregate" and isinstance(src, Return | Message) and isinstance(dst, Aggregate):
        if src.id not in dst.inputs:
            yield Fault(4, "", f"{src.id!r} is not among the inputs of {dst.id!r}")
    if native and src.t is not None and dst.t is not None and dst.t < src.t:
        yield Fault(8, "", f"{dst.id!r} at t={dst.t} is before its cause {src.id!r} at t={src.t}")


def implied(event: Event) -> Iterator[tuple[int, str, str]]:
    """The events that its fields name as causes: (law, field, id)."""
    if event.turn is not None:
        yield 5, "turn", event.turn
    if isinstance(event, ToolResult):
        yield 3, "call", event.call
    elif isinstance(event, Aggregate):
        for place, source in enumerate(event.inputs):
            yield 4, f"inputs[{place}]", source


def observations(trace: Trace) -> dict[str, int]:
    """Facts about a log that are counted and shown, and break no law.

    time_went_back: an event of an agent dated before the one before it. child_before_spawn: a child whose first event
    is dated before its spawn. acted_after_despawn. undelivered_messages: known not to have arrived.
    totals_differ: token totals of the producer that the sum over turns does not give.
    """
    found: Counter[str] = Counter()
    last_t: dict[str, float] = {}
    spawn_t: dict[str, float | None] = {}
    despawned: set[str] = set()
    for event in trace.events:
        if event.t is not None:
            if event.t < last_t.get(event.agent, event.t):
                found["time_went_back"] += 1
            spawned_t = spawn_t.pop(event.agent, None)
            if spawned_t is not None and event.t < spawned_t:
                found["child_before_spawn"] += 1
            last_t[event.agent] = event.t
        if event.agent in despawned:
            found["acted_after_despawn"] += 1
        match event:
            case Spawn():
                spawn_t[event.to] = event.t
            case Despawn():
                despawned.add(event.to)
            case Message() if event.delivered is False:
                found["undelivered_messages"] += 1
            case _:
                pass
    found["totals_differ"] = sum(1 for _ in _differing_totals(trace))
    return {name: n for name, n in sorted(found.items()) if n}


def _differing_totals(trace: Trace) -> Iterator[str]:
    spent = [event.tokens for event in trace.events if isinstance(event, Turn) and event.tokens is not None]
    sums = {
        "output_tokens": sum(tokens.output or 0 for tokens in spent),
        "input_tokens": sum(tokens.input or 0 for tokens in spent),
        "tokens": sum(tokens.total or 0 for tokens in spent),
    }
    for name, ours in sums.items():
        reported = trace.costs.get(name)
        if spent and reported is not None and reported != ours:
            yield name
