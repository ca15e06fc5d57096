"""What a trace says, asked one question at a time. Pure functions of the trace; each is linear in it.

A *root* has no parent, no spawn to it, and is not unlinked. Agents come in the order of their declaration; an agent
that only events name (a survey file may leave agents out) follows in the order of its first event.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

import msgspec

from orchestrace.errors import TraceError
from orchestrace.trace.events import (
    Agent,
    Delegate,
    Despawn,
    Event,
    Message,
    Return,
    Spawn,
    Stop,
    ToolCall,
    Trace,
    Turn,
)

Status = Literal["never_started", "running", "completed", "failed", "cancelled", "truncated"]
COMPACTION = "compaction"
"""Label of a turn where the context was folded."""
_STOPPED: Mapping[str, Status] = {
    "answer": "completed",
    "error": "failed",
    "budget": "truncated",
    "limit": "truncated",
    "interrupted": "cancelled",
    "external": "cancelled",
}


class SpawnTree(NamedTuple):
    """Who was spawned by whom."""

    roots: tuple[str, ...]
    unlinked: tuple[str, ...]
    """Agents that are no root and have no spawn; one with a known parent is among that agent's children too."""
    children: Mapping[str, tuple[str, ...]]
    """By agent, in the order of their spawns; every agent has an entry."""
    spawns: Mapping[str, Spawn]
    """By the agent that was spawned."""


class Membership(NamedTuple):
    """An agent's work for one order: from its spawn, or a later delegate, to the next."""

    agent: str
    opened_by: str | None
    """Id of the spawn or delegate; None for a root, and for an agent whose spawn is not known."""
    parent: int | None
    """Place in the stage of the membership that opened this one, an earlier place; None: a root, or none is known."""
    turns: tuple[Turn, ...]


class Stage(NamedTuple):
    """A round of the team: the root's turns on one set of answers, and the work that it ordered in them."""

    members: tuple[Membership, ...]
    """Roots have `parent` None. Whoever opened a membership stands before it."""

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The roots' turns in this stage."""
        return tuple(turn for member in self.members if member.parent is None for turn in member.turns)


class Lifetime(NamedTuple):
    """When an agent was busy, in seconds since the trace began."""

    start_s: float
    """Start of its first turn or tool call."""
    end_s: float
    """Latest end of one."""


def lanes(trace: Trace) -> dict[str, tuple[Event, ...]]:
    """Each agent's events, in trace order; an agent without any has an empty lane."""
    found: dict[str, list[Event]] = {agent.id: [] for agent in trace.agents}
    for event in trace.events:
        found.setdefault(event.agent, []).append(event)
    return {agent: tuple(events) for agent, events in found.items()}


def turns(trace: Trace, agent: str | None = None) -> tuple[Turn, ...]:
    """The turns of one agent, or of all, in trace order."""
    return tuple(event for event in trace.events if isinstance(event, Turn) and agent in (None, event.agent))


def spawn_tree(trace: Trace) -> SpawnTree:
    """Who was spawned by whom. Of two spawns of one agent (against the laws) the first counts."""
    declared = {agent.id: agent for agent in trace.agents}
    spawns: dict[str, Spawn] = {}
    for event in trace.events:
        declared.setdefault(event.agent, Agent(event.agent))
        if isinstance(event, Spawn):
            declared.setdefault(event.to, Agent(event.to))
            if event.to != event.agent:
                spawns.setdefault(event.to, event)
    children: dict[str, list[str]] = {agent: [] for agent in declared}
    for child, spawn in spawns.items():
        children[spawn.agent].append(child)
    roots: list[str] = []
    unlinked: list[str] = []
    for name, agent in declared.items():
        if name not in spawns:
            (unlinked if agent.unlinked or agent.parent is not None else roots).append(name)
            if agent.parent in children and agent.parent != name:
                children[agent.parent].append(name)
    return SpawnTree(
        tuple(roots), tuple(unlinked), {name: tuple(spawned) for name, spawned in children.items()}, spawns
    )


