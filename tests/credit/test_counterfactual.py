"""Difference rewards, policy means, sampled actions, branches."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit.counterfactuals.counterfactual import (
    branch_advantages,
    difference_advantages,
    policy_advantages,
    sampled_advantages,
)

numbers = st.floats(-5, 5)
seeds = st.integers(0, 2**32 - 1)


def policies(rng, n, actions):
    raw = rng.random((n, actions)) + 1e-3
    return raw / raw.sum(axis=1, keepdims=True)


@given(seeds, st.integers(1, 3))
def test_difference_with_a_fixed_default_ranks_actions_as_the_team_does(seed, n):
    """Random table of 3 actions for each agent; the rest held fixed, D_i and G agree on every pair of i's actions."""
    rng = np.random.default_rng(seed)
    G = rng.normal(size=(3,) * n)
    default = rng.integers(0, 3, n)

    def replaced(joint, i):
        return G[tuple(default[i] if k == i else a for k, a in enumerate(joint))]

    def difference(joint):
        others = [replaced(joint, i) for i in range(n)]
        return difference_advantages(G[tuple(joint)], others, definition="default").values

    for joint in product(range(3), repeat=n):
        for i, better in product(range(n), range(3)):
            changed = tuple(better if k == i else a for k, a in enumerate(joint))
            gain = difference(changed)[i] - difference(joint)[i]
            assert gain == pytest.approx(G[changed] - G[joint], abs=1e-12)


def test_differences_do_not_add_up():
    """planner, searcher, coder: leaving each out gives .65 + .60 + .50 = 1.75, not the team's 1."""
    found = difference_advantages(1.0, [0.35, 0.4, 0.5], definition="dropped")
    np.testing.assert_allclose(found.values, [0.65, 0.6, 0.5])
    assert found.values.sum() == pytest.approx(1.75)
    assert (found.sampling.model_calls, found.sampling.definition) == (3, "dropped")
    assert difference_advantages(1.0, [], definition="dropped").values.shape == (0,)


@given(seeds, st.integers(1, 4), st.integers(1, 5))
def test_policy_advantages_average_to_nothing_under_the_policy(seed, n, actions):
    rng = np.random.default_rng(seed)
    q, pi = rng.normal(size=(n, actions)), policies(rng, n, actions)
    table = np.column_stack([policy_advantages(q, pi, actions=np.full(n, a)).values for a in range(actions)])
    np.testing.assert_allclose((pi * table).sum(axis=1), 0, atol=1e-12)
    for i, a in product(range(n), range(actions)):
        assert table[i, a] == pytest.approx(q[i, a] - sum(pi[i, b] * q[i, b] for b in range(actions)))


@given(seeds, numbers)
def test_what_does_not_depend_on_the_action_changes_nothing(seed, shift):
    rng = np.random.default_rng(seed)
    q, pi = rng.normal(size=(3, 4)), policies(rng, 3, 4)
    plain = policy_advantages(q, pi, actions=[0, 1, 2]).values
    np.testing.assert_allclose(policy_advantages(q + shift, pi, actions=[0, 1, 2]).values, plain, atol=1e-9)


def test_policy_advantages_worked_example():
    q, pi = np.tile([1, 0.4, -0.2], (3, 1)), np.tile([0.2, 0.5, 0.3], (3, 1))
    np.testing.assert_allclose(policy_advantages(q, pi, actions=[0, 1, 2]).values, [0.66, 0.06, -0.54])


def slow_sampled(q, contexts, baseline):
    found = []
    for i, own in enumerate(q):
        others = [x for j, x in enumerate(q) if contexts[j] == contexts[i] and (j != i or baseline == "mean")]
        alone = sum(c == contexts[i] for c in contexts) == 1
        found.append(0.0 if alone else own - sum(others) / len(others))
    return found


@given(st.lists(st.tuples(numbers, st.integers(-1, 2)), max_size=12), st.sampled_from(["loo", "mean"]))
def test_sampled_advantages_equal_the_slow_loop(rows, baseline):
    q, contexts = [r[0] for r in rows], [r[1] for r in rows]
    found = sampled_advantages(q, contexts, baseline=baseline)
    np.testing.assert_allclose(found.values, slow_sampled(q, contexts, baseline), atol=1e-9)
    for context in set(contexts):
        assert found.values[np.array(contexts) == context].sum() == pytest.approx(0, abs=1e-9)
    assert found.degenerate == sum(contexts.count(c) == 1 for c in contexts)


