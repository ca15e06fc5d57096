"""Exact values of games in which not every coalition can form: it must be connected, or hold what its members need.

Both read v only where a coalition may form; elsewhere `values` may be NaN. `value_vector(n, value, needed=...)` asks
for no more.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, Ints
from orchestrace.credit.coalitions._game import all_ancestors
from orchestrace.credit.coalitions._vectors import (
    all_finite,
    checked_game,
    player_count,
    players_in,
    shapley_of,
    sizes,
    unions_of,
)
from orchestrace.credit.results import Sampling, Shares


def connected_sets(n: int, edges: Sequence[tuple[int, int]]) -> Bools:
    """[2^n] True for coalitions whose players can all reach each other within it; ∅ is one of them.

    A star of k leaves has 2^k + k such coalitions besides ∅, a chain of n players n (n + 1) / 2.

    Raises:
      ValueError: an edge to a player who is not there, or more players than MOST_PLAYERS.
    """
    first = _first_parts(_neighbours(players_in(n), edges))
    connected: Bools = first == np.arange(len(first))
    return connected


def myerson_value(values: ArrayLike, edges: Sequence[tuple[int, int]], *, definition: str = "") -> Shares:
    """Myerson value: the Shapley value where only who is connected can work together (Myerson 1977).

        v^g(S) = v(∅) + Σ_{C a connected part of S} (v(C) − v(∅)),    μ = φ(v^g)

    The parts of the graph share what each of them makes; taking an edge away costs its two ends the same; with all
    edges it is the Shapley value. The graph is the one observed: where players choose their edges, they can gain by it.

    Args:
      values: [2^n] v; read for connected coalitions only.
      edges: who speaks with whom, in either direction.
      definition: how v was defined, for the result's `sampling`.

    Returns:
      [n] shares of `total` = v^g(N) − v(∅), which is less than v(N) − v(∅) or more where N is not connected.
      `model_calls` is the number of coalitions read, but for ∅ and N.

    Raises:
      ValueError: no vector of 2^n numbers, a connected coalition whose v is not finite, or an edge to nobody.
    """
    v = checked_game(values, finite=False)
    first = _first_parts(_neighbours(player_count(v), edges))
    rest = np.arange(len(v))
    connected = first == rest
    all_finite(v, connected)
    gained = np.zeros(len(v))
    while len(split := np.flatnonzero(rest)):
        part = first[rest[split]]
        gained[split] += v[part] - v[0]
        rest[split] ^= part
    sampling = Sampling(model_calls=int(connected[1:-1].sum()), definition=definition)
    return Shares(values=shapley_of(gained), total=float(gained[-1]), sampling=sampling)


def down_sets(n: int, ancestors: Mapping[int, Collection[int]]) -> Bools:
    """[2^n] True for coalitions that hold all ancestors of their players.

    A chain of n has n + 1 of them, one event with k that follow it and nothing else 2^k + 1.

    Args:
      n: players.
      ancestors: for each player who needs others, those others, direct or all; players left out need nobody.

    Raises:
      ValueError: ancestors in a cycle or not among the players, or more players than MOST_PLAYERS.
    """
    return _allowed(players_in(n), _needed(n, ancestors))


def precedence_value(values: ArrayLike, ancestors: Mapping[int, Collection[int]], *, definition: str = "") -> Shares:
    """Precedence-constrained Shapley value: orders in which everyone follows their ancestors (Faigle, Kern 1992).

        φᵢ = Σ_S P(S) P(i next | S) (v(S ∪ i) − v(S))

    P: of a uniformly drawn linear extension passing through S, and going on with i, by a recursion over ancestor-closed
    coalitions instead of over the extensions. It says what an event added given its ancestors, not how needed it was.
    Of a chain it gives the differences v(prefix_t) − v(prefix_{t−1}); without ancestors it is the Shapley value.

    Args:
      values: [2^n] v; read for ancestor-closed coalitions only (`down_sets`).
      ancestors: as in `down_sets`.
      definition: how v was defined, for the result's `sampling`.

    Returns:
      [n] shares. `model_calls` is the number of coalitions read, but for ∅ and N.

    Raises:
      ValueError: no vector of 2^n numbers, an ancestor-closed coalition whose v is not finite, or as `down_sets`.
    """
    v = checked_game(values, finite=False)
    n = player_count(v)
    needed = _needed(n, ancestors)
    allowed = _allowed(n, needed)
    all_finite(v, allowed)
    layers = _layers(allowed, n)
    onward = _extensions(layers, needed)
    reached, shares = np.zeros(len(v)), np.zeros(n)
    reached[0] = 1
    for layer in layers[:-1]:
        for i in range(n):
            now = _ready(layer, i, needed)
            then = now | 1 << i
            chance = reached[now] * onward[then] / onward[now]
            reached[then] += chance
            shares[i] += chance @ (v[then] - v[now])
    sampling = Sampling(model_calls=max(int(allowed.sum()) - 2, 0), definition=definition)
    return Shares(values=shares, total=float(v[-1] - v[0]), sampling=sampling)


def _neighbours(n: int, edges: Sequence[tuple[int, int]]) -> Ints:
    """[n] mask of who each player has an edge to."""
    neighbours = np.zeros(n, np.int64)
    for a, b in edges:
        if not (0 <= a < n and 0 <= b < n):
            raise ValueError(f"edge ({a}, {b}) names a player who is not there; there are players 0..{n - 1}")
        neighbours[a] |= 1 << b
        neighbours[b] |= 1 << a
    return neighbours


def _first_parts(neighbours: Ints) -> Ints:
    """[2^n] the connected part of each coalition that its lowest player is in."""
    reach = unions_of(neighbours)
    everyone = np.arange(len(reach))
    part = everyone & -everyone
    while True:
        grown = part | reach[part] & everyone
        if np.array_equal(grown, part):
            return part
        part = grown


def _needed(n: int, ancestors: Mapping[int, Collection[int]]) -> list[int]:
    """[n] mask of each player's ancestors."""
    needs = all_ancestors(ancestors)
    named = max(
        (mask.bit_length() - 1 for player, needed in needs.items() for mask in (1 << player, needed)), default=-1
    )
    if named >= n:
        raise ValueError(f"ancestors name player {named}; there are players 0..{n - 1}")
    return [needs.get(player, 0) for player in range(n)]


