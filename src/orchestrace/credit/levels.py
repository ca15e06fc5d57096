"""Shares for units that nest: the Winter value, which is the Shapley value for a level structure (Winter 1989).

    The mean, over all orders of the leaves in which every unit's leaves stand together, of a leaf's marginal
    contribution.  A unit's share is the sum of its leaves'.

Going down the tree: at each node choose a subset A of a unit's c − 1 siblings with weight |A|! (c − |A| − 1)! / c!, and
add the leaves of A to the base B; the unit U then earns Σ weight · (v(B ∪ U) − v(B)). One level gives the Shapley
value, two the Owen value; a chain of single children passes its share through.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

Tree = int | tuple["Tree", ...]
"""A leaf's number, or the trees of the parts. The leaves of a whole tree are 0..n-1, each once."""
Path = tuple[int, ...]
"""Which part to take at each level from the top down; () is the whole."""
Leaves = frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LevelShares:
    """The share of every unit at every level."""

    shares: Mapping[Path, Any]
    """By path, in the order of the tree, a unit before its parts. Numbers are of the kind that v gives."""
    std_errors: Mapping[Path, float] | None = None
    """By path; None: the shares are exact."""
    model_calls: int
    """Times that v was asked."""
    n: int | None = None
    """Orders behind each share; None: exact."""

    def residual(self, path: Path) -> Any:
        """A unit's share minus the sum of its parts': rounding alone. 0 for a leaf."""
        parts = [share for place, share in self.shares.items() if len(place) == len(path) + 1 and place[:-1] == path]
        return self.shares[path] - sum(parts) if parts else 0


class _Asked:
    """v, with a count of how often it was asked, and a memory where its answers do not change."""

    def __init__(self, value: Callable[[Leaves], Any], *, remember: bool) -> None:
        self.value, self.remember = value, remember
        self.known: dict[Leaves, Any] = {}
        self.calls = 0

    def __call__(self, leaves: Leaves) -> Any:
        if self.remember and leaves in self.known:
            return self.known[leaves]
        self.calls += 1
        answer = self.value(leaves)
        if self.remember:
            self.known[leaves] = answer
        return answer


def winter(tree: Tree, value: Callable[[Leaves], Any]) -> LevelShares:
    """The exact Winter value of every unit.

    Args:
      tree: the level structure.
      value: v(S) of a set of leaves, asked once for each of `coalitions(tree)` sets, the empty and the full one among
        them. Fractions in, fractions out.

    Raises:
      ValueError: the leaves of the tree are not 0..n-1, each once, or an inner unit has no parts.
    """
    _checked(tree)
    v = _Asked(value, remember=True)
    everybody = v(frozenset(_leaves(tree)))
    exact = isinstance(everybody, int | Fraction) and isinstance(v(frozenset()), int | Fraction)
    shares: dict[Path, Any] = {}
    _share(tree, (), {frozenset(): Fraction(1) if exact else 1.0}, v=v, shares=shares)
    return LevelShares(shares=shares, model_calls=v.calls)


def _share(
    node: Tree,
    path: Path,
    bases: Mapping[Leaves, Any],
    *,
    v: Callable[[Leaves], Any],
    shares: dict[Path, Any],
) -> None:
    """The share of a node, and of all below it, given what may stand before it and with which weight."""
    own = frozenset(_leaves(node))
    shares[path] = sum(weight * (v(base | own) - v(base)) for base, weight in bases.items())
    if isinstance(node, int):
        return
    parts = [frozenset(_leaves(part)) for part in node]
    for place, part in enumerate(node):
        others = parts[:place] + parts[place + 1 :]
        _share(part, (*path, place), _with_siblings(bases, others), v=v, shares=shares)


def _with_siblings(bases: Mapping[Leaves, Any], others: Sequence[Leaves]) -> dict[Leaves, Any]:
    """Every base with every subset of the siblings; equal bases are one."""
    found: dict[Leaves, Any] = {}
    for size in range(len(others) + 1):
        weight = Fraction(1, math.comb(len(others), size) * (len(others) + 1))
        for subset in combinations(others, size):
            more = frozenset[int]().union(*subset)
            for base, before in bases.items():
                share = before * (weight if isinstance(before, Fraction) else float(weight))
                found[base | more] = found.get(base | more, 0) + share
    return found


