"""Exact values: the axioms, textbook twins in fractions, the worked example, odd input."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.games_by_hand import (
    banzhaf_by_hand,
    components,
    linear_extensions,
    mean_marginals,
    myerson_by_hand,
    owen_by_hand,
    random_game,
    shapley_by_hand,
    subsets,
    team_of_three,
)
from orchestrace.credit import (
    banzhaf_value,
    connected_sets,
    down_sets,
    leave_one_out_value,
    myerson_value,
    owen_value,
    precedence_value,
    shapley_value,
    union_sets,
    value_vector,
    winter,
)

WHOLE = {
    "shapley": lambda v: shapley_value(v).values,
    "banzhaf": lambda v: banzhaf_value(v).values,
    "leave one out": lambda v: leave_one_out_value(v).values,
    "owen": lambda v: owen_value(v, [range(0, _n(v), 2), range(1, _n(v), 2)]).values,
    "myerson": lambda v: myerson_value(v, [(i, i + 1) for i in range(_n(v) - 1)]).values,
    "precedence": lambda v: precedence_value(v, {i: [i // 2] for i in range(1, _n(v))}).values,
}
HUB = [(0, 1), (0, 2)]


def _n(v):
    return len(v).bit_length() - 1


def near(found, by_hand):
    return np.allclose(found, [float(by_hand[i]) for i in range(len(by_hand))], rtol=0, atol=1e-12)


def vector(n, value):
    return value_vector(n, lambda S: float(value(S)))


@st.composite
def games(draw, least=1, most=6):
    rng = random.Random(draw(st.integers(0, 10**9)))
    n = rng.randint(least, most)
    value = random_game(n, rng)
    return n, value, vector(n, value), rng


@given(games())
def test_shapley_and_banzhaf_equal_their_textbook_sums(game):
    n, value, v, _ = game
    assert near(shapley_value(v).values, shapley_by_hand(n, value))
    assert near(banzhaf_value(v).values, banzhaf_by_hand(n, value))
    everyone = frozenset(range(n))
    assert near(leave_one_out_value(v).values, [value(everyone) - value(everyone - {i}) for i in range(n)])


@given(games(most=5), st.data())
def test_owen_equals_its_textbook_mean_and_the_game_between_unions(game, data):
    n, value, v, _ = game
    of = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    unions = [[i for i in range(n) if of[i] == k] for k in range(3)]
    found = owen_value(v, unions)
    assert near(found.values, owen_by_hand([u for u in unions if u], value))
    between = value_vector(3, lambda S: v[sum(1 << i for k in S for i in unions[k])])
    assert np.allclose([found.values[u].sum() for u in unions], shapley_value(between).values)
    assert np.allclose(owen_value(v, [[i] for i in range(n)]).values, shapley_value(v).values)
    assert np.allclose(owen_value(v, [range(n)]).values, shapley_value(v).values)
    read = winter(tuple(tuple(u) for u in unions if u), value).model_calls
    assert found.sampling.model_calls == read - 2 == union_sets(n, unions).sum() - 2


@given(games(most=5), st.data())
def test_myerson_equals_its_textbook_sum_and_its_laws(game, data):
    n, value, v, _ = game
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    v -= v[0]
    found = myerson_value(v, edges)
    assert near(found.values, myerson_by_hand(n, lambda S: value(S) - value(frozenset()), edges))
    for part in components(range(n), edges):  # each part of the graph shares what it makes
        assert math.isclose(found.values[list(part)].sum(), v[sum(1 << i for i in part)], abs_tol=1e-12)
    for i, j in edges:  # an edge is worth the same to both of its ends
        loss = found.values - myerson_value(v, [e for e in edges if e != (i, j)]).values
        assert math.isclose(loss[i], loss[j], abs_tol=1e-12)
    assert np.allclose(myerson_value(v, pairs).values, shapley_value(v).values)
    assert abs(found.residual) < 1e-12


@given(games(most=6), st.data())
def test_precedence_equals_the_mean_over_linear_extensions(game, data):
    n, value, v, _ = game
    direct = {i: data.draw(st.lists(st.integers(0, i - 1), unique=True)) if i else [] for i in range(n)}
    orders = linear_extensions(n, [(a, b) for b, earlier in direct.items() for a in earlier])
    found = precedence_value(v, direct)
    assert near(found.values, mean_marginals(orders, value))
    assert abs(found.residual) < 1e-12
    assert np.allclose(precedence_value(v, {}).values, shapley_value(v).values)
    chain = precedence_value(v, {i: [i - 1] for i in range(1, n)})
    assert np.allclose(chain.values, np.diff(v[(1 << np.arange(n + 1)) - 1]))
    assert chain.sampling.model_calls == n - 1


@given(games(), st.sampled_from(sorted(WHOLE)))
def test_linear_and_nothing_for_who_adds_nothing(game, name):
    n, _, v, rng = game
    value = WHOLE[name]
    w = np.random.default_rng(rng.randrange(9**9)).normal(size=len(v))
    assert np.allclose(value(2 * v - w), 2 * value(v) - value(w))
    if name == "myerson":
        return  # there, who adds nothing may still connect others
    idle = rng.randrange(n)
    without = v[np.arange(len(v)) & ~(1 << idle)]
    assert abs(value(without)[idle]) < 1e-15


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=7))
def test_equals_are_treated_equally(by_size):
    n = len(by_size) - 1
    v = value_vector(n, lambda S: by_size[len(S)])
    for value in (shapley_value, banzhaf_value, leave_one_out_value):
        assert np.allclose(value(v).values, value(v).values[:1])


@given(games())
def test_what_adds_up_and_what_does_not(game):
    n, _, v, _ = game
    for found in (shapley_value(v), owen_value(v, [range(n)]), precedence_value(v, {})):
        assert found.total == v[-1] - v[0]
        assert abs(found.residual) < 1e-12
    for found in (banzhaf_value(v), leave_one_out_value(v)):
        assert math.isclose(found.residual, v[-1] - v[0] - found.values.sum(), abs_tol=1e-12)


@pytest.mark.parametrize(
    ("value", "shares", "total"),
    [
        (shapley_value, (0.3667, 0.2917, 0.3417), 1),
        (banzhaf_value, (0.3625, 0.2875, 0.3375), 0.9875),
        (leave_one_out_value, (0.65, 0.60, 0.50), 1.75),
        (lambda v: myerson_value(v, HUB), (0.4167, 0.2667, 0.3167), 1),
        (lambda v: myerson_value(v, HUB[:1]), (0.30, 0.20, 0.20), 0.7),
        (lambda v: owen_value(v, [[0], [1, 2]]), (0.375, 0.2875, 0.3375), 1),
        (lambda v: precedence_value(v, {1: [0], 2: [0]}), (0.10, 0.50, 0.40), 1),
    ],
    ids=["Shapley", "Banzhaf", "leave one out", "Myerson hub", "Myerson one edge", "Owen", "precedence"],
)
def test_planner_searcher_coder(value, shares, total):
    found = value(vector(3, team_of_three))
    assert np.allclose(found.values, shares, rtol=0, atol=5e-5)
    assert math.isclose(found.values.sum(), total)
    assert math.isclose(found.residual, found.total - total, abs_tol=1e-12)


def test_thinker_and_solver():
    """CCPO: joint reward 1, the solver alone .4, the thinker alone nothing."""
    assert np.allclose(shapley_value([0, 0, 0.4, 1]).values, [0.3, 0.7])


def test_a_removed_edge_costs_both_ends_the_same():
    v = vector(3, team_of_three)
    loss = myerson_value(v, HUB).values - myerson_value(v, HUB[:1]).values
    assert np.allclose(loss[[0, 2]], 7 / 60)


def test_how_many_coalitions_are_read():
    v = np.zeros(1 << 6)
    star, chain = [(0, i) for i in range(1, 6)], [(i, i + 1) for i in range(5)]
    assert shapley_value(v).sampling.model_calls == 62
    assert leave_one_out_value(v).sampling.model_calls == 6
    assert connected_sets(6, star).sum() == 1 + 2**5 + 5
    assert connected_sets(6, chain).sum() == 1 + 6 * 7 // 2
    assert myerson_value(v, star).sampling.model_calls == 2**5 + 5 - 1
    assert myerson_value(v, []).sampling.model_calls == 6
    assert down_sets(6, {i: [0] for i in range(1, 6)}).sum() == 2**5 + 1
    assert precedence_value(v, {i: [0] for i in range(1, 6)}).sampling.model_calls == 2**5 - 1


def test_only_what_is_needed_is_read():
    def value(S):
        asked.append(S)
        return len(S)

    for needed, found in (
        (connected_sets(4, HUB), lambda v: myerson_value(v, HUB)),
        (down_sets(4, {3: [0, 1]}), lambda v: precedence_value(v, {3: [0, 1]})),
    ):
        asked = []
        v = value_vector(4, value, needed=needed)
        assert len(asked) == needed.sum() < 16
        assert np.allclose(found(v).values, 1)
        with pytest.raises(ValueError, match="must be finite"):
            found(np.where(np.arange(16) == 1, np.nan, v))
    for found in (leave_one_out_value, lambda v: owen_value(v, [[0, 1], [2, 3]])):
        v = np.arange(16.0)
        v[5] = np.nan  # {0, 2}
        assert np.isfinite(found(v).values).all()
        with pytest.raises(ValueError, match=r"v\(\[0, 1, 2, 3\]\) is inf"):
            found(np.where(np.arange(16) == 15, np.inf, v))


def test_a_graph_that_parts_the_team_shares_what_its_parts_make():
    found = myerson_value([2, 3, 4, 9], [])
    assert (found.values.tolist(), found.total, found.residual) == ([1, 2], 3, 0)


def test_nobody_and_one():
    ways = [*WHOLE.values()]
    for value in ways[:3]:
        assert value([7.0]).shape == (0,)
        assert value([1.0, 4.0]).tolist() == [3.0]
    assert owen_value([7.0], []).values.shape == myerson_value([7.0], []).values.shape == (0,)
    assert precedence_value([7.0], {}).values.shape == (0,)
    assert owen_value([1.0, 4.0], [[0], []]).values.tolist() == [3.0]
    assert myerson_value([1.0, 4.0], []).values.tolist() == precedence_value([1.0, 4.0], {}).values.tolist() == [3.0]
    for found in (shapley_value([1.0, 4.0]), leave_one_out_value([1.0, 4.0]), precedence_value([7.0], {})):
        assert found.sampling.model_calls == 0
    assert value_vector(0, len).tolist() == [0]


def test_the_definition_of_v_is_kept():
    assert shapley_value([0, 1], definition="replay").sampling.definition == "replay"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shapley_value([0, 1, 2]), "values has length 3; a game of n players has 2\\^n values"),
        (lambda: shapley_value([]), "values has length 0"),
        (lambda: shapley_value([0, math.nan]), r"values\[1\] is nan"),
        (lambda: banzhaf_value([[0, 1]]), "values has shape"),
        (lambda: myerson_value([[0, 1]], []), "values has shape"),
        (lambda: myerson_value([0, 1], [(0, 1)]), r"edge \(0, 1\) names a player who is not there"),
        (lambda: owen_value([0, 1, 2, 3], [[0]]), r"unions hold players \[0\]; they must be 0\.\.1"),
        (lambda: owen_value([0, 1], [[0, 0]]), "each in one union"),
        (lambda: precedence_value([0, 1, 2, 3], {0: [1], 1: [0]}), "player 0 is its own ancestor"),
        (lambda: down_sets(2, {0: [2]}), "ancestors name player 2"),
        (lambda: connected_sets(25, []), "n is 25"),
        (lambda: value_vector(-1, len), "n is -1"),
        (lambda: value_vector(2, len, needed=[True]), "needed has length 1"),
    ],
)
def test_odd_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_large_games_equal_the_game_they_are_made_of():
    """Sixteen players, twice eight who never meet: each half has its own Shapley value."""
    rng = np.random.default_rng(0)
    low, high = rng.normal(size=256), rng.normal(size=256)
    v = (low[None, :] + high[:, None]).reshape(-1)
    both = np.concatenate([shapley_value(low).values, shapley_value(high).values])
    assert np.allclose(shapley_value(v).values, both)
    assert np.allclose(precedence_value(v, {}).values, both)
    cliques = [(i + base, j + base) for base in (0, 8) for i in range(8) for j in range(i)]
    assert np.allclose(myerson_value(v, cliques).values, both)
    assert np.allclose(owen_value(v, [range(8), range(8, 16)]).values, both)


def test_subsets_by_hand_are_all():
    assert len(set(subsets(range(4)))) == 16