def _allowed(n: int, needed: list[int]) -> Bools:
    """[2^n] True where no player lacks an ancestor."""
    everyone = np.arange(1 << n)
    allowed = np.ones(1 << n, np.bool_)
    for player, mask in enumerate(needed):
        if mask:
            allowed &= (everyone >> player & 1 == 0) | (everyone & mask == mask)
    return allowed


def _layers(allowed: Bools, n: int) -> list[Ints]:
    """The allowed coalitions by size, 0..n."""
    found = np.flatnonzero(allowed)
    by_size = sizes(n)[found]
    found = found[np.argsort(by_size, kind="stable")]
    return np.split(found, np.cumsum(np.bincount(by_size, minlength=n + 1))[:-1])


def _extensions(layers: list[Ints], needed: list[int]) -> Floats:
    """[2^n] linear extensions from each coalition to N; as floats, since their ratios are all that counts."""
    onward = np.zeros(1 << len(needed))
    onward[-1] = 1
    for layer in layers[-2::-1]:
        for i in range(len(needed)):
            now = _ready(layer, i, needed)
            onward[now] += onward[now | 1 << i]
    return onward


def _ready(layer: Ints, player: int, needed: list[int]) -> Ints:
    """The coalitions that lack the player but none of its ancestors."""
    ready: Ints = layer[(layer >> player & 1 == 0) & (layer & needed[player] == needed[player])]
    return ready
