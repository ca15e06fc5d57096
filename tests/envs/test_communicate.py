"""E3a to E3d against closed forms and slow twins."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import by_name
from orchestrace.envs.communicate.message_length import distortion, shannon_bound
from orchestrace.envs.communicate.messages import Problem, greedy_set
from orchestrace.envs.communicate.reporting import grid, walk
from orchestrace.envs.communicate.what_to_include import Facts, drawn_lists, fractional_bound
from orchestrace.testing.envs import check_env

few = settings(max_examples=20, deadline=None)


@pytest.mark.parametrize(("bits", "error"), [(0, 1.0), (1, 0.36338), (2, 0.11748), (3, 0.03455), (4, 0.00950)])
def test_quantisers_are_those_of_lloyd_and_max(bits, error):
    assert distortion(bits) == pytest.approx(error, abs=6e-6)
    assert distortion(bits) >= shannon_bound(bits)


@pytest.mark.parametrize("price", [0.005, 0.02, 0.08])
def test_the_best_length_is_that_of_the_table(price):
    env = by_name("message-length", {"price": price})
    for state, variance in enumerate(4.0 ** (1 - np.arange(5))):
        losses = [variance * distortion(b) + price * b for b in range(7)]
        assert env.optimal_action(state) == int(np.argmin(losses))
    assert by_name("message-length", {"price": 0.0}).optimal_action(4) == 6  # a reward without price asks for all bits


def test_shannons_continuous_length():
    """b* = ½ log₂(2 ln 2 s² / price): 3.06 at s² = 1 and .02 a bit, where 3 is the best whole number."""
    cost = [shannon_bound(b) + 0.02 * b for b in range(9)]
    assert 0.5 * math.log2(2 * math.log(2) / 0.02) == pytest.approx(3.058, abs=5e-4)
    assert int(np.argmin(cost)) == 3
    assert min(cost) == pytest.approx(0.075625)


@few
@given(st.lists(st.floats(0.1, 5), min_size=1, max_size=5), st.floats(0.001, 0.2))
def test_with_equal_prices_the_most_precise_send_first(precisions, price):
    problem = Problem(np.array(precisions), np.full(len(precisions), price))
    every = np.array(list(itertools.product((0, 1), repeat=len(precisions))))
    assert problem.losses(greedy_set(problem)[None])[0] == pytest.approx(problem.losses(every).min(), abs=1e-12)


def test_one_message_is_worth_what_the_formula_says():
    """s⁴ / (s² + τ²) with s² = 1, τ² = ½: the variance falls by 2/3."""
    problem = Problem(np.array([2.0]), np.array([0.0]))
    quiet, loud = problem.losses(np.array([[0], [1]]))
    assert quiet - loud == pytest.approx(2 / 3)


def test_messages_is_a_team_game():
    env = by_name("messages", {"agents": 3})
    assert list(env.factors) == ["a1", "a2", "a3"]
    assert len(env.actions) == 8
    assert env.actions[5] == "a1: send, a2: silent, a3: send"
    assert env.baselines()["everybody"] < env.optimal_value()


def subsets_value(facts, budget):
    best = 0.0
    for chosen in itertools.product((0, 1), repeat=len(facts.values)):
        if np.dot(chosen, facts.lengths) <= budget:
            best = max(best, float(np.dot(chosen, facts.values)))
    return best


@few
@given(st.integers(0, 1000), st.integers(1, 7), st.integers(1, 15))
def test_the_knapsack_is_solved(seed, facts, budget):
    given_settings = {"facts": facts, "budget": budget, "instances": 2, "seed": seed}
    env = by_name("what-to-include", given_settings)
    lists = drawn_lists(env.settings)
    assert env.optimal_value() == pytest.approx(np.mean([subsets_value(one, budget) for one in lists]))
    assert all(fractional_bound(one, budget) >= subsets_value(one, budget) - 1e-12 for one in lists)
    assert fractional_bound(Facts(np.array([0.5, 0.5]), np.array([2, 2])), 3) == pytest.approx(0.75)


def average_cost(c):
    """Relative value iteration on the grid: cost a step and the first error at which to send."""
    errors = grid({"width": 8.0, "per_unit": 10})
    K, zero, V = walk(errors), len(errors) // 2, np.zeros(len(errors))
    while True:
        stay, send = errors**2 + K @ V, c + K[zero] @ V
        better = np.minimum(stay, send)
        rate = better[zero] - V[zero]
        if np.abs(better - better[zero] - V).max() < 1e-9:
            return rate, errors[(send < stay) & (errors >= 0)].min()
        V = better - better[zero]


@pytest.mark.parametrize(("c", "cost", "threshold"), [(1, 0.547, 0.95), (3, 1.130, 1.45), (10, 2.288, 2.20)])
def test_the_average_cost_is_that_of_the_independent_program(c, cost, threshold):
    rate, first = average_cost(c)
    assert rate == pytest.approx(cost, abs=0.01)
    assert first == pytest.approx(threshold, abs=0.11)


def test_reporting_is_a_symmetric_threshold_and_comes_to_the_average_cost():
    env = by_name("reporting", {"steps": 30})
    sends = np.array([env.optimal_action(s) for s in range(len(env.starts))])
    assert (sends == sends[::-1]).all()
    half = sends[len(sends) // 2 :]
    assert (np.diff(half) >= 0).all()
    assert env.baselines()["best-threshold"] == pytest.approx(env.optimal_value(), abs=1e-12)
    short, long = (-by_name("reporting", {"steps": n}).optimal_value() for n in (30, 600))
    assert abs(long - average_cost(3)[0]) < abs(short - average_cost(3)[0]) < 0.06


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("message-length", {"most_bits": 1, "variances": 1, "price": 1.0}),
        ("messages", {"agents": 1, "instances": 1, "dearness": 0.0}),
        ("what-to-include", {"facts": 1, "budget": 1, "instances": 1}),
        ("reporting", {"c": 100.0, "steps": 2, "width": 1.0, "per_unit": 1}),
    ],
)
def test_the_contract_holds_at_the_edges(name, setting):
    check_env(by_name(name, setting), np.random.default_rng(2), episodes=500, traces=20)
