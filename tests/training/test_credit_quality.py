"""Credit against the truth: the truth is the truth, re-runs are honest, and each method is what it says."""

import numpy as np
import pytest

from orchestrace.envs import by_name, optimal_policy
from orchestrace.training.credit_quality import CONTENDERS, compared, rerun, sampled

PLAYED = {
    "sequential-voting": {"c": 0.03},
    "unknown-voters": {"max_votes": 8, "c": 0.02},
    "batch-voting": {"max_batch": 4},
}


def mixed(env):
    legal = env.legal().astype(float)
    return 0.5 * legal / legal.sum(axis=1, keepdims=True) + 0.5 * optimal_policy(env)


def sample_of(name, *, episodes=400, grade="outcome", seed=0):
    env = by_name(name, PLAYED[name], grade=grade)
    return sampled(env, mixed(env), episodes=episodes, rng=np.random.default_rng(seed), grade=grade)


@pytest.fixture(scope="module", params=PLAYED)
def sample(request):
    return sample_of(request.param)


def test_true_advantages_average_to_nothing_over_the_policy(sample):
    """Σ_a π(a|s) A(s, a) = 0 in every state; and the episodes' returns are the sum of rewards."""
    env = sample.env
    by_pair = {(s, a): t for s, a, t in zip(sample.states, sample.actions, sample.truth, strict=True)}
    for state in set(sample.states.tolist()):
        legal = np.flatnonzero(sample.policy[state])
        if all((state, a) in by_pair for a in legal):
            assert sum(sample.policy[state, a] * by_pair[state, a] for a in legal) == pytest.approx(0, abs=1e-12)
    assert sample.returns.sum() == pytest.approx(sample.rewards.sum())
    first = sample.step == 0
    assert sample.to_go[first] == pytest.approx(sample.returns)
    assert abs(sample.returns.mean() - env.exact_value(sample.policy)) < 5 * sample.returns.std() / 20


def test_the_advantages_of_an_episode_explain_its_return_on_average(sample):
    """Performance difference: E[Σ A^π along π's own episodes] = 0."""
    sums = np.bincount(sample.episode, sample.truth)
    assert abs(sums.mean()) < 5 * sums.std() / np.sqrt(len(sums))


def test_a_rerun_with_all_actions_told_is_worth_what_the_action_is(sample):
    """Many re-runs of one decision average to Q(s, a): V + A."""
    d = int(np.argmax(np.abs(sample.truth)))
    states = np.full(20_000, sample.states[d])
    runs = [
        rerun(sample, states, forced=np.full((20_000, 1), action), rng=np.random.default_rng(1))
        for action in (sample.actions[d], -1)
    ]
    difference = runs[0].returns.mean() - runs[1].returns.mean()
    error = np.sqrt((runs[0].returns.var() + runs[1].returns.var()) / 20_000)
    assert abs(difference - sample.truth[d]) < 5 * error
    assert runs[0].calls >= 20_000


@pytest.mark.parametrize("method", CONTENDERS)
def test_every_method_credits_every_decision_and_counts_its_calls(sample, method):
    if not CONTENDERS[method].applies(sample):
        return
    one, two = (CONTENDERS[method].credit(sample, np.random.default_rng(3)) for _ in range(2))
    assert one.values.shape == sample.truth.shape
    assert np.isfinite(one.values).all()
    assert (one.values == two.values).all()
    reruns = method.startswith("c3") or method in ("leave-one-out", "shapley")
    assert (one.calls > 0) == reruns


def test_more_reruns_come_closer_to_the_truth():
    sample = sample_of("batch-voting")
    errors = [
        np.mean((CONTENDERS[name].credit(sample, np.random.default_rng(0)).values - sample.truth) ** 2)
        for name in ("c3-1", "c3-8", "c3-32")
    ]
    # an unbiased mean of n: the error falls as 1/n
    assert errors[0] > 5 * errors[1] > 10 * errors[2]


def test_shares_of_an_episode_sum_to_what_its_decisions_changed():
    """Shapley: an episode's shares sum to R less one re-run in which nothing is kept, so to A's sum on average."""
    sample = sample_of("unknown-voters", episodes=4_000)
    sums = np.bincount(sample.episode, CONTENDERS["shapley"].credit(sample, np.random.default_rng(0)).values)
    error = sums.std() / np.sqrt(len(sums))
    assert abs(sums.mean()) < 5 * error


def test_what_is_known_of_the_stop_is_used():
    """With the stop's value known, nothing of its noise is left: better than the same method without."""
    sample = sample_of("sequential-voting")
    found = {name: CONTENDERS[name].credit(sample, np.random.default_rng(0)).values for name in ("stop-credit", "coma")}
    errors = {name: np.mean((values - sample.truth) ** 2) for name, values in found.items()}
    assert errors["stop-credit"] < 0.8 * errors["coma"]


def test_a_comparison_is_whole_and_repeatable():
    env = by_name("unknown-voters", PLAYED["unknown-voters"])
    one, two = (compared(env, mixed(env), name="mixed", episodes=64, seeds=3) for _ in range(2))
    assert one == two
    assert {row.method for row in one.methods} | set(one.left_out) == set(CONTENDERS)
    for row in one.methods:
        assert row.spearman is not None
        low, high = row.spearman_ci
        assert -1 <= low <= row.spearman <= high <= 1
        assert row.calls_per_decision >= 1


def test_a_policy_without_a_choice_has_nothing_to_credit():
    env = by_name("sequential-voting")
    with pytest.raises(ValueError, match="never has a choice"):
        compared(env, optimal_policy(env), name="optimal", episodes=10, seeds=2)
