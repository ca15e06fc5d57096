"""E2b, `sequential-assignment`: whom to give the task at hand while the next ones are not known.

Four agents with chances of success p1..p4 are each used once. Four tasks arrive one by one; the value X of each is
drawn from the G midpoints of [0, 1] and seen before the task is given to an agent, which earns X if it succeeds. The
optimum (Derman, Lieberman and Ross 1972) has thresholds that do not depend on p, with n tasks left a₀,ₙ <= ... <= aₙ,ₙ:

    aᵢ,ₙ₊₁ = E[min(max(X, aᵢ₋₁,ₙ), aᵢ,ₙ)],     a₀,ₙ = −∞,     aₙ,ₙ = ∞,     V* = Σᵢ p₍ᵢ₎ aᵢ,ₙ₊₁

A task of value X in (aᵢ₋₁,ₙ, aᵢ,ₙ] goes to the agent with the i-th smallest p; aᵢ,ₙ₊₁ is the mean value that this
agent will get. With X uniform (G without end) and the default p, V* = 916089 / 655360 = 1.39784. V_null gives the tasks
out in an order fixed in advance: any such order is worth E[X] Σᵢ pᵢ = 1.225, and so is a random one.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Constant, Floats
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.trace import SubDecision

AGENTS = 4
PARAMETERS: Mapping[str, Parameter] = {
    **{
        f"p{i + 1}": Parameter(default, 0.0, 1.0, f"chance that agent {i + 1} succeeds")
        for i, default in enumerate((0.3, 0.5, 0.7, 0.95))
    },
    "grid": Parameter(20, 1, 100, "values that a task may have, G", whole=True),
}
DECIDES: SubDecision = "O2"


class Situation(NamedTuple):
    """What a state is."""

    free: tuple[int, ...]
    """Agents not used yet, ascending."""
    value: int
    """The task at hand is worth (value + ½) / G."""


def sequential_assignment(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E2b. A policy sees [value of the task, tasks left / 4], then which agents are free, then their p, 0 once used.

    Of an action it sees [p of the agent, free agents with a smaller p / 3, free agents with a larger p / 3].

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays: the value or nothing, or its mean.
    """
    p, grid = agent_chances(settings), int(settings["grid"])
    situations = [
        Situation(free, value)
        for size in range(AGENTS, 0, -1)
        for free in combinations(range(AGENTS), size)
        for value in range(grid)
    ]
    starts = np.zeros(len(situations))
    starts[:grid] = 1 / grid
    return TableEnv(
        name="sequential-assignment",
        settings=settings,
        actions=tuple(f"agent {i + 1}" for i in range(AGENTS)),
        decides=(DECIDES,) * AGENTS,
        process=process_of(_moves(situations, p, grid), states=len(situations), actions=AGENTS),
        starts=starts,
        seen=np.array([_seen(situation, p, grid) for situation in situations]),
        options_seen=np.array([_options(situation, p) for situation in situations]),
        named=lambda state: (
            f"value {(situations[state].value + 0.5) / grid:g} "
            f"with agents {' '.join(str(i + 1) for i in situations[state].free)}"
        ),
        told=lambda state: _told(situations[state], p, grid),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Have four tasks done, each by another agent.",
            tell=partial(_tell, situations=situations, grid=grid),
        ),
        compare=partial(_compared, situations=situations, p=p),
        blind=lambda _: Constant("the agents in their order, whatever the tasks are worth", float(p.sum()) / 2),
        grade=grade,
    )  # fmt: skip


def agent_chances(settings: Mapping[str, float]) -> Floats:
    """[4] p1..p4."""
    return np.array([settings[f"p{i + 1}"] for i in range(AGENTS)])


def task_values(grid: int) -> Floats:
    """[G] the values that a task may have: (i + ½) / G."""
    values: Floats = (np.arange(grid) + 0.5) / grid
    return values


