"""The Winter value: its definition, its laws, its worked example, all in exact fractions."""

import math
import random
from fractions import Fraction
from itertools import combinations, count, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit import causally_closed, coalitions, sampled_winter, winter

F = Fraction


def leaves(tree):
    return (tree,) if isinstance(tree, int) else tuple(leaf for part in tree for leaf in leaves(part))


def orders(tree):
    """Every order in which each unit's leaves stand together."""
    if isinstance(tree, int):
        yield (tree,)
        return
    parts = [list(orders(part)) for part in tree]
    for order in permutations(parts):
        for chosen in product(*order):
            yield tuple(leaf for run in chosen for leaf in run)


def by_definition(tree, value):
    """Mean marginal contribution over all those orders."""
    earned = dict.fromkeys(leaves(tree), F(0))
    every = list(orders(tree))
    for order in every:
        for place, leaf in enumerate(order):
            earned[leaf] += value(frozenset(order[: place + 1])) - value(frozenset(order[:place]))
    return {leaf: total / len(every) for leaf, total in earned.items()}


def leaf_shares(tree, value):
    found = winter(tree, value).shares
    return {leaf: found[path] for leaf, path in paths(tree).items()}


def paths(tree, path=()):
    if isinstance(tree, int):
        return {tree: path}
    return {leaf: where for i, part in enumerate(tree) for leaf, where in paths(part, (*path, i)).items()}


def nodes(tree, path=()):
    yield path, tree
    if not isinstance(tree, int):
        for i, part in enumerate(tree):
            yield from nodes(part, (*path, i))


def game(n, die):
    table = {frozenset(s): F(die.randint(-50, 100), 97) for k in range(n + 1) for s in combinations(range(n), k)}
    return table.__getitem__


@st.composite
def trees(draw, most=6):
    n = draw(st.integers(1, most))

    def grow(members, depth):
        if len(members) == 1 and (depth == 0 or draw(st.booleans())):
            return members[0]
        if depth == 0:
            return tuple(members)
        cuts = sorted(draw(st.sets(st.integers(1, max(1, len(members) - 1)), max_size=len(members) - 1)))
        bounds = [0, *[c for c in cuts if c < len(members)], len(members)]
        return tuple(grow(members[a:b], depth - 1) for a, b in pairwise(bounds))

    return grow(list(draw(st.permutations(range(n)))), draw(st.integers(0, 3)))


@st.composite
def games(draw, most=5):
    tree = draw(trees(most))
    return tree, game(len(leaves(tree)), random.Random(draw(st.integers(0, 10**6))))


@given(games())
def test_it_is_the_mean_over_consistent_orders(given_):
    tree, value = given_
    assert leaf_shares(tree, value) == by_definition(tree, value)


@given(games(6))
def test_parts_sum_to_their_unit_and_the_root_to_the_value(given_):
    tree, value = given_
    found = winter(tree, value)
    everybody = frozenset(leaves(tree))
    assert found.shares[()] == value(everybody) - value(frozenset())
    for path, _ in nodes(tree):
        assert found.residual(path) == 0
    assert list(found.shares) == [path for path, _ in nodes(tree)]
    assert found.std_errors is None
    assert found.n is None


@given(games())
def test_each_level_has_the_winter_value_of_its_quotient_game(given_):
    tree, value = given_
    full = winter(tree, value).shares
    for level in range(3):
        members, names = {}, count()

        def merged(node, depth, level=level, members=members, names=names):
            if depth == level or isinstance(node, int):
                name = next(names)
                members[name] = frozenset(leaves(node))
                return name
            return tuple(merged(part, depth + 1) for part in node)

        quotient = merged(tree, 0)
        found = winter(quotient, lambda s, members=members: value(frozenset().union(*(members[i] for i in s))))
        assert {path: full[path] for path in found.shares} == found.shares


@given(games(), st.data())
def test_a_null_unit_earns_nothing(given_, data):
    tree, value = given_
    path, node = data.draw(st.sampled_from(list(nodes(tree))))
    null = frozenset(leaves(node))
    found = winter(tree, lambda s: value(s - null)).shares
    assert found[path] == 0


@given(games(), st.data())
def test_symmetric_siblings_earn_the_same(given_, data):
    tree, value = given_
    inner = [node for _, node in nodes(tree) if not isinstance(node, int) and sum(isinstance(p, int) for p in node) > 1]
    if not inner:
        return
    node = data.draw(st.sampled_from(inner))
    one, other = [part for part in node if isinstance(part, int)][:2]

    def symmetric(s):
        return value(s) + value(frozenset({one: other, other: one}.get(leaf, leaf) for leaf in s))

    shares = leaf_shares(tree, symmetric)
    assert shares[one] == shares[other]


