"""The price of counterfactuals: against a walk over the graph, and the worked numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit.counterfactuals.replay_budget import (
    evaluations_to_resolve,
    loo_std_error,
    nested_tree_cost,
    replay_costs,
    replay_plan_cost,
)


@st.composite
def graphs(draw):
    """(costs [E], parents of each event, all earlier)."""
    E = draw(st.integers(0, 7))
    costs = draw(st.lists(st.integers(0, 9), min_size=E, max_size=E))
    parents = [draw(st.sets(st.integers(0, e - 1), max_size=3)) if e else set() for e in range(E)]
    return np.array(costs, float), parents


def after(u, parents):
    """Everything that depends on u, found by walking."""
    found = set()
    for e in range(u + 1, len(parents)):
        if parents[e] & (found | {u}):
            found.add(e)
    return found


def relation(parents):
    E = len(parents)
    table = np.zeros((E, E), bool)
    for u in range(E):
        table[u, list(after(u, parents))] = True
    return table


@given(graphs(), st.integers(1, 4), st.integers(1, 3))
def test_plan_cost_equals_counting_every_replay(graph, K, M):
    costs, parents = graph
    below = relation(parents)
    total = 0.0
    for u in range(len(costs)):
        rest = sum(costs[e] for e in after(u, parents))
        assert replay_costs(costs, below)[u] == pytest.approx(costs[u] + rest)
        for output in range(K):
            total += costs[u] if output else 0.0  # the real output is there already
            for continuation in range(M):
                total += rest if output or continuation else 0.0  # and so is its first continuation
    assert replay_plan_cost(costs, below, alternatives=K, continuations=M) == pytest.approx(total)
    each = [replay_plan_cost(costs, below, alternatives=K, continuations=M, units=[u]) for u in range(len(costs))]
    assert sum(each) == pytest.approx(total)


def test_chain_and_star():
    chain = np.triu(np.ones((8, 8), bool), 1)
    assert replay_plan_cost(np.ones(8), chain, alternatives=4) == 108
    star = np.zeros((6, 6), bool)
    star[:5, 5] = True  # five workers, one aggregator: siblings are kept
    assert replay_costs(np.ones(6), star).tolist() == [2, 2, 2, 2, 2, 1]
    assert replay_costs([], np.zeros((0, 0))).shape == (0,)


@given(st.lists(st.integers(1, 4), max_size=4))
def test_tree_cost_equals_growing_the_tree(fanouts):
    leaves, generated = [()], 0
    for f in fanouts:
        leaves = [(*leaf, k) for leaf in leaves for k in range(f)]
        generated += len(leaves)
    assert nested_tree_cost(fanouts) == (generated, len(leaves))


def test_tree_of_two_and_four():
    assert nested_tree_cost([2, 4]) == (10, 8)


@pytest.mark.parametrize(("G", "M", "error"), [(4, 1, 0.58), (8, 1, 0.53), (8, 4, 0.27)])
def test_noise_of_a_leave_one_out_advantage(G, M, error):
    assert loo_std_error(0.5, group_size=G, continuations=M) == pytest.approx(error, abs=0.006)


@pytest.mark.parametrize(("p", "G"), [(0.5, 2), (0.3, 3), (0.9, 4)])
def test_noise_equals_enumerating_every_outcome(p, G):
    second = 0.0
    for outcome in range(2**G):
        r = [(outcome >> i) & 1 for i in range(G)]
        chance = math.prod(p if x else 1 - p for x in r)
        second += chance * (r[0] - sum(r[1:]) / (G - 1)) ** 2
    assert loo_std_error(p, group_size=G) == pytest.approx(math.sqrt(second))


def test_evaluations_for_an_effect():
    assert evaluations_to_resolve(0.2, std=0.5) == pytest.approx(98, abs=0.5)
    assert evaluations_to_resolve(0.1, std=0.5) == pytest.approx(4 * evaluations_to_resolve(0.2, std=0.5))
    assert evaluations_to_resolve(0.2, std=0) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: replay_costs([1.0], [[False, True]]), r"descendants has shape \(1, 2\), but costs has length 1"),
        (lambda: replay_costs([-1.0], [[False]]), r"costs\[0\] is negative"),
        (lambda: replay_costs([1.0], [[True]]), "event 0 is its own descendant"),
        (lambda: replay_costs([1, 1], [[0, 1], [1, 0]]), r"descendants\[0, 0\] is False, but 0 descends"),
        (lambda: replay_costs([1, 1, 1], [[0, 1, 0], [0, 0, 1], [0, 0, 0]]), r"descendants\[0, 2\] is False"),
        (lambda: replay_plan_cost([1.0], [[False]], alternatives=0), "alternatives is 0"),
        (lambda: replay_plan_cost([1.0], [[False]], alternatives=2, units=[1]), "units must be different events"),
        (lambda: replay_plan_cost([1.0], [[False]], alternatives=2, units=[0, 0]), "units must be different events"),
        (lambda: nested_tree_cost([2, 0]), r"fanouts\[1\] is 0"),
        (lambda: loo_std_error(0.5, group_size=1), "group_size is 1"),
        (lambda: loo_std_error(1.5, group_size=2), "chance is 1.5"),
        (lambda: evaluations_to_resolve(0, std=0.5), "effect is 0"),
        (lambda: evaluations_to_resolve(0.1, std=math.nan), "std nan"),
        (lambda: evaluations_to_resolve(0.1, std=0.5, power=1), "power 1"),
    ],
)
def test_odd_inputs_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
