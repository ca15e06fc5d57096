"""E1c, `stages`: which jobs to run together when each stage waits for its longest.

Jobs of pᵢ turns each are run in stages of at most B agents, and a stage ends when its longest job ends. What counts is
PARL's critical steps, one turn of the orchestrator and the longest branch for each stage:

    cost = Σₜ (1 + maxᵢ∈stage t pᵢ),     reward = −cost / Σᵢ (1 + pᵢ), so that one job at a time is worth −1

The orchestrator builds a stage job by job, then runs it. State: the jobs done, and those in the stage. A job may join
once all before it are done (`precedence`). An episode draws one of `instances` sets of jobs, known from the start.
Independent jobs: the optimum sorts them, longest first, and runs groups of B. With precedence the optimum is the
dynamic programme over down-sets; longest first is no longer optimal. V_null is the best plan fixed before the jobs are
seen: its stages are the same for every instance. With one instance it is the optimum.

Source: the cost is that of Kimi K2.5's PARL (arXiv 2602.02276); the environment is ours.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Constant, Floats, Ints
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.errors import RecipeError
from orchestrace.trace import SubDecision

PARAMETERS: Mapping[str, Parameter] = {
    "jobs": Parameter(6, 2, 12, "jobs in an episode, n", whole=True),
    "width": Parameter(3, 1, 6, "most jobs in a stage, B", whole=True),
    "precedence": Parameter(0.0, 0.0, 1.0, "chance that a job must wait for a given earlier one"),
    "instances": Parameter(8, 1, 32, "sets of jobs that an episode is drawn from", whole=True),
    "seed": Parameter(0, 0, 2**31 - 1, "what the jobs are drawn from", whole=True),
}
LONGEST = 9
"""Turns of the longest job that there can be; the shortest has 1."""
MOST_STATES = 50_000
RUN = 0
"""The action that runs the stage; action 1 + j adds job j to it."""
DECIDES: SubDecision = "O1"


class Jobs(NamedTuple):
    """One set of n jobs."""

    turns: tuple[int, ...]
    """[n] length of each."""
    before: tuple[int, ...]
    """[n] the jobs that each waits for, as bits; all have smaller numbers."""


class Situation(NamedTuple):
    """What a state is."""

    instance: int
    done: int
    """Jobs done, as bits."""
    stage: int
    """Jobs in the stage, as bits."""


def stages(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E1c. A policy sees, for each job, [waiting, in the stage, turns / 9, may join], the longest of the stage / 9, its
    free places / B, and, where `precedence` is not 0, which job waits for which.

    Of an action it sees [whether it runs, turns of the job / 9, turns that it adds to the stage / 9, longest chain from
    the job on / (9 n), how full the stage is]; of running, [1, 0, 0, 0, how full].

    Args:
      settings: every key of `PARAMETERS`.
      grade: has no effect, since nothing is left to chance once the jobs are drawn.

    Raises:
      RecipeError: there would be more than `MOST_STATES` states.
    """
    drawn, n = drawn_jobs(settings), int(settings["jobs"])
    situations = _situations(drawn, int(settings["width"]))
    number = {situation: state for state, situation in enumerate(situations)}
    starts = np.zeros(len(situations))
    starts[[number[Situation(instance, 0, 0)] for instance in range(len(drawn))]] = 1 / len(drawn)
    seen, options = _features(situations, drawn, settings)
    return TableEnv(
        name="stages",
        settings=settings,
        actions=("run", *(f"add job {j + 1}" for j in range(n))),
        decides=(DECIDES,) * (n + 1),
        process=process_of(_moves(number, drawn, int(settings["width"])), states=len(situations), actions=n + 1),
        starts=starts,
        seen=seen,
        options_seen=options,
        named=lambda state: _name(situations[state], n),
        told=lambda state: _told(situations[state], drawn, int(settings["width"])),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Do all jobs, and be done early.",
            tell=partial(_tell, situations=situations, drawn=drawn),
        ),
        compare=partial(_compared, situations=situations, drawn=drawn),
        blind=lambda env: _fixed(drawn, int(env.settings["width"])),
        grade=grade,
    )  # fmt: skip


def drawn_jobs(settings: Mapping[str, float]) -> tuple[Jobs, ...]:
    """The sets of jobs: lengths uniform on 1..9, each pair of jobs ordered with chance `precedence`."""
    rng, n = np.random.default_rng(int(settings["seed"])), int(settings["jobs"])
    drawn = []
    for _ in range(int(settings["instances"])):
        turns = rng.integers(1, LONGEST + 1, n).tolist()
        waits = np.tril(rng.random((n, n)) < settings["precedence"], -1)
        drawn.append(Jobs(tuple(turns), tuple(int(row @ (1 << np.arange(n))) for row in waits)))
    return tuple(drawn)


