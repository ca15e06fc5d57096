"""Groups of turns that met the same state (GiGPO's anchors)."""

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, floats
from orchestrace.credit.baselines import GroupBaseline, grouped
from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.results import Advantages


def step_returns(given: Rows, step_rewards: ArrayLike, *, discount: float) -> Floats:
    """[D] R_t = Σ_{k ≥ t} γ^{k − t} r_k along each rollout, by the place of its turns (`turn`).

    Rows of one rollout with the same `turn` are agents acting in one step: the step's reward, that of its first row, is
    counted once.

    Args:
      given: the rows; `turn` is the place of the step in the rollout.
      step_rewards: [D].
      discount: γ in [0, 1].
    """
    rewards = floats("step_rewards", step_rewards, like=("rewards", len(given)))
    order = np.lexsort((np.arange(len(given)), given.turn, given.rollout))
    returns = np.zeros(len(given))
    ahead, step, rollout = 0.0, None, None
    steps: dict[tuple[np.int64, np.int64], float] = {}
    for row in order:
        steps.setdefault((given.rollout[row], given.turn[row]), rewards[row])
    of_step: dict[tuple[np.int64, np.int64], float] = {}
    for key in reversed(list(steps)):
        if key[0] != rollout:
            ahead, rollout, step = 0.0, key[0], None
        gap = 1 if step is None else int(step - key[1])
        ahead = steps[key] + discount**gap * ahead if step is not None else steps[key]
        of_step[key], step = ahead, key[1]
    for row in order:
        returns[row] = of_step[given.rollout[row], given.turn[row]]
    return returns


def anchored(given: Rows, returns: ArrayLike, *, baseline: GroupBaseline) -> Advantages:
    """[D] each turn's return against the other turns that met the very same context, in any rollout of the task.

    Args:
      given: rows with `context`.
      returns: [D] the step returns.
      baseline: its key is replaced by task and context, every row counting.
    """
    columns = {name: getattr(given, name) for name in Rows.__slots__ if name != "rewards"}
    by_context = GroupBaseline(
        key=("task", "context"), weighting="row", baseline=baseline.baseline, scale=baseline.scale, ddof=baseline.ddof
    )
    return by_context.advantages(rows(returns, **columns))


def agreed(given: Rows) -> bool:
    """Whether rows of one rollout all carry one reward."""
    owners = grouped(given.rollout)
    low, high = np.full(owners.max(initial=0) + 1, np.inf), np.full(owners.max(initial=0) + 1, -np.inf)
    np.minimum.at(low, owners, given.rewards)
    np.maximum.at(high, owners, given.rewards)
    return bool((low >= high).all())
