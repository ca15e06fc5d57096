"""Ranks: what is left of rewards when only their order counts."""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, Ints, floats, ints

SURE = 40.0
"""Gaps of so many temperatures are as good as infinite: the logistic function is 1 there, to the last bit."""


def average_ranks(values: ArrayLike, *, groups: ArrayLike | None = None) -> Floats:
    """[n] ranks 1..G within each group, equal values sharing the mean of theirs; a group's sum to G(G + 1) / 2.

    Args:
      values: [n] finite.
      groups: [n] whole numbers; None: one group.
    """
    given = floats("values", values)
    home = _home(groups, len(given))
    order = np.lexsort((given, home))
    new_group = np.ones(len(given), np.bool_)
    new_group[1:] = home[order][1:] != home[order][:-1]
    new_value = new_group.copy()
    new_value[1:] |= given[order][1:] != given[order][:-1]
    begins, run = np.flatnonzero(new_value), np.cumsum(new_value) - 1
    ends = np.append(begins[1:], len(given))
    start = np.flatnonzero(new_group)[np.cumsum(new_group) - 1]
    ranks = np.empty(len(given))
    ranks[order] = (begins[run] + ends[run] + 1) / 2 - start
    return ranks


def soft_ranks(values: ArrayLike, *, temperature: float, groups: ArrayLike | None = None) -> Floats:
    """rank_i = 1 + Σ_{j ≠ i} σ((v_i − v_j) / τ): smooth ranks, a group's of which sum to G(G + 1) / 2 as well (ours).

    Args:
      values: [n] finite.
      temperature: τ > 0; towards 0 they become `average_ranks`.
      groups: [n] whole numbers; None: one group.

    Raises:
      ValueError: τ is not positive and finite.
    """
    if not 0 < temperature < np.inf:
        raise ValueError(f"temperature={temperature}; it must be positive (average_ranks is its limit at 0)")
    given = floats("values", values)
    home = _home(groups, len(given))
    order = np.argsort(home, kind="stable")
    start = np.flatnonzero(np.diff(home[order], prepend=home[order][:1] - 1))
    size = np.diff(start, append=len(given))
    ranks = np.empty(len(given))
    for G in np.unique(size).tolist():  # groups of one size are worked on together
        members = order[start[size == G][:, None] + np.arange(G)]
        ranks[members] = _soft(given[members], temperature)
    return ranks


def _soft(values: Floats, temperature: float) -> Floats:
    """[groups, G] soft ranks."""
    gaps = values[:, :, None] / 2 - values[:, None, :] / 2  # halves, so that the largest gap is finite
    within = np.clip(gaps, -SURE * temperature, SURE * temperature) / temperature
    won = 0.5 * (1 + np.tanh(within))  # the logistic function of the whole gap
    ranks: Floats = 0.5 + won.sum(axis=2)  # one's own gap is 0 and won half
    return ranks


def normal_quantiles(ranks: ArrayLike, n: ArrayLike) -> Floats:
    """[m] Φ⁻¹((rank − ½) / n): where each rank stands in a normal sample of n.

    Args:
      ranks: [m] in [½, n + ½], open.
      n: size of the sample; one number, or [m].

    Raises:
      ValueError: a rank outside its sample.
    """
    given = floats("ranks", ranks)
    share = (given - 0.5) / np.asarray(n, np.float64)
    outside = np.flatnonzero((share <= 0) | (share >= 1))
    if outside.size:
        raise ValueError(f"ranks[{outside[0]}] is {given[outside[0]]}; it must lie between ½ and n + ½")
    different, place = np.unique(share, return_inverse=True)
    quantile = NormalDist().inv_cdf
    return np.array([quantile(p) for p in different.tolist()], np.float64)[place.reshape(-1)]


def _home(groups: ArrayLike | None, count: int) -> Ints:
    return np.zeros(count, np.int64) if groups is None else ints("groups", groups, like=("values", count))
