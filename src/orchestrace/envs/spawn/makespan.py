"""E1b, `makespan`: which jobs to put on which agent, to be done early.

n jobs of pⱼ seconds are given out one by one, in the order in which they are listed, to at most m agents that work in
parallel. An action names an agent; the one after those that there are is spawned. The cost is the makespan:

    cost = maxᵢ loadᵢ,     reward = −cost / Σⱼ pⱼ, so that one agent for everything is worth −1

State: the jobs given out, and the load of each agent. An episode draws one of `instances` lists, known from the start.
The optimum is at least max(maxⱼ pⱼ, ⌈Σⱼ pⱼ / m⌉). Giving each job to the least loaded agent is within 2 − 1 / m of it
in the order of the list, and within 4 / 3 − 1 / (3 m) longest first, LPT (Graham 1966, 1969). V_null is one agent.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.trace import SubDecision

PARAMETERS: Mapping[str, Parameter] = {
    "jobs": Parameter(7, 2, 8, "jobs in an episode, n", whole=True),
    "agents": Parameter(3, 2, 4, "most agents, m", whole=True),
    "instances": Parameter(8, 1, 64, "lists of jobs that an episode is drawn from", whole=True),
    "seed": Parameter(0, 0, 2**31 - 1, "what the jobs are drawn from", whole=True),
}
LONGEST = 19
"""Seconds of the longest job that there can be; the shortest has 1."""
DECIDES: SubDecision = "O1"


class Situation(NamedTuple):
    """What a state is."""

    instance: int
    given: int
    """Jobs given out: the first ones of the list."""
    loads: tuple[int, ...]
    """Seconds of work of each agent that was spawned."""


def makespan(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E1b. A policy sees the loads [m], the jobs still to be given out [n], first to last, and their sum; all over Σ p.

    Of an action it sees [whether it spawns, load of the agent, load after it, largest load after it], loads over Σ p.

    Args:
      settings: every key of `PARAMETERS`.
      grade: has no effect, since nothing is left to chance once the jobs are drawn.
    """
    lists, m = drawn_lists(settings), int(settings["agents"])
    situations = _situations(lists, m)
    starts = np.array([float(situation.given == 0) for situation in situations]) / len(lists)
    number = {situation: state for state, situation in enumerate(situations)}
    return TableEnv(
        name="makespan",
        settings=settings,
        actions=tuple(f"agent {i + 1}" for i in range(m)),
        decides=(DECIDES,) * m,
        process=process_of(_moves(number, lists, m), states=len(situations), actions=m),
        starts=starts,
        seen=np.array([_seen(situation, lists[situation.instance], m) for situation in situations]),
        options_seen=np.array([_options(situation, lists[situation.instance], m) for situation in situations]),
        named=lambda state: _name(situations[state]),
        told=lambda state: _told(situations[state], lists[situations[state].instance], m),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Do all jobs, and be done early.",
            tell=partial(_tell, situations=situations, lists=lists),
        ),
        compare=partial(_compared, situations=situations, lists=lists),
        grade=grade,
    )  # fmt: skip


def drawn_lists(settings: Mapping[str, float]) -> tuple[tuple[int, ...], ...]:
    """The lists of jobs: lengths uniform on 1..19 s."""
    rng, shape = np.random.default_rng(int(settings["seed"])), (int(settings["instances"]), int(settings["jobs"]))
    return tuple(tuple(row) for row in rng.integers(1, LONGEST + 1, shape).tolist())


def greedy_makespan(jobs: tuple[int, ...], agents: int) -> int:
    """Seconds until all is done if each job, in this order, goes to the least loaded agent: list scheduling."""
    loads = [0] * agents
    for job in jobs:
        loads[loads.index(min(loads))] += job
    return max(loads)


def _situations(lists: tuple[tuple[int, ...], ...], agents: int) -> list[Situation]:
    found = []
    for instance, jobs in enumerate(lists):
        level: dict[tuple[int, ...], None] = {(): None}
        for given, job in enumerate(jobs):
            found += [Situation(instance, given, loads) for loads in level]
            level = {_after(loads, i, job): None for loads in level for i in range(min(len(loads) + 1, agents))}
    return found


