"""Shapley value as a weighted regression on coalitions: KernelSHAP, with quotas by size and no set drawn twice.

Departures from the paper (Lundberg, Lee, arXiv 1705.07874): every size gets its share of the budget, in proportion to
its weight 1 / (s (n − s)), instead of a random number of draws; within a size coalitions are drawn without replacement,
and weigh as many as they stand for (as in Leverage SHAP, arXiv 2410.01917, with other proportions); and each comes with
its complement (Covert, Lee, arXiv 2012.01536).

Standard errors are linearised, from how the residuals of the fit vary within sizes: 0 if all was drawn, None for up to
n draws.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from orchestrace.credit._arrays import Bools, Floats, Ints
from orchestrace.credit.coalitions._evaluations import Ends, Evaluate, Evaluations, affordable, ends_of, shares_of_few
from orchestrace.credit.results import Sampling, Shares

_REDRAWS = 20
"""How often coalitions that leave the fit undetermined are drawn anew, if others might not."""


def kernel_shapley(
    evaluate: Evaluate,
    n: int,
    *,
    budget: int,
    rng: np.random.Generator,
    ends: tuple[float, float] | None = None,
    paired: bool = True,
    noisy: bool = False,
    definition: str = "",
) -> Shares:
    """Shapley value as the weighted least squares fit of φ(S) = Σ_{i∈S} φᵢ to v; over all coalitions, exactly.

        min_φ Σ_S k(|S|) (v(∅) + φ(S) − v(S))²    with φ(N) = v(N) − v(∅),    k(s) = (n − 1) / (C(n, s) s (n − s))

    Args:
      evaluate: v of many coalitions at once.
      n: players.
      budget: evaluations; below 2 (n − 1) the fit is undetermined, and leans towards equal shares.
      rng: draws the coalitions.
      ends: (v(∅), v(N)); None: asked for once each.
      paired: each coalition with its complement: games of pairs are exact. No use where v(S) + v(N∖S) hardly varies.
      noisy: ask again where the budget exceeds the coalitions of a size. False of a noisy v: `std_error` misses noise.
      definition: how v was defined, for the result's `sampling`, whose `n` is the number of coalitions (pairs).

    Raises:
      ValueError: a budget below one coalition (pair), or a v that is not finite.
    """
    ask = Evaluations(evaluate, n)
    found = ends_of(ask, ends)
    if n < 2:
        return shares_of_few(ask, found, definition)
    each = 2 if paired else 1
    count = affordable("a coalition and its complement" if paired else "a coalition", each, ask, budget=budget)
    drawn = _determined(n, count, rng, paired=paired, noisy=noisy)
    targets = _targets(ask, drawn.coalitions, found, paired=paired)
    values, errors = _fit(drawn, targets, found.total)
    sampling = Sampling(model_calls=ask.spent, n=len(drawn.groups), std_error=errors, definition=definition)
    return Shares(values=values, total=found.total, sampling=sampling)


@dataclass(frozen=True, slots=True)
class _Stratum:
    """The coalitions of one size; of pairs, one of each."""

    size: int
    total: int
    """How many there are."""
    mass: float
    """What they weigh together."""
    halved: bool
    """True: pairs of two coalitions of this size; those that hold player 0 stand for them."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Coalitions, or one of each pair."""

    coalitions: Bools
    """[m, n]"""
    weights: Floats
    """[m] kernel weight, times how many coalitions each stands for."""
    groups: Ints
    """[m] those that stand for the same coalitions: what varies within a group is the error."""
    missed: Floats
    """[m] 1 − the part of its group that was drawn; 0: all of it, and no error."""


def _targets(ask: Evaluations, coalitions: Bools, ends: Ends, *, paired: bool) -> Floats:
    """[m] what v says of φ(S)."""
    if not paired:
        return ask(coalitions) - ends.empty
    inside, outside = ask(np.concatenate([coalitions, ~coalitions])).reshape(2, -1)
    # v(S) says φ(S), and v(N∖S) says that the total minus φ(S): their mean
    return (inside - outside + ends.total) / 2


def _determined(n: int, count: int, rng: np.random.Generator, *, paired: bool, noisy: bool) -> _Drawn:
    """Coalitions that leave no share open, if so many can."""
    drawn = _drawn(n, count, rng, paired=paired, noisy=noisy)
    for _ in range(_REDRAWS):
        if count < n - 1 or np.linalg.matrix_rank(_centred(drawn.coalitions)) == n - 1:
            break
        drawn = _drawn(n, count, rng, paired=paired, noisy=noisy)
    return drawn


def _drawn(n: int, count: int, rng: np.random.Generator, *, paired: bool, noisy: bool) -> _Drawn:
    strata = list(_strata(n, paired))
    quotas = _quotas(count, strata, capped=not noisy)
    parts = [
        _of_stratum(n, stratum, times, rng, quota=quota, noisy=noisy)
        for stratum, quota, times in zip(strata, quotas, _rounded(quotas, rng), strict=True)
        if times
    ]
    firsts = np.cumsum([0, *(len(part.groups) for part in parts)])
    return _Drawn(
        coalitions=np.concatenate([part.coalitions for part in parts]),
        weights=np.concatenate([part.weights for part in parts]),
        groups=np.concatenate([part.groups + first for part, first in zip(parts, firsts, strict=False)]),
        missed=np.concatenate([part.missed for part in parts]),
    )


