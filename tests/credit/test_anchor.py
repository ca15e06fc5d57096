"""AnchorTB: every pair of nodes, finite differences, the sign, the optimum."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit.steps.anchor import anchor_balance, anchor_values, other_success

numbers = st.floats(-5, 5)


@st.composite
def trajectories(draw, *, least=1):
    T = draw(st.integers(least, 12))
    u = draw(st.lists(numbers, min_size=T + 1, max_size=T + 1))
    return np.array(u), np.array(draw(st.lists(numbers, min_size=T, max_size=T)))


def every_pair(u, l):  # noqa: E741
    """The definition: all spans (i, j), one residual each; each residual pulls the actions inside and its two ends."""
    T = len(l)
    count = T * (T + 1) // 2
    loss, per_action, per_node = 0.0, np.zeros(T), np.zeros(T + 1)
    for i in range(T + 1):
        for j in range(i + 1, T + 1):
            d = u[i] + sum(l[i:j]) - u[j]
            loss += d**2 / count
            per_action[i:j] += 2 * d / count
            per_node[i] += 2 * d / count
            per_node[j] -= 2 * d / count
    return loss, per_action, per_node


@given(trajectories())
def test_one_pass_equals_every_pair(trajectory):
    found = anchor_balance(*trajectory)
    loss, per_action, per_node = every_pair(*trajectory)
    assert found.loss == pytest.approx(loss, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(found.log_ratio_gradients, per_action, atol=1e-9)
    np.testing.assert_allclose(found.node_value_gradients, per_node, atol=1e-9)
    np.testing.assert_array_equal(found.credit, -found.log_ratio_gradients)


@given(trajectories())
def test_gradients_equal_finite_differences(trajectory):
    u, l = trajectory  # noqa: E741
    found, h = anchor_balance(u, l), 1e-5

    def slope(array, other, *, first):
        order = (lambda x: (x, other)) if first else (lambda x: (other, x))
        return [
            (anchor_balance(*order(array + h * e)).loss - anchor_balance(*order(array - h * e)).loss) / (2 * h)
            for e in np.eye(len(array))
        ]

    np.testing.assert_allclose(found.log_ratio_gradients, slope(l, u, first=False), atol=1e-5)
    np.testing.assert_allclose(found.node_value_gradients, slope(u, l, first=True), atol=1e-5)
    assert found.node_value_gradients.sum() == pytest.approx(0, abs=1e-9)


@given(trajectories(), numbers)
def test_only_differences_of_node_values_count(trajectory, shift):
    u, l = trajectory  # noqa: E741
    assert anchor_balance(u + shift, l).loss == pytest.approx(anchor_balance(u, l).loss, abs=1e-9)


@given(st.lists(numbers, min_size=1, max_size=10), numbers)
def test_a_balanced_trajectory_has_no_loss_and_no_credit(log_ratios, start):
    u = start + np.concatenate([[0.0], np.cumsum(log_ratios)])
    found = anchor_balance(u, log_ratios)
    assert found.loss == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(found.credit, 0, atol=1e-9)


def test_prefix_sums_that_include_their_own_action_are_another_number():
    """The trap: cumsum(l) on T nodes, as the shorthand u_k − cumsum(d)_k is easily read, drops the first node."""
    rng = np.random.default_rng(1)
    u, l = rng.normal(size=9), rng.normal(size=8)  # noqa: E741
    inclusive = u[1:] - np.cumsum(l)
    wrong = 2 / 8 * ((inclusive - inclusive.mean()) ** 2).sum()
    assert anchor_balance(u, l).loss == pytest.approx(every_pair(u, l)[0])
    assert abs(wrong - every_pair(u, l)[0]) > 0.01


def test_an_end_better_than_expected_raises_every_action_and_the_last_most():
    better, worse = anchor_balance([0, 0, 0, 0, 1], np.zeros(4)), anchor_balance([0, 0, 0, 0, -1], np.zeros(4))
    np.testing.assert_allclose(better.log_ratio_gradients, [-0.2, -0.4, -0.6, -0.8])
    np.testing.assert_allclose(better.credit, [0.2, 0.4, 0.6, 0.8])
    np.testing.assert_allclose(worse.credit, [-0.2, -0.4, -0.6, -0.8])


def test_following_the_credit_balances_the_trajectory():
    u, l = np.array([0.0, 1.0, 0.3, 2.0]), np.zeros(3)  # noqa: E741
    for _ in range(200):
        l = l + 0.2 * anchor_balance(u, l).credit  # noqa: E741
    np.testing.assert_allclose(l, np.diff(u), atol=1e-6)


@pytest.mark.parametrize(
    ("beta", "arms", "chance"), [(2, 2, 0.8808), (2, 10, 0.4509), (4, 2, 0.9820), (4, 10, 0.8585), (8, 10, 0.9970)]
)
def test_optimum_is_the_reference_times_the_exponent_of_u(beta, arms, chance):
    """A bandit whose first arm pays 1, uniform reference: at pi ~ e^u every arm's one span balances."""
    u_end = anchor_values(np.eye(arms)[0], beta=beta)
    policy = np.exp(u_end) / np.exp(u_end).sum()
    assert policy[0] == pytest.approx(chance, abs=5e-5)
    start = np.log(np.exp(u_end).mean())
    for arm in range(arms):
        found = anchor_balance([start, u_end[arm]], [np.log(policy[arm]) - np.log(1 / arms)])
        assert found.loss == pytest.approx(0, abs=1e-20)


