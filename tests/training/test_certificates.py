"""Bounds of V* from a policy, where V* is known."""

import numpy as np
import pytest

from orchestrace.envs import by_name, optimal_policy
from orchestrace.training.certificates import certificate

PRICES = (0.002, 0.01, 0.03)


def voters(c, most=40):
    return by_name("unknown-voters", {"c": c, "max_votes": most})


def fixed(env, n):
    """Ask n voters, then stop."""
    votes = np.arange(len(env.legal()))
    asks = (votes < n * (n + 1) // 2) & env.legal()[:, 1]
    return np.column_stack([~asks, asks]).astype(float)


@pytest.mark.parametrize("c", PRICES)
def test_the_optimum_certifies_itself_exactly(c):
    """With V* in the martingale every path gives V*: no variance is left on either side."""
    env = voters(c)
    found = certificate(env, optimal_policy(env), episodes=50, rng=np.random.default_rng(0))
    for side in found.low, found.high:
        assert side.value == pytest.approx(env.optimal_value(), abs=1e-12)
        assert side.std_error < 1e-12
    assert found.at_least == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("draws", [0, 16])
@pytest.mark.parametrize("c", PRICES)
def test_the_bounds_hold_on_either_side_for_a_poor_policy(c, draws):
    env = voters(c, most=15)
    policy = fixed(env, 5)
    found = certificate(env, policy, episodes=4000, rng=np.random.default_rng(1), draws=draws)
    assert found.low.value == pytest.approx(env.exact_value(policy), abs=5 * found.low.std_error + 1e-12)
    assert found.high.value > env.optimal_value() - 4 * found.high.std_error
    assert found.at_least < env.exact_value(policy) / env.optimal_value() + 1e-12


def test_any_values_bound_but_worse_ones_more_loosely():
    env, rng = voters(0.01, most=15), np.random.default_rng(2)
    policy, best = optimal_policy(env), env.solution.values
    highs = []
    for noise in (0.0, 0.01, 0.1):
        values = best + noise * rng.standard_normal(len(best))
        found = certificate(env, policy, episodes=4000, rng=np.random.default_rng(3), values=values)
        assert found.low.value == pytest.approx(env.optimal_value(), abs=4 * found.low.std_error + 1e-12)
        highs.append(found.high.value)
    assert env.optimal_value() - 1e-12 <= highs[0] < highs[1] < highs[2]


def test_fewer_draws_are_looser():
    env = voters(0.01, most=15)
    highs = [
        certificate(env, optimal_policy(env), episodes=2000, rng=np.random.default_rng(4), draws=draws).high.value
        for draws in (0, 64, 4)
    ]
    assert highs[0] < highs[1] < highs[2]


def test_problems_that_are_more_than_stopping_are_refused():
    env = by_name("pandora", {"boxes": 3})
    with pytest.raises(ValueError, match="pandora is no stopping problem"):
        certificate(env, optimal_policy(env), episodes=10, rng=np.random.default_rng(0))


def test_episodes_that_do_not_end_are_told():
    env = voters(0.01, most=15)
    with pytest.raises(ValueError, match="10 episodes did not end within horizon=5"):
        certificate(env, optimal_policy(env), episodes=10, rng=np.random.default_rng(0), horizon=5)
