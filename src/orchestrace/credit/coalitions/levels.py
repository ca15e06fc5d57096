"""Winter value: shares for units within units (team > role > agent > turn > message), which add up at every level.

A level structure is a rooted tree whose leaves are the players. The Winter value of a player is its marginal
contribution v(S ∪ i) − v(S), averaged over all orders of the players in which the leaves of every unit stand together.
One level of units under the root is the Owen value, none is the Shapley value.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb, sqrt
from typing import Generic, TypeAlias

import numpy as np

from orchestrace.credit.coalitions._game import Game, Number, Value, mask_of

Tree: TypeAlias = "int | tuple[Tree, ...]"
"""A player, or a unit of units. The players are 0..n−1, each once; a unit without players is allowed and earns 0."""

Path: TypeAlias = tuple[int, ...]
"""Where a unit stands in its tree: () the root, (2, 0) the first child of the root's third."""

MOST_COALITIONS = 1 << 22
"""`winter` refuses trees with more coalitions than this; sample them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelShares(Generic[Number]):
    """A partition of v(N) − v(∅) among the units of a tree, at all of its levels at once."""

    shares: Mapping[Path, Number]
    """Each unit's share; () is the root's, v(N) − v(∅). Parents come before their children."""
    std_errors: Mapping[Path, float] | None = None
    """Standard error of each unit's share; None: exact, or too few samples to tell."""
    model_calls: int = 0
    """How often `value` was asked, v(∅) and v(N) included unless they were given."""
    n: int | None = None
    """Orders sampled; None: exact."""
    causal: bool = False
    """True: v(S) was v of the part of S whose ancestors are in S too."""

    def residual(self, path: Path) -> Number:
        """The unit's share minus the sum of its children's: rounding alone. 0 for a leaf, which has no children.

        Raises:
          KeyError: no unit stands at `path`.
        """
        share = self.shares[path]
        child, split = 0, share - share
        while (*path, child) in self.shares:
            split += self.shares[*path, child]
            child += 1
        return share - split if child else split


def units(tree: Tree) -> dict[Path, frozenset[int]]:
    """The players of every unit, by path; parents before their children, siblings in order.

    Raises:
      ValueError: the players are not 0..n−1, each once.
    """
    found = dict(_walk(tree, ()))
    players = sorted(node for _, node in _leaves(tree, ()))
    if players != list(range(len(players))):
        raise ValueError(f"the players of the tree are {players[:20]}; they must be 0..{len(players) - 1}, each once")
    return found


def coalitions(tree: Tree) -> int:
    """How many coalitions the exact Winter value of `tree` needs, ∅ and N included.

        P(leaf) = 2,    P(unit of c children) = 2^c + 2^(c−1) Σ_children (P(child) − 2)

    Raises:
      ValueError: the players are not 0..n−1, each once.
    """
    units(tree)
    return _prefixes(tree)


def winter(
    tree: Tree, value: Value[Number], *, ancestors: Mapping[int, Collection[int]] | None = None
) -> LevelShares[Number]:
    """Exact Winter value of every unit (Winter 1989), in one pass from the root down.

        share(k) = Σ_{A ⊆ siblings} |A|! (c − |A| − 1)! / c!  E_B [ v(B ∪ A ∪ k) − v(B ∪ A) ]

    c: children of the unit that k is part of. B: the players outside that unit who came before it; the terms of one
    level are the B of the next, those of equal players merged, so that every coalition is asked for once.

    Args:
      tree: the units.
      value: v, deterministic. Fractions and whole numbers give exact shares, floats give floats.
      ancestors: for each player who may not be without others, those others (direct or all); v(S) is then v of the
        largest part of S that holds all its ancestors (`causally_closed`), and only such parts are asked for. Orders
        that respect precedence as well as the levels may not exist: A1 before B1 before A2 leaves none.

    Raises:
      ValueError: a malformed tree, one with more than MOST_COALITIONS coalitions, ancestors in a cycle, or a v(S) that
        is not finite.
    """
    members = units(tree)
    needed = _prefixes(tree)
    if needed > MOST_COALITIONS:
        size = f"2^{needed.bit_length() - 1} coalitions or more; winter takes up to {MOST_COALITIONS:,}"
        raise ValueError(f"the tree has {size}: use sampled_winter")
    game = Game(value, len(members[()]), {}, ancestors=ancestors)
    shares = _split(tree, {path: mask_of(players) for path, players in members.items()}, game)
    ordered = {path: shares[path] for path in members}
    return LevelShares(shares=ordered, model_calls=game.calls, causal=ancestors is not None)