@given(games(), st.integers(0, 10**6), st.integers(-3, 3))
def test_it_is_linear(given_, seed, factor):
    tree, value = given_
    other = game(len(leaves(tree)), random.Random(seed))
    mixed = winter(tree, lambda s: value(s) + factor * other(s)).shares
    one, two = winter(tree, value).shares, winter(tree, other).shares
    assert mixed == {path: one[path] + factor * two[path] for path in mixed}


def without(tree, gone):
    if isinstance(tree, int):
        return None if tree in gone else tree
    kept = [part for part in (without(part, gone) for part in tree) if part is not None]
    return tuple(kept) if kept else None


def renamed(tree, value):
    """The tree and the game with leaves 0..n-1, and the old name of each."""
    names = leaves(tree)
    new = {old: i for i, old in enumerate(names)}

    def walk(node):
        return new[node] if isinstance(node, int) else tuple(walk(part) for part in node)

    return walk(tree), lambda s: value(frozenset(names[i] for i in s)), names


@given(games(), st.data())
def test_siblings_lose_as_much_by_each_others_leaving(given_, data):
    tree, value = given_
    pairs = [(a, b) for _, node in nodes(tree) if not isinstance(node, int) for a, b in combinations(node, 2)]
    if not pairs:
        return
    one, other = data.draw(st.sampled_from(pairs))

    def share(of, gone):
        rest, game_, names = renamed(without(tree, gone) if gone else tree, value)
        earned = leaf_shares(rest, game_)
        return sum(earned[i] for i, old in enumerate(names) if old in leaves(of))

    assert share(one, ()) - share(one, leaves(other)) == share(other, ()) - share(other, leaves(one))


def shapley(players, value):
    n = len(players)
    weight = [F(math.factorial(k) * math.factorial(n - k - 1), math.factorial(n)) for k in range(n)]
    return {
        i: sum(
            weight[k] * (value(frozenset({*s, i})) - value(frozenset(s)))
            for k in range(n)
            for s in combinations([j for j in players if j != i], k)
        )
        for i in players
    }


def owen(unions, value):
    found = {}
    for k, union in enumerate(unions):
        others = [u for j, u in enumerate(unions) if j != k]
        for i in union:
            rest = [j for j in union if j != i]
            total = F(0)
            for h in range(len(unions)):
                for outer in combinations(others, h):
                    base = frozenset(leaf for u in outer for leaf in u)
                    for m in range(len(union)):
                        for inner in combinations(rest, m):
                            w = F(1, math.comb(len(others), h) * len(unions)) * F(
                                1, math.comb(len(rest), m) * len(union)
                            )
                            total += w * (value(base | {*inner, i}) - value(base | set(inner)))
            found[i] = total
    return found


@given(st.integers(1, 5), st.integers(0, 10**6))
def test_one_level_is_shapley_two_are_owen_and_single_children_pass_through(n, seed):
    value = game(n, random.Random(seed))
    assert leaf_shares(tuple(range(n)), value) == shapley(range(n), value)
    cut = seed % n
    unions = [tuple(range(cut)), tuple(range(cut, n))][cut == 0 :]
    assert leaf_shares(tuple(unions), value) == owen(unions, value)
    chained = tuple(((((leaf,),)),) for leaf in range(n))
    assert leaf_shares(chained, value) == leaf_shares(tuple(range(n)), value)


# team > role > agent > turn. O1 splits, O2 merges; searcher A has one turn, searcher B two, the coder one.
EXAMPLE = (((0, 1),), ((2,), (3, 4)), ((5,),))
DIVIDENDS = {
    (2,): 10, (3,): 4, (5,): 10, (0, 2): 10, (0, 3): 6, (3, 4): 6, (0, 5): 10, (2, 3): -8, (1, 2, 5): 16,
    (0, 1, 2, 3, 4, 5): 36,
}  # fmt: skip


def worked(s):
    return F(sum(worth for members, worth in DIVIDENDS.items() if s >= set(members)), 100)


