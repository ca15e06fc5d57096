"""A baseline that remembers earlier episodes, instead of comparing those of one batch."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, floats, ints

FRESH: Mapping[int, float] = MappingProxyType({})
"""Nobody has been seen: every baseline is 0."""


class Running(NamedTuple):
    """Baselines as they were read, and as they are now."""

    baselines: Floats
    """[E] b before each episode."""
    after: Mapping[int, float]
    """Key -> b after all of them; the `before` of the next batch."""


def running_baselines(
    rewards: ArrayLike, keys: ArrayLike, *, decay: float = 0.95, before: Mapping[int, float] = FRESH
) -> Running:
    """An exponential mean of earlier rewards for each key, read before it takes in the episode's own.

        b_e = b,     then b ← α b + (1 − α) R_e,     b = 0 at first

    It depends on the past alone, so that it leaves the gradient unbiased. Keys share nothing. Source: SPIRAL, arXiv
    2506.24119 (role-conditioned advantage estimation).

    Args:
      rewards: [E] of the episodes, in the order in which they are processed.
      keys: [E] whole numbers: the role, or game and role in one.
      decay: α in [0, 1].
      before: baselines so far.

    Raises:
      ValueError: columns that do not fit, α outside [0, 1].
    """
    if not 0 <= decay <= 1:
        raise ValueError(f"decay is {decay}; it must lie in [0, 1]")
    given = floats("rewards", rewards)
    whose = ints("keys", keys, like=("rewards", len(given)))
    state = dict(before)
    read = []
    for key, reward in zip(whose.tolist(), given.tolist(), strict=True):
        read.append(state.get(key, 0.0))
        state[key] = decay * read[-1] + (1 - decay) * reward
    return Running(np.array(read, np.float64), state)
