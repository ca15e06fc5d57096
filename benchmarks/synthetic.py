"""A big team on paper: a lawful trace of any size, for benchmarks."""

from itertools import count
from random import Random

from orchestrace.trace import Agent, Content, Edge, Event, Source, Spawn, Tokens, ToolCall, ToolResult, Trace, Turn

FAN_OUT = 10


class _Agent:
    """One agent's cycle: a turn, the tool call that it made, the result."""

    def __init__(self, name: str, cause: Edge | None) -> None:
        self.name, self.cause, self.phase = name, cause, 0
        self.ids = (f"{name}.{n}" for n in count())
        self.turn = self.call = ""

    def next(self, die: Random, t: float) -> tuple[Event, list[Edge]]:
        made, causes = next(self.ids), [self.cause] if self.cause else []
        phase, self.phase = self.phase, (self.phase + 1) % 3
        if phase == 0:
            self.turn = made
            tokens = Tokens(die.randrange(2_000), die.randrange(900), die.randrange(90_000), die.randrange(4_000))
            causes = [Edge(edge.src, made, edge.type, edge.evidence) for edge in causes]
            return Turn(made, self.name, t=t, duration_s=2.25, model="model-x-1", tokens=tokens), causes
        if phase == 1:
            self.call, self.cause = made, None
            event = ToolCall(made, self.name, turn=self.turn, t=t, duration_s=1.5, content=_text(die), tool="bash")
            return event, [Edge(self.turn, made, "causal")]
        self.cause = Edge(made, "", "causal", "positional")
        event = ToolResult(made, self.name, t=t, trusted=True, content=_text(die), tool="bash", call=self.call)
        return event, [Edge(self.call, made, "tool_dependency")]


def team_trace(n_events: int, n_edges: int, *, n_agents: int = 1_000, seed: int = 0) -> Trace:
    """A tree of agents that call a model, call a tool, read the result, and so on, all side by side.

    Edges: spawns, what fields imply, results to the next turn; then memory edges between agents up to `n_edges`; sorted
    by the place of their dst and src, as the builder sorts them.
    """
    die = Random(seed)
    n_agents = max(1, min(n_agents, n_events // 10))
    agents = [_Agent("main", None)]
    events: list[Event] = []
    edges: list[Edge] = []
    for number in range(1, n_agents):
        parent = agents[(number - 1) // FAN_OUT]
        spawn = Spawn(next(parent.ids), parent.name, t=number * 0.01, content=_text(die), to=f"a{number}")
        if parent.cause is not None:
            edges.append(Edge(parent.cause.src, spawn.id, "spawn"))
            parent.cause = None
        events.append(spawn)
        agents.append(_Agent(spawn.to, Edge(spawn.id, "", "spawn")))
    for round_ in count(n_agents // 100 + 1):
        for agent in agents[: n_events - len(events)]:
            event, causes = agent.next(die, round_ + 0.125)
            events.append(event)
            edges += causes
        if len(events) == n_events:
            break
    places = {event.id: place for place, event in enumerate(events)}
    keyed = [((places[edge.dst], places[edge.src]), edge) for edge in edges]
    while len(keyed) < n_edges:
        src = die.randrange(n_events - 1)
        dst = min(n_events - 1, src + die.randrange(1, 3 * n_agents))
        keyed.append(((dst, src), Edge(events[src].id, events[dst].id, "memory", "matched")))
    keyed.sort(key=lambda pair: pair[0])
    return Trace(
        schema=1,
        trace_id="bench",
        task_id="bench",
        started_at="2026-01-05T09:00:00Z",
        clock="recorded",
        source=Source("bench", "1"),
        agents=tuple(
            Agent(agent.name, parent=agents[(number - 1) // FAN_OUT].name if number else None)
            for number, agent in enumerate(agents)
        ),
        events=tuple(events),
        edges=tuple(edge for _, edge in keyed),
    )


def _text(die: Random) -> Content:
    text_hash = f"{die.getrandbits(256):064x}"
    return Content(
        text_hash, die.randrange(20, 9_000), preview=f"a line of some text, number {text_hash[:8]}, as logs have it"
    )
