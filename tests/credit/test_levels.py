"""Winter value: laws on random games and trees in exact fractions, a worked example, counts, sampling."""

import math
import random
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.games_by_hand import (
    SIX_TURNS,
    consistent_orders,
    leaves,
    linear_extensions,
    mean_marginals,
    owen_by_hand,
    random_game,
    shapley_by_hand,
    six_turns,
)
from orchestrace.credit import causally_closed, coalitions, sampled_winter, units, winter


def random_tree(players, rng, depth):
    players = list(players)
    if len(players) == 1 and (depth == 0 or rng.random() < 0.6):
        return players[0]
    if depth == 0:
        return tuple(players)
    rng.shuffle(players)
    count = rng.randint(1, min(3, len(players)))
    cuts = [0, *sorted(rng.sample(range(1, len(players)), count - 1)), len(players)]
    return tuple(random_tree(players[a:b], rng, depth - 1) for a, b in pairwise(cuts))


def full_tree(branching):
    numbers = iter(range(10**6))

    def grown(widths):
        return tuple(grown(widths[1:]) for _ in range(widths[0])) if widths else next(numbers)

    return grown(branching)


def by_player(tree, found):
    return {min(players): found.shares[path] for path, players in units(tree).items() if _leaf(tree, path)}


def _leaf(tree, path):
    for k in path:
        tree = tree[k]
    return isinstance(tree, int)


seeds = st.integers(0, 10**9)


@st.composite
def cases(draw):
    rng = random.Random(draw(seeds))
    n = rng.randint(1, 5)
    return random_tree(range(n), rng, rng.randint(1, 3)), random_game(n, rng), rng, n


@given(cases())
def test_it_is_the_mean_over_consistent_orders(case):
    tree, value, _, _ = case
    assert by_player(tree, winter(tree, value)) == mean_marginals(consistent_orders(tree), value)


@given(cases())
def test_parts_sum_to_the_whole_at_every_node(case):
    tree, value, _, n = case
    found = winter(tree, value)
    assert found.shares[()] == value(frozenset(range(n))) - value(frozenset())
    assert all(found.residual(path) == 0 for path in found.shares)
    assert all(isinstance(share, Fraction) for share in found.shares.values())


@given(cases())
def test_the_units_of_a_level_have_the_value_of_the_game_between_them(case):
    tree, value, _, _ = case
    found = winter(tree, value)
    for level in range(1, 4):
        members = []

        def cut(node, depth, level=level, members=members):
            if depth == level or isinstance(node, int):
                members.append(frozenset(leaves(node)))
                return len(members) - 1
            return tuple(cut(child, depth + 1) for child in node)

        between = winter(cut(tree, 0), lambda S, m=members: value(frozenset().union(*[m[k] for k in S])))
        assert all(found.shares[path] == share for path, share in between.shares.items())


@given(cases())
def test_a_player_who_adds_nothing_earns_nothing(case):
    tree, value, rng, n = case
    idle = rng.randrange(n)
    assert by_player(tree, winter(tree, lambda S: value(S - {idle})))[idle] == 0


@given(cases())
def test_linear_in_the_game(case):
    tree, value, rng, n = case
    other = random_game(n, rng)
    mixed = winter(tree, lambda S: 3 * value(S) - other(S)).shares
    one, two = winter(tree, value).shares, winter(tree, other).shares
    assert all(mixed[path] == 3 * one[path] - two[path] for path in mixed)


@given(seeds)
def test_symmetric_siblings_earn_the_same(seed):
    rng = random.Random(seed)
    by_size = [Fraction(rng.randint(-9, 9)) for _ in range(6)]
    found = winter(((0, 1), (2, 3), 4), lambda S: by_size[len(S)])
    shares = by_player(((0, 1), (2, 3), 4), found)
    assert shares[0] == shares[1] == shares[2] == shares[3]
    assert found.shares[(0,)] == found.shares[(1,)]


@given(seeds)
def test_siblings_lose_the_same_by_each_others_leaving(seed):
    value = random_game(6, random.Random(seed))
    tree = (((0, 1), 2), ((3,), (4, 5)))

    def share(players, gone):
        """Of `players`, in the tree and game without `gone`."""
        stay = [p for p in range(6) if p not in gone]
        rest = winter(renamed(tree, stay), lambda S: value(frozenset(stay[k] for k in S)))
        return sum(by_player(renamed(tree, stay), rest)[stay.index(p)] for p in players)

    def renamed(node, stay):
        if isinstance(node, int):
            return stay.index(node)
        return tuple(renamed(child, stay) for child in node if set(leaves(child)) & set(stay))

    for one, two in (((0, 1), (2,)), ((3,), (4, 5)), ((0, 1, 2), (3, 4, 5)), ((4,), (5,))):
        assert share(one, ()) - share(one, two) == share(two, ()) - share(two, one)


