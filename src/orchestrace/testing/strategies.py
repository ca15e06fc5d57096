"""Hypothesis strategies: random lawful traces, logs, survey documents and bare DAGs. Needs hypothesis.

A trace comes from a team that tries everything and keeps what the builder allows, so that every event kind and every
optional field turns up, in shapes that no one thought of.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

try:
    from hypothesis import strategies as st
except ImportError as error:
    raise ImportError("random traces need hypothesis; pip install 'orchestrace[test]'", name="hypothesis") from error

from orchestrace.errors import TraceError
from orchestrace.trace import (
    Agent,
    Aggregate,
    Assembler,
    Builder,
    Choice,
    Delegate,
    Despawn,
    EdgeType,
    Event,
    EventFields,
    Evidence,
    Generation,
    Harness,
    HumanIntervention,
    Memory,
    Message,
    OrchestratorDecision,
    Parent,
    Policy,
    Return,
    SafetyEvent,
    Source,
    SourceFile,
    Spawn,
    Stop,
    Tokens,
    ToolCall,
    ToolResult,
    Trace,
    Turn,
)

_TEXTS = ("", "do it", "naïve \u2028 line", "\x1b[31mred", "\u202egnp", "💩 🧑‍🚀", "a" * 300, '"quoted" \\', "null")
_LABELS: tuple[Mapping[str, Any], ...] = ({}, {}, {"n": 1}, {"b": "x", "a": 1.5}, {"é": True, "compaction": True})

_GENERATION = Generation(
    prompt_hash="0" * 64, token_ids="1" * 64, logprobs="2" * 64, loss_mask="3" * 64,
    sampling={"temperature": 0.5, "top_k": 4, "greedy": False}, finish="stop", policy_version=3,
)  # fmt: skip
_TOKENS = (
    None, Tokens(output=0), Tokens(output=8), Tokens(input=3, cache_read=2),
    Tokens(input=1, output=2, cache_read=3, cache_write=4, reasoning=1),
)  # fmt: skip
_CHOICES = (
    Choice("O1", ("stop", "go", "wait"), 1, logprob=-0.75, policy="p", policy_version=3, value=0.5, legal=(True,) * 3),
    Choice("O2", ("a", "b"), 0, legal=(True, False)),
    Choice("O3", ("", "naïve"), 1, logprob=0.0),
    Choice("O4", ("vote",), 0),
    Choice("O5", ("continue", "stop"), 1, value=-1.0),
)
_OPTIONAL: Mapping[type[EventFields], Mapping[str, Sequence[Any]]] = {
    Turn: {"model": (None, "m"), "policy": (None, "p"), "tokens": _TOKENS, "generation": (None, None, _GENERATION)},
    Despawn: {"reason": (None, "done", "")},
    Message: {"channel": (None, "room"), "delivered": (None, True, False)},
    ToolResult: {"status": ("ok", "error", "denied", "timeout")},
    Return: {"status": ("completed", "failed", "cancelled", "truncated")},
    Aggregate: {"method": ("model", "vote", "weighted_vote", "concat", "judge", "custom")},
    Stop: {"reason": ("answer", "budget", "limit", "error", "interrupted", "external")},
    HumanIntervention: {
        "kind": ("prompt", "answer", "interrupt", "reject", "edit", "mode"),
        "initial": (False, True),
        "simulated": (False, True),
    },
    SafetyEvent: {
        "kind": ("", "hook", "permission_denied"),
        "vector": (None, *(f"AV{n}" for n in range(1, 9))),
        "verdict": (None, "deny"),
        "blocked": (None, True, False),
    },
}
"""What a field of a kind may hold beside what its act decides."""
_HEADER: Mapping[str, Sequence[Any]] = {
    "started_at": (None, "2026-01-01T00:00:00Z"),
    "group_id": (None, "g"),
    "rollout": (None, 0, 3),
    "system": (None, "s"),
    "topology": (None, "swarm", "hierarchical"),
    "harness": (None, Harness("h"), Harness("h", "1", "0" * 64)),
    "policies": ({}, {"p": Policy("m", 3, "0" * 64), "q": Policy()}),
    "parent": (None, Parent("t0"), Parent("t0", "main.3", "drop")),
    "costs": ({}, {"tokens": 12.0, "usd": 0.5}),
    "metrics": ({}, {"task_success": 1.0}),
}
_LOGGED: tuple[Callable[..., Event], ...] = (
    Turn, Turn, Turn, ToolCall, ToolResult, ToolResult, Spawn, Return, Message, Aggregate, Stop, Delegate, Despawn,
    Memory, HumanIntervention, SafetyEvent, OrchestratorDecision,
)  # fmt: skip
_EDGE_TYPES: tuple[EdgeType, ...] = ("causal", "spawn", "message", "return", "memory", "tool_dependency", "aggregate")
_EVIDENCE: tuple[Evidence, ...] = ("explicit", "matched", "positional")
_SURVEY_EXTRAS: Mapping[str, Sequence[Any]] = {
    "role": _TEXTS,
    "from": ("lead", "w1"),
    "to": ("lead", "w1", "w2"),
    "tool": ("search", "bash"),
    "content_ref": _TEXTS,
    "trusted": (True, False),
    "extra": (1, "x", 2.5),
}


class Dag(NamedTuple):
    """A directed graph without a cycle."""

    n: int
    """Nodes 0 to n - 1, in a topological order."""
    edges: tuple[tuple[int, int], ...]
    """(src, dst) with src < dst; doubles may occur."""


def traces(
    *, native: bool | None = None, max_agents: int = 12, max_events: int = 60, links: bool = False
) -> st.SearchStrategy[Trace]:
    """Lawful traces, an empty one among them.

    Args:
      native: a recording of ours (True), an imported log (False), or either (absent).
      max_agents: at least 1; roots and agents whose spawn is lost count too.
      max_events: as many at most.
      links: with edges too that neither fields nor order imply (safety_flow and temporal, of any evidence).
    """
    kinds = st.booleans() if native is None else st.just(native)
    die, size = _dice(), st.integers(0, max_events)
    return st.builds(_trace, die, size, kinds, max_agents=st.just(max_agents), links=st.just(links))


def agents() -> st.SearchStrategy[Agent]:
    """Agents of any name and role, with any of the optional fields."""
    names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
    return st.builds(_agent, _dice(), names, parent=st.none() | names)


def events() -> st.SearchStrategy[Event]:
    """Events of every kind, each out of some lawful trace."""
    return traces().filter(lambda trace: trace.events).flatmap(lambda trace: st.sampled_from(trace.events))


def logs(*, max_events: int = 60) -> st.SearchStrategy[Trace]:
    """What an `Assembler` makes of records that contradict each other, lie about time and name what is not there."""
    return st.builds(_assembled, _dice(), st.integers(0, max_events))


def survey_documents() -> st.SearchStrategy[dict[str, Any]]:
    """Documents that are valid under the survey's schema: cycles, disorder and repeated ids among them."""
    return st.builds(_survey_document, _dice(), st.integers(1, 20))


