"""E3c, `reporting`: when to report, if every report has a price.

A sub-agent tracks a quantity that drifts; the orchestrator goes by the last report. The error between them walks by
N(0, 1) steps. Each step the sub-agent sends, which costs c and sets the error to 0, or stays silent, which costs e².
Episodes end with chance 1 / `steps` after each step, so costs are those of about `steps` steps, of which the reward is
a share: −cost / steps. The optimum is a symmetric threshold |e| > τ (Lipsa and Martins 2011). The error lives on a grid
from −w to w, where it is held.
"""

import math
from collections.abc import Mapping

import numpy as np

from orchestrace.envs.dynamic_programming import Process, dense_process
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.story import ORCHESTRATOR, Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value

PARAMETERS: Mapping[str, Parameter] = {
    "c": Parameter(3.0, 0.01, 100.0, "price of a report"),
    "steps": Parameter(30, 2, 1000, "mean length of an episode", whole=True),
    "width": Parameter(6.0, 1.0, 20.0, "largest error on the grid, w"),
    "per_unit": Parameter(4, 1, 10, "grid points for a unit of error", whole=True),
}
SILENT, SEND = 0, 1


def reporting(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E3c. A policy sees [|e| / w, e² / c capped at 4, log c / 4]: the walk has no side.

    Args:
      settings: every key of `PARAMETERS`.
      grade: changes nothing that is paid: costs are certain, only the walk is not.
    """
    errors, c, steps = grid(settings), settings["c"], settings["steps"]
    starts = np.zeros(len(errors))
    starts[len(errors) // 2] = 1.0
    seen = np.column_stack([
        np.abs(errors) / settings["width"], np.minimum(errors**2 / c, 4.0), np.full(len(errors), math.log(c) / 4),
    ])  # fmt: skip
    return TableEnv(
        name="reporting",
        settings=settings,
        actions=("silent", "send"),
        decides=("O3", "O3"),
        process=_process(errors, c, steps),
        starts=starts,
        seen=seen,
        named=lambda state: f"error {errors[state]:+g}",
        told=lambda state: (
            f"The orchestrator is wrong by {errors[state]:+g}. Report, for {c:g}, or stay silent, for the square of "
            f"the error? The error drifts by about 1 a step; about {steps:g} steps are to come. Errors stay within "
            f"{settings['width']:g}, in steps of 1/{settings['per_unit']:g}."
        ),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Keep me up to date.", tell=_tell
        ),
        compare=lambda env: _compared(env, errors),
        grade=grade,
    )


def grid(settings: Mapping[str, float]) -> Floats:
    """[S] errors, symmetric, 0 among them."""
    h = 1 / settings["per_unit"]
    half = round(settings["width"] / h)
    errors: Floats = np.arange(-half, half + 1).astype(np.float64) * h
    return errors


def walk(errors: Floats) -> Floats:
    """[S, S] chances of the next error: N(e, 1) on the grid, what lies beyond it at its ends."""
    h = errors[1] - errors[0]
    edges = np.concatenate([[-np.inf], (errors[1:] + errors[:-1]) / 2, [np.inf]])
    below = np.array([[0.5 * (1 + math.erf((edge - e) / math.sqrt(2))) for edge in edges] for e in errors])
    chances = np.diff(below, axis=1)
    chances[chances < 1e-12 * h] = 0.0
    found: Floats = chances / chances.sum(axis=1, keepdims=True)
    return found


def _process(errors: Floats, c: float, steps: float) -> Process:
    S, onward = len(errors), walk(errors) * (1 - 1 / steps)
    targets = np.full((S, 2, S + 1), END)
    targets[:, :, :S] = np.arange(S)
    chances = np.zeros((S, 2, S + 1))
    chances[:, SILENT, :S], chances[:, SEND, :S] = onward, onward[S // 2]
    chances[:, :, S] = 1 / steps
    paid = -np.column_stack([errors**2, np.full(S, c)]) / steps
    return dense_process(targets, chances, rewards=paid, legal=np.ones((S, 2), dtype=np.bool_))


def _compared(env: TableEnv, errors: Floats) -> dict[str, float]:
    levels = np.unique(np.abs(errors))
    found = [plan_value(env, np.where(np.abs(errors) > level, SEND, SILENT)) for level in levels]
    myopic = np.where(errors**2 > env.settings["c"], SEND, SILENT)
    return {"best-threshold": max(found), "myopic": plan_value(env, myopic)}


def _tell(story: Story, move: Move) -> None:
    story.spawned("tracker", role="tracker")
    if move.action == SEND:
        story.said("tracker", "where it is now", to=ORCHESTRATOR)
        story.costs["reports"] = story.costs.get("reports", 0.0) + 1
    story.decided(move.choice)
    story.t += 1.0
    if move.target == END:
        story.ended("done")
