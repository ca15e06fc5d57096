"""E1a, `split`: how many agents to spawn for a task of known size.

A task of W units of work arrives, each of the `WORKS` (times `scale`) with equal chance. Action k spawns k agents, each
of which does an equal share; action 0, `serial`, spawns nobody. The reward is −cost / W, so that serial is worth −1:

    cost(0) = W,     cost(k) = c0 + a k + ⌈W / k⌉

The optimum is the argmin over whole k; in between stands k = √(W / a). The test c0 + 2 √(a W) < W of whether to spawn
at all is wrong near the boundary, since shares are whole units. Too few agents for a large task is serial collapse, too
many for a small one is spurious parallelism. V_null is one k for all tasks.
"""

import math
from collections.abc import Mapping

import numpy as np

from orchestrace.envs.dynamic_programming import Process, dense_process
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats, Ints
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.trace import SubDecision

PARAMETERS: Mapping[str, Parameter] = {
    "c0": Parameter(4.0, 0.0, 1_000.0, "price of splitting at all, in units of work"),
    "a": Parameter(2.0, 0.0, 1_000.0, "price of one agent, in units of work"),
    "max_agents": Parameter(40, 1, 200, "most agents, K", whole=True),
    "scale": Parameter(1.0, 0.125, 100.0, "what the sizes 8, 20, 50, 100, 200 are multiplied by"),
}
WORKS = (8, 20, 50, 100, 200)
"""Sizes of the tasks, in units of work, before scaling."""
DECIDES: SubDecision = "O1"


def split(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E1a. A state is a task. A policy sees [log₁₀ W − 1, c0 / W, a / W] of it, the last two at most 2.

    Of an action it sees [whether it spawns, log₁₀(k + 1), a k / W], the last at most 2.

    Args:
      settings: every key of `PARAMETERS`.
      grade: has no effect, since nothing is left to chance.
    """
    works = split_works(settings["scale"])
    c0, a, most = settings["c0"], settings["a"], int(settings["max_agents"])
    costs = np.array([[split_cost(W, k, c0=c0, a=a) for k in range(most + 1)] for W in works.tolist()])
    shape, per_unit = costs.shape, 1 / works[:, None]
    k = np.arange(most + 1)
    options = (np.broadcast_to(k > 0, shape), np.broadcast_to(np.log10(k + 1), shape), np.minimum(a * k * per_unit, 2))
    return TableEnv(
        name="split",
        settings=settings,
        actions=("serial", *map(str, range(1, most + 1))),
        decides=(DECIDES,) * (most + 1),
        process=_process(costs * per_unit),
        starts=np.full(len(works), 1 / len(works)),
        seen=np.column_stack([np.log10(works) - 1, np.minimum(c0 / works, 2), np.minimum(a / works, 2)]),
        options_seen=np.stack(options, axis=2),
        named=lambda state: f"task {state + 1}: {works[state]} units",
        told=lambda state: (
            f"A task of {works[state]} units of work; one agent does one unit a second, and a split must be even.\n"
            f"Splitting costs {c0:g} s, and {a:g} s for each agent. At most {most} agents. Be done early."
        ),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Do the task, and be done early.", tell=_tell
        ),
        compare=_compared,
        grade=grade,
        spawns=tuple(range(most + 1)),
    )


def _process(costs: Floats) -> Process:
    """One step: each number of agents [S, A] ends the episode at its cost."""
    shape = (*costs.shape, 1)
    legal = np.full(costs.shape, fill_value=True)
    return dense_process(np.full(shape, END), np.ones(shape), rewards=-costs, legal=legal)


def split_works(scale: float) -> Ints:
    """[S] sizes of the tasks in units of work: `WORKS` times `scale`, rounded, 1 at least."""
    return np.array([max(1, round(scale * work)) for work in WORKS])


def split_cost(work: int, agents: int, *, c0: float, a: float) -> float:
    """Units of work or seconds until a task is done: W without agents, else c0 + a k + ⌈W / k⌉."""
    return float(work) if agents == 0 else c0 + a * agents + math.ceil(work / agents)


def _compared(env: TableEnv) -> dict[str, float]:
    works, most = split_works(env.settings["scale"]), len(env.actions) - 1
    by_root = [_root_rule(W, c0=env.settings["c0"], a=env.settings["a"], most=most) for W in works.tolist()]
    return {
        "square-root-rule": plan_value(env, np.array(by_root)),
        "serial": plan_value(env, np.zeros(len(works), dtype=np.int64)),
        "most-agents": plan_value(env, np.full(len(works), most)),
    }


def _root_rule(work: int, *, c0: float, a: float, most: int) -> int:
    if c0 + 2 * math.sqrt(a * work) >= work:
        return 0
    return most if a == 0 else min(max(round(math.sqrt(work / a)), 1), most)


def _tell(story: Story, move: Move) -> None:
    settings, agents = story.env.settings, move.action
    work = int(split_works(settings["scale"])[move.state])
    if agents == 0:
        story.decided(move.choice)
        story.worked_alone(seconds=work)
    else:
        shares = _shares(work, agents)
        if agents > 1:
            story.decided(move.choice)
        for i in range(agents):
            story.spawned(f"a{i}", role="agent", choice=move.choice if agents == 1 else None)
            story.delegated(f"a{i}", f"{shares[i]} of {work} units")
        story.t += settings["c0"] + settings["a"] * agents
        done = {f"a{i}": f"{shares[i]} units are done" for i in range(agents)}
        returns = story.worked(done, seconds=shares.astype(np.float64).tolist())
        story.aggregated(list(returns.values()), f"{work} units are done", method="concat")
    story.costs |= {"seconds": story.t, "agents": agents}
    story.ended(f"{work} units are done after {story.t:g} s")


def _shares(work: int, agents: int) -> Ints:
    """[k] units of work of each agent, as even as can be; none for the last where there are more agents than units."""
    shares: Ints = work // agents + (np.arange(agents) < work % agents).astype(np.int64)
    return shares
