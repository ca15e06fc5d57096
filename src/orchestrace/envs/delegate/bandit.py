"""E2d, `bandit`: whom to give each task while it is not known who is good.

T tasks arrive one by one, each for one of K agents. Agent i succeeds with chance θᵢ, which nobody knows: a priori all
are Beta(a0, b0), independent. A success earns 1. State: the successes sᵢ and failures fᵢ of each agent. With
mᵢ = (sᵢ + a0) / (sᵢ + fᵢ + a0 + b0),

    V(s, f) = maxᵢ mᵢ (1 + V(s + eᵢ, f)) + (1 − mᵢ) V(s, f + eᵢ),     V = 0 after T tasks

which is solved exactly: the Bayes-optimal policy explores just as much as the tasks left are worth. Greedy choice by mᵢ
collapses to one dominant agent, often a bad one, since it never learns what the others would have done. V_null is one
agent for all tasks, T a0 / (a0 + b0). Over long horizons Lai and Robbins (1985) bound what must be lost against knowing
θ, for every policy that is consistent: regret(T) >= Σᵢ (θ* − θᵢ) ln T / KL(θᵢ, θ*) for T to infinity, over θᵢ < θ*.
"""

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats, Ints
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.errors import RecipeError
from orchestrace.trace import SubDecision

PARAMETERS: Mapping[str, Parameter] = {
    "agents": Parameter(2, 2, 4, "agents, K", whole=True),
    "tasks": Parameter(20, 1, 30, "tasks in an episode, T", whole=True),
    "a0": Parameter(1.0, 0.05, 100.0, "prior weight of success"),
    "b0": Parameter(1.0, 0.05, 100.0, "prior weight of failure"),
}
MOST_STATES = 50_000
DECIDES: SubDecision = "O2"


class Beliefs(NamedTuple):
    """What is known of each agent in each state."""

    counts: Ints
    """[S, K, 2] successes and failures."""
    means: Floats
    """[S, K] mᵢ, the chance that it succeeds next."""
    deviations: Floats
    """[S, K] standard deviation of θᵢ."""

    @property
    def tries(self) -> Ints:
        """[S, K] tasks that it had."""
        tries: Ints = self.counts.sum(axis=2)
        return tries


