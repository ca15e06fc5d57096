"""Sets of time on a line: union, length, gaps, overlap.

Spans are float64 arrays [n, 2] of starts and ends in seconds, half-open: [start, end). A span that does not end after
it starts is an instant and takes no time. Results are made of the input's own numbers, never of new ones, so that
pieces that touch share the number; lengths are summed without rounding in between (`math.fsum`).
"""

from collections.abc import Iterable, Sequence
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

Spans = NDArray[np.float64]


def spans(pairs: Iterable[tuple[float, float]]) -> Spans:
    """[n, 2] from (start, end) pairs."""
    return np.array(list(pairs), np.float64).reshape(-1, 2)


def union(given: Spans) -> Spans:
    """[m, 2] the same time as disjoint spans that do not touch, ascending; instants are left out."""
    given = given[given[:, 1] > given[:, 0]]
    if not len(given):
        return given
    given = given[np.argsort(given[:, 0], kind="stable")]
    reached: NDArray[Any] = np.maximum.accumulate(given[:, 1])
    begins = np.ones(len(given), np.bool_)
    begins[1:] = given[1:, 0] > reached[:-1]
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(given)) - 1
    return np.column_stack([given[starts, 0], reached[ends]])


def length(disjoint: Spans) -> float:
    """Seconds that disjoint spans take together."""
    return fsum((disjoint * (-1.0, 1.0)).flat)


def gaps(disjoint: Spans, *, first: float, last: float) -> Spans:
    """[k, 2] the time in [first, last) that disjoint ascending spans leave free."""
    starts = np.append(first, disjoint[:, 1])
    ends = np.append(disjoint[:, 0], last)
    return np.column_stack([starts, ends])[ends > starts]


def most_at_once(lanes: Sequence[Spans]) -> int:
    """The greatest number of lanes busy at one time; spans of one lane are disjoint."""
    if not lanes:
        return 0
    starts = np.concatenate([lane[:, 0] for lane in lanes])
    ends = np.concatenate([lane[:, 1] for lane in lanes])
    times = np.concatenate([ends, starts])
    steps = np.concatenate([np.full(len(ends), -1), np.full(len(starts), 1)])
    order = np.argsort(times, kind="stable")  # at equal times the ends come first
    return int(steps[order].cumsum().max(initial=0))


def covers(disjoint: Spans, times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """[len(times)] whether a time lies in one of the disjoint ascending spans."""
    if not len(disjoint):
        return np.zeros(len(times), np.bool_)
    place = np.searchsorted(disjoint[:, 0], times, side="right") - 1
    inside: NDArray[np.bool_] = (place >= 0) & (times < disjoint[place, 1])
    return inside