def coalitions(tree: Tree) -> int:
    """How many different sets of leaves the exact Winter value asks about: far fewer than 2^n where units nest.

    P(leaf) = 2,     P(unit with c parts) = 2^c + 2^(c − 1) Σ over parts (P(part) − 2)
    """
    if isinstance(tree, int):
        return 2
    c = len(tree)
    return int(2**c + sum((coalitions(part) - 2) * 2 ** (c - 1) for part in tree))


def sampled_winter(
    tree: Tree, value: Callable[[Leaves], float], *, orders: int, rng: np.random.Generator, cache: bool
) -> LevelShares:
    """The Winter value estimated from random orders, with standard errors.

    An order is drawn by shuffling the parts of every unit; walking it once, a unit earns v(after it) − v(before it).
    So in every single order, and in their mean, the parts of each unit add up to it, at all levels at once. Reversing
    orders (antithetic) is left out: under outcome noise it gains nothing.

    Args:
      tree: the level structure.
      value: v(S); it may be noisy.
      orders: how many to draw, at least 2.
      rng: shuffles.
      cache: True: v is deterministic, so each set is asked for once; False: each is asked for anew.

    Raises:
      ValueError: as `winter`, or too few orders.
    """
    _checked(tree)
    if orders < 2:
        raise ValueError(f"orders={orders}; at least 2 are needed for a standard error")
    v = _Asked(value, remember=cache)
    samples: dict[Path, list[float]] = {path: [] for path in _paths(tree, ())}
    for _ in range(orders):
        _walk(tree, (), rng=rng, v=v, earned=samples, before=(frozenset(), v(frozenset())))
    table = np.array(list(samples.values()), np.float64)
    errors = table.std(axis=1, ddof=1) / math.sqrt(orders)
    return LevelShares(
        shares=dict(zip(samples, table.mean(axis=1).tolist(), strict=True)),
        std_errors=dict(zip(samples, errors.tolist(), strict=True)),
        model_calls=v.calls,
        n=orders,
    )


def _walk(
    node: Tree,
    path: Path,
    *,
    rng: np.random.Generator,
    v: Callable[[Leaves], float],
    earned: Mapping[Path, list[float]],
    before: tuple[Leaves, float],
) -> tuple[Leaves, float]:
    """Go through a unit's leaves in a shuffled order; what there is after it, and its value."""
    base, worth = before
    if isinstance(node, int):
        after = base | {node}
        reached = (after, v(after))
    else:
        reached = before
        for place in rng.permutation(len(node)).tolist():
            reached = _walk(node[place], (*path, place), rng=rng, v=v, earned=earned, before=reached)
    earned[path].append(reached[1] - worth)
    return reached


def causally_closed(value: Callable[[Leaves], Any], ancestors: Sequence[Leaves]) -> Callable[[Leaves], Any]:
    """v on the largest part of S that holds the ancestors of all its members.

    An event cannot exist without its causes. With this game every order is admissible; asking for orders that respect
    both causes and levels can leave none (A's first turn before B's, B's before A's second).

    Args:
      value: asked only about sets that are closed.
      ancestors: [n] all of them, of each leaf, the remote ones too.
    """

    def closed(leaves: Leaves) -> Any:
        return value(frozenset(leaf for leaf in leaves if ancestors[leaf] <= leaves))

    return closed


def _leaves(tree: Tree) -> Iterator[int]:
    if isinstance(tree, int):
        yield tree
    else:
        for part in tree:
            yield from _leaves(part)


def _paths(tree: Tree, path: Path) -> Iterator[Path]:
    yield path
    if not isinstance(tree, int):
        for place, part in enumerate(tree):
            yield from _paths(part, (*path, place))


def _checked(tree: Tree) -> None:
    leaves = sorted(_leaves(tree))
    if leaves != list(range(len(leaves))) or _hollow(tree):
        raise ValueError(f"the leaves of a tree are 0..n-1, each once, and every unit has one; these are {leaves[:20]}")


def _hollow(tree: Tree) -> bool:
    return not isinstance(tree, int) and (not tree or any(map(_hollow, tree)))