def grouped_cost(turns: Floats | Ints, width: int) -> float:
    """Critical steps of independent jobs in groups of `width`, longest first: Σ_g (1 + p₍gB₊₁₎), their least cost."""
    ordered = np.sort(turns)[::-1]
    return float(np.sum(1 + ordered[::width]))


def _bits(jobs: int) -> list[int]:
    return [j for j in range(jobs.bit_length()) if jobs >> j & 1]


def _ready(jobs: Jobs, done: int, stage: int) -> list[int]:
    """Jobs that may join the stage, were there a place."""
    taken = done | stage
    return [j for j, before in enumerate(jobs.before) if not taken >> j & 1 and before & ~done == 0]


def _longest(jobs: Jobs, stage: int) -> int:
    return max((jobs.turns[j] for j in _bits(stage)), default=0)


def _situations(drawn: tuple[Jobs, ...], width: int) -> list[Situation]:
    """All that can be reached, each before what may follow it."""
    found: list[Situation] = []
    for instance, jobs in enumerate(drawn):
        everything = (1 << len(jobs.turns)) - 1
        sets = {0}
        for done in range(everything):  # a down-set is larger, as a number, than the ones it comes from
            if done not in sets:
                continue
            ready = _ready(jobs, done, 0)
            for size in range(min(width, len(ready)) + 1):
                for chosen in combinations(ready, size):
                    stage = sum(1 << j for j in chosen)
                    sets.add(done | stage)
                    found.append(Situation(instance, done, stage))
            if len(found) > MOST_STATES:
                raise RecipeError(
                    f"these jobs have more than {MOST_STATES} situations", place="jobs",
                    remedy="set fewer jobs or instances, a smaller width, or more precedence",
                )  # fmt: skip
    return found


def _moves(number: Mapping[Situation, int], drawn: tuple[Jobs, ...], width: int) -> Iterator[Moves]:
    for (instance, done, stage), state in number.items():
        jobs = drawn[instance]
        if stage:
            after = done | stage
            target = END if after + 1 == 1 << len(jobs.turns) else number[Situation(instance, after, 0)]
            yield Moves(state, RUN, [target], [1.0], [-(1 + _longest(jobs, stage)) / _serial(jobs)])
        if stage.bit_count() < width:
            for j in _ready(jobs, done, stage):
                yield Moves(state, 1 + j, [number[Situation(instance, done, stage | 1 << j)]], [1.0], [0.0])


def _serial(jobs: Jobs) -> int:
    """Critical steps of one job at a time."""
    return sum(jobs.turns) + len(jobs.turns)


def _features(
    situations: list[Situation], drawn: tuple[Jobs, ...], settings: Mapping[str, float]
) -> tuple[Floats, Floats]:
    n, width = int(settings["jobs"]), int(settings["width"])
    seen, options = [], np.zeros((len(situations), n + 1, 5))
    for state, (instance, done, stage) in enumerate(situations):
        jobs = drawn[instance]
        ready, longest, full = _ready(jobs, done, stage), _longest(jobs, stage), stage.bit_count() / width
        row = [
            [1 - (done >> j & 1), stage >> j & 1, jobs.turns[j] / LONGEST, full < 1 and j in ready] for j in range(n)
        ]
        waits = [jobs.before[j] >> i & 1 for j in range(n) for i in range(j)] if settings["precedence"] else []
        seen.append([*(value for job in row for value in job), longest / LONGEST, 1 - full, *waits])
        chains = _chains(jobs)
        options[state, :, 4] = full
        options[state, RUN, 0] = 1
        for j in range(n):
            added = max(0, jobs.turns[j] - longest)
            options[state, 1 + j, 1:4] = [jobs.turns[j] / LONGEST, added / LONGEST, chains[j] / (LONGEST * n)]
    return np.array(seen, dtype=np.float64), options


@lru_cache
def _chains(jobs: Jobs) -> tuple[int, ...]:
    """[n] turns of the longest chain of jobs that begins with each."""
    n = len(jobs.turns)
    chains = list(jobs.turns)
    for j in reversed(range(n)):
        chains[j] += max((chains[after] for after in range(j + 1, n) if jobs.before[after] >> j & 1), default=0)
    return tuple(chains)


