"""Hypothesis strategies: random lawful traces, random logs, random survey documents. Needs hypothesis.

A trace comes from a team that tries everything and keeps what the builder allows, so that every event kind and every
optional field turns up, in shapes that no one thought of.
"""

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from hypothesis import strategies as st

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
    Evidence,
    HumanIntervention,
    Memory,
    Message,
    OrchestratorDecision,
    Return,
    SafetyEvent,
    Source,
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


def traces(*, native: bool | None = None, max_events: int = 60) -> st.SearchStrategy[Trace]:
    """Lawful traces of up to so many events, an empty one among them; native, imported, or either."""
    kinds = st.booleans() if native is None else st.just(native)
    return st.builds(_trace, st.randoms(use_true_random=False), st.integers(0, max_events), kinds)


def logs(*, max_events: int = 60) -> st.SearchStrategy[Trace]:
    """What an `Assembler` makes of records that contradict each other, lie about time and name what is not there."""
    return st.builds(_assembled, st.randoms(use_true_random=False), st.integers(0, max_events))


def survey_documents() -> st.SearchStrategy[dict[str, Any]]:
    """Documents that are valid under the survey's schema: cycles, disorder and repeated ids among them."""
    return st.builds(_survey_document, st.randoms(use_true_random=False), st.integers(1, 20))


class _Team:
    """Agents that act at random, through a builder that refuses what breaks a law."""

    def __init__(self, die: Random, *, native: bool) -> None:
        self.die = die
        header: dict[str, Any] = {"clock": "simulated"} if native else {"source": Source("test", "1")}
        self.builder = Builder(trace_id="t", task_id="task", rewards={"outcome": 1.0}, seed=7, **header)
        self.agents = ["main", "other"][: die.choice([1, 1, 2])]
        for agent in self.agents:
            self.builder.agent(Agent(agent, role=die.choice(_TEXTS)))
        if die.random() < 0.2:
            self.builder.agent(Agent("lost", unlinked=True))
            self.builder.agent(Agent("lost child", unlinked=True, parent="main"))
            self.agents += ["lost", "lost child"]
        self.turns: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []
        self.sent: list[tuple[str, str]] = []
        self.announced: list[str] = []
        self.barred: set[str] = set()
        self.t = 0.0

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
        if die.random() < 0.2 and make is not Turn:
            names, value = ("stop", "go", "wait"), die.choice([None, 0.5])
            fields["choice"] = Choice(
                "O1", names, die.randrange(3), logprob=-0.7, legal=(True, True, True), value=value
            )
        t = None if die.random() < 0.1 else self.t
        return self.builder.append(make, agent, t=t, **fields)

    def turn(self, agent: str) -> None:
        labels = {"compaction": True} if self.die.random() < 0.1 else {}
        tokens = self.die.choice([None, Tokens(output=self.die.randrange(9)), Tokens(input=3, cache_read=2)])
        event = self.append(Turn, agent, tokens=tokens, duration_s=0.5, labels=labels)
        self.turns[agent] = event.id

    def announce(self, agent: str) -> None:
        """An agent that is spoken to before it is spawned."""
        name = f"a{len(self.agents) + len(self.announced)}"
        self.builder.agent(Agent(name))
        self.announced.append(name)
        self.append(Message, agent, to=name, delivered=self.die.choice([True, None]))

    def spawn(self, agent: str) -> None:
        if agent in self.barred:
            return
        if self.announced and self.die.random() < 0.5:
            name = self.announced.pop()
        else:
            name = f"a{len(self.agents) + len(self.announced)}"
            self.builder.agent(Agent(name, parent=self.die.choice([agent, None, agent])))
        self.append(Spawn, agent, to=name, content=self.builder.text(name))
        self.agents.append(name)

    def call(self, agent: str) -> None:
        self.calls.append((agent, self.append(ToolCall, agent, tool="bash").id))

    def result(self, agent: str) -> None:
        del agent
        if self.calls:
            caller, call = self.calls.pop(self.die.randrange(len(self.calls)))
            self.append(ToolResult, caller, tool="bash", call=call, status=self.die.choice(["ok", "error", "denied"]))

    def message(self, agent: str) -> None:
        to = self.die.choice(self.agents)
        self.sent.append((to, self.append(Message, agent, to=to, delivered=self.die.choice([True, False, None])).id))

    def answer(self, agent: str) -> None:
        to = self.die.choice(self.agents)
        self.sent.append((to, self.append(Return, agent, to=to, status=self.die.choice(["completed", "failed"])).id))

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
            self.append(Stop, "main", reason=self.die.choice(["answer", "budget"]))
            self.barred.update(self.agents)


def _trace(die: Random, size: int, native: bool) -> Trace:
    team = _Team(die, native=native)
    acts = [team.turn, team.turn, team.turn, team.spawn, team.spawn, team.call, team.result, team.message, team.answer]
    acts += [team.answer, team.aggregate, team.aggregate, team.say, team.order, team.announce, team.stop, team.remember]
    for _ in range(size):
        try:
            die.choice(acts)(die.choice(team.agents))
        except TraceError:
            continue
    return team.builder.build()


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
    made: list[Event] = []
    for _ in range(size):
        fields: dict[str, Any] = {
            "t": die.choice([None, 0.0, float(die.randrange(9)), -1.0, float("nan"), float("inf")]),
            "duration_s": die.choice([None, 1.0, -1.0]),
            "turn": die.choice([None, *[event.id for event in made[-5:]], "nowhere.0"]),
            "labels": die.choice([{}, {"x": float("nan")}]),
        }
        make = die.choice(
            [Turn, Turn, ToolCall, ToolResult, Spawn, Return, Message, Aggregate, Stop, Delegate, Despawn]
        )
        if make in (Spawn, Return, Message, Delegate, Despawn):
            fields["to"] = die.choice(names)
        if make is ToolResult:
            fields["call"] = die.choice(["nowhere.0", *[event.id for event in made[-4:]]])
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
