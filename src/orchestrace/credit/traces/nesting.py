"""How the units of a trace nest: team > role > agent > turn > what the turn wrote > token.

Under a turn lie its messages, its tool calls and its orchestration decisions, each a leaf, and one *remainder* for what
else it wrote. A level without data is passed through, not invented: an agent without a role stands directly under the
team, an event that no turn is known to have made directly under its agent; a turn whose tokens nobody counted is a
leaf.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from orchestrace.annotations import LedgerKind, UnitKind
from orchestrace.credit.coalitions.levels import Path, Tree
from orchestrace.errors import InputError
from orchestrace.trace import (
    Agent,
    Aggregate,
    Delegate,
    Despawn,
    Event,
    HumanIntervention,
    Message,
    OrchestratorDecision,
    Return,
    SafetyEvent,
    Spawn,
    Stop,
    ToolCall,
    ToolResult,
    Trace,
    Turn,
)
from orchestrace.trace.views import lanes

_DECISIONS = (OrchestratorDecision, Spawn, Despawn, Delegate, Aggregate, Stop)
_WORLD = (HumanIntervention, SafetyEvent)
_DEPTHS: Mapping[UnitKind, int] = {
    "team": 0, "role": 1, "agent": 2, "turn": 3, "orchestrator": 4, "message": 4, "tool_call": 4, "token": 5,
}  # fmt: skip


class Unit(NamedTuple):
    """A node of the nesting."""

    kind: LedgerKind
    id: str


class Nest(NamedTuple):
    """The nesting of a trace down to one unit, as the Winter value takes it."""

    tree: Tree
    """Leaves are 0..n-1, in trace order within each unit."""
    units: Mapping[Path, Unit]
    """Every node by its path from the team, (), down."""
    leaves: tuple[Unit, ...]
    """[n] the leaf of each number; where the nesting stops early, an inner unit."""
    holders: Mapping[str, frozenset[int]]
    """Event id -> the leaves that it is made of: a turn's are all of the leaves under it. Events of the world (a
    person, a guard) have none."""
    notes: tuple[str, ...]
    """Which levels were passed through, in words."""


@dataclass
class _Node:
    """A unit while the nesting is built: either it has parts, or it holds events itself."""

    unit: Unit
    parts: list["_Node"] = field(default_factory=list)
    events: list[str] = field(default_factory=list)


def nesting(trace: Trace, unit: UnitKind) -> Nest:
    """The nesting of a trace, down to `unit` where the trace has the data for it.

    Messages include returns: an answer is what a sub-agent says to its parent. A tool call holds its result. Agents
    without events have no share and are left out.

    Args:
      trace: any lawful trace.
      unit: the finest level wanted. `orchestrator`, `message` and `tool_call` are all one level under the turn.

    Raises:
      InputError: the trace holds no event of any agent.
    """
    depth = _DEPTHS[unit]
    notes: dict[str, int] = defaultdict(int)
    agents = _agents(trace, depth, notes)
    if not agents:
        raise InputError(f"trace {trace.trace_id!r} holds no event of any agent, so there is nobody to credit")
    team = _Node(Unit("team", trace.trace_id), agents)
    if depth == 0:
        return _numbered(_leaf(team), notes)
    team.parts = _under_roles(trace, agents, notes)
    if depth == 1:
        team.parts = [_leaf(part) for part in team.parts]
    if depth == 5:
        _split_into_tokens(team, _token_places(trace), notes)
    return _numbered(team, notes)


def _agents(trace: Trace, depth: int, notes: dict[str, int]) -> list[_Node]:
    found = []
    for name, lane in lanes(trace).items():
        events = [event for event in lane if not isinstance(event, _WORLD)]
        if not events:
            notes["agents without events, which have no share of their own"] += 1
            continue
        agent = _agent(name, events, depth, notes)
        found.append(agent if depth > 2 else _leaf(agent))
    return found


def _agent(name: str, events: Sequence[Event], depth: int, notes: dict[str, int]) -> _Node:
    node = _Node(Unit("agent", name))
    calls = {event.id: event.turn for event in events if isinstance(event, ToolCall)}
    turns = {event.id: _Node(Unit("turn", event.id)) for event in events if isinstance(event, Turn)}
    loose = _Node(Unit("agent", name))
    for event in events:
        made_by = calls.get(event.call) if isinstance(event, ToolResult) else event.turn
        home = turns.get(event.id) or turns.get(made_by or "") or loose
        _place(home, event, depth)
    if loose.parts or loose.events:
        notes["agents with events that no turn is known to have made, which stand under the agent"] += 1
    for turn in turns.values():
        node.parts.append(_settled(turn, f"{turn.unit.id}:rest", depth, notes))
    if not turns:
        return _settled(loose, f"{name}:rest", depth, notes)
    node.parts += loose.parts
    if loose.events:
        node.parts.append(_Node(Unit("remainder", f"{name}:rest"), events=loose.events))
    return node


def _place(home: _Node, event: Event, depth: int) -> None:
    """Put an event into its unit: a part of its own, or the remainder."""
    if depth < 4 and home.unit.kind == "turn":
        home.events.append(event.id)
    elif isinstance(event, ToolResult):
        call = next((part for part in home.parts if part.unit.id == event.call), None)
        (call.events if call else home.events).append(event.id)
    elif isinstance(event, Message | Return):
        home.parts.append(_Node(Unit("message", event.id), events=[event.id]))
    elif isinstance(event, ToolCall):
        home.parts.append(_Node(Unit("tool_call", event.id), events=[event.id]))
    elif isinstance(event, _DECISIONS):
        home.parts.append(_Node(Unit("decision", event.id), events=[event.id]))
    else:
        home.events.append(event.id)


def _settled(node: _Node, rest: str, depth: int, notes: dict[str, int]) -> _Node:
    """A unit with parts keeps its own events as one more part; a unit without parts is a leaf."""
    if not node.parts:
        if depth > 3 and node.unit.kind == "agent":
            notes["agents without turns, messages, calls or decisions, which are leaves"] += 1
        return node
    if node.events:
        node.parts.append(_Node(Unit("remainder", rest), events=node.events))
    node.events = []
    return node


def _under_roles(trace: Trace, agents: list[_Node], notes: dict[str, int]) -> list[_Node]:
    roles = {agent.id: agent.role for agent in trace.agents}
    nodes: dict[str, _Node] = {}
    for agent in agents:
        role = roles.get(agent.unit.id, Agent("").role)
        if role:
            nodes.setdefault(f"role {role}", _Node(Unit("role", role))).parts.append(agent)
        else:
            nodes[f"agent {agent.unit.id}"] = agent
            notes["agents without a role, which stand under the team"] += 1
    return list(nodes.values())


def _leaf(node: _Node) -> _Node:
    """The unit as one leaf that holds every event below it."""
    return _Node(node.unit, events=list(_events(node)))


def _events(node: _Node) -> Iterator[str]:
    yield from node.events
    for part in node.parts:
        yield from _events(part)


def _split_into_tokens(node: _Node, places: Mapping[str, tuple[str, Sequence[int]]], notes: dict[str, int]) -> None:
    """Give each leaf its tokens as parts, where they are known."""
    if node.parts:
        for part in node.parts:
            _split_into_tokens(part, places, notes)
        return
    turn, own = places.get(node.unit.id, ("", ()))
    if not own:
        notes["leaves whose tokens are not known, which stay whole"] += 1
    node.parts = [_Node(Unit("token", f"{turn}:{i}"), events=node.events) for i in own]


def _token_places(trace: Trace) -> dict[str, tuple[str, Sequence[int]]]:
    """Leaf id -> the turn and the places of its tokens within that turn's completion."""
    free: dict[str, dict[int, None]] = {}
    places: dict[str, tuple[str, Sequence[int]]] = {}
    for event in trace.events:
        if isinstance(event, Turn):
            written = event.tokens.output if event.tokens is not None else None
            free[event.id] = dict.fromkeys(range(written or 0))
        elif event.turn in free and event.token_span is not None:
            own = [i for i in range(*event.token_span) if i in free[event.turn]]
            for i in own:
                del free[event.turn][i]
            places[event.id] = (event.turn, own)
    for turn, left in free.items():
        places[turn] = places[f"{turn}:rest"] = (turn, list(left))
    return places


def _numbered(team: _Node, notes: Mapping[str, int]) -> Nest:
    units: dict[Path, Unit] = {}
    leaves: list[Unit] = []
    holders: dict[str, set[int]] = defaultdict(set)

    def walk(node: _Node, path: Path) -> Tree:
        units[path] = node.unit
        begun = len(leaves)
        if node.parts:
            tree: Tree = tuple(walk(part, (*path, i)) for i, part in enumerate(node.parts))
        else:
            tree = begun
            leaves.append(node.unit)
            for event in node.events:
                holders[event].add(begun)
        if node.unit.kind == "turn":
            holders[node.unit.id].update(range(begun, len(leaves)))
        return tree

    tree = walk(team, ())
    told = tuple(f"{what}: {count}" for what, count in notes.items())
    return Nest(tree, units, tuple(leaves), {event: frozenset(held) for event, held in holders.items()}, told)