def depths(trace: Trace) -> dict[str, int]:
    """Spawns between each agent and the root above it; an agent that nobody is known to have made has 0, as a root."""
    tree = spawn_tree(trace)
    made = {child for children in tree.children.values() for child in children}
    depth: dict[str, int] = {}
    # The second round is for agents that spawned each other in a ring, which only an unlawful trace holds.
    for start in ([agent for agent in tree.children if agent not in made], list(tree.children)):
        level, number = [agent for agent in start if agent not in depth], 0
        while level:
            depth.update(dict.fromkeys(level, number))
            level = [child for agent in level for child in tree.children[agent] if child not in depth]
            number += 1
    return {agent: depth[agent] for agent in tree.children}


def stages(trace: Trace) -> tuple[Stage, ...]:
    """The rounds of the team (`spec/evaluation_safety.md`, critical steps).

    A stage begins at each root turn that follows at least one return to that root which it has not yet seen; the first
    begins with the trace. A spawn opens a membership of the spawned agent in the stage of the one who spawns, a
    later delegate opens a new one in the stage of the one who delegates; turns belong to the agent's latest membership,
    whenever they come. Several roots run side by side: stage k holds the k-th stage of each. An unlinked agent works
    for its parent where that is known, else for the first root, in the stage that is on when it first acts.
    """
    tree = spawn_tree(trace)
    roots = dict.fromkeys(tree.roots)
    parents = {agent.id: agent.parent for agent in trace.agents}
    table = _StageTable()
    answered: set[str] = set()
    for root in roots:
        table.open(root, 0)
    for event in trace.events:
        agent = event.agent
        if agent not in table.current:
            employer = parents.get(agent)
            employer = employer if employer in table.current else next(iter(roots), None)
            table.order(agent, employer, None)
        match event:
            case Turn():
                if agent in answered:
                    answered.remove(agent)
                    table.open(agent, table.current[agent][0] + 1)
                table.turns(agent).append(event)
            case Spawn() | Delegate() if event.to not in roots and event.to != agent:
                table.order(event.to, agent, event.id)
            case Return() if event.to in roots:
                answered.add(event.to)
            case _:
                pass
    return table.stages() if trace.events else ()


class _StageTable:
    """Memberships by stage, while they are being filled."""

    def __init__(self) -> None:
        self.current: dict[str, tuple[int, int]] = {}
        """Agent -> stage and place of its latest membership."""
        self._rows: list[list[tuple[str, str | None, int | None, list[Turn]]]] = []

    def open(self, agent: str, stage: int, opened_by: str | None = None, parent: int | None = None) -> None:
        while len(self._rows) <= stage:
            self._rows.append([])
        self.current[agent] = (stage, len(self._rows[stage]))
        self._rows[stage].append((agent, opened_by, parent, []))

    def order(self, agent: str, employer: str | None, opened_by: str | None) -> None:
        """Open a membership in the stage of the one who ordered it."""
        stage, parent = self.current[employer] if employer is not None else (0, None)
        self.open(agent, stage, opened_by, parent)

    def turns(self, agent: str) -> list[Turn]:
        stage, place = self.current[agent]
        return self._rows[stage][place][3]

    def stages(self) -> tuple[Stage, ...]:
        return tuple(
            Stage(tuple(Membership(agent, by, parent, tuple(done)) for agent, by, parent, done in row))
            for row in self._rows
        )


def message_graph(trace: Trace) -> dict[tuple[str, str], tuple[Spawn | Delegate | Message | Return, ...]]:
    """(from, to) -> what the one said to the other, in trace order: spawns with a task, delegates, messages, returns.

    Messages that never arrived are among them (`Message.delivered`).
    """
    found: defaultdict[tuple[str, str], list[Spawn | Delegate | Message | Return]] = defaultdict(list)
    for event in trace.events:
        if isinstance(event, Delegate | Message | Return) or (isinstance(event, Spawn) and event.content is not None):
            found[event.agent, event.to].append(event)
    return {pair: tuple(said) for pair, said in found.items()}


