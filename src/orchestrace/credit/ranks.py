"""Ranks: what is left of rewards when only their order counts."""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, floats


def average_ranks(values: ArrayLike) -> Floats:
    """[n] ranks 1..n, equal values sharing the mean of theirs; they sum to n(n + 1) / 2.

    Args:
      values: [n] finite.
    """
    given = floats("values", values)
    ordered = np.sort(given)
    below = np.searchsorted(ordered, given, side="left")
    at_most = np.searchsorted(ordered, given, side="right")
    ranks: Floats = (below + at_most + 1) / 2
    return ranks


def soft_ranks(values: ArrayLike, *, temperature: float) -> Floats:
    """rank_i = 1 + Σ_{j ≠ i} σ((v_i − v_j) / τ): smooth ranks, which sum to n(n + 1) / 2 as well (ours).

    Args:
      values: [n] finite.
      temperature: τ > 0; towards 0 they become `average_ranks`.

    Raises:
      ValueError: τ is not positive.
    """
    if not temperature > 0:
        raise ValueError(f"temperature={temperature}; it must be positive (average_ranks is its limit at 0)")
    given = floats("values", values)
    gaps = (given[:, None] - given[None, :]) / temperature
    won = 0.5 * (1 + np.tanh(gaps / 2))  # the logistic function, without overflow
    ranks: Floats = 0.5 + won.sum(axis=1)  # one's own gap is 0 and won half
    return ranks


def normal_quantiles(ranks: ArrayLike, n: int) -> Floats:
    """[m] Φ⁻¹((rank − ½) / n): where each rank stands in a normal sample of n.

    Args:
      ranks: [m] in [½, n + ½], open.
      n: size of the sample.
    """
    quantile = NormalDist().inv_cdf
    return np.array([quantile((rank - 0.5) / n) for rank in floats("ranks", ranks).tolist()])
