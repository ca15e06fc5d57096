"""Estimates of coalition values from a budget of evaluations, exact or noisy: orders, means, replicates.

Which one: for a deterministic v, `kernel.kernel_shapley`, or `stratified_shapley` where v is smooth in some total of
the players and the budget allows a ring (a third of the error on thresholds); for a noisy v, `kernel_shapley` with
`noisy=True`; where few coalitions count, `replicated`. A standard error is that of the sampling and of the noise of v,
but not of v(∅) and v(N), which are asked for once where they are not given.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, Ints, bools
from orchestrace.credit.coalitions._evaluations import (
    Ends,
    Evaluate,
    Evaluations,
    affordable,
    ends_of,
    sampled_shares,
    shares_of_few,
)
from orchestrace.credit.coalitions._vectors import players_in
from orchestrace.credit.coalitions.games import shapley_value
from orchestrace.credit.results import Sampling, Shares


def permutation_shapley(
    evaluate: Evaluate,
    n: int,
    *,
    budget: int,
    rng: np.random.Generator,
    ends: tuple[float, float] | None = None,
    antithetic: bool = False,
    tolerance: float | None = None,
    definition: str = "",
) -> Shares:
    """Shapley value from random orders (Castro, Gómez, Tejada 2009): unbiased, and every order adds up.

    Args:
      evaluate: v of many coalitions at once.
      n: players.
      budget: evaluations; an order takes n − 1.
      rng: draws the orders.
      ends: (v(∅), v(N)); None: asked for once each.
      antithetic: each order with its reverse: games of pairs are exact, a noisy v gains nothing.
      tolerance: leave an order once |v(N) − v(S)| ≤ tolerance, for more orders (truncated Monte Carlo, arXiv
        1904.02868). Who comes later earns nothing in it: a bias up to the tolerance against those who complete others;
        `residual` is its mean. None: never.
      definition: how v was defined, for the result's `sampling`, whose `n` is the number of orders.

    Raises:
      ValueError: a budget below one order (two, if antithetic), or a v that is not finite.
    """
    ask = Evaluations(evaluate, n)
    found = ends_of(ask, ends)
    if n < 2:
        return shares_of_few(ask, found, definition)
    ways = 2 if antithetic else 1
    affordable("an order and its reverse" if antithetic else "an order", ways * (n - 1), ask, budget=budget)
    samples = np.concatenate(list(_orders(ask, found, rng, budget=budget, ways=ways, tolerance=tolerance)))
    return sampled_shares(samples, found, ask, n=ways * len(samples), definition=definition)


def stratified_shapley(
    evaluate: Evaluate,
    n: int,
    *,
    budget: int,
    rng: np.random.Generator,
    ends: tuple[float, float] | None = None,
    definition: str = "",
) -> Shares:
    """Shapley value from rings: every player once at every place, so that no coalition size is met more than another.

    The players are seated in a random ring; each of its n (n − 1) arcs is evaluated once and serves the 2 n orders that
    start anywhere and go round either way. Ours, after sampling stratified by size (Castro et al. 2017), which takes
    2 n² evaluations for what n (n − 1) do here. Unbiased; every ring adds up; games of pairs are exact; half the
    variance of `permutation_shapley` where v is noise.

    Args:
      evaluate: v of many coalitions at once.
      n: players.
      budget: evaluations; a ring takes n (n − 1).
      rng: seats the players.
      ends: (v(∅), v(N)); None: asked for once each.
      definition: how v was defined, for the result's `sampling`.

    Returns:
      [n] shares; `n` of their `sampling` is the number of rings.

    Raises:
      ValueError: a budget below one ring, or a v that is not finite.
    """
    ask = Evaluations(evaluate, n)
    found = ends_of(ask, ends)
    if n < 2:
        return shares_of_few(ask, found, definition)
    rings = affordable("a ring", n * (n - 1), ask, budget=budget)
    samples = np.array([_ring(ask, rng.permutation(n), found) for _ in range(rings)])
    return sampled_shares(samples, found, ask, n=rings, definition=definition)


def banzhaf_msr(evaluate: Evaluate, n: int, *, budget: int, rng: np.random.Generator, definition: str = "") -> Shares:
    """Banzhaf value by maximum sample reuse (Wang, Jia, arXiv 2205.15466): every evaluation serves every player.

        βᵢ = mean(v(S), i ∈ S) − mean(v(S), i ∉ S),    each player in S with chance 1/2

    Args:
      evaluate: v of many coalitions at once.
      n: players.
      budget: evaluations, 2 at least: the second coalition is the first one's complement.
      rng: draws the others.
      definition: how v was defined, for the result's `sampling`.

    Returns:
      [n] values, and as their `total` their sum: v(∅) and v(N) are not asked for, so that nothing is known of what is
      left. `std_error` is None where a player was in, or out of, one coalition only.

    Raises:
      ValueError: a budget below 2, or a v that is not finite.
    """
    ask = Evaluations(evaluate, n)
    count = 2 * affordable("a coalition and its complement", 2, ask, budget=budget) + budget % 2
    inside = rng.random((count, n)) < 0.5
    inside[1] = ~inside[0]
    v = ask(inside) if n else np.zeros(count)
    members, others = inside.sum(axis=0), (~inside).sum(axis=0)
    high, low = v @ inside / members, v @ ~inside / others
    left = np.where(inside, v[:, None] - high, v[:, None] - low) ** 2
    sampling = Sampling(model_calls=ask.spent, n=count, definition=definition)
    if (np.minimum(members, others) > 1).all():
        spread = (left * inside).sum(axis=0) / (members - 1) / members + (left * ~inside).sum(axis=0) / (
            others - 1
        ) / others
        sampling = replace(sampling, std_error=np.sqrt(spread))
    return Shares(values=high - low, total=float((high - low).sum()), sampling=sampling)


def replicated(
    evaluate: Evaluate,
    n: int,
    *,
    value: Callable[[Floats], Shares] = shapley_value,
    budget: int | None = None,
    needed: ArrayLike | None = None,
    ends: tuple[float, float] | None = None,
    definition: str = "",
) -> Shares:
    """Any value, from every coalition it needs, each asked for as often as the budget allows.

    Args:
      evaluate: v of many coalitions at once.
      n: players.
      value: what to take of the game, linear in it, as all of `credit.games` are.
      budget: evaluations, the same number for each coalition. None: one each, exact if v is deterministic.
      needed: [2^n] the coalitions that `value` reads (`connected_sets`, `down_sets`); None: all.
      ends: (v(∅), v(N)); None: asked for like the others.
      definition: how v was defined, for the result's `sampling`, whose `n` is the number of replicates, None if one.

    Raises:
      ValueError: a budget below one evaluation of each, too many players, or a v that is not finite.
    """
    ask, size = Evaluations(evaluate, n), 1 << players_in(n)
    wanted = np.ones(size) if needed is None else bools("needed", needed, like=("the coalitions of n", size))
    known = np.full(size, np.nan)
    known[[0, -1]] = (np.nan, np.nan) if ends is None else ends
    places = np.flatnonzero(np.isnan(known) * wanted)
    sets = (places[:, None] >> np.arange(n) & 1).astype(np.bool_)
    times = (
        1 if budget is None or not len(places) else affordable("each coalition once", len(places), ask, budget=budget)
    )
    draws = ask(np.tile(sets, (times, 1))).reshape(times, -1)
    found = value(_filled(known, places, draws.mean(axis=0)))
    sampling = Sampling(model_calls=ask.spent, definition=definition)
    if times > 1:
        each = np.array([value(_filled(known, places, draw)).values for draw in draws])
        sampling = replace(sampling, n=times, std_error=each.std(axis=0, ddof=1) / np.sqrt(times))
    return replace(found, sampling=sampling)


def _filled(known: Floats, places: Ints, values: Floats) -> Floats:
    filled = known.copy()
    filled[places] = values
    return filled


def _orders(
    ask: Evaluations, ends: Ends, rng: np.random.Generator, *, budget: int, ways: int, tolerance: float | None
) -> Iterator[Floats]:
    """[m, n] what each player adds in as many orders as the budget allows, or in pairs of them."""
    spent = -1
    while ask.spent > spent and (draws := (budget - ask.spent) // (ways * (ask.n - 1))):
        spent = ask.spent  # orders that are left early leave budget for more, unless none was walked at all
        orders = rng.permuted(np.tile(np.arange(ask.n), (draws, 1)), axis=1)
        walks = [_walked(ask, order, ends, tolerance=tolerance) for order in (orders, orders[:, ::-1])[:ways]]
        yield np.mean(walks, axis=0)


def _walked(ask: Evaluations, orders: Ints, ends: Ends, *, tolerance: float | None) -> Floats:
    """[m, n] what each player adds in each of m orders, walked side by side."""
    m, n = orders.shape
    rows = np.arange(m)
    inside, added = np.zeros((m, n), np.bool_), np.zeros((m, n))
    level, going = np.full(m, ends.empty), np.ones(m, np.bool_)
    for place in range(n):
        if tolerance is not None:
            going &= np.abs(ends.full - level) > tolerance
        inside[rows, orders[:, place]] = True
        after = level.copy()
        after[going] = ends.full if place == n - 1 else ask(inside[going])
        added[rows, orders[:, place]] = after - level
        level = after
    return added


def _ring(ask: Evaluations, seats: Ints, ends: Ends) -> Floats:
    """[n] each player's mean marginal contribution over the 2 n orders that go round a ring."""
    n = len(seats)
    starts, lengths = np.repeat(np.arange(n), n - 1), np.tile(np.arange(1, n), n)
    arcs = (np.arange(n) - starts[:, None]) % n < lengths[:, None]
    coalitions = np.zeros_like(arcs)
    coalitions[:, seats] = arcs
    v = np.full((n, n + 1), ends.empty)
    v[:, 1:n] = ask(coalitions).reshape(n, n - 1)
    v[:, n] = ends.full
    seat, size = np.arange(n)[:, None], np.arange(n)
    left, right = (seat - size) % n, (seat + 1) % n
    added = v[left, size + 1] - v[left, size] + v[seat, size + 1] - v[right, size]
    shares = np.empty(n)
    shares[seats] = added.mean(axis=1) / 2
    return shares