@given(cases())
def test_no_level_is_shapley_and_one_is_owen(case):
    _, value, _, n = case
    flat = tuple(range(n))
    shapley = shapley_by_hand(n, value)
    for tree in (flat, (flat,), tuple((i,) for i in range(n))):
        assert by_player(tree, winter(tree, value)) == shapley
    unions = [u for u in (flat[::2], flat[1::2]) if u]
    for tree in (tuple(unions), tuple((u,) for u in unions)):
        assert by_player(tree, winter(tree, value)) == owen_by_hand(unions, value)


@given(cases())
def test_a_chain_of_single_children_passes_its_share_through(case):
    tree, value, _, _ = case
    plain, chained = winter(tree, value), winter(((tree,),), value)
    assert all(chained.shares[(0, 0, *path)] == share for path, share in plain.shares.items())
    assert chained.shares[()] == chained.shares[(0,)] == chained.shares[(0, 0)]


@given(cases())
def test_a_unit_without_players_changes_nothing(case):
    tree, value, _, _ = case
    plain, more = winter((tree,), value), winter((tree, (), ((),)), value)
    assert all(more.shares[path] == share for path, share in plain.shares.items())
    assert more.shares[(1,)] == more.shares[(2,)] == more.shares[(2, 0)] == 0
    assert coalitions((tree,)) == coalitions((tree, (), ((),))) == more.model_calls


@given(cases())
def test_each_coalition_is_asked_for_once_and_counted_beforehand(case):
    tree, value, _, _ = case
    asked = []
    found = winter(tree, lambda S: asked.append(S) or value(S))
    prefixes = {frozenset(order[:k]) for order in consistent_orders(tree) for k in range(len(order) + 1)}
    assert set(asked) == prefixes
    assert len(asked) == len(prefixes) == coalitions(tree) == found.model_calls


def test_worked_example():
    found = winter(SIX_TURNS, six_turns)
    assert found.shares == {
        (): 1,
        (0,): Fraction(91, 300),
        (0, 0): Fraction(91, 300),
        (0, 0, 0): Fraction(19, 100),
        (0, 0, 1): Fraction(17, 150),
        (1,): Fraction(28, 75),
        (1, 0): Fraction(67, 300),
        (1, 0, 0): Fraction(67, 300),
        (1, 1): Fraction(3, 20),
        (1, 1, 0): Fraction(9, 100),
        (1, 1, 1): Fraction(3, 50),
        (2,): Fraction(97, 300),
        (2, 0): Fraction(97, 300),
        (2, 0, 0): Fraction(97, 300),
    }
    assert (found.model_calls, coalitions(SIX_TURNS), found.n, found.std_errors) == (40, 40, None, None)


def test_three_values_of_the_six_turns_are_three():
    def of(tree):
        return " ".join(str(share) for _, share in sorted(by_player(tree, winter(tree, six_turns)).items()))

    assert of((0, 1, 2, 3, 4, 5)) == "19/100 17/150 67/300 3/25 9/100 79/300"
    assert of(((0, 1), (2,), (3, 4), (5,))) == "7/40 59/600 19/75 21/200 3/40 22/75"
    assert of(SIX_TURNS) == "19/100 17/150 67/300 9/100 3/50 97/300"


@pytest.mark.parametrize(
    ("branching", "count"), [((3,), 8), ((3, 3, 3), 944), ((4, 5, 3), 16_336), ((5, 8, 4), 1_167_232)]
)
def test_counts_of_coalitions(branching, count):
    assert coalitions(full_tree(branching)) == count


def test_precedence_and_levels_together_may_leave_no_order():
    tree, before = ((0, 1), (2,)), [(0, 2), (2, 1)]  # agent A's turns 0 and 1, agent B's turn 2: A1 < B1 < A2
    consistent, extensions = set(consistent_orders(tree)), set(linear_extensions(3, before))
    assert (len(consistent), len(extensions), len(consistent & extensions)) == (4, 1, 0)
    value = {
        frozenset(): Fraction(0),
        frozenset({0}): Fraction(2, 10),
        frozenset({0, 2}): Fraction(5, 10),
        frozenset({0, 1, 2}): Fraction(1),
    }
    found = winter(tree, value.__getitem__, ancestors={2: [0], 1: [2]})  # direct causes are enough
    assert by_player(tree, found) == {0: Fraction(19, 40), 1: Fraction(1, 8), 2: Fraction(2, 5)}
    assert (found.model_calls, found.causal, found.shares[()]) == (4, True, 1)


@given(cases())
def test_ancestors_are_the_causally_closed_game(case):
    tree, value, rng, n = case
    direct = {i: [j for j in range(i) if rng.random() < 0.5] for i in range(n)}
    closed = causally_closed(value, direct)
    found = winter(tree, value, ancestors=direct)
    assert found.shares == winter(tree, closed).shares
    for size in range(n + 1):
        part = set(range(size))
        while lost := {i for i in part if not set(direct[i]) <= part}:
            part -= lost
        assert closed(frozenset(range(size))) == value(frozenset(part))


