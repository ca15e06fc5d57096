"""Games as vectors of 2^n values: bit i of the place says whether player i takes part."""

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, Ints, floats
from orchestrace.credit.coalitions._game import players_of

MOST_PLAYERS = 24
"""Of a game that is held as a vector."""


def shapley_of(v: Floats) -> Floats:
    """φ of a checked game; a player who adds nothing gets exactly 0."""
    n = player_count(v)
    weights = size_weights(n)
    return np.array([weights @ marginals(v, i) for i in range(n)], np.float64)


def marginals(v: Floats, player: int) -> Floats:
    """[2^(n−1)] v(S ∪ i) − v(S) for every S without i, the other players' bits in order."""
    halves = v.reshape(-1, 2, 1 << player)
    return (halves[:, 1] - halves[:, 0]).reshape(-1)


def size_weights(n: int) -> Floats:
    """[2^(n−1)] |S|! (n − |S| − 1)! / n! of every S of n − 1 players."""
    by_size = np.array([1 / (n * comb(n - 1, size)) for size in range(n)])
    return by_size[sizes(n - 1)] if n else by_size


def sizes(n: int) -> Ints:
    """[2^n] how many players each coalition holds."""
    counts = np.zeros(1, np.int64)
    for _ in range(n):
        counts = np.concatenate([counts, counts + 1])
    return counts


def unions_of(masks: Ints) -> Ints:
    """[2^k] the union of every subset of k masks; the subset's bits are its place."""
    joined = np.zeros(1, np.int64)
    for mask in masks:
        joined = np.concatenate([joined, joined | mask])
    return joined


def player_count(v: Floats) -> int:
    """n of a vector of 2^n."""
    return len(v).bit_length() - 1


def players_in(n: int) -> int:
    """`n`, if a vector can hold such a game."""
    if not 0 <= n <= MOST_PLAYERS:
        raise ValueError(f"n is {n}; a game held as a vector has 0 to {MOST_PLAYERS} players: sample larger ones")
    return n


def checked_game(values: ArrayLike, *, finite: bool = True) -> Floats:
    """`values` as a vector of 2^n; `finite`: all of them are."""
    if finite:
        v = floats("values", values)
    else:
        v = np.asarray(values, dtype=np.float64)
        if v.ndim != 1:
            raise ValueError(f"values has shape {v.shape}; it must have 1 axes")
    if len(v) == 0 or len(v) & (len(v) - 1):
        raise ValueError(f"values has length {len(v)}; a game of n players has 2^n values")
    players_in(player_count(v))
    return v


def all_finite(v: Floats, read: Bools) -> None:
    """Refuses a game that is NaN or infinite where it is read."""
    for coalition in np.flatnonzero(read & ~np.isfinite(v))[:1].tolist():
        raise ValueError(f"v({sorted(players_of(coalition))}) is {v[coalition]}; it must be finite")
