"""Steps along a rollout, and groups of those that met the very same state (GiGPO's anchors)."""

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrace.credit._arrays import Floats, Ints, floats, ints
from orchestrace.credit.columns import Rows
from orchestrace.credit.groups.baselines import GroupBaseline, Standing, grouped

T = TypeVar("T", np.float64, np.int64)


def step_returns(rewards: ArrayLike, *, lane: ArrayLike, step: ArrayLike, discount: float = 1.0) -> Floats:
    """[D] R_t = Σ_{k ≥ t} γ^{k − t} r_k along each lane.

    Rows of one lane with the same step are agents that acted in it together: its reward counts once.

    Args:
      rewards: [D] of the steps.
      lane: [D] what the steps follow each other in: a rollout, or one role of it.
      step: [D] number of the step; missing numbers are steps without reward.
      discount: γ in [0, 1].

    Raises:
      ValueError: columns that do not fit, γ outside [0, 1], rows of one step with different rewards.
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}; it must lie in [0, 1]")
    given = floats("rewards", rewards)
    lanes, steps = (ints(name, key, like=("rewards", len(given))) for name, key in (("lane", lane), ("step", step)))
    at = grouped(lanes, steps)
    returns = _of_each(at, given)
    home, number = _of_each(at, lanes), _of_each(at, steps)
    different = np.flatnonzero(returns[at] != given)
    if different.size:
        i = different[0]
        raise ValueError(f"rewards[{i}] is {given[i]}, but another row of step {steps[i]} has {returns[at[i]]}")
    left = _left(home)
    for places in np.split(np.argsort(left, kind="stable"), np.cumsum(np.bincount(left))[:-1])[1:]:
        gap = number[places + 1] - number[places]
        returns[places] += np.power(discount, gap, dtype=np.float64) * returns[places + 1]
    return returns[at]


def turns_left(rows: Rows) -> Ints:
    """[D] how many later turns the row's role has in its rollout."""
    lane = grouped(rows.rollout, rows.role)
    at = grouped(lane, rows.turn)
    return _left(_of_each(at, lane))[at]


def anchored(rows: Rows, rule: GroupBaseline) -> Standing:
    """What each row is held against among those that met the very same context, in any rollout of its task.

    A state that one rollout meets twice is in the group twice. Contexts are equal or not: grouping by similarity, as
    GiGPO's code offers, depends on the order of the rows.

    Args:
      rows: with `context`, and step returns as rewards.
      rule: its key and weighting are replaced.
    """
    return replace(rule, key=("task", "context"), weighting="row").standing(rows)


def _of_each(at: Ints, column: NDArray[T]) -> NDArray[T]:
    """A row's entry for each different place."""
    found = np.empty(at.max(initial=-1) + 1, column.dtype)
    found[at] = column
    return found


def _left(lane: Ints) -> Ints:
    """[P] how many places of its lane come after each; places lie in order."""
    last = np.append(np.flatnonzero(np.diff(lane)), len(lane) - 1) if len(lane) else np.zeros(0, np.int64)
    size = np.diff(last, prepend=-1)
    left: Ints = np.repeat(last, size) - np.arange(len(lane))
    return left
