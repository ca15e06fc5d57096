"""E2a, `assignment`: which agent does which job, all agents choosing at once.

Agent i does job j with success pᵢⱼ at cost cᵢⱼ, and job j is worth vⱼ. A joint action says for each agent which job it
takes, or none. A job that several take pays once, by the first of them; the others only pay their cost:

    reward = Σⱼ vⱼ 1[the first to take j succeeds] − Σᵢ cᵢ,ⱼ₍ᵢ₎,     V* = max over x of Σᵢⱼ (vⱼ pᵢⱼ − cᵢⱼ) xᵢⱼ

over assignments x that give no agent two jobs and no job two agents: the assignment problem, which Kuhn's Hungarian
method solves. Here it is a maximum over the joint actions. An episode draws one of `instances` problems, all of p, c, v
known. It is also a team game with one reward: `factors` has the options of each agent. When each takes the job that it
likes best they collide. V_null is one joint action for all problems; with one instance it is the optimum.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats, Ints
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.errors import RecipeError
from orchestrace.trace import SubDecision, Trace

PARAMETERS: Mapping[str, Parameter] = {
    "agents": Parameter(3, 1, 5, "agents, n", whole=True),
    "jobs": Parameter(3, 1, 5, "jobs, m", whole=True),
    "instances": Parameter(8, 1, 64, "problems that an episode is drawn from", whole=True),
    "seed": Parameter(5, 0, 2**31 - 1, "what the problems are drawn from", whole=True),
}
"""The seed is one of those where greedy is well below the optimum."""
MOST_OUTCOMES = 500_000
DECIDES: SubDecision = "O2"


class Problem(NamedTuple):
    """One assignment problem with n agents and m jobs."""

    chances: Floats
    """[n, m] pᵢⱼ"""
    costs: Floats
    """[n, m] cᵢⱼ"""
    values: Floats
    """[m] vⱼ"""

    @property
    def worths(self) -> Floats:
        """[n, m] vⱼ pᵢⱼ − cᵢⱼ, what an agent alone earns by a job."""
        worths: Floats = self.values * self.chances - self.costs
        return worths


class Taken(NamedTuple):
    """What a joint action comes to."""

    jobs: tuple[int, ...]
    """[n] the job that each agent takes; -1: none."""
    first: Mapping[int, int]
    """Job -> the first agent to take it."""


def assignment(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E2a. A state is a problem. A policy sees all of p, c and v, [n m + n m + m]. Agent i takes nothing or job 1..m.

    Of a joint action it sees [agents at work / n, jobs taken / m], then the mean chance, cost and value of what the
    agents took, 0 where they took nothing.

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays: what came of the jobs, or its mean.

    Raises:
      RecipeError: there would be more than `MOST_OUTCOMES` outcomes.
    """
    n, m, problems = int(settings["agents"]), int(settings["jobs"]), drawn_problems(settings)
    taken = [_taken(jobs) for jobs in itertools.product(range(-1, m), repeat=n)]
    outcomes = len(problems) * sum(2 ** len(joint.first) for joint in taken)
    if outcomes > MOST_OUTCOMES:
        raise RecipeError(
            f"{n} agents and {m} jobs make {outcomes} outcomes, more than {MOST_OUTCOMES}", place="agents, jobs",
            remedy="set fewer agents, jobs or instances",
        )  # fmt: skip
    options = ("none", *(f"job {j + 1}" for j in range(m)))
    names = [", ".join(f"{agent_name(i)}: {options[1 + job]}" for i, job in enumerate(joint.jobs)) for joint in taken]
    return TableEnv(
        name="assignment",
        settings=settings,
        actions=tuple(names),
        decides=(DECIDES,) * len(taken),
        process=process_of(_moves(problems, taken), states=len(problems), actions=len(taken)),
        starts=np.full(len(problems), 1 / len(problems)),
        seen=np.array([np.concatenate([p.chances.ravel(), p.costs.ravel(), p.values]) for p in problems]),
        options_seen=np.array([[_seen(problem, joint) for joint in taken] for problem in problems]),
        named=lambda state: f"problem {state + 1}",
        told=lambda state: _told(problems[state]),
        play=partial(_played, problems=problems, taken=taken),
        compare=partial(_compared, problems=problems, taken=taken),
        factors={agent_name(i): options for i in range(n)},
        grade=grade,
    )


def agent_name(i: int) -> str:
    """Agents are a1, a2, ..."""
    return f"a{i + 1}"


def drawn_problems(settings: Mapping[str, float]) -> tuple[Problem, ...]:
    """The problems: pᵢⱼ uniform on [0.2, 0.95], cᵢⱼ on [0.02, 0.3], vⱼ on [0.5, 1.5]."""
    rng = np.random.default_rng(int(settings["seed"]))
    shape = int(settings["agents"]), int(settings["jobs"])
    return tuple(
        Problem(rng.uniform(0.2, 0.95, shape), rng.uniform(0.02, 0.3, shape), rng.uniform(0.5, 1.5, shape[1]))
        for _ in range(int(settings["instances"]))
    )