@given(cases(), st.booleans(), st.booleans())
def test_every_sample_adds_up_at_every_level(case, antithetic, cached):
    tree, value, rng, n = case
    drawn = sampled_winter(
        tree, value, orders=2, rng=np.random.default_rng(rng.randrange(9**9)), antithetic=antithetic, cache=cached
    )
    assert all(drawn.residual(path) == 0 for path in drawn.shares)
    assert drawn.shares[()] == value(frozenset(range(n))) - value(frozenset())
    assert (drawn.n, drawn.std_errors is None) == (2, antithetic)


@given(seeds)
def test_antithetic_orders_are_exact_where_players_act_in_pairs(seed):
    rng = random.Random(seed)
    pairs = {(i, j): Fraction(rng.randint(-9, 9)) for i in range(6) for j in range(i, 6)}
    tree = random_tree(range(6), rng, 2)

    def value(S):
        return sum((gain for (i, j), gain in pairs.items() if {i, j} <= S), start=Fraction(0))

    drawn = sampled_winter(tree, value, orders=2, rng=np.random.default_rng(seed), antithetic=True)
    assert drawn.shares == winter(tree, value).shares


def test_the_sampled_mean_is_the_exact_value():
    exact = winter(SIX_TURNS, six_turns).shares
    noise = np.random.default_rng(5)

    def replayed(S):
        return float(noise.random() < six_turns(S))

    for value, ends in ((lambda S: float(six_turns(S)), None), (replayed, (0.0, 1.0))):
        drawn = sampled_winter(SIX_TURNS, value, orders=1500, rng=np.random.default_rng(1), ends=ends)
        for path, share in exact.items():
            assert abs(drawn.shares[path] - share) <= 4 * drawn.std_errors[path] + 1e-9, path
        assert 0 < drawn.std_errors[(0,)] < 0.03
        assert drawn.model_calls == 1500 * (7 if ends is None else 5)


def test_a_cached_value_is_asked_once_and_a_noisy_one_anew():
    calls = sampled_winter(SIX_TURNS, six_turns, orders=500, rng=np.random.default_rng(0), cache=True).model_calls
    assert calls == 40
    ends = (Fraction(0), Fraction(1))
    drawn = sampled_winter(SIX_TURNS, six_turns, orders=10, rng=np.random.default_rng(0), ends=ends)
    assert drawn.model_calls == 50


def test_noise_is_credited_to_nobody_without_their_causes():
    noise = np.random.default_rng(0)
    drawn = sampled_winter(
        ((0, 1), 2), lambda S: noise.random(), orders=1, rng=np.random.default_rng(0), ancestors={0: [2], 1: [2, 0]}
    )
    asked = drawn.model_calls
    assert asked <= 4
    assert abs(drawn.residual(())) < 1e-12


def test_equal_seeds_equal_shares():
    def once():
        return sampled_winter(SIX_TURNS, six_turns, orders=7, rng=np.random.default_rng(3)).shares

    assert once() == once()


def test_small_trees():
    alone = winter(0, lambda S: Fraction(len(S)))
    assert (dict(alone.shares), alone.model_calls, alone.residual(())) == ({(): 1}, 2, 0)
    nobody = winter((), lambda S: Fraction(7))
    assert (dict(nobody.shares), nobody.model_calls, coalitions(())) == ({(): 0}, 1, 1)
    assert sampled_winter((), lambda S: 7.0, orders=2, rng=np.random.default_rng(0)).shares == {(): 0}


def test_floats_and_whole_numbers():
    assert winter((0, 1, 2), lambda S: len(S) ** 2).shares[(0,)] == 3
    found = winter(SIX_TURNS, lambda S: np.float32(six_turns(S)))
    assert all(type(share) is float for share in found.shares.values())
    assert math.isclose(found.shares[(1, 1)], 0.15, abs_tol=1e-6)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ((0, 2), r"players of the tree are \[0, 2\]; they must be 0\.\.1"),
        ((0, (0, 1)), "each once"),
        ((0, [1]), r"tree\[1\] is \[1\]"),
        ((0, -1), "each once"),
    ],
)
def test_malformed_trees_are_refused(tree, message):
    for call in (units, coalitions, lambda t: winter(t, len)):
        with pytest.raises(ValueError, match=message):
            call(tree)


def test_other_odd_input_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"v\(\[0\]\) is nan"):
        winter((0, 1), lambda S: math.nan if 1 not in S and 0 in S else 0.0)
    with pytest.raises(ValueError, match="use sampled_winter"):
        winter(tuple(range(23)), len)
    with pytest.raises(ValueError, match=r"2\^20000 coalitions"):
        winter(tuple(range(20000)), len)
    with pytest.raises(ValueError, match="player 0 is its own ancestor"):
        causally_closed(len, {0: [1], 1: [0]})
    with pytest.raises(ValueError, match="ancestors name player 5"):
        winter((0, 1), len, ancestors={0: [5]})
    with pytest.raises(ValueError, match="orders is 0"):
        sampled_winter((0, 1), len, orders=0, rng=rng)
    with pytest.raises(ValueError, match="orders is 3"):
        sampled_winter((0, 1), len, orders=3, rng=rng, antithetic=True)
    with pytest.raises(KeyError):
        winter((0, 1), len).residual((4,))
