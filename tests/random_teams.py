"""Random lawful traces, made by a team that tries everything and keeps what the builder allows."""

from random import Random

from hypothesis import strategies as st

from orchestrace.errors import TraceError
from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Delegate,
    Despawn,
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


class _Team:
    def __init__(self, die: Random, *, native: bool) -> None:
        self.die = die
        header = {} if native else {"source": Source("test", "1")}
        self.builder = Builder(trace_id="t", task_id="task", rewards={"outcome": 1.0}, seed=7, **header)
        self.agents = ["main", "other"][: die.choice([1, 1, 2])]
        for agent in self.agents:
            self.builder.agent(Agent(agent))
        if die.random() < 0.2:
            self.builder.agent(Agent("lost", unlinked=True))
            self.agents.append("lost")
            self.builder.agent(Agent("lost child", unlinked=True, parent="main"))
            self.agents.append("lost child")
        self.turns: dict[str, str] = {}
        self.calls: list[tuple[str, str]] = []
        self.sent: list[tuple[str, str]] = []
        self.announced: list[str] = []
        self.barred: set[str] = set()
        self.t = 0.0

    def append(self, make, agent, **fields):
        if self.die.random() < 0.6 and agent in self.turns and make is not Turn:
            fields["turn"] = self.turns[agent]
        self.t += self.die.choice([0.0, 0.25, 1.0])
        return self.builder.append(make, agent, t=self.t, **fields)

    def turn(self, agent):
        labels = {"compaction": True} if self.die.random() < 0.1 else {}
        event = self.append(Turn, agent, tokens=Tokens(output=self.die.randrange(9)), duration_s=0.5, labels=labels)
        self.turns[agent] = event.id

    def announce(self, agent):
        name = f"a{len(self.agents) + len(self.announced)}"
        self.builder.agent(Agent(name))
        self.announced.append(name)
        self.append(Message, agent, to=name, delivered=self.die.choice([True, None]))

    def spawn(self, agent):
        if agent in self.barred:
            return
        if self.announced and self.die.random() < 0.5:
            name = self.announced.pop()
        else:
            name = f"a{len(self.agents) + len(self.announced)}"
            self.builder.agent(Agent(name, parent=self.die.choice([agent, None, agent])))
        self.append(Spawn, agent, to=name, content=self.builder.text(name))
        self.agents.append(name)

    def call(self, agent):
        self.calls.append((agent, self.append(ToolCall, agent, tool="bash").id))

    def result(self, agent):
        if self.calls:
            caller, call = self.calls.pop(self.die.randrange(len(self.calls)))
            self.append(ToolResult, caller, tool="bash", call=call)

    def message(self, agent):
        to = self.die.choice(self.agents)
        self.sent.append((to, self.append(Message, agent, to=to, delivered=self.die.choice([True, False, None])).id))

    def answer(self, agent):
        to = self.die.choice(self.agents)
        self.sent.append((to, self.append(Return, agent, to=to).id))

    def aggregate(self, agent):
        inputs = [sent for to, sent in self.sent if to == agent and self.die.random() < 0.7]
        if inputs:
            self.append(Aggregate, agent, inputs=tuple(inputs))
            self.sent = [(to, sent) for to, sent in self.sent if sent not in inputs]

    def say(self, agent):
        kind = self.die.choice([OrchestratorDecision, HumanIntervention, SafetyEvent, Memory])
        self.append(kind, agent)

    def order(self, agent):
        to = self.die.choice(self.agents)
        if isinstance(self.append(self.die.choice([Delegate, Delegate, Delegate, Despawn]), agent, to=to), Despawn):
            self.barred.add(to)

    def stop(self, agent):
        if self.die.random() < 0.2:
            self.append(Stop, "main")
            self.barred.update(self.agents)


def random_team(die: Random, size: int, native: bool) -> Trace:
    """A lawful trace of at most `size` events, with every event kind; native ones obey the stricter laws."""
    team = _Team(die, native=native)
    acts = [team.turn, team.turn, team.turn, team.spawn, team.spawn, team.call, team.result, team.message, team.answer]
    acts += [team.answer, team.aggregate, team.aggregate, team.say, team.order, team.announce, team.stop]
    for _ in range(size):
        try:
            die.choice(acts)(die.choice(team.agents))
        except TraceError:
            continue
    return team.builder.build()


teams = st.builds(random_team, st.randoms(use_true_random=False), st.integers(0, 60), st.booleans())
"""Small traces, native and not; an empty one among them."""
