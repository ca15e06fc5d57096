"""E3a, `messages`: whose message is worth its price.

θ ~ N(0, s²); agent i sees θ + N(0, τᵢ²), and its message costs cᵢ. The orchestrator's squared error depends on the set
S of those that send:

    loss(S) = 1 / (1/s² + Σ_{i in S} 1/τᵢ²) + Σ_{i in S} cᵢ,     reward = −loss / s²

With equal prices the most precise send first, while the marginal drop exceeds the price. An episode draws one of
`instances` problems, which is shown. It is also a team game with one reward: each agent may be silent or send. V_null
is one set for all problems.
"""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats, Ints
from orchestrace.envs.story import ORCHESTRATOR, Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.trace import SubDecision

DECIDES: SubDecision = "O3"
PARAMETERS: Mapping[str, Parameter] = {
    "agents": Parameter(4, 1, 8, "agents, n", whole=True),
    "instances": Parameter(16, 1, 256, "problems that an episode is drawn from", whole=True),
    "seed": Parameter(0, 0, 2**31 - 1, "what the problems are drawn from", whole=True),
    "dearness": Parameter(0.1, 0.0, 1.0, "highest price of a message, in variances of θ"),
}


class Problem(NamedTuple):
    """One problem, with s² = 1."""

    precisions: Floats
    """[n] 1/τᵢ²"""
    prices: Floats
    """[n] cᵢ"""

    def losses(self, sent: Ints) -> Floats:
        """[K] of sets [K, n], 1 where an agent sends."""
        losses: Floats = 1 / (1 + sent @ self.precisions) + sent @ self.prices
        return losses


def messages(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E3a. A policy sees [each precision / 4, each price · 4]; of a set [share that sends, error, price].

    Args:
      settings: every key of `PARAMETERS`.
      grade: changes nothing, for the reward is the mean squared error itself.
    """
    n, problems = int(settings["agents"]), drawn_problems(settings)
    sent = np.array(list(itertools.product((0, 1), repeat=n)))
    rewards = np.array([-problem.losses(sent) for problem in problems])
    moves = (Moves(s, a, [END], [1.0], [float(rewards[s, a])]) for s in range(len(problems)) for a in range(len(sent)))
    options = [[(row.mean(), 1 / (1 + row @ p.precisions), row @ p.prices) for row in sent] for p in problems]
    words = ("silent", "send")
    return TableEnv(
        name="messages",
        settings=settings,
        actions=tuple(", ".join(f"a{i + 1}: {words[k]}" for i, k in enumerate(row)) for row in sent),
        decides=(DECIDES,) * len(sent),
        process=process_of(moves, states=len(problems), actions=len(sent)),
        starts=np.full(len(problems), 1 / len(problems)),
        seen=np.array([np.concatenate([p.precisions / 4, 4 * p.prices]) for p in problems]),
        options_seen=np.array(options),
        named=lambda state: f"problem {state + 1}",
        told=lambda state: _told(problems[state]),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="What is the number?",
            tell=lambda story, move: _tell(story, move, sent[move.action]),
        ),
        compare=lambda env: _compared(env, problems, sent),
        factors={f"a{i + 1}": words for i in range(n)},
        grade=grade,
    )  # fmt: skip


def drawn_problems(settings: Mapping[str, float]) -> tuple[Problem, ...]:
    """The problems: precisions log-uniform from ¼ to 4, prices uniform from 0 to `dearness`."""
    rng, n = np.random.default_rng(int(settings["seed"])), int(settings["agents"])
    return tuple(
        Problem(4.0 ** rng.uniform(-1, 1, n), rng.uniform(0, settings["dearness"], n))
        for _ in range(int(settings["instances"]))
    )


def greedy_set(problem: Problem) -> Ints:
    """[n] add, one after another, whoever lowers the loss most, while somebody does. Optimal where prices are equal."""
    sent = np.zeros(len(problem.prices), dtype=np.int64)
    while True:
        trials = np.array([np.where(np.arange(len(sent)) == i, 1, sent) for i in range(len(sent))])
        losses = problem.losses(trials)
        best = int(np.argmin(losses))
        if losses[best] >= problem.losses(sent[None])[0] - 1e-12:
            return sent
        sent = trials[best]


def _compared(env: TableEnv, problems: tuple[Problem, ...], sent: Ints) -> dict[str, float]:
    places = 2 ** np.arange(sent.shape[1])[::-1]
    greedy = np.array([greedy_set(problem) @ places for problem in problems])
    everybody = np.full(len(problems), len(sent) - 1)
    return {
        "everybody": plan_value(env, everybody),
        "nobody": plan_value(env, np.zeros_like(everybody)),
        "greedy": plan_value(env, greedy),
    }


def _told(problem: Problem) -> str:
    agents = "; ".join(
        f"agent {i + 1} has precision {p:.3f} and costs {c:.3f}"
        for i, (p, c) in enumerate(zip(problem.precisions, problem.prices, strict=True))
    )
    return (
        f"A number from N(0, 1) is to be estimated; you lose the squared error and the prices of messages.\n{agents}."
    )


def _tell(story: Story, move: Move, sent: Ints) -> None:
    names = [f"a{i + 1}" for i in range(len(sent))]
    for name in names:
        story.spawned(name, role="observer")
    story.decided(move.choice)
    story.t += 1.0
    heard = [story.said(name, "what I saw", to=ORCHESTRATOR) for name, k in zip(names, sent, strict=True) if k]
    story.costs["messages"] = float(len(heard))
    story.aggregated(heard, "estimate by precision", method="custom")
    story.ended("the estimate")