def _after(loads: tuple[int, ...], agent: int, job: int) -> tuple[int, ...]:
    return (*loads[:agent], (loads[agent] if agent < len(loads) else 0) + job, *loads[agent + 1 :])


def _moves(number: Mapping[Situation, int], lists: tuple[tuple[int, ...], ...], agents: int) -> Iterator[Moves]:
    for (instance, given, loads), state in number.items():
        jobs = lists[instance]
        for i in range(min(len(loads) + 1, agents)):
            after = _after(loads, i, jobs[given])
            if given + 1 == len(jobs):
                yield Moves(state, i, [END], [1.0], [-max(after) / sum(jobs)])
            else:
                yield Moves(state, i, [number[Situation(instance, given + 1, after)]], [1.0], [0.0])


def _seen(situation: Situation, jobs: tuple[int, ...], agents: int) -> Floats:
    left = jobs[situation.given :]
    seen = np.zeros(agents + len(jobs) + 1)
    seen[: len(situation.loads)] = situation.loads
    seen[agents : agents + len(left)] = left
    seen[-1] = sum(left)
    return seen / sum(jobs)


def _options(situation: Situation, jobs: tuple[int, ...], agents: int) -> list[list[float]]:
    """[A, 4]"""
    loads, job, total = [*situation.loads, *[0] * (agents - len(situation.loads))], jobs[situation.given], sum(jobs)
    return [
        [float(i == len(situation.loads)), load / total, (load + job) / total, max(load + job, *loads) / total]
        for i, load in enumerate(loads)
    ]


def _name(situation: Situation) -> str:
    loads = " ".join(map(str, situation.loads)) or "none"
    return f"list {situation.instance + 1} job {situation.given + 1} loads {loads}"


def _told(situation: Situation, jobs: tuple[int, ...], agents: int) -> str:
    loads = [f"Agent {i + 1} has {load} s of work." for i, load in enumerate(situation.loads)]
    left = ", ".join(f"{job} s" for job in jobs[situation.given :])
    rules = (
        f"Jobs are given out one by one to at most {agents} agents, which then work in parallel; naming the next agent "
        "spawns it. All should be done early."
    )
    return "\n".join([rules, *(loads or ["There is no agent yet."]), f"Jobs to give out, the first one now: {left}."])


def _compared(env: TableEnv, *, situations: list[Situation], lists: tuple[tuple[int, ...], ...]) -> dict[str, float]:
    m = len(env.actions)
    plan = []
    for situation in situations:
        loads = [*situation.loads, *[0] * (m - len(situation.loads))]
        plan.append(loads.index(min(loads)))
    longest_first = [greedy_makespan(tuple(sorted(jobs, reverse=True)), m) / sum(jobs) for jobs in lists]
    return {"list": plan_value(env, np.array(plan)), "longest-first": -float(np.mean(longest_first))}


def _tell(story: Story, move: Move, *, situations: list[Situation], lists: tuple[tuple[int, ...], ...]) -> None:
    situation = situations[move.state]
    jobs, name = lists[situation.instance], f"a{move.action + 1}"
    known = name in story.agents
    if not known:
        story.spawned(name, role="agent", choice=move.choice)
    job = jobs[situation.given]
    story.delegated(name, f"job {situation.given + 1}: {job} s", choice=move.choice if known else None)
    if move.target == END:
        loads = _after(situation.loads, move.action, job)
        replies = {f"a{i + 1}": f"{load} s of work are done" for i, load in enumerate(loads)}
        returns = story.worked(replies, seconds=loads)
        story.aggregated(list(returns.values()), "all jobs are done", method="concat")
        story.costs |= {"makespan": float(max(loads)), "agents": float(len(loads))}
        story.ended(f"all jobs are done after {max(loads)} s")