def thresholds(values: Floats, most: int) -> list[Floats]:
    """For n = 1..most tasks left, the n + 1 thresholds a₀,ₙ..aₙ,ₙ of tasks that have these values with equal chance."""
    ladders = [np.array([-np.inf, np.inf])]
    for n in range(1, most):
        before = ladders[-1]
        inner = [np.clip(values, before[i - 1], before[i]).mean() for i in range(1, n + 1)]
        ladders.append(np.array([-np.inf, *inner, np.inf]))
    return ladders


def _moves(situations: list[Situation], p: Floats, grid: int) -> Iterator[Moves]:
    """Outcomes: success with each next value, then failure with each; the last task has no next."""
    first = {situation.free: state for state, situation in reversed(list(enumerate(situations)))}
    for state, (free, value) in enumerate(situations):
        for agent in free:
            rest = tuple(other for other in free if other != agent)
            targets = [first[rest] + following for following in range(grid)] if rest else [END]
            chances = [p[agent] / len(targets)] * len(targets) + [(1 - p[agent]) / len(targets)] * len(targets)
            rewards = [(value + 0.5) / grid] * len(targets) + [0.0] * len(targets)
            yield Moves(state, agent, targets * 2, chances, rewards)


def _seen(situation: Situation, p: Floats, grid: int) -> list[float]:
    free = np.array([float(i in situation.free) for i in range(AGENTS)])
    value = (situation.value + 0.5) / grid
    return [value, len(situation.free) / AGENTS, *free, *(p * free)]


def _options(situation: Situation, p: Floats) -> list[list[float]]:
    """[A, 3]"""
    free = p[list(situation.free)]
    rest = AGENTS - 1
    return [[p[i], np.sum(free < p[i]) / rest, np.sum(free > p[i]) / rest] for i in range(AGENTS)]


def _told(situation: Situation, p: Floats, grid: int) -> str:
    free = ", ".join(f"agent {i + 1} ({p[i]:g})" for i in situation.free)
    later = len(situation.free) - 1
    return (
        f"Each agent can be used once; one that succeeds earns the value of its task. Any of {grid} values from 0 to 1 "
        "is as likely as another.\n"
        f"Free, with their chances of success: {free}.\n"
        f"The task at hand is worth {(situation.value + 0.5) / grid:g}; {later} more will come."
    )


def _compared(env: TableEnv, *, situations: list[Situation], p: Floats) -> dict[str, float]:
    grid = int(env.settings["grid"])

    def ranked(rank: dict[int, list[int]]) -> float:
        """Value of giving a task of value v, with n left, to the free agent of rank[n][v]; the least able has 0."""
        plan = [sorted(free, key=lambda i: p[i])[rank[len(free)][value]] for free, value in situations]
        return plan_value(env, np.array(plan))

    sizes, values = range(1, AGENTS + 1), range(grid)
    return {
        "quantile": ranked({n: [int((v + 0.5) / grid * n) for v in values] for n in sizes}),
        "best-or-worst": ranked({n: [(n - 1) * (2 * v + 1 > grid) for v in values] for n in sizes}),
        "best-first": ranked({n: [n - 1] * grid for n in sizes}),
    }


def _tell(story: Story, move: Move, *, situations: list[Situation], grid: int) -> None:
    process, situation = story.env.process, situations[move.state]
    p, name = agent_chances(story.env.settings)[move.action], f"a{move.action + 1}"
    outcome = move.outcome - int(process.first[process.pairs[move.state, move.action]])
    succeeded = p > 0 and outcome < (1 if move.target == END else grid)
    story.spawned(name, role="agent", choice=move.choice)
    story.delegated(name, f"task {move.number + 1}, worth {(situation.value + 0.5) / grid:g}")
    story.worked({name: "done" if succeeded else "failed"}, seconds=story.drawn_seconds(1))
    story.metrics["tasks_done"] = story.metrics.get("tasks_done", 0.0) + succeeded
    if move.target == END:
        story.ended(f"{story.metrics['tasks_done']:g} of {AGENTS} tasks are done")