def test_worked_example():
    assert winter(EXAMPLE, worked).shares == {
        (): 1,
        (0,): F(91, 300), (0, 0): F(91, 300), (0, 0, 0): F(19, 100), (0, 0, 1): F(17, 150),
        (1,): F(28, 75), (1, 0): F(67, 300), (1, 0, 0): F(67, 300),
        (1, 1): F(3, 20), (1, 1, 0): F(9, 100), (1, 1, 1): F(3, 50),
        (2,): F(97, 300), (2, 0): F(97, 300), (2, 0, 0): F(97, 300),
    }  # fmt: skip
    flat = leaf_shares(tuple(range(6)), worked)
    assert list(flat.values()) == [F(19, 100), F(17, 150), F(67, 300), F(3, 25), F(9, 100), F(79, 300)]
    agents = leaf_shares(((0, 1), (2,), (3, 4), (5,)), worked)
    assert list(agents.values()) == [F(7, 40), F(59, 600), F(19, 75), F(21, 200), F(3, 40), F(22, 75)]


def full(branching):
    names = count()

    def grow(left):
        return next(names) if not left else tuple(grow(left[1:]) for _ in range(left[0]))

    return grow(branching)


@pytest.mark.parametrize(
    ("tree", "expected"),
    [(EXAMPLE, 40), (full((3, 3, 3)), 944), (full((4, 5, 3)), 16_336), (full((5, 8, 4)), 1_167_232), (0, 2)],
)
def test_how_many_coalitions(tree, expected):
    assert coalitions(tree) == expected


@given(games())
def test_each_coalition_is_asked_for_once(given_):
    tree, value = given_
    asked = []
    found = winter(tree, lambda s: asked.append(s) or value(s))
    assert len(asked) == len(set(asked)) == found.model_calls == coalitions(tree)
    assert set(asked) == {frozenset(order[:k]) for order in orders(tree) for k in range(len(order) + 1)}


def test_levels_and_precedence_together_may_leave_no_order():
    """A1 before B1 before A2: four orders keep A together, one respects causes, none does both; the closed game has
    a value all the same."""
    tree = ((0, 1), (2,))  # A1, A2 and B1
    consistent = set(orders(tree))
    causal = {o for o in permutations(range(3)) if o.index(0) < o.index(2) < o.index(1)}
    assert (len(consistent), len(causal), len(consistent & causal)) == (4, 1, 0)
    down_sets = {frozenset(): F(0), frozenset({0}): F(1, 5), frozenset({0, 2}): F(1, 2), frozenset({0, 1, 2}): F(1)}
    ancestors = [frozenset(), frozenset({0, 2}), frozenset({0})]
    shares = winter(tree, causally_closed(down_sets.__getitem__, ancestors)).shares
    assert shares[()] == 1
    assert shares[(0,)] == shares[(0, 0)] + shares[(0, 1)]


@given(games(6), st.integers(0, 10**6), st.integers(2, 6))
def test_samples_add_up_at_every_level(given_, seed, n):
    tree, value = given_
    die = random.Random(seed)
    noisy = sampled_winter(
        tree, lambda s: float(value(s)) + die.random(), orders=n, rng=np.random.default_rng(seed), cache=False
    )
    for path, _ in nodes(tree):
        assert math.isclose(noisy.residual(path), 0, abs_tol=1e-9)
    assert noisy.n == n
    assert set(noisy.std_errors) == set(noisy.shares)
    assert noisy.model_calls == n * (len(leaves(tree)) + 1)


def test_samples_come_near_the_exact_value():
    exact = winter(EXAMPLE, worked).shares
    found = sampled_winter(EXAMPLE, worked, orders=4000, rng=np.random.default_rng(0), cache=True)
    assert found.model_calls <= coalitions(EXAMPLE)
    for path, share in exact.items():
        assert abs(found.shares[path] - float(share)) <= 4 * found.std_errors[path] + 1e-12
    again = sampled_winter(EXAMPLE, worked, orders=4000, rng=np.random.default_rng(0), cache=True)
    assert again.shares == found.shares


@pytest.mark.parametrize("tree", [(0, 0), (1, 2), (), ((), 0), (0, (2,))])
def test_a_tree_holds_each_leaf_once(tree):
    with pytest.raises(ValueError, match="leaves of a tree"):
        winter(tree, lambda s: 0)
    with pytest.raises(ValueError, match="leaves of a tree"):
        sampled_winter(tree, lambda s: 0, orders=2, rng=np.random.default_rng(0), cache=True)


def test_one_order_has_no_error():
    with pytest.raises(ValueError, match="at least 2"):
        sampled_winter((0, 1), lambda s: 0, orders=1, rng=np.random.default_rng(0), cache=True)