def bandit(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E2d. A policy sees [tasks left / T], then m of each agent, then tasks that each had / T.

    Of an action it sees [m, standard deviation of θ, tasks that the agent had / T, tasks left / T].

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays: success or failure, or its mean.

    Raises:
      RecipeError: there would be more than `MOST_STATES` states.
    """
    K, T = int(settings["agents"]), int(settings["tasks"])
    size, beliefs = _size(K, T), beliefs_of(settings)
    tries = beliefs.tries / T
    left = 1 - tries.sum(axis=1, keepdims=True)
    starts = np.zeros(size)
    starts[0] = 1.0
    return TableEnv(
        name="bandit",
        settings=settings,
        actions=tuple(f"agent {i + 1}" for i in range(K)),
        decides=(DECIDES,) * K,
        process=process_of(_moves(beliefs, T), states=size, actions=K),
        starts=starts,
        seen=np.column_stack([left, beliefs.means, tries]),
        options_seen=np.stack([beliefs.means, beliefs.deviations, tries, np.broadcast_to(left, tries.shape)], axis=2),
        named=lambda state: " and ".join(f"{s} of {s + f}" for s, f in beliefs.counts[state].tolist()),
        told=lambda state: _told(beliefs, state, settings),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task=f"Have {T} tasks done.", tell=_tell
        ),
        compare=partial(_compared, beliefs=beliefs),
        grade=grade,
    )


def _size(agents: int, tasks: int) -> int:
    """States: ways in which fewer than `tasks` tasks can be successes and failures of each agent."""
    size = math.comb(tasks - 1 + 2 * agents, 2 * agents)
    if size > MOST_STATES:
        raise RecipeError(
            f"{agents} agents and {tasks} tasks make {size} states, more than {MOST_STATES}", place="agents, tasks",
            remedy="set fewer agents or tasks",
        )  # fmt: skip
    return size


def beliefs_of(settings: Mapping[str, float]) -> Beliefs:
    """All beliefs before the last task: those after fewer tasks come first, and knowing nothing is the first."""
    K, T, a0, b0 = int(settings["agents"]), int(settings["tasks"]), settings["a0"], settings["b0"]
    counts = np.array([row for n in range(T) for row in _compositions(n, 2 * K)]).reshape(-1, K, 2)
    alpha, beta = counts[:, :, 0] + a0, counts[:, :, 1] + b0
    means = alpha / (alpha + beta)
    return Beliefs(counts, means, np.sqrt(means * (1 - means) / (alpha + beta + 1)))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as an ordered sum of `parts` whole numbers >= 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def _moves(beliefs: Beliefs, tasks: int) -> Iterator[Moves]:
    """Outcomes: success, failure."""
    rows = [tuple(row) for row in beliefs.counts.reshape(len(beliefs.counts), -1).tolist()]
    number = {row: state for state, row in enumerate(rows)}
    for row, state in number.items():
        last = sum(row) == tasks - 1
        for agent, mean in enumerate(beliefs.means[state].tolist()):
            after = [tuple(n + (k == 2 * agent + failed) for k, n in enumerate(row)) for failed in (0, 1)]
            targets = [END, END] if last else [number[reached] for reached in after]
            yield Moves(state, agent, targets, [mean, 1 - mean], [1.0, 0.0])


def _told(beliefs: Beliefs, state: int, settings: Mapping[str, float]) -> str:
    left = int(settings["tasks"]) - int(beliefs.counts[state].sum())
    lines = [f"Agent {i + 1}: {s} done, {f} failed." for i, (s, f) in enumerate(beliefs.counts[state].tolist())]
    rules = (
        "Each task is for one agent; a task that is done pays 1. Nobody knows how good the agents are: before the "
        f"first task each one's chance of success was drawn from Beta({settings['a0']:g}, {settings['b0']:g}).\n"
        f"Tasks left: {left}. So far:"
    )
    return "\n".join([rules, *lines])


def _compared(env: TableEnv, *, beliefs: Beliefs) -> dict[str, float]:
    uniform = np.full(env.process.pairs.shape, 1 / len(env.actions))
    values = {
        "greedy": plan_value(env, np.argmax(beliefs.means, axis=1)),
        "ucb1": plan_value(env, np.argmax(_upper_bounds(beliefs), axis=1)),
        "uniform": env.exact_value(uniform),
    }
    if len(env.actions) == 2:
        first = first_is_better(beliefs.counts, a0=env.settings["a0"], b0=env.settings["b0"])
        values["thompson"] = env.exact_value(np.column_stack([first, 1 - first]))
    return values


def _upper_bounds(beliefs: Beliefs) -> Floats:
    """[S, K] UCB1 (Auer, Cesa-Bianchi and Fischer 2002): s / n + √(2 ln N / n), N tasks so far; infinite for n = 0."""
    n = beliefs.tries
    so_far, tried = np.maximum(n.sum(axis=1, keepdims=True), 1), np.maximum(n, 1)
    width = np.sqrt(2 * np.log(so_far) / tried)
    bounds: Floats = np.where(n > 0, beliefs.counts[:, :, 0] / tried + width, np.inf)
    return bounds


def first_is_better(counts: Ints, *, a0: float, b0: float) -> Floats:
    """[S] P(θ₁ > θ₂) for two agents: the chance that Thompson sampling (1933) takes the first.

    With g(a, b, c, d) = P(X > Y) for X ~ Beta(a, b), Y ~ Beta(c, d), and h = B(a + c, b + d) / (B(a, b) B(c, d)),

        g(a + 1, ·) = g + h / a,     g(b + 1, ·) = g − h / b,     g(c + 1, ·) = g − h / c,     g(d + 1, ·) = g + h / d

    from g = ½ for equal priors.

    Args:
      counts: [S, 2, 2] successes and failures of each, those of fewer tasks first, none left out.
      a0: prior weight of success.
      b0: prior weight of failure.
    """
    known: dict[tuple[int, ...], float] = {}
    rows = [tuple(row) for row in counts.reshape(len(counts), -1).tolist()]
    for row in rows:
        place = next((k for k, n in enumerate(row) if n), None)
        if place is None:
            known[row] = 0.5
            continue
        before = tuple(n - (k == place) for k, n in enumerate(row))
        a, b, c, d = (n + prior for n, prior in zip(before, (a0, b0, a0, b0), strict=True))
        h = math.exp(_log_beta(a + c, b + d) - _log_beta(a, b) - _log_beta(c, d))
        known[row] = known[before] + (h / a, -h / b, -h / c, h / d)[place]
    return np.clip([known[row] for row in rows], 0.0, 1.0)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _tell(story: Story, move: Move) -> None:
    process, name, task = story.env.process, f"a{move.action + 1}", f"task {move.number + 1}"
    done = move.outcome == process.first[process.pairs[move.state, move.action]]
    known = name in story.agents
    if not known:
        story.spawned(name, role="agent", choice=move.choice)
    story.delegated(name, task, choice=move.choice if known else None)
    story.worked({name: "done" if done else "failed"}, seconds=story.drawn_seconds(1))
    story.metrics["tasks_done"] = story.metrics.get("tasks_done", 0.0) + done
    if move.target == END:
        story.ended(f"{story.metrics['tasks_done']:g} of {move.number + 1} tasks are done")