def _strata(n: int, paired: bool) -> Iterator[_Stratum]:
    for size in range(1, n // 2 + 1 if paired else n):
        halved = paired and 2 * size == n
        both = 2 if halved else 1
        yield _Stratum(size, comb(n, size) // both, 1 / (size * (n - size) * both), halved)


def _quotas(count: int, strata: list[_Stratum], *, capped: bool) -> Floats:
    """How many of each to draw: in proportion to the masses, but, if capped, never more than there are."""
    masses = np.array([stratum.mass for stratum in strata])
    most = np.array([min(stratum.total, count) if capped else count for stratum in strata], np.float64)
    quotas, open_ = np.zeros(len(strata)), np.ones(len(strata), np.bool_)
    while open_.any():
        wanted = masses * (count - quotas[~open_].sum()) / masses[open_].sum()
        full = open_ & (wanted >= most)
        if not full.any():
            quotas[open_] = wanted[open_]
            break
        quotas[full] = most[full]
        open_ &= ~full
    return quotas


def _rounded(quotas: Floats, rng: np.random.Generator) -> list[int]:
    """Whole numbers with these means and, but for rounding, their sum: one random offset for all."""
    steps = np.floor(np.round(np.cumsum(quotas), 9) + rng.random()).astype(np.int64)
    return [int(times) for times in np.diff(steps, prepend=0)]


def _of_stratum(
    n: int, stratum: _Stratum, times: int, rng: np.random.Generator, *, quota: float, noisy: bool
) -> _Drawn:
    copies, extra = divmod(times, stratum.total)
    sets = _sets(n, stratum, min(times, stratum.total), rng)
    order = np.concatenate([np.tile(np.arange(len(sets)), copies), np.arange(extra)])
    if copies:
        # each coalition weighs the same, however often it was asked for
        weights = stratum.mass / stratum.total / np.bincount(order)[order]
    else:
        weights = np.full(times, stratum.mass / (times if quota >= 1 else quota))
    groups = order if noisy and copies else np.zeros(times, np.int64)
    missed = 1.0 if noisy else 1 - times / stratum.total
    return _Drawn(sets[order], weights, groups, np.full(times, missed))


def _sets(n: int, stratum: _Stratum, count: int, rng: np.random.Generator) -> Bools:
    """[count, n] different coalitions of the stratum in random order."""
    if stratum.total <= 4 * count:
        rest, taken = (range(1, n), stratum.size - 1) if stratum.halved else (range(n), stratum.size)
        chosen = np.array(list(combinations(rest, taken)), np.int64)[rng.permutation(stratum.total)[:count]]
        sets = np.zeros((count, n), np.bool_)
        sets[np.arange(count)[:, None], chosen] = True
        sets[:, 0] |= stratum.halved
        return sets
    sets = np.zeros((0, n), np.bool_)
    while len(sets) < count:
        ranks = rng.random((2 * count, n)).argsort(axis=1)
        more = ranks < stratum.size
        if stratum.halved:
            more = more == more[:, :1]
        sets = np.concatenate([sets, more])
        sets = sets[np.sort(np.unique(sets, axis=0, return_index=True)[1])]
    return sets[:count]


def _fit(drawn: _Drawn, targets: Floats, total: float) -> tuple[Floats, Floats | None]:
    """Shares that sum to `total`, and their standard errors."""
    m, n = drawn.coalitions.shape
    # what the shares differ by from equal ones: in these terms the constraint is that they sum to nothing
    x = _centred(drawn.coalitions)
    y = targets - drawn.coalitions.mean(axis=1) * total
    root = np.sqrt(drawn.weights)
    apart = np.linalg.lstsq(x * root[:, None], y * root, rcond=None)[0]
    shares = total / n + apart - apart.mean()
    if not drawn.missed.any():
        return shares, np.zeros(n)
    if m <= n:
        return shares, None
    inverse = np.linalg.pinv((x * drawn.weights[:, None]).T @ x)
    pull = (drawn.weights * (y - x @ apart))[:, None] * x @ inverse
    return shares, np.sqrt(_variance(pull, drawn) * m / (m - n + 1))


def _centred(coalitions: Bools) -> Floats:
    centred: Floats = coalitions - coalitions.mean(axis=1, keepdims=True)
    return centred


def _variance(pull: Floats, drawn: _Drawn) -> Floats:
    """[n] of the sum of what each coalition pulls the shares by, from how it varies within groups."""
    groups = drawn.groups
    counts = np.bincount(groups)[groups][:, None]
    means = np.stack([np.bincount(groups, column) for column in pull.T], axis=1)[groups] / counts
    alone = counts == 1
    squares = np.where(alone, pull, (pull - means) * np.sqrt(counts / np.maximum(counts - 1, 1))) ** 2
    variance: Floats = drawn.missed @ squares
    return variance