def sampled_winter(
    tree: Tree,
    value: Value[Number],
    *,
    orders: int,
    rng: np.random.Generator,
    antithetic: bool = False,
    cache: bool = False,
    ends: tuple[Number, Number] | None = None,
    ancestors: Mapping[int, Collection[int]] | None = None,
) -> LevelShares[Number]:
    """Winter value from sampled orders: the children of every unit shuffled, the players walked through once.

    In one order a unit's share is v(after it) − v(before it), so that every sample adds up at every level; the mean
    over orders is unbiased. Shares of one level from one set of orders and of another level from another do not add up.

    Args:
      tree: the units.
      value: v, which may be noisy (the reward of a fresh replay).
      orders: how many; each costs n − 1 evaluations, and v(∅) and v(N) unless given.
      rng: shuffles.
      antithetic: each order with its reverse at every node; exact where players act in pairs, no gain where v is noisy.
      cache: ask for each coalition once. Not for a noisy v, whose noise the standard errors would then not see.
      ends: (v(∅), v(N)) where they are known.
      ancestors: as in `winter`.

    Raises:
      ValueError: as `winter` (but the tree may have any size), no order, or an odd number of antithetic ones.
    """
    if orders < 1 or (antithetic and orders % 2):
        raise ValueError(f"orders is {orders}; it must be at least 1, and even if antithetic")
    count = len(units(tree)[()])
    known = {} if ends is None else {0: ends[0], (1 << count) - 1: ends[1]}
    game = Game(value, count, known, ancestors=ancestors, remember=cache)
    draws = [_drawn(tree, game, rng, antithetic) for _ in range(orders // 2 if antithetic else orders)]
    samples = {path: [draw[path] for draw in draws] for path in units(tree)}
    means = {path: _total(sample) / len(sample) for path, sample in samples.items()}
    errors = {path: _std_error(sample) for path, sample in samples.items()} if len(draws) > 1 else None
    causal = ancestors is not None
    return LevelShares(shares=means, std_errors=errors, model_calls=game.calls, n=orders, causal=causal)


def _walk(node: Tree, path: Path) -> Iterator[tuple[Path, frozenset[int]]]:
    yield path, frozenset(player for _, player in _leaves(node, path))
    if not isinstance(node, int):
        for k, child in enumerate(node):
            yield from _walk(child, (*path, k))


def _leaves(node: Tree, path: Path) -> Iterator[tuple[Path, int]]:
    if isinstance(node, int):
        yield path, node
    elif isinstance(node, tuple):
        for k, child in enumerate(node):
            yield from _leaves(child, (*path, k))
    else:
        raise ValueError(f"tree{list(path)} is {node!r}; it must be a player's number or a tuple of units")


def _inner(node: Tree, path: Path) -> Iterator[tuple[Path, tuple[Tree, ...]]]:
    if not isinstance(node, int):
        yield path, node
        for k, child in enumerate(node):
            yield from _inner(child, (*path, k))


def _prefixes(node: Tree) -> int:
    """Distinct sets of a unit's players that an order may leave behind it; 1 where the unit has none."""
    if isinstance(node, int):
        return 2
    children = [prefixes for prefixes in map(_prefixes, node) if prefixes > 1]
    sets: int = 2 ** len(children)
    return sets + sum(prefixes - 2 for prefixes in children) * sets // 2


def _unions(parts: list[int]) -> list[int]:
    """The union of every subset of the parts; the subset's bits are its place."""
    joined = [0]
    for part in parts:
        joined += [also | part for also in joined]
    return joined


def _split(tree: Tree, masks: dict[Path, int], game: Game[Number]) -> dict[Path, Number]:
    """Every unit's share, from the root down."""
    shares: dict[Path, Number] = {(): game(masks[()]) - game(0)}
    contexts: dict[Path, dict[int, Fraction]] = {(): {0: Fraction(1)}}
    path: Path
    for path, node in _inner(tree, ()):
        before = contexts.pop(path)
        joined = _unions([masks[*path, k] for k in range(len(node))])
        means = [_mean(game, before, also) for also in joined]
        weights = [Fraction(1, len(node) * comb(len(node) - 1, size)) for size in range(len(node))]
        for k, child in enumerate(node):
            shares[*path, k] = _marginal(means, weights, k)
            if not isinstance(child, int):
                contexts[*path, k] = _contexts(before, joined, weights, k)
    return shares


def _mean(game: Game[Number], before: dict[int, Fraction], also: int) -> Number:
    """E_B v(B ∪ also)."""
    return _total([q * game(base | also) for base, q in before.items()])


def _marginal(means: list[Number], weights: list[Fraction], k: int) -> Number:
    """Σ_A w(A) (mean(A ∪ k) − mean(A)) over the sets A of k's siblings."""
    without = [subset for subset in range(len(means)) if not subset >> k & 1]
    return _total([weights[subset.bit_count()] * (means[subset | 1 << k] - means[subset]) for subset in without])


def _total(numbers: list[Number]) -> Number:
    total = numbers[0]
    for number in numbers[1:]:
        total += number
    return total


def _contexts(before: dict[int, Fraction], joined: list[int], weights: list[Fraction], k: int) -> dict[int, Fraction]:
    """What may stand before the parts of child k: the unit's own contexts, each with each set of k's siblings."""
    contexts: dict[int, Fraction] = {}
    for subset, also in enumerate(joined):
        if not subset >> k & 1:
            for base, q in before.items():
                contexts[base | also] = contexts.get(base | also, 0) + q * weights[subset.bit_count()]
    return contexts


def _drawn(tree: Tree, game: Game[Number], rng: np.random.Generator, antithetic: bool) -> dict[Path, Number]:
    """The shares in one random order, or their mean over it and its reverse."""
    order = {path: rng.permutation(len(node)).tolist() for path, node in _inner(tree, ())}
    shares = _walked(tree, order, game)
    if not antithetic:
        return shares
    reverse = _walked(tree, {path: children[::-1] for path, children in order.items()}, game)
    return {path: (share + reverse[path]) / 2 for path, share in shares.items()}


def _walked(tree: Tree, drawn: dict[Path, list[int]], game: Game[Number]) -> dict[Path, Number]:
    """One order: v after each unit minus v before it."""
    shares: dict[Path, Number] = {}
    behind, part, level = 0, 0, game(0)

    def walk(node: Tree, path: Path) -> None:
        nonlocal behind, part, level
        before = level
        if isinstance(node, int):
            behind |= 1 << node
            # what changes nothing is not asked again: a noisy v would credit the noise
            if game.part(behind) != part:
                part, level = game.part(behind), game(behind)
        else:
            for k in drawn[path]:
                walk(node[k], (*path, k))
        shares[path] = level - before

    walk(tree, ())
    return shares


def _std_error(sample: list[Number]) -> float:
    values = np.array([float(x) for x in sample])
    return sqrt(float(values.var(ddof=1)) / len(values))
