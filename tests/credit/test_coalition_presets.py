"""Methods of coalition values by name: the example of three, SQDDPG's laws, and that their estimates agree."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.games_by_hand import SIX_TURNS, six_turns, team_of_three
from orchestrace.credit import value_vector
from orchestrace.credit.methods import coalitions as of

V = value_vector(3, lambda S: float(team_of_three(S)))


def looked_up(v):
    return lambda coalitions: np.asarray(v)[coalitions @ (1 << np.arange(coalitions.shape[1]))]


@pytest.mark.parametrize(
    ("found", "values"),
    [
        (of.shapley(V), (0.3667, 0.2917, 0.3417)),
        (of.banzhaf(V), (0.3625, 0.2875, 0.3375)),
        (of.myerson(V, [(0, 1), (0, 2)]), (0.4167, 0.2667, 0.3167)),
        (of.owen(V, [[0], [1, 2]]), (0.375, 0.2875, 0.3375)),
        (of.precedence(V, {1: [0], 2: [0]}), (0.10, 0.50, 0.40)),
        (of.kernel_shap(looked_up(V), 3, budget=20, rng=np.random.default_rng(0)), (0.3667, 0.2917, 0.3417)),
    ],
    ids=["shapley", "banzhaf", "myerson", "owen", "precedence", "kernel_shap"],
)
def test_planner_searcher_coder(found, values):
    assert np.allclose(found.values, values, rtol=0, atol=5e-5)


def test_winter():
    assert of.winter(SIX_TURNS, six_turns).shares[(1,)] == Fraction(28, 75)


@given(st.integers(1, 5), st.integers(1, 20), st.integers(0, 10**6))
def test_shapley_q_values_sum_to_the_joint_action_value(n, orders, seed):
    q = np.random.default_rng(seed).normal(size=1 << n)
    q[0] = 0  # everyone acts by default
    found = of.shapley_q(looked_up(q), n, orders=orders, rng=np.random.default_rng(seed))
    assert np.isclose(found.values.sum(), q[-1])
    assert found.sampling.definition == "critic"
    assert found.sampling.model_calls == orders * (n - 1) + 2
    idle = seed % n
    without = q[np.arange(len(q)) & ~(1 << idle)]  # one agent whose action changes nothing
    assert of.shapley_q(looked_up(without), n, orders=orders, rng=np.random.default_rng(seed)).values[idle] == 0


def test_estimates_agree_with_what_they_estimate():
    rng = np.random.default_rng(0)
    q = of.shapley_q(looked_up(V), 3, orders=2000, rng=rng)
    assert np.allclose(q.values, of.shapley(V).values, atol=4 * q.sampling.std_error.max())
    cut = of.tmc_shapley(looked_up(V), 3, budget=4000, rng=rng)
    assert np.allclose(cut.values, of.shapley(V).values, atol=0.02)
    reused = of.data_banzhaf(looked_up(V), 3, budget=4000, rng=rng)
    assert np.allclose(reused.values, of.banzhaf(V).values, atol=4 * reused.sampling.std_error.max())


def test_no_order_is_refused():
    with pytest.raises(ValueError, match="orders is 0"):
        of.shapley_q(looked_up(V), 3, orders=0, rng=np.random.default_rng(0))
