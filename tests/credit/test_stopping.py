"""Stop credit: laws, slow twins, and the numbers of the voting chain."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.voting_chain import Votes
from orchestrace.credit.stops.stopping import (
    greedy_stops,
    hindsight_stops,
    lambda_targets,
    policy_go_on_values,
    snell_values,
    stop_credit,
    stop_gradients,
)

numbers = st.floats(-5, 5)
chances = st.floats(0, 1)


@st.composite
def paths(draw, *, forced=True):
    """(r, C) [B, P]; C is −∞ at the last prefix of paths that were forced to end."""
    B, P = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    table = st.lists(st.lists(numbers, min_size=P, max_size=P), min_size=B, max_size=B)
    r, c = np.array(draw(table)), np.array(draw(table))
    if forced:
        c[:, -1] = -np.inf
    return r, c


def slow_target(r, c, *, lam, t):
    """The forward view: Σ (1 − λ) λⁿ⁻¹ of n-step returns, each following the greedy rule and ending where it stops."""
    if r[t + 1] >= c[t + 1]:
        return r[t + 1]
    if t + 2 == len(r):
        return c[t + 1]  # the path was cut off here: bootstrap
    return (1 - lam) * c[t + 1] + lam * slow_target(r, c, lam=lam, t=t + 1)


@given(paths() | paths(forced=False), chances)
def test_lambda_targets_equal_the_forward_view(path, lam):
    r, c = path
    found = lambda_targets(r, c, lam=lam)
    np.testing.assert_array_equal(found.stop, r)
    assert np.isnan(found.go_on[:, -1]).all()
    for b in range(len(r)):
        for t in range(r.shape[1] - 1):
            assert found.go_on[b, t] == pytest.approx(slow_target(r[b], c[b], lam=lam, t=t), abs=1e-12)


@given(paths(), chances)
def test_lambda_targets_of_a_short_path_are_those_of_its_prefixes_alone(path, lam):
    r, c = path
    length = max(r.shape[1] - 1, 1)
    found = lambda_targets(r, c, lam=lam, lengths=[length] * len(r))
    alone = lambda_targets(r[:, :length], c[:, :length], lam=lam)
    np.testing.assert_array_equal(found.go_on[:, :length], alone.go_on)
    assert np.isnan(found.stop[:, length:]).all()
    assert np.isnan(found.go_on[:, length:]).all()


@pytest.mark.parametrize("lam", [0, 0.5, 0.8, 0.95, 1])
def test_cut_targets_have_the_optimum_as_fixed_point_for_every_lambda(lam):
    """Mean over every path of the small chain, given the state, of targets that bootstrap from the true C."""
    votes = Votes(0.02, most=8)
    C = votes.optimum()
    chance, a, b = votes.every_path()
    target = lambda_targets(votes.r[a, b], C[a, b], lam=lam).go_on
    for t in range(votes.most):
        for state in range(t + 1):
            here = a[:, t] == state
            mean = np.average(target[here, t], weights=chance[here])
            assert mean == pytest.approx(C[state, t - state], abs=1e-12)


@pytest.mark.parametrize("lam", [0, 0.8, 1])
def test_iterating_cut_targets_finds_the_optimum_from_nothing(lam):
    votes = Votes(0.02, most=6)
    chance, a, b = votes.every_path()
    C = np.where(votes.n < votes.most, 0.0, -np.inf)
    for _ in range(12):
        target = lambda_targets(votes.r[a, b], C[a, b], lam=lam).go_on
        for t in range(votes.most):
            for state in range(t + 1):
                here = a[:, t] == state
                C[state, t - state] = np.average(target[here, t], weights=chance[here])
    inside = votes.n < votes.most
    np.testing.assert_allclose(C[inside], votes.optimum()[inside], atol=1e-12)


@given(paths(), st.lists(chances, min_size=24, max_size=24))
def test_arms_average_to_nothing_under_the_policy(path, drawn):
    r, c = path
    p = np.resize(drawn, r.shape)
    credit = stop_credit(r, c, stop_chances=p)
    able = np.isfinite(c)
    p_taken = np.where(able, p, 1.0)
    mean = p_taken * credit.stop + np.where(able, (1 - p_taken) * np.where(able, credit.go_on, 0), 0.0)
    np.testing.assert_allclose(mean, 0, atol=1e-12)
    np.testing.assert_allclose((credit.stop - credit.go_on)[able], (r - c)[able], atol=1e-12)


@given(st.lists(st.booleans(), min_size=28, max_size=28))
def test_advantages_along_the_way_sum_to_what_a_rule_falls_short_of_the_optimum(drawn):
    """V of the rule = V* + E[Σ A* of what it did], exactly, over every path of the chain: a control variate."""
    votes = Votes(0.02, most=6)
    rule = votes.n >= votes.most
    rule[votes.n < votes.most] = np.resize(drawn, (votes.n < votes.most).sum())
    C = votes.optimum()
    chance, a, b = votes.every_path()
    stops = rule[a, b]
    done = stop_credit(votes.r[a, b], C[a, b]).taken(stops).values.reshape(a.shape)
    until = np.arange(votes.most + 1) <= stops.argmax(axis=1)[:, None]
    shortfall = chance @ (done * until).sum(axis=1)
    best = max(votes.r[0, 0], C[0, 0])
    assert best + shortfall == pytest.approx(votes.value(rule)[0, 0], abs=1e-12)


@given(paths(), numbers)
def test_better_arm_has_no_regret_and_shifting_both_changes_nothing(path, shift):
    r, c = path
    credit = stop_credit(r, c)
    np.testing.assert_array_equal(np.maximum(credit.stop, credit.go_on), 0)
    np.testing.assert_array_equal(credit.values, snell_values(r, c))
    moved = stop_credit(r + shift, c + shift)
    np.testing.assert_allclose(moved.stop, credit.stop, atol=1e-12)


def test_credit_of_what_was_done():
    credit = stop_credit([0.5, 0.7, 0.9], [0.6, 0.65, -np.inf])
    np.testing.assert_allclose(credit.taken([False, False, True]).values, [0, -0.05, 0])
    np.testing.assert_allclose(credit.taken([True, True, True]).values, [-0.1, 0, 0], atol=1e-15)
    with pytest.raises(ValueError, match=r"decision 2 went on where go_on_values is -inf"):
        credit.taken([False, False, False])
    with pytest.raises(ValueError, match=r"stopped has shape \(2,\), but the arms have \(3,\)"):
        credit.taken([True, True])


def slow_path_value(r, logits):
    """W₀ of one path under the policy: Σ_t chance of getting to t and stopping there · r_t, stopping at the end."""
    alive, total = 1.0, 0.0
    for t, reward in enumerate(r):
        p = 1.0 if t == len(r) - 1 else 1 / (1 + math.exp(-logits[t]))
        total += alive * p * reward
        alive *= 1 - p
    return total


@given(st.lists(st.tuples(numbers, st.floats(-3, 3)), min_size=1, max_size=7))
def test_full_width_gradient_equals_finite_differences_on_each_path(drawn):
    r, logits = np.array(drawn).T
    p = 1 / (1 + np.exp(-logits))
    c = policy_go_on_values([r], [p])
    found = stop_gradients([r], c, stop_chances=[p])[0]
    h = 1e-5
    slow = [(slow_path_value(r, logits + h * e) - slow_path_value(r, logits - h * e)) / (2 * h) for e in np.eye(len(r))]
    np.testing.assert_allclose(found, slow, atol=1e-8)


def test_padding_with_chance_one_ends_a_path_early():
    r, p = np.array([[0.2, 0.5, 0.3, 9.0]]), np.array([[0.3, 0.6, 1.0, 1.0]])
    c = policy_go_on_values(r, p)
    short = policy_go_on_values(r[:, :3], p[:, :3])
    np.testing.assert_allclose(c[:, :2], short[:, :2])
    np.testing.assert_allclose(
        stop_gradients(r, c, stop_chances=p)[:, :3], stop_gradients(r[:, :3], short, stop_chances=p[:, :3])
    )


def test_greedy_rule_stops_at_the_first_tie():
    r, c = [[0.5, 0.6, 0.7], [0.1, 0.1, 0.1]], [[0.6, 0.6, -np.inf], [0.2, 0.2, 0.2]]
    assert greedy_stops(r, c).tolist() == [1, -1]
    assert hindsight_stops([[0.5, 0.9, 0.9]]).tolist() == [1]


def test_empty_paths_give_empty_results():
    none = np.zeros((0, 3))
    assert lambda_targets(none, none, lam=0.5).go_on.shape == (0, 3)
    assert lambda_targets(np.zeros((2, 0)), np.zeros((2, 0)), lam=0.5).go_on.shape == (2, 0)
    assert greedy_stops(np.zeros((2, 0)), np.zeros((2, 0))).tolist() == [-1, -1]
    assert stop_gradients(np.zeros((2, 0)), np.zeros((2, 0)), stop_chances=np.zeros((2, 0))).shape == (2, 0)
    assert policy_go_on_values(np.zeros((2, 0)), np.zeros((2, 0))).shape == (2, 0)
    assert stop_credit([], []).stop.shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: snell_values([0.5, np.nan], [1, 1]), r"stop_values\[1\] is nan"),
        (lambda: snell_values([0.5], [1, 1]), r"go_on_values has shape \(2,\), but stop_values has \(1,\)"),
        (lambda: snell_values([0.5, 1], [1, np.inf]), r"go_on_values\[1\] is inf"),
        (lambda: stop_credit([1.0], [1.0], stop_chances=[1.5]), r"stop_chances must be in \[0, 1\]"),
        (lambda: stop_credit([1.0], [1.0], stop_chances=[0.5, 1]), r"stop_chances has shape \(2,\)"),
        (lambda: lambda_targets([[1.0]], [[1.0]], lam=1.1), r"lam is 1.1"),
        (lambda: lambda_targets([[1.0]], [[1.0]], lam=np.nan), r"lam is nan"),
        (lambda: lambda_targets([1.0], [1.0], lam=1), r"stop_values has shape \(1,\)"),
        (lambda: lambda_targets([[0.0, 0.0]], [[-np.inf, 0.0]], lam=1), r"path 0 went on at prefix 0"),
        (lambda: lambda_targets([[0.0]], [[0.0]], lam=1, lengths=[2]), r"lengths must be between 0 and 1"),
        (lambda: hindsight_stops([[]]), r"a path has at least one prefix"),
    ],
)
def test_odd_inputs_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# numbers of the voting chain, N = 40


@pytest.mark.parametrize(
    ("c", "lam", "ratio"),
    [(0.002, 0.8, 0.9973), (0.01, 0.8, 0.9786), (0.01, 0.95, 0.8883), (0.03, 0.8, 0.9570), (0.03, 0.95, 0.6646)],
)
def test_uncut_lambda_loses_value(c, lam, ratio):
    votes = Votes(c)
    best = votes.optimum()[0, 0]
    uncut = votes.uncut(lam)
    assert uncut[0, 0] < best
    assert votes.value(votes.greedy(uncut))[0, 0] / best == pytest.approx(ratio, abs=5e-5)


@pytest.mark.parametrize(
    ("c", "grades", "start", "ratio"),
    [(0.01, 1, 0.98665, 0.8743), (0.03, 1, 0.95996, 0.5700), (0.01, 16, None, 0.8848), (0.03, 16, None, 0.8380)],
)
def test_grades_inside_the_maximum_overstate_and_mislead(c, grades, start, ratio):
    votes = Votes(c)
    best = votes.optimum()[0, 0]
    noisy = votes.graded(grades)
    assert start is None or noisy[0, 0] == pytest.approx(start, abs=5e-6)
    assert votes.value(votes.greedy(noisy))[0, 0] / best == pytest.approx(ratio, abs=5e-5)


def test_hindsight_overstates_the_optimum():
    votes = Votes(0.01)
    _, a, b = votes.paths(40_000, np.random.default_rng(0))
    r = votes.r[a, b]
    best = r[np.arange(len(r)), hindsight_stops(r)].mean()
    assert best == pytest.approx(0.885, abs=0.002)
    assert votes.optimum()[0, 0] == pytest.approx(0.83301, abs=5e-6)


class SoftStops:
    """pi_stop = σ(w · f(s)) on the chain at price .01, with its exact values and gradient."""

    def __init__(self):
        self.votes = votes = Votes(0.01)
        self.w = np.array([-6.0, 7.0, 1.0])
        ones = np.ones(votes.r.shape)
        self.f = np.stack([ones, votes.confidence, np.minimum(votes.n, votes.most) / votes.most], axis=-1)
        self.p = self.chances(self.w)
        self.values = votes.value(self.p)
        self.go_on = votes.expected(self.values)
        h = 1e-5
        J = [[votes.value(self.chances(self.w + s * h * e))[0, 0] for s in (1, -1)] for e in np.eye(3)]
        self.gradient = np.array([(up - down) / (2 * h) for up, down in J])

    def chances(self, w):
        return np.where(self.votes.n >= self.votes.most, 1.0, 1 / (1 + np.exp(-self.f @ w)))

    def reach(self):
        """D[a, b]: chance to get there."""
        votes, D = self.votes, np.zeros_like(self.p)
        D[0, 0] = 1
        for n in range(votes.most):
            a = np.arange(n + 1)
            b = n - a
            go = D[a, b] * (1 - self.p[a, b])
            D[a + 1, b] += go * votes.says_a[a, b]
            D[a, b + 1] += go * (1 - votes.says_a[a, b])
        return D


@pytest.fixture(scope="module")
def soft():
    return SoftStops()


def test_full_width_is_unbiased_and_of_low_variance(soft):
    votes, count = soft.votes, 20_000
    rng = np.random.default_rng(1)
    _, a, b = votes.paths(count, rng)
    r, p, f = votes.r[a, b], soft.p[a, b], soft.f[a, b]
    critic = np.where(np.arange(votes.most + 1) < votes.most, soft.go_on[a, b], -np.inf)
    full_width = np.einsum("bt,btf->bf", stop_gradients(r, critic, stop_chances=p), f)
    same_path = np.einsum("bt,btf->bf", stop_gradients(r, policy_go_on_values(r, p), stop_chances=p), f)
    at = (rng.random(p.shape) < p).argmax(axis=1)
    step = np.arange(votes.most + 1)
    before, here = step < at[:, None], step == at[:, None]
    score = np.where(here, 1 - p, np.where(before, -p, 0.0))
    paid = r[np.arange(count), at]
    reinforce = np.einsum("bt,btf->bf", score, f) * paid[:, None]
    with_baseline = np.einsum("bt,btf->bf", score * (paid[:, None] - soft.values[a, b]), f)
    for samples, variance in [(reinforce, 0.557), (with_baseline, 0.0133), (same_path, 0.0014), (full_width, 0.0002)]:
        z = (samples.mean(axis=0) - soft.gradient) / (samples.std(axis=0) / math.sqrt(count))
        assert np.abs(z).max() < 4
        assert samples.var(axis=0).sum() == pytest.approx(variance, rel=0.3)


def test_snell_values_give_an_improvement_step_that_is_not_the_gradient(soft):
    votes, D, p = soft.votes, soft.reach(), soft.p
    inside = votes.n < votes.most
    best = votes.optimum()

    def direction(C):
        weight = np.where(inside, D * p * (1 - p) * (votes.r - np.where(inside, C, 0)), 0.0)
        return np.einsum("ab,abf->f", weight, soft.f)

    np.testing.assert_allclose(direction(soft.go_on), soft.gradient, atol=1e-7)
    snell = direction(best)
    np.testing.assert_allclose(snell, [-0.0579, -0.0356, -0.0019], atol=5e-5)
    cosine = snell @ soft.gradient / np.linalg.norm(snell) / np.linalg.norm(soft.gradient)
    assert cosine == pytest.approx(0.9997, abs=5e-5)


def test_logs_of_a_policy_that_stops_say_nothing_beyond_it():
    """Stop at posterior .75: .8883 of V*, and so is greedy on what is seen; one forced step identifies .9998."""
    votes = Votes(0.01)
    best = votes.optimum()[0, 0]
    behaviour = (votes.confidence >= 0.75) | (votes.n >= votes.most)
    worth = votes.value(behaviour)
    C = np.where(votes.n < votes.most, votes.expected(worth), -np.inf)
    assert worth[0, 0] / best == pytest.approx(0.8883, abs=5e-5)
    _, a, b = votes.paths(2_000, np.random.default_rng(3))
    lengths = behaviour[a, b].argmax(axis=1) + 1
    seen = np.zeros_like(behaviour)
    targets = lambda_targets(votes.r[a, b], np.where(np.isfinite(C[a, b]), 0.0, -np.inf), lam=1, lengths=lengths).go_on
    known = ~np.isnan(targets)
    seen[a[known], b[known]] = True
    assert seen.sum() == 1
    assert votes.value(votes.greedy(np.where(seen, C, -np.inf)))[0, 0] / best == pytest.approx(0.8883, abs=5e-5)
    assert votes.value(votes.greedy(C))[0, 0] / best == pytest.approx(0.9998, abs=5e-5)