def prefix(trace: Trace, event_id: str) -> Trace:
    """The trace as it stood right after an event: a recording that is still going on.

    Events up to and with that one, and the edges between them. Agents that are roots, have acted or been spawned; an
    agent that was only named by then, and is spawned later, is unlinked, since its spawn is not here. Rewards, costs
    and metrics were not known yet and are absent; blobs are those that the events name. All laws that held still hold.

    Raises:
      TraceError: there is no such event.
    """
    place = next((place for place, event in enumerate(trace.events) if event.id == event_id), None)
    if place is None:
        raise TraceError(f"trace {trace.trace_id!r} has no event {event_id!r}", place="$.events")
    events = trace.events[: place + 1]
    ids = {event.id for event in events}
    return msgspec.structs.replace(
        trace,
        agents=tuple(_agents_by_then(trace, events)),
        events=events,
        edges=tuple(edge for edge in trace.edges if edge.src in ids and edge.dst in ids),
        blobs={name: trace.blobs[name] for name in sorted(blobs_named(events)) if name in trace.blobs},
        rewards={},
        costs={},
        metrics={},
    )


def _agents_by_then(trace: Trace, events: Iterable[Event]) -> Iterator[Agent]:
    tree = spawn_tree(trace)
    named, spawned = set(tree.roots), set()
    for event in events:
        named |= {event.agent, addressee(event) or event.agent}
        if isinstance(event, Spawn):
            spawned.add(event.to)
    for agent in trace.agents:
        if agent.id in named:
            spawned_later = agent.id in tree.spawns and agent.id not in spawned
            yield msgspec.structs.replace(agent, unlinked=True) if spawned_later else agent


def addressee(event: Event) -> str | None:
    """The agent that an event is directed at (`to`); None where its kind has none."""
    match event:
        case Spawn() | Despawn() | Delegate() | Message() | Return():
            return event.to
        case _:
            return None


def blobs_named(events: Iterable[Event]) -> set[str]:
    """The hashes of every text and token array that events name, held or not."""
    named: set[str | None] = set()
    for event in events:
        if event.content is not None:
            named.add(event.content.hash)
        if isinstance(event, Turn) and event.generation is not None:
            made = event.generation
            named.update((made.prompt_hash, made.token_ids, made.logprobs, made.loss_mask))
    return {name for name in named if name is not None}


def context(trace: Trace, agent: str) -> tuple[Event, ...]:
    """What an agent could have read by the end of this trace (of a `prefix`, at that moment), in trace order.

    Its own events, and what was addressed to it: tasks (spawn, delegate), returns, messages that were delivered; tool
    results and human interventions are its own events. From its last turn with the label `compaction` on, that turn
    included: what came before was folded into it.
    """
    readable: list[Event] = []
    for event in trace.events:
        if event.agent == agent:
            if isinstance(event, Turn) and event.labels.get(COMPACTION):
                readable.clear()
            readable.append(event)
        elif isinstance(event, Spawn | Delegate | Return) or (isinstance(event, Message) and event.delivered):
            if event.to == agent:
                readable.append(event)
    return tuple(readable)


def lifetimes(trace: Trace) -> dict[str, Lifetime]:
    """When each agent was busy: its turns and tool calls. An agent of which none is dated has no entry."""
    found: dict[str, Lifetime] = {}
    for event in trace.events:
        if event.t is None or not isinstance(event, Turn | ToolCall):
            continue
        end_s = event.t + (event.duration_s or 0.0)
        so_far = found.get(event.agent, Lifetime(event.t, end_s))
        found[event.agent] = Lifetime(min(so_far.start_s, event.t), max(so_far.end_s, end_s))
    return {agent: found[agent] for agent in lanes(trace) if agent in found}


def statuses(trace: Trace) -> dict[str, Status]:
    """How it stands with each agent at the end of this trace.

    A root: by its last stop (answer: completed; error: failed; budget, limit: truncated; interrupted, external:
    cancelled). Another agent: by its last return; without one, cancelled where a despawn ended it. An agent with a
    turn after that, or with events and no such end, is still running as far as the log says; one without any event has
    never started.
    """
    found: dict[str, Status] = {agent.id: "never_started" for agent in trace.agents}
    for event in trace.events:
        match event:
            case Stop():
                found[event.agent] = _STOPPED[event.reason]
            case Return():
                found[event.agent] = event.status
            case Turn():
                found[event.agent] = "running"
            case _:
                if found.get(event.agent, "never_started") == "never_started":
                    found[event.agent] = "running"
        if isinstance(event, Despawn) and found.get(event.to) in ("running", "never_started"):
            found[event.to] = "cancelled"
    return found