def test_noisy_rewards_fit_the_mean_of_u():
    """Two arms with success .9 and .6, β = 2: least squares gives .6457, reward-proportional would be .5827."""
    p = np.array([0.9, 0.6])
    mean_u = p * anchor_values([1.0], beta=2)[0]
    fitted = np.exp(mean_u) / np.exp(mean_u).sum()
    proportional = np.exp(anchor_values(p)) / np.exp(anchor_values(p)).sum()
    assert fitted[0] == pytest.approx(0.6457, abs=5e-5)
    assert proportional[0] == pytest.approx(0.5827, abs=5e-5)


def test_values_of_ends_and_of_starts():
    np.testing.assert_allclose(anchor_values([0, 1], beta=3), [0, 3])
    assert anchor_values(0.5).shape == ()
    np.testing.assert_allclose(other_success([1, 0, 0], prior=0.4), [0.2 / 2.5, 1.2 / 2.5, 1.2 / 2.5])
    np.testing.assert_allclose(other_success([1], prior=0.3), [0.3])
    assert other_success([], prior=0.5).shape == (0,)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.floats(0, 1))
def test_own_reward_is_in_no_rollouts_own_anchor(rewards, prior):
    changed = [1 - rewards[0], *rewards[1:]]
    assert other_success(rewards, prior=prior)[0] == pytest.approx(other_success(changed, prior=prior)[0], abs=1e-12)


def test_no_action_has_nothing_to_balance():
    found = anchor_balance([0.7], [])
    assert (found.loss, found.credit.shape, found.node_value_gradients.tolist()) == (0.0, (0,), [0.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: anchor_balance([1.0, 2.0], [0.1, 0.2]), "node_values has length 2, but log_ratios has 2"),
        (lambda: anchor_balance([], []), "node_values has length 0, but log_ratios has 0"),
        (lambda: anchor_balance([1.0, np.inf], [0.1]), r"node_values\[1\] is inf"),
        (lambda: anchor_values([1.1]), r"success must be in \[0, 1\]"),
        (lambda: anchor_values([1.0], beta=0), "beta is 0"),
        (lambda: anchor_values([1.0], beta=np.nan), "beta is nan"),
        (lambda: other_success([2.0], prior=0.5), r"rewards must be in \[0, 1\]"),
        (lambda: other_success([1.0], prior=-0.5), "prior is -0.5"),
    ],
)
def test_odd_inputs_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