@st.composite
def dags(draw: st.DrawFn, *, max_nodes: int = 14) -> Dag:
    """Graphs of up to so many nodes: empty ones, chains, fans and whatever lies between."""
    n = draw(st.integers(0, max_nodes))
    pairs = st.tuples(st.integers(0, max(n - 1, 0)), st.integers(0, max(n - 1, 0)))
    drawn = draw(st.lists(pairs, max_size=2 * n))
    chain = [(node, node + 1) for node in range(n - 1)] if draw(st.booleans()) else []
    return Dag(n, tuple((min(pair), max(pair)) for pair in (*chain, *drawn) if pair[0] != pair[1]))


def _dice() -> st.SearchStrategy[Random]:
    """Dice that hypothesis can shrink but throws unevenly, and even ones."""
    return st.randoms(use_true_random=False) | st.builds(Random, st.integers(0, 2**32))


class _Team:
    """Agents that act at random, through a builder that refuses what breaks a law."""

    def __init__(self, die: Random, *, native: bool, max_agents: int) -> None:
        self.die, self.max_agents = die, max_agents
        header: dict[str, Any] = {name: die.choice(values) for name, values in _HEADER.items()}
        header |= {"clock": "simulated"} if native else {"source": Source("test", "1", (SourceFile("a", "0" * 64, 1),))}
        self.builder = Builder(trace_id="t", task_id="task", rewards={"outcome": 1.0}, seed=7, **header)
        self.agents = ["main", "other"][: min(max_agents, die.choice([1, 1, 2]))]
        for agent in self.agents:
            self.builder.agent(_agent(die, agent))
        if die.random() < 0.2 and len(self.agents) + 2 <= max_agents:
            self.builder.agent(Agent("lost", unlinked=True))
            self.builder.agent(Agent("lost child", unlinked=True, parent="main"))
            self.agents += ["lost", "lost child"]
        self.turns: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []
        self.sent: list[tuple[str, str]] = []
        self.announced: list[str] = []
        self.barred: set[str] = set()
        self.made: list[str] = []
        self.t = 0.0

    @property
    def full(self) -> bool:
        """No further agent may join."""
        return len(self.agents) + len(self.announced) >= self.max_agents

    def append(self, make: Callable[..., Any], agent: str, **fields: Any) -> Any:
        """Append with whatever optional fields the die gives."""
        die = self.die
        if die.random() < 0.6 and agent in self.turns and make is not Turn:
            fields["turn"] = self.turns[agent]
            if die.random() < 0.3:
                fields["token_span"] = (0, die.randrange(9))
        self.t += die.choice([0.0, 0.25, 1.0])
        fields.setdefault("labels", die.choice(_LABELS[:4]))
        if die.random() < 0.3:
            fields.setdefault("content", self.builder.text(die.choice(_TEXTS)))
        if die.random() < 0.2:
            fields |= {"trusted": die.random() < 0.5, "usd": die.choice([0.0, 0.01])}
        if die.random() < 0.2:
            fields["choice"] = die.choice(_CHOICES)
        if make in (ToolCall, ToolResult, Memory, HumanIntervention, SafetyEvent):
            fields["duration_s"] = die.choice([None, None, 0.0, 2.0])
        optional = _OPTIONAL.get(make, {})  # type: ignore[call-overload]  # every maker is an event's class
        fields |= {name: die.choice(values) for name, values in optional.items() if name not in fields}
        t = None if die.random() < 0.1 else self.t
        event = self.builder.append(make, agent, t=t, **fields)
        self.made.append(event.id)
        return event

    def turn(self, agent: str) -> None:
        labels = {"compaction": True} if self.die.random() < 0.1 else {}
        self.turns[agent] = self.append(Turn, agent, duration_s=self.die.choice([None, 0.5, 4.0]), labels=labels).id

    def link(self, agent: str) -> None:
        """An edge that nothing implies."""
        del agent
        if len(self.made) > 1:
            src, dst = self.die.sample(self.made, 2)
            self.builder.link(src, dst, self.die.choice(["safety_flow", "temporal"]), self.die.choice(_EVIDENCE))

    def announce(self, agent: str) -> None:
        """An agent that is spoken to before it is spawned."""
        if self.full:
            return
        name = f"a{len(self.agents) + len(self.announced)}"
        self.builder.agent(_agent(self.die, name))
        self.announced.append(name)
        self.append(Message, agent, to=name, delivered=self.die.choice([True, None]))

    def spawn(self, agent: str) -> None:
        if agent in self.barred or (self.full and not self.announced):
            return
        if self.announced and (self.full or self.die.random() < 0.5):
            name = self.announced.pop()
        else:
            name = f"a{len(self.agents) + len(self.announced)}"
            self.builder.agent(_agent(self.die, name, parent=self.die.choice([agent, None, agent])))
        self.append(Spawn, agent, to=name, content=self.builder.text(name))
        self.agents.append(name)

    def call(self, agent: str) -> None:
        self.calls.append((agent, self.append(ToolCall, agent, tool="bash").id))

    def result(self, agent: str) -> None:
        del agent
        if self.calls:
            caller, call = self.calls.pop(self.die.randrange(len(self.calls)))
            self.append(ToolResult, caller, tool="bash", call=call)

    def message(self, agent: str) -> None:
        to = self.die.choice(self.agents)
        self.sent.append((to, self.append(Message, agent, to=to).id))

    def answer(self, agent: str) -> None:
        to = self.die.choice(self.agents)
        self.sent.append((to, self.append(Return, agent, to=to).id))

    def aggregate(self, agent: str) -> None:
        inputs = [sent for to, sent in self.sent if to == agent and self.die.random() < 0.7]
        if inputs:
            self.append(Aggregate, agent, inputs=tuple(inputs))
            self.sent = [(to, sent) for to, sent in self.sent if sent not in inputs]

    def say(self, agent: str) -> None:
        self.append(self.die.choice([OrchestratorDecision, HumanIntervention, SafetyEvent]), agent)

    def remember(self, agent: str) -> None:
        self.append(Memory, agent, op=self.die.choice(["read", "write"]), key=self.die.choice(["a", "b"]))

    def order(self, agent: str) -> None:
        to = self.die.choice(self.agents)
        if isinstance(self.append(self.die.choice([Delegate, Delegate, Delegate, Despawn]), agent, to=to), Despawn):
            self.barred.add(to)

    def stop(self, agent: str) -> None:
        del agent
        if self.die.random() < 0.2:
            self.append(Stop, "main")
            self.barred.update(self.agents)


