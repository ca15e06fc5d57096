"""E1d, `spawn-or-not`: whether to spawn for a task that may not split.

A task of W units of work is of type parallel or serial. The orchestrator sees a signal x, here one of G midpoints of
[0, 1], each with equal chance, and knows q(x) = P(parallel | x) = x. Spawning k agents costs c0 + a k and saves
W − W / k if the task is parallel, nothing if it is serial. The reward is what is saved, in units of work; not spawning
earns 0:

    A(x) = Q(x, spawn) − Q(x, serial) = q(x) (W − W / k) − c0 − a k,     spawn where A(x) > 0

Both branches can be simulated from the same prefix (`step` takes any action in any state), and `spawn_advantages` gives
the true advantage of every state. So counterfactual estimators can be scored here against what they estimate.
As G grows, with the default prices, V* goes to 49 / 30 and V_null is 0: on average, spawning does not pay.
"""

from collections.abc import Mapping

import numpy as np

from orchestrace.envs.dynamic_programming import Process, dense_process
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value

PARAMETERS: Mapping[str, Parameter] = {
    "work": Parameter(20.0, 1.0, 1_000.0, "units of work of a task, W"),
    "agents": Parameter(4, 2, 100, "agents that are spawned, k", whole=True),
    "c0": Parameter(4.0, 0.0, 1_000.0, "price of splitting at all, in units of work"),
    "a": Parameter(1.0, 0.0, 1_000.0, "price of one agent, in units of work"),
    "grid": Parameter(100, 4, 1_000, "signals that there are, G", whole=True),
}
SERIAL, SPAWN = 0, 1


def spawn_or_not(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E1d. A state is a signal. A policy sees [2 q(x) − 1, 1 − 1 / k, the price over W], the last at most 2.

    Of an action it sees [whether it spawns, 1 − 1 / k, the price over W]; of not spawning, [0, 0, 0].

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for spawning: what came of it, or its mean given the signal.
    """
    W, k, price = settings["work"], int(settings["agents"]), spawn_price(settings)
    q, gist = signals(settings), [1 - 1 / k, min(price / W, 2)]
    return TableEnv(
        name="spawn-or-not",
        settings=settings,
        actions=("serial", "spawn"),
        decides=("O1", "O1"),
        process=_process(q, saved=W - W / k, price=price),
        starts=np.full(len(q), 1 / len(q)),
        seen=np.array([[2 * chance - 1, *gist] for chance in q]),
        options_seen=np.tile([[0.0, 0.0, 0.0], [1.0, *gist]], (len(q), 1, 1)),
        named=lambda state: f"parallel with chance {q[state]:.6g}",
        told=lambda state: (
            f"A task of {W:g} units of work. One agent needs {W:g} s. If the task is parallel, {k} agents need "
            f"{W / k:g} s; if it is serial, they save nothing. Spawning the {k} costs {price:g} s either way.\n"
            f"By the look of it, the task is parallel with chance {q[state]:.4g}. Be done early."
        ),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Do the task, and be done early.", tell=_tell
        ),
        compare=_compared,
        grade=grade,
        spawns=(0, k),
    )


def signals(settings: Mapping[str, float]) -> Floats:
    """[S] q(x) of each signal: the midpoints (i + ½) / G."""
    grid = int(settings["grid"])
    chances: Floats = (np.arange(grid) + 0.5) / grid
    return chances


def spawn_price(settings: Mapping[str, float]) -> float:
    """What spawning costs whatever the type: c0 + a k."""
    return settings["c0"] + settings["a"] * settings["agents"]


def spawn_advantages(env: TableEnv) -> Floats:
    """[S] true advantage of spawning over not spawning in each state: what counterfactual estimators should find."""
    q = env.action_values()
    advantages: Floats = q[:, SPAWN] - q[:, SERIAL]
    return advantages


def _process(q: Floats, *, saved: float, price: float) -> Process:
    """Outcomes of both actions: the task is parallel, the task is serial."""
    shape = (len(q), 2, 2)
    chances = np.broadcast_to(np.column_stack([q, 1 - q])[:, None, :], shape)
    rewards = np.zeros(shape)
    rewards[:, SPAWN] = [saved - price, -price]
    return dense_process(np.full(shape, END), chances, rewards=rewards, legal=np.ones(shape[:2], dtype=np.bool_))


def _compared(env: TableEnv) -> dict[str, float]:
    likely = (signals(env.settings) > 0.5).astype(np.int64)
    return {
        "spawn-if-likely": plan_value(env, likely),
        "always-spawn": plan_value(env, np.full(len(likely), SPAWN)),
        "never-spawn": plan_value(env, np.full(len(likely), SERIAL)),
    }


def _tell(story: Story, move: Move) -> None:
    settings, process = story.env.settings, story.env.process
    W, k = settings["work"], int(settings["agents"])
    parallel = move.outcome == process.first[process.pairs[move.state, move.action]]
    story.decided(move.choice)
    if move.action == SPAWN:
        names = [f"a{i}" for i in range(k)]
        for name in names:
            story.spawned(name, role="agent")
            story.delegated(name, f"one of {k} parts of the task")
        story.t += spawn_price(settings)
        replies = ["done" if parallel or i == 0 else "my part needs the one before it" for i in range(k)]
        returns = story.worked(dict(zip(names, replies, strict=True)), seconds=[W / k] * k)
        if not parallel:
            story.worked_alone(seconds=W - W / k)
        story.aggregated(list(returns.values()), "the task is done", method="concat")
    else:
        story.worked_alone(seconds=W)
    story.costs |= {"seconds": story.t, "agents": k if move.action == SPAWN else 0}
    story.ended(f"done after {story.t:g} s", truth="parallel" if parallel else "serial")