def test_other_samples_are_an_unbiased_baseline_and_all_samples_shrink():
    """Every pair of draws from π, with its chance: the mean advantage of a first draw a is A(a), or half of it."""
    pi, q = np.array([0.2, 0.5, 0.3]), np.array([1, 0.4, -0.2])
    exact = q - pi @ q
    for baseline, factor in [("loo", 1.0), ("mean", 0.5)]:
        for a in range(3):
            mean = sum(pi[b] * sampled_advantages([q[a], q[b]], [0, 0], baseline=baseline).values[0] for b in range(3))
            assert mean == pytest.approx(factor * exact[a])


@given(seeds, st.integers(1, 4), st.integers(2, 5), st.integers(2, 5))
def test_branches_are_a_difference_of_means(seed, n, M, L):
    rng = np.random.default_rng(seed)
    chosen, other = rng.normal(size=(n, M)), rng.normal(size=(n, L))
    found = branch_advantages(chosen, other)
    back = branch_advantages(other, chosen)
    for d in range(n):
        assert found.values[d] == pytest.approx(sum(chosen[d]) / M - sum(other[d]) / L)
        assert found.values[d] == pytest.approx(-back.values[d])
        error = math.sqrt(np.var(chosen[d], ddof=1) / M + np.var(other[d], ddof=1) / L)
        assert found.sampling.std_error[d] == pytest.approx(error)
    assert found.sampling.model_calls == n * (M + L)


def test_common_draws_leave_only_the_difference():
    noise = np.random.default_rng(0).normal(size=(2, 6))
    paired = branch_advantages(noise + 0.3, noise, common_draws=True)
    np.testing.assert_allclose(paired.values, 0.3)
    np.testing.assert_allclose(paired.sampling.std_error, 0, atol=1e-12)
    assert (branch_advantages(noise + 0.3, noise).sampling.std_error > 0.1).all()
    by_hand = branch_advantages([[1.0, 3.0]], [[0.0, 0.0]], common_draws=True)  # differences 1 and 3: s² = 2, M = 2
    assert by_hand.sampling.std_error == pytest.approx([1.0])


def test_a_single_replay_has_no_known_error():
    found = branch_advantages([[1.0]], [[0.0, 1.0]])
    assert (found.values.tolist(), found.sampling.std_error, found.sampling.n) == ([0.5], None, 1)
    assert branch_advantages(np.zeros((0, 2)), np.zeros((0, 2))).values.shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: difference_advantages(np.inf, [1], definition=""), "reward is inf"),
        (lambda: difference_advantages(1, [np.nan], definition=""), r"replaced\[0\] is nan"),
        (lambda: policy_advantages([[1, 2]], [[1.0]], actions=[0]), r"chances has shape \(1, 1\), but action_values"),
        (lambda: policy_advantages([[1, 2]], [[0.5, 0.4]], actions=[0]), r"chances\[0\] is no distribution"),
        (lambda: policy_advantages([[1, 2]], [[1.5, -0.5]], actions=[0]), r"chances\[0\] is no distribution"),
        (lambda: policy_advantages([[1, 2]], [[0.5, 0.5]], actions=[2]), "actions must be between 0 and 1"),
        (lambda: policy_advantages([[1, 2]], [[0.5, 0.5]], actions=[0, 1]), "actions has length 2"),
        (lambda: sampled_advantages([1.0], [0, 1]), "contexts has length 2, but action_values has 1"),
        (lambda: sampled_advantages([1.0], [0], baseline="none"), "baseline is 'none'"),
        (lambda: branch_advantages([[1.0]], [[]]), "each side needs a replay"),
        (lambda: branch_advantages([[1.0]], [[1.0], [2.0]]), "other has length 2, but chosen has 1"),
        (lambda: branch_advantages([[1.0]], [[1.0, 2.0]], common_draws=True), "other has L=2, but chosen has M=1"),
    ],
)
def test_odd_inputs_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
