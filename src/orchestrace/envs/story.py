"""Episodes of tables as traces: one driver for all environments, and the few things that happen in a team.

The clock is simulated: deciding and aggregating take no time, work takes what the teller says, and what is done at once
ends when the longest is done. The orchestrator is a table of probabilities, so it has choices but no turns, except for
work that it does itself.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import checked_policy
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.table_env import TableEnv
from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Choice,
    Delegate,
    HumanIntervention,
    Message,
    OrchestratorDecision,
    Return,
    Spawn,
    Stop,
    Trace,
    Turn,
)

ORCHESTRATOR = "orchestrator"
Method = Literal["vote", "weighted_vote", "concat", "judge", "custom"]
"""How results are aggregated."""


class Move(NamedTuple):
    """One decision of an episode and what came of it."""

    state: int
    action: int
    target: int
    """The state reached, or END."""
    outcome: int
    """Its number in the process: tells two outcomes with one target apart."""
    reward: float
    choice: Choice
    """To be put on exactly one event."""
    number: int
    """Moves before this one."""


class Story:
    """A trace while it is told. Each method appends events and says what came of them; `t` is the simulated second."""

    def __init__(self, env: TableEnv, *, rng: np.random.Generator, trace_id: str) -> None:
        self.env, self.rng, self.t = env, rng, 0.0
        self.costs: dict[str, float] = {}
        self.metrics: dict[str, float] = {}
        settings = ", ".join(f"{key}={value:g}" for key, value in env.settings.items())
        self.builder = Builder(
            trace_id=trace_id,
            task_id=f"{env.name}({settings})",
            clock="simulated",
            system="orchestrace.envs",
            topology="centralized",
        )
        self.builder.agent(Agent(ORCHESTRATOR, role="orchestrator"))
        self.agents: set[str] = set()
        self.stopped = False
        self.heard: list[str] = []
        """Ids of returns that nothing has taken up yet; a teller's own to keep."""

    def asked(self, text: str) -> None:
        """The task, from the user."""
        self.builder.append(
            HumanIntervention, ORCHESTRATOR, t=self.t, content=self.builder.text(text), kind="prompt", initial=True,
            simulated=True,
        )  # fmt: skip

    def decided(self, choice: Choice) -> None:
        """A decision that is no event of its own: how many, with whom, which details."""
        self.builder.append(OrchestratorDecision, ORCHESTRATOR, t=self.t, choice=choice)

    def spawned(self, name: str, *, role: str, choice: Choice | None = None) -> None:
        """A new agent; one that is there already is left alone, unless the choice needs an event."""
        if name not in self.agents:
            self.agents.add(name)
            self.builder.agent(Agent(name, role=role, parent=ORCHESTRATOR))
            self.builder.append(Spawn, ORCHESTRATOR, t=self.t, choice=choice, to=name)
        elif choice is not None:
            self.decided(choice)

    def delegated(self, name: str, task: str, *, choice: Choice | None = None) -> None:
        """A job for an agent that was spawned."""
        self.builder.append(Delegate, ORCHESTRATOR, t=self.t, choice=choice, to=name, content=self.builder.text(task))

    def worked(
        self, replies: Mapping[str, str], *, seconds: Sequence[float], turns: Sequence[int] = ()
    ) -> dict[str, str]:
        """Agents work in parallel and return what they found, the quickest first; the clock goes to the last.

        Args:
          replies: what each returns, by agent.
          seconds: how long each takes.
          turns: how many turns of equal length each takes, 1 at least; empty: one each.

        Returns:
          The id of each agent's return, to be aggregated.
        """
        names = list(replies)
        last = {}
        for name, duration, count in zip(names, seconds, turns or [1] * len(names), strict=True):
            for i in range(count):
                begun = self.t + i * float(duration) / count
                last[name] = self.builder.append(Turn, name, t=begun, duration_s=float(duration) / count).id
        returns = {}
        for i in np.argsort(np.asarray(seconds), kind="stable"):
            content = self.builder.text(replies[names[i]])
            done = self.t + float(seconds[i])
            event = self.builder.append(Return, names[i], turn=last[names[i]], t=done, content=content, to=ORCHESTRATOR)
            returns[names[i]] = event.id
        self.t += float(max(seconds, default=0.0))
        return returns

    def worked_alone(self, *, seconds: float) -> None:
        """The orchestrator does the work itself, in one turn."""
        self.builder.append(Turn, ORCHESTRATOR, t=self.t, duration_s=float(seconds))
        self.t += float(seconds)

    def said(self, sender: str, text: str, *, to: str, choice: Choice | None = None) -> str:
        """A message; returns its id."""
        event = self.builder.append(Message, sender, t=self.t, choice=choice, to=to, content=self.builder.text(text))
        return event.id

    def aggregated(self, inputs: Sequence[str], text: str, *, method: Method, choice: Choice | None = None) -> None:
        """What was returned becomes one result."""
        self.builder.append(
            Aggregate, ORCHESTRATOR, t=self.t, choice=choice, content=self.builder.text(text), method=method,
            inputs=tuple(inputs),
        )  # fmt: skip

    def ended(self, text: str, *, choice: Choice | None = None, truth: str = "") -> None:
        """The orchestrator stops with this answer; `truth`, where it is known, becomes a label."""
        self.stopped = True
        self.builder.append(
            Stop, ORCHESTRATOR, t=self.t, choice=choice, content=self.builder.text(text), reason="answer",
            labels={"truth": truth} if truth else {},
        )  # fmt: skip

    def drawn_seconds(self, size: int) -> list[float]:
        """0.5 to 1.5 s for each of `size` agents."""
        return [float(value) for value in np.round(self.rng.uniform(0.5, 1.5, size), 3)]


Teller = Callable[[Story, Move], None]
"""Turns a move into events."""


def played(env: TableEnv, policy: Floats, *, rng: np.random.Generator, trace_id: str, task: str, tell: Teller) -> Trace:
    """One episode under a policy [S, A]: a native trace, equal seeds giving equal bytes.

    Outcomes are drawn from the tables, whatever the grade; the reward `team` is their sum. An episode whose teller has
    not stopped it ends with a stop of reason `limit`.

    Args:
      env: the environment.
      policy: [S, A].
      rng: the die.
      trace_id: the trace's.
      task: the question as the user asked it.
      tell: called for each move, in order.
    """
    process, policy = env.process, checked_policy(env.process, policy)
    story = Story(env, rng=rng, trace_id=trace_id)
    story.asked(task)
    state, total = int(env.reset(1, rng)[0]), 0.0
    for number in range(10**9):
        action = int(rng.choice(len(env.actions), p=policy[state]))
        outcome = int(process.drawn(process.pairs[[state], [action]], rng)[0])
        target, reward = int(process.targets[outcome]), float(process.rewards[outcome])
        tell(story, Move(state, action, target, outcome, reward, _choice(env, policy[state], state, action), number))
        total += reward
        if target == END:
            break
        state = target
    if not story.stopped:
        story.builder.append(Stop, ORCHESTRATOR, t=story.t, reason="limit")
    return story.builder.build(
        rewards={"team": total}, costs=story.costs, metrics=story.metrics, blobs=story.builder.blobs
    )


def _choice(env: TableEnv, row: Floats, state: int, action: int) -> Choice:
    legal = env.process.legal[state]
    return Choice(
        env.decides[action],
        env.actions,
        action,
        logprob=math.log(row[action]),
        legal=None if legal.all() else tuple(legal.tolist()),
    )
