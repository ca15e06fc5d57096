"""Optimal stopping on a finite chain, exactly: what a stop rule is worth, and the best one.

    C(s) = −c(s) + Σ P(s, s′) V(s′)

A state that cannot go on has a row of zeros in P. There is no discount; prices are paid when they arise.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, floats

TIE = 1e-12
"""Going on must be better than stopping by more than this; what rounding makes is no difference."""


class Envelope(NamedTuple):
    """The solution of a stopping problem."""

    values: Floats
    """[S] V*, the smallest function above r that going on does not raise."""
    go_on_values: Floats
    """[S] C*; −∞ where going on is impossible."""
    stops: Bools
    """[S] True where an optimal policy stops; on a tie it stops."""


def chain_envelope(stop_values: ArrayLike, transitions: ArrayLike, *, costs: ArrayLike = 0.0) -> Envelope:
    """The Snell envelope of a finite chain: the supremum over all rules that stop in finite time.

    Sweeps V ← max(r, C) from V = r, at most S of them, which ends by itself where the chain never returns; then policy
    iteration, which is finite: costs are not negative, so the best stop value of a closed set is never exceeded inside.

    Args:
      stop_values: [S] r in each state, conditional means; without the costs so far where `costs` charges them.
      transitions: [S, S] rows that sum to 1, or to 0 where going on is impossible.
      costs: price of going on from each state, ≥ 0: one for all or [S].

    Raises:
      ValueError: shapes that differ, a row that is no distribution, a negative cost.
    """
    r, P, c, able = _chain(stop_values, transitions, costs)
    values = r
    for _ in range(len(r)):
        swept = np.maximum(r, _go_on(values, P, c, able))
        if np.array_equal(swept, values):
            break
        values = swept
    stops = r >= _go_on(values, P, c, able) - TIE
    while True:
        values = _rule_values(r, P, c, stops=stops.astype(np.float64))
        ahead = _go_on(values, P, c, able)
        better = np.where(stops, r < ahead - TIE, ahead < r - TIE)
        if not better.any():
            return Envelope(np.maximum(r, ahead), ahead, r >= ahead - TIE)
        stops ^= better


def chain_values(
    stop_values: ArrayLike, transitions: ArrayLike, *, stop_chances: ArrayLike, costs: ArrayLike = 0.0
) -> Floats:
    """[S] V(s) = p(s) r(s) + (1 − p(s)) C(s): what a stop rule is worth from each state.

    Args:
      stop_values: [S]
      transitions: [S, S] rows that sum to 1, or to 0 where going on is impossible.
      stop_chances: [S] p in [0, 1], or True where the rule stops; taken as 1 where going on is impossible.
      costs: price of going on from each state: one for all or [S].

    Raises:
      ValueError: as `chain_envelope`; a chance outside [0, 1]; a state from which the rule never stops.
    """
    r, P, c, able = _chain(stop_values, transitions, costs)
    p = floats("stop_chances", stop_chances, like=("stop_values", len(r)))
    if ((p < 0) | (p > 1)).any():
        raise ValueError("stop_chances must be in [0, 1]")
    return _rule_values(r, P, c, stops=np.where(able, p, 1.0))


def chain_go_on_values(values: ArrayLike, transitions: ArrayLike, *, costs: ArrayLike = 0.0) -> Floats:
    """[S] C(s) = −c(s) + Σ P(s, s′) V(s′); −∞ where going on is impossible.

    Args:
      values: [S] V, of a rule or of a fit.
      transitions: [S, S] rows that sum to 1, or to 0 where going on is impossible.
      costs: price of going on from each state: one for all or [S].
    """
    v, P, c, able = _chain(values, transitions, costs, name="values")
    return _go_on(v, P, c, able)


def _chain(
    stop_values: ArrayLike, transitions: ArrayLike, costs: ArrayLike, *, name: str = "stop_values"
) -> tuple[Floats, Floats, Floats, Bools]:
    r = floats(name, stop_values)
    P = floats("transitions", transitions, like=(name, len(r)), ndim=2)
    if P.shape[1] != len(r):
        raise ValueError(f"transitions has shape {P.shape}, but {name} has length {len(r)}")
    given = np.asarray(costs, dtype=np.float64)
    c = floats("costs", np.full(len(r), given) if given.ndim == 0 else given, like=(name, len(r)))
    if (c < 0).any():
        raise ValueError(f"costs[{int(np.argmax(c < 0))}] is negative; a price is not")
    sums = P.sum(axis=1)
    able: Bools = sums > 0
    if (bad := (P < 0).any(axis=1) | (able & (np.abs(sums - 1) > 1e-9))).any():
        row = int(np.argmax(bad))
        raise ValueError(f"transitions[{row}] sums to {sums[row]}; a row is a distribution, or all zeros")
    return r, P, c, able


def _go_on(values: Floats, P: Floats, c: Floats, able: Bools) -> Floats:
    return np.where(able, P @ values - c, -np.inf)


def _rule_values(r: Floats, P: Floats, c: Floats, *, stops: Floats) -> Floats:
    """Solve (I − diag(1 − p) P) V = p r − (1 − p) c for the states that may go on."""
    going = np.flatnonzero(stops < 1)
    onward = (1 - stops)[going, None] * P[going]
    reaches = stops > 0
    while (more := reaches | (P @ reaches > 0)).sum() > reaches.sum():
        reaches = more
    if not reaches.all():
        raise ValueError(f"from state {int(np.argmin(reaches))} the rule never stops")
    values = r.copy()
    settled = onward @ np.where(stops < 1, 0.0, r)
    known = (stops * r - (1 - stops) * c)[going] + settled
    values[going] = np.linalg.solve(np.eye(len(going)) - onward[:, going], known)
    return values