def _name(situation: Situation, n: int) -> str:
    marks = "".join("x" if situation.done >> j & 1 else "+" if situation.stage >> j & 1 else "." for j in range(n))
    return f"jobs {situation.instance + 1}: {marks}"


def _counted(turns: int) -> str:
    return "1 turn" if turns == 1 else f"{turns} turns"


def _told(situation: Situation, drawn: tuple[Jobs, ...], width: int) -> str:
    jobs = drawn[situation.instance]
    lines = []
    for j, turns in enumerate(jobs.turns):
        after = ", ".join(str(i + 1) for i in _bits(jobs.before[j]))
        where = "done" if situation.done >> j & 1 else "in the stage" if situation.stage >> j & 1 else "waiting"
        lines.append(f"Job {j + 1}: {_counted(turns)}{f', after {after}' if after else ''}; {where}.")
    rules = (
        f"All jobs must be done, in stages of at most {width}. A stage takes as long as its longest job, and one turn "
        "more. A job can join a stage once all jobs that it comes after are done. Take as few turns as you can."
    )
    return "\n".join([rules, *lines])


def _compared(env: TableEnv, *, situations: list[Situation], drawn: tuple[Jobs, ...]) -> dict[str, float]:
    width = int(env.settings["width"])

    def filled(first: Callable[[Jobs, int], float], most: int) -> float:
        """Value of filling stages up to `most` with the jobs for which `first` is least."""
        plan = np.zeros(len(situations), dtype=np.int64)
        for state, (instance, done, stage) in enumerate(situations):
            jobs = drawn[instance]
            ready = _ready(jobs, done, stage) if stage.bit_count() < most else []
            plan[state] = 1 + min(ready, key=lambda j: first(jobs, j)) if ready else RUN
        return plan_value(env, plan)

    return {
        "serial": filled(lambda _, j: j, 1),
        "list-order": filled(lambda _, j: j, width),
        "longest-first": filled(lambda jobs, j: -jobs.turns[j], width),
        "longest-chain-first": filled(lambda jobs, j: -_chains(jobs)[j], width),
    }


def _fixed(drawn: tuple[Jobs, ...], width: int) -> Constant:
    """The best stages that are the same for every instance, by dynamic programming over the jobs done."""
    n = len(drawn[0].turns)
    everything = (1 << n) - 1
    union = Jobs((1,) * n, tuple(int(np.bitwise_or.reduce([jobs.before[j] for jobs in drawn])) for j in range(n)))

    @lru_cache(None)
    def cost(stage: int) -> float:
        return sum((1 + _longest(jobs, stage)) / _serial(jobs) for jobs in drawn) / len(drawn)

    best: dict[int, tuple[float, tuple[int, ...]]] = {everything: (0.0, ())}
    for done in reversed(range(everything)):
        ready = _ready(union, done, 0)
        choices = [
            (cost(stage) + best[done | stage][0], (stage, *best[done | stage][1]))
            for size in range(1, min(width, len(ready)) + 1)
            for stage in (sum(1 << j for j in chosen) for chosen in combinations(ready, size))
        ]
        best[done] = min(choices)
    worth, plan = best[0]
    words = ", then ".join(" and ".join(str(j + 1) for j in _bits(stage)) for stage in plan)
    return Constant(f"jobs {words}", -worth)


def _tell(story: Story, move: Move, *, situations: list[Situation], drawn: tuple[Jobs, ...]) -> None:
    instance, done, stage = situations[move.state]
    jobs = drawn[instance]
    if move.action != RUN:
        job = move.action - 1
        if not stage:
            story.worked_alone(seconds=1.0)
        story.spawned(f"a{job + 1}", role="agent", choice=move.choice)
        story.delegated(f"a{job + 1}", f"job {job + 1}: {_counted(jobs.turns[job])}")
        return
    story.decided(move.choice)
    members = _bits(stage)
    turns = [jobs.turns[j] for j in members]
    returns = story.worked({f"a{j + 1}": f"job {j + 1} is done" for j in members}, seconds=turns, turns=turns)
    story.aggregated(list(returns.values()), f"{(done | stage).bit_count()} of {len(jobs.turns)} jobs are done",
                     method="concat")  # fmt: skip
    story.costs["critical_steps"] = story.costs.get("critical_steps", 0.0) + 1 + max(turns)
    story.costs["stages"] = story.costs.get("stages", 0.0) + 1
    if move.target == END:
        story.ended(f"all jobs are done after {story.t:g} turns")
