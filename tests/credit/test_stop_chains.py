"""Optimal stopping on finite chains: every rule tried, and the voting chain."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.voting_chain import Votes
from orchestrace.credit.stops.stop_chains import chain_envelope, chain_go_on_values, chain_values
from orchestrace.envs import by_name


@st.composite
def chains(draw, *, most=5):
    """(r [S], P [S, S], costs [S]); some states cannot go on, some loop, some prices are 0."""
    S = draw(st.integers(1, most))
    r = np.array(draw(st.lists(st.integers(-4, 4), min_size=S, max_size=S)), float) / 4
    weights = np.array(draw(st.lists(st.lists(st.integers(0, 3), min_size=S, max_size=S), min_size=S, max_size=S)))
    sums = weights.sum(axis=1, keepdims=True)
    costs = np.array(draw(st.lists(st.integers(0, 2), min_size=S, max_size=S))) / 8
    return r, weights / np.maximum(sums, 1), costs


def slow_value(r, P, costs, stops, *, steps=4000):
    """What a rule is worth: follow it step by step until nobody is under way."""
    alive, total = np.eye(len(r)), np.zeros(len(r))
    stops = np.where(P.sum(axis=1) > 0, stops, 1.0)
    for _ in range(steps):
        total += alive @ (stops * r - (1 - stops) * costs)
        alive = (alive * (1 - stops)) @ P
    return total


def every_rule(r, P, costs):
    """The best over all rules that stop from everywhere, by trying each."""
    best = r.copy()
    for rule in product([0.0, 1.0], repeat=len(r)):
        try:
            best = np.maximum(best, chain_values(r, P, stop_chances=rule, costs=costs))
        except ValueError:
            continue
    return best


@given(chains())
def test_envelope_equals_the_best_of_every_rule(chain):
    r, P, costs = chain
    found = chain_envelope(r, P, costs=costs)
    np.testing.assert_allclose(found.values, every_rule(r, P, costs), atol=1e-9)
    np.testing.assert_allclose(chain_values(r, P, stop_chances=found.stops, costs=costs), found.values, atol=1e-9)


@given(chains())
def test_envelope_is_the_smallest_function_above_that_going_on_does_not_raise(chain):
    r, P, costs = chain
    found = chain_envelope(r, P, costs=costs)
    assert (found.values >= r).all()
    ahead = chain_go_on_values(found.values, P, costs=costs)
    assert (found.values >= ahead - 1e-9).all()
    np.testing.assert_allclose(found.values, np.maximum(r, ahead), atol=1e-9)


@given(chains(most=4), st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=4, max_size=4))
def test_value_of_a_rule_equals_following_it(chain, drawn):
    r, P, costs = chain
    p = np.array(drawn[: len(r)])
    np.testing.assert_allclose(
        chain_values(r, P, stop_chances=p, costs=costs), slow_value(r, P, costs, p, steps=300), atol=1e-9
    )


@pytest.mark.parametrize(("c", "best"), [(0.002, 0.90565), (0.01, 0.83301), (0.03, 0.75234)])
def test_voting_chain(c, best):
    votes = Votes(c)
    states, r, P = votes.chain()
    found = chain_envelope(r, P, costs=c)
    assert found.values[0] == pytest.approx(best, abs=5e-6)
    a, b = states.T
    np.testing.assert_allclose(found.go_on_values - c * (a + b), votes.optimum()[a, b], atol=1e-10)
    assert by_name("unknown-voters", {"c": c}).optimal_value() == pytest.approx(found.values[0], abs=1e-10)
    rule = votes.greedy(votes.uncut(0.8))[a, b]
    assert chain_values(r, P, stop_chances=rule, costs=c)[0] == pytest.approx(votes.value(rule_of(rule, votes))[0, 0])


def rule_of(rule, votes):
    table = np.ones(votes.r.shape)
    table[tuple(votes.chain()[0].T)] = rule
    return table


def test_walking_for_free_between_two_ends_finds_the_concave_hull():
    """Dynkin: on a free symmetric walk the envelope of r is its smallest concave majorant."""
    r = np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 4.0, 0.0])
    P = np.zeros((8, 8))
    for s in range(1, 7):
        P[s, s - 1] = P[s, s + 1] = 0.5
    found = chain_envelope(r, P)
    np.testing.assert_allclose(found.values, [0, 1.5, 3, 3.25, 3.5, 3.75, 4, 0], atol=1e-12)
    assert found.stops.tolist() == [True, False, True, False, False, False, True, True]


def test_loops_that_cost_nothing_are_no_way_out():
    r, P = np.array([1.0, 0.0]), np.array([[0.0, 1.0], [1.0, 0.0]])
    found = chain_envelope(r, P)
    np.testing.assert_allclose(found.values, [1, 1])
    assert found.stops.tolist() == [True, False]
    with pytest.raises(ValueError, match="from state 0 the rule never stops"):
        chain_values(r, P, stop_chances=[0, 0])


def test_smallest_chains():
    assert chain_envelope([], np.zeros((0, 0))).values.shape == (0,)
    only = chain_envelope([-2.0], [[0.0]])
    assert (only.values[0], only.go_on_values[0], only.stops[0]) == (-2.0, -np.inf, True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: chain_envelope([1.0, 2.0], [[0.0]]), r"transitions has length 1, but stop_values has 2"),
        (lambda: chain_envelope([1.0], [[0.0, 0.0]]), r"transitions has shape \(1, 2\), but stop_values has length 1"),
        (lambda: chain_envelope([1.0], [[0.5]]), r"transitions\[0\] sums to 0.5"),
        (lambda: chain_envelope([1.0, 1.0], [[2.0, -1.0], [0, 0]]), r"transitions\[0\] sums to 1.0"),
        (lambda: chain_envelope([1.0], [[1.0]], costs=-0.1), r"costs\[0\] is negative"),
        (lambda: chain_envelope([1.0], [[1.0]], costs=[0.1, 0.2]), r"costs has length 2, but stop_values has 1"),
        (lambda: chain_envelope([np.nan], [[1.0]]), r"stop_values\[0\] is nan"),
        (lambda: chain_values([1.0], [[1.0]], stop_chances=[2.0]), r"stop_chances must be in \[0, 1\]"),
        (lambda: chain_go_on_values([1.0], [[1.0]], costs=[[1.0]]), r"costs has shape \(1, 1\)"),
    ],
)
def test_odd_inputs_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
