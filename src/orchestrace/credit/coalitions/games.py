"""Exact values of a cooperative game, from the value of every coalition.

A game of n players is a vector of 2^n numbers: `values[S]` is v of the coalition that holds player i where bit i of S
is set, so that `values[0]` is v(∅) and `values[-1]` is v(N). A game of 16 players takes milliseconds, one of 20 a tenth
of a second.

Shapley and Owen values add up to v(N) − v(∅). Banzhaf and leave-one-out values do not: their `residual` says by how
much.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, Ints, bools
from orchestrace.credit.coalitions._game import players_of
from orchestrace.credit.coalitions._vectors import (
    all_finite,
    checked_game,
    marginals,
    player_count,
    players_in,
    shapley_of,
    size_weights,
    unions_of,
)
from orchestrace.credit.results import Sampling, Shares


def value_vector(n: int, value: Callable[[frozenset[int]], float], *, needed: ArrayLike | None = None) -> Floats:
    """A game as a vector, from a function of coalitions.

    Args:
      n: players.
      value: v, asked once for each coalition.
      needed: [2^n] True where v is needed (`connected_sets`, `down_sets`); None: everywhere.

    Returns:
      [2^n]; NaN where v was not asked for.

    Raises:
      ValueError: more players than MOST_PLAYERS.
    """
    size = 1 << players_in(n)
    asked = np.ones(size, np.bool_) if needed is None else bools("needed", needed, like=("the coalitions of n", size))
    values = np.full(size, np.nan)
    for coalition in np.flatnonzero(asked).tolist():
        values[coalition] = value(players_of(coalition))
    return values


def shapley_value(values: ArrayLike, *, definition: str = "") -> Shares:
    """Shapley value: the marginal contribution, averaged over all orders of the players.

        φᵢ = Σ_{S ∌ i} |S|! (n − |S| − 1)! / n!  (v(S ∪ i) − v(S))

    The one value that adds up, treats equals equally, gives nothing to who adds nothing, and is linear in the game
    (Shapley 1953).

    Args:
      values: [2^n] v, finite.
      definition: how v was defined, for the result's `sampling`.

    Returns:
      [n] shares. `model_calls` is the number of coalitions between ∅ and N: 2^n − 2.

    Raises:
      ValueError: no vector of 2^n finite numbers.
    """
    v = checked_game(values)
    return _shares(shapley_of(v), v, len(v) - 2, definition)


def banzhaf_value(values: ArrayLike, *, definition: str = "") -> Shares:
    """Banzhaf value: the marginal contribution, averaged over all coalitions of the others.

        βᵢ = 2^(1−n) Σ_{S ∌ i} (v(S ∪ i) − v(S))

    Its order of the players withstands noise in v best among the values of this kind (Data Banzhaf, arXiv 2205.15466).
    It does not add up: `residual` is what is left of v(N) − v(∅).

    Args:
      values: [2^n] v, finite.
      definition: how v was defined, for the result's `sampling`.

    Returns:
      [n] values. `model_calls` is 2^n − 2.

    Raises:
      ValueError: no vector of 2^n finite numbers.
    """
    v = checked_game(values)
    each = [marginals(v, i).mean() for i in range(player_count(v))]
    return _shares(np.array(each, np.float64), v, len(v) - 2, definition)


def leave_one_out_value(values: ArrayLike, *, definition: str = "") -> Shares:
    """What the team loses without each player: v(N) − v(N∖i).

    It does not add up: players who need each other are each credited with the whole they make, and players who can
    replace each other with nothing. `residual` is what is left of v(N) − v(∅), negative where credit is given twice.

    Args:
      values: [2^n] v; only N, ∅ and the coalitions that one player is missing from are read.
      definition: how v was defined, for the result's `sampling`.

    Returns:
      [n] values. `model_calls` is n (0 for one player, whose absence is ∅).

    Raises:
      ValueError: no vector of 2^n numbers, or one that is read and not finite.
    """
    v = checked_game(values, finite=False)
    n = player_count(v)
    read = sets_without_one(n)
    all_finite(v, read)
    return _shares(v[-1] - v[len(v) - 1 - (1 << np.arange(n))], v, int(read.sum()) - 2, definition)


def owen_value(values: ArrayLike, unions: Sequence[Collection[int]], *, definition: str = "") -> Shares:
    """Owen value: Shapley between unions, and within each of them (Owen 1977).

    The marginal contribution, averaged over all orders in which the players of each union stand together. A union's
    shares sum to its Shapley value in the game between unions. It is the Winter value of one level of units.

    Args:
      values: [2^n] v; only coalitions of whole unions and a part of one more are read.
      unions: the players of each; together 0..n−1, each once. A union may be empty.
      definition: how v was defined, for the result's `sampling`.

    Returns:
      [n] shares. `model_calls` is the number of coalitions read, but for ∅ and N.

    Raises:
      ValueError: no vector of 2^n numbers, one that is read and not finite, or unions that are no partition of 0..n−1.
    """
    v = checked_game(values, finite=False)
    members = _partition(player_count(v), unions)
    read = union_sets(player_count(v), unions)
    all_finite(v, read)
    weights, shares = size_weights(len(members)), np.zeros(player_count(v))
    for union, before, within in _around(members):
        # the game within the union, averaged over who came before it
        shares[union] = shapley_of(weights @ v[before[:, None] | within])
    return _shares(shares, v, int(read.sum()) - 2, definition)


def union_sets(n: int, unions: Sequence[Collection[int]]) -> Bools:
    """[2^n] True for whole unions together with a part of one more: what the Owen value reads.

    Raises:
      ValueError: unions that are no partition of 0..n−1, or more players than MOST_PLAYERS.
    """
    read = np.zeros(1 << players_in(n), np.bool_)
    read[[0, -1]] = True
    for _, before, within in _around(_partition(n, unions)):
        read[before[:, None] | within] = True
    return read


def sets_without_one(n: int) -> Bools:
    """[2^n] True for N, N without any one player, and ∅: what leave-one-out reads.

    Raises:
      ValueError: more players than MOST_PLAYERS.
    """
    read = np.zeros(1 << players_in(n), np.bool_)
    read[[0, -1, *(len(read) - 1 - (1 << np.arange(n)))]] = True
    return read


def _partition(n: int, unions: Sequence[Collection[int]]) -> list[list[int]]:
    members = [sorted(union) for union in unions if union]
    covered = sorted(player for union in members for player in union)
    if covered != list(range(n)):
        raise ValueError(f"unions hold players {covered}; they must be 0..{n - 1}, each in one union")
    return members


def _around(members: list[list[int]]) -> Iterator[tuple[list[int], Ints, Ints]]:
    """For each union: its players, every set of other unions, and every part of it, as masks."""
    parts = [unions_of(1 << np.array(union)) for union in members]
    wholes = np.array([part[-1] for part in parts], np.int64)
    for k, union in enumerate(members):
        yield union, unions_of(np.delete(wholes, k)), parts[k]


def _shares(values: Floats, v: Floats, calls: int, definition: str) -> Shares:
    sampling = Sampling(model_calls=max(calls, 0), definition=definition)
    return Shares(values=values, total=float(v[-1] - v[0]), sampling=sampling)