def _taken(jobs: tuple[int, ...]) -> Taken:
    first: dict[int, int] = {}
    for agent, job in enumerate(jobs):
        if job >= 0:
            first.setdefault(job, agent)
    return Taken(jobs, first)


def _moves(problems: tuple[Problem, ...], taken: list[Taken]) -> Iterator[Moves]:
    """Outcome number b of a joint action: the k-th job taken is done where bit k of b is set."""
    for state, problem in enumerate(problems):
        for action, joint in enumerate(taken):
            chances, rewards = np.ones(1), -np.ones(1) * _cost(problem, joint)
            for job, agent in joint.first.items():
                p = problem.chances[agent, job]
                chances = np.concatenate([chances * (1 - p), chances * p])
                rewards = np.concatenate([rewards, rewards + problem.values[job]])
            yield Moves(state, action, [END] * len(chances), chances.tolist(), rewards.tolist())


def _cost(problem: Problem, joint: Taken) -> float:
    return float(sum(problem.costs[agent, job] for agent, job in enumerate(joint.jobs) if job >= 0))


def _seen(problem: Problem, joint: Taken) -> list[float]:
    n, m = problem.chances.shape
    pairs = [(agent, job) for agent, job in enumerate(joint.jobs) if job >= 0]
    if not pairs:
        return [0.0] * 5
    of = np.array([(problem.chances[pair], problem.costs[pair], problem.values[pair[1]]) for pair in pairs])
    return [len(pairs) / n, len(joint.first) / m, *of.mean(axis=0).tolist()]


def _told(problem: Problem) -> str:
    n, m = problem.chances.shape
    jobs = ", ".join(f"job {j + 1} pays {problem.values[j]:.3f}" for j in range(m))
    agents = [
        f"{agent_name(i)}: "
        + ", ".join(
            f"job {j + 1} with chance {problem.chances[i, j]:.3f} for {problem.costs[i, j]:.3f}" for j in range(m)
        )
        for i in range(n)
    ]
    rules = (
        f"Each agent takes one job or none. If done, {jobs}. A job that several take pays once: the first of them in "
        "this list does it, the others only cost. Chance of success and cost of each agent:"
    )
    return "\n".join([rules, *agents])


def _compared(env: TableEnv, *, problems: tuple[Problem, ...], taken: list[Taken]) -> dict[str, float]:
    number = {joint.jobs: action for action, joint in enumerate(taken)}

    def worth(rule: Callable[[Floats], Ints]) -> float:
        plan = [number[tuple(rule(problem.worths).tolist())] for problem in problems]
        return plan_value(env, np.array(plan))

    return {"greedy": worth(_greedy), "each-its-best": worth(_selfish), "one-agent": worth(_one_agent)}


def _greedy(worths: Floats) -> Ints:
    """[n] the best pair of a free agent and a free job, again and again, while it is worth more than nothing."""
    left, jobs = worths.copy(), np.full(len(worths), -1)
    while left.max() > 0:
        agent, job = np.unravel_index(np.argmax(left), left.shape)
        jobs[agent] = job
        left[agent] = left[:, job] = -1.0
    return jobs


def _selfish(worths: Floats) -> Ints:
    """[n] for each agent the job that it alone would earn most by: they collide."""
    jobs: Ints = np.where(worths.max(axis=1) > 0, np.argmax(worths, axis=1), -1)
    return jobs


def _one_agent(worths: Floats) -> Ints:
    """[n] the best single pair, and nothing for all other agents: one dominant agent."""
    agent, job = np.unravel_index(np.argmax(worths), worths.shape)
    jobs: Ints = np.where((np.arange(len(worths)) == agent) & (worths.max() > 0), job, -1)
    return jobs


def _played(
    env: TableEnv, policy: Floats, rng: np.random.Generator, trace_id: str,
    *, problems: tuple[Problem, ...], taken: list[Taken],
) -> Trace:  # fmt: skip
    task = "Have the jobs done, and spend little."
    return played(
        env, policy, rng=rng, trace_id=trace_id, task=task, tell=partial(_tell, problems=problems, taken=taken)
    )


def _tell(story: Story, move: Move, *, problems: tuple[Problem, ...], taken: list[Taken]) -> None:
    problem, joint, process = problems[move.state], taken[move.action], story.env.process
    bits = move.outcome - int(process.first[process.pairs[move.state, move.action]])
    done = {job for place, job in enumerate(joint.first) if bits >> place & 1}
    story.decided(move.choice)
    replies = {}
    for agent, job in enumerate(joint.jobs):
        if job < 0:
            continue
        name = agent_name(agent)
        story.spawned(name, role="agent")
        story.delegated(name, f"job {job + 1}")
        replies[name] = "taken already" if joint.first[job] != agent else "done" if job in done else "failed"
    if replies:
        returns = story.worked(replies, seconds=story.drawn_seconds(len(replies)))
        story.aggregated(list(returns.values()), f"{len(done)} of {len(problem.values)} jobs are done", method="concat")
    story.costs |= {"price": _cost(problem, joint), "agents": len(replies)}
    story.metrics |= {"jobs_done": float(len(done)), "collisions": float(len(replies) - len(joint.first))}
    story.ended(f"jobs done: {', '.join(str(job + 1) for job in sorted(done)) or 'none'}")