def _agent(die: Random, name: str, *, parent: str | None = None) -> Agent:
    """An agent with whatever optional fields the die gives."""
    tools = die.choice([None, (), ("bash", "search")])
    role, model, policy = die.choice(_TEXTS), die.choice([None, "m"]), die.choice([None, "p"])
    return Agent(name, role=role, parent=parent, model=model, policy=policy, tools=tools)


def _trace(die: Random, size: int, native: bool, *, max_agents: int, links: bool) -> Trace:
    team = _Team(die, native=native, max_agents=max_agents)
    acts = [team.turn, team.turn, team.turn, team.spawn, team.spawn, team.call, team.result, team.message, team.answer]
    acts += [team.answer, team.aggregate, team.aggregate, team.say, team.order, team.announce, team.stop, team.remember]
    acts += [team.link] if links else []
    for _ in range(size):
        try:
            die.choice(acts)(die.choice(team.agents))
        except TraceError:
            continue
    carried = dict(team.builder.blobs) if die.random() < 0.3 else {}
    return team.builder.build(blobs=carried)


def _assembled(die: Random, size: int) -> Trace:
    made, assembler = _records(die, size)
    for _ in range(size // 3):
        if len(made) > 1:
            src, dst = die.sample(made, 2)
            assembler.link(src.id, dst.id, die.choice(_EDGE_TYPES), die.choice(_EVIDENCE))
    return assembler.assemble(trace_id="t", task_id="task", source=Source("test", "1"))


def _records(die: Random, size: int) -> tuple[list[Event], Assembler]:
    assembler = Assembler()
    names = ["main", "a", "b", "ghost"]
    assembler.agent(Agent("main"))
    assembler.agent(Agent("a", parent="main"))
    assembler.agent(Agent("b", parent=die.choice(["main", "a", None])))
    if die.random() < 0.3:
        parent = die.choice(["lost", "nobody", "b", None])
        assembler.agent(Agent("lost", role="half \udfff", unlinked=True, parent=parent))
    made: list[Event] = []
    for _ in range(size):
        fields: dict[str, Any] = {
            "t": die.choice([None, 0.0, float(die.randrange(9)), -1.0, float("nan"), float("inf")]),
            "duration_s": die.choice([None, 1.0, -1.0]),
            "turn": die.choice([None, *[event.id for event in made[-5:]], "nowhere.0"]),
            "labels": die.choice([{}, {"x": float("nan")}, {"x": "half \ud800", "y": -0.0}]),
            "choice": die.choice([None, None, Choice("O1", ("a",), die.randrange(2), logprob=float("-inf"))]),
        }
        make = die.choice(_LOGGED)
        if make is Turn:
            fields["tokens"] = die.choice([None, Tokens(output=-1), Tokens(output=1, reasoning=2)])
        if make in (Spawn, Return, Message, Delegate, Despawn):
            fields["to"] = die.choice(names)
        if make is ToolResult:
            calls = [event.id for event in made if isinstance(event, ToolCall)]
            fields["call"] = die.choice(["nowhere.0", *calls[-3:], *[event.id for event in made[-1:]]])
        if make is Memory:
            fields |= {"op": die.choice(["read", "write"]), "key": die.choice(["a", "b"])}
        if make is Aggregate:
            fields["inputs"] = tuple(event.id for event in made[-4:])
        made.append(assembler.append(die.choice(["main", "a", "b"]), make, die.choice(names), **fields))
    return made, assembler


def _survey_document(die: Random, size: int) -> dict[str, Any]:
    kinds = ["orchestrator_decision", "spawn", "despawn", "message", "tool_call", "tool_result", "return", "aggregate"]
    kinds += ["human_intervention", "safety_event"]
    agents = ["lead", "w1", "w2", "tool.search"]
    events = []
    for n in range(size):
        event: dict[str, Any] = {"id": f"e{n if die.random() < 0.95 else 0}", "t": die.choice([0, 1, 2.5, n])}
        event |= {"type": die.choice(kinds), "agent": die.choice(agents)}
        event |= {name: die.choice(values) for name, values in _SURVEY_EXTRAS.items() if die.random() < 0.4}
        events.append(event)
    ids = [event["id"] for event in events]
    types = ["temporal", "causal", "spawn", "message", "tool_dependency", "return", "aggregate", "safety_flow"]
    edges = [{"src": die.choice(ids), "dst": die.choice(ids), "type": die.choice(types)} for _ in range(size)]
    return {
        "trace_id": "t", "task_id": "k", "events": events, "edges": edges, "rewards": {"team": 1},
        "costs": {"tokens": 12, "wall_clock_s": 3.5}, "metrics": {"task_success": 1}, "topology": "swarm",
    }  # fmt: skip
