"""Continuation values from paths, and what they certify."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.voting_chain import Votes
from orchestrace.credit.stops.stop_bounds import (
    ContinuationFit,
    continuation_fit,
    continuation_values,
    fitted_means,
    high_value,
    low_value,
)
from orchestrace.credit.stops.stopping import greedy_stops, snell_values

BEST = {0.002: 0.90565, 0.01: 0.83301, 0.03: 0.75234}


def basis(votes, a, b):
    m, n = votes.confidence[a, b], votes.n[a, b] / votes.most
    return np.stack([np.ones(m.shape), m, m**2, m**3, n, n * m, n * m**2, n**2], axis=-1)


def graded(votes, theta, a, b):
    """0/1 grades net of costs; a tie is half right."""
    right = np.where(a == b, 0.5, (a > b) == (theta[:, None] > 0.5))
    return right - votes.c * votes.n[a, b]


def slow_fit(r, x, g):
    """Longstaff and Schwartz as in their paper's worked example: one regression a date, from the last but one."""
    paid, betas = list(g[:, -1]), []
    for t in reversed(range(r.shape[1] - 1)):
        beta = np.linalg.pinv(x[:, t]) @ np.array(paid)
        for i in range(len(r)):
            if r[i, t] >= x[i, t] @ beta:
                paid[i] = g[i, t]
        betas.insert(0, beta)
    return np.array(betas), float(np.mean(paid))


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 5))
def test_fit_equals_the_worked_example(seed, count, prefixes):
    rng = np.random.default_rng(seed)
    r, x, g = rng.random((count, prefixes)), rng.random((count, prefixes, 2)), rng.random((count, prefixes))
    found = continuation_fit(r, x, payoffs=g)
    betas, mean = slow_fit(r, x, g)
    np.testing.assert_allclose(found.coefficients, betas, atol=1e-6)
    assert found.in_sample == pytest.approx(mean)
    values = continuation_values(found, x)
    np.testing.assert_allclose(values[:, 0], x[:, 0] @ betas[0], atol=1e-6)
    assert np.isneginf(values[:, -1]).all()


@pytest.mark.parametrize(("c", "by_grades", "ratio"), [(0.01, False, 0.999), (0.03, False, 0.999), (0.01, True, 0.985)])
def test_certificate_holds_the_optimum_between_its_bounds(c, by_grades, ratio):
    votes, rng = Votes(c), np.random.default_rng(2)
    best = votes.optimum()[0, 0]
    assert best == pytest.approx(BEST[c], abs=5e-6)
    theta, a, b = votes.paths(1000, rng)
    payoffs = graded(votes, theta, a, b) if by_grades else None
    fit = continuation_fit(votes.r[a, b], basis(votes, a, b), payoffs=payoffs)
    _, a, b = votes.paths(4000, rng)
    r = votes.r[a, b]
    low = low_value(r, continuation_values(fit, basis(votes, a, b)))
    rule = votes.value(table_rule(votes, fit))
    assert rule[0, 0] / best > ratio
    assert abs(low.value - rule[0, 0]) < 4 * low.std_error
    for values in (rule, full_values(votes, fit)):
        high = high_value(r, values[a, b], expected_values=votes.expected(values)[a, b][:, :-1])
        assert best - 4 * high.std_error < high.value < best + 0.02
    assert low.value - 4 * low.std_error < best


def full_values(votes, fit):
    """max(r, C of the fit) in every state, r where voting is over."""
    a, b = np.indices(votes.r.shape)
    C = np.full(votes.r.shape, -np.inf)
    for t in range(votes.most):
        here = votes.n == t
        C[here] = basis(votes, a[here], b[here]) @ fit.coefficients[t]
    return np.maximum(votes.r, C)


def table_rule(votes, fit):
    return votes.r >= full_values(votes, fit)


def test_bounds_close_on_the_optimum_at_price_002():
    """20,000 paths: the rule's own values give .90566 for V* = .90565; fitted ones .9059; nested means are looser."""
    votes, rng = Votes(0.002), np.random.default_rng(2)
    best = votes.optimum()[0, 0]
    _, a, b = votes.paths(20_000, rng)
    fit = continuation_fit(votes.r[a, b], basis(votes, a, b))
    theta, a, b = votes.paths(20_000, rng)
    r = votes.r[a, b]
    low = low_value(r, continuation_values(fit, basis(votes, a, b)))
    fitted, rule = full_values(votes, fit), votes.value(table_rule(votes, fit))
    assert rule[0, 0] == pytest.approx(0.9056, abs=2e-4)
    assert abs(low.value - rule[0, 0]) < 4 * low.std_error
    by_rule = high_value(r, rule[a, b], expected_values=votes.expected(rule)[a, b][:, :-1])
    by_fit = high_value(r, fitted[a, b], expected_values=votes.expected(fitted)[a, b][:, :-1])
    assert by_rule.value == pytest.approx(0.90566, abs=3e-5)
    assert best - 4 * by_fit.std_error < by_fit.value < 0.9065
    drawn = rng.binomial(8, votes.says_a[a[:, :-1], b[:, :-1]]) / 8
    nested = drawn * rule[a[:, :-1] + 1, b[:, :-1]] + (1 - drawn) * rule[a[:, :-1], b[:, :-1] + 1]
    loose = high_value(r, rule[a, b], expected_values=nested)
    assert loose.value == pytest.approx(0.9219, abs=0.002)
    noisy = high_value(graded(votes, theta, a, b), rule[a, b], expected_values=votes.expected(rule)[a, b][:, :-1])
    assert noisy.value == pytest.approx(1.07, abs=0.01)


def test_the_true_martingale_leaves_no_gap_and_no_variance():
    """With V = V* the maximum is V*(s₀) on every single path: Rogers' duality."""
    votes = Votes(0.02, most=8)
    V = np.maximum(votes.r, votes.optimum())
    _, a, b = votes.every_path()
    found = high_value(votes.r[a, b], V[a, b], expected_values=votes.expected(V)[a, b][:, :-1])
    assert found.value == pytest.approx(V[0, 0], abs=1e-12)
    assert found.std_error == pytest.approx(0, abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_any_martingale_bounds_from_above(seed):
    """Exactly, over every path with its chance: E[max(r − M)] ≥ V*, for values that mean nothing."""
    votes = Votes(0.05, most=4)
    V = np.random.default_rng(seed).normal(size=votes.r.shape)
    chance, a, b = votes.every_path()
    r, E = votes.r[a, b], votes.expected(V)[a, b][:, :-1]
    each = [
        high_value(r[i : i + 1], V[a, b][i : i + 1], expected_values=E[i : i + 1]).value for i in range(len(chance))
    ]
    assert chance @ np.array(each) >= max(votes.r[0, 0], votes.optimum()[0, 0]) - 1e-12


def test_in_sample_is_biased_up():
    votes, rng = Votes(0.01), np.random.default_rng(0)
    excess = []
    for _ in range(20):
        _, a, b = votes.paths(60, rng)
        fit = continuation_fit(votes.r[a, b], basis(votes, a, b))
        excess.append(fit.in_sample - votes.value(table_rule(votes, fit))[0, 0])
    assert np.mean(excess) > 3 * np.std(excess) / math.sqrt(len(excess))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2)), min_size=2, max_size=20))
def test_one_hot_fit_is_the_mean_of_the_other_folds_in_the_same_state(drawn):
    states, grades, folds = np.array(drawn).T
    if len(set(folds.tolist())) < 2:
        folds[0] = folds[1] + 1
    found = fitted_means(np.eye(3)[states], grades, folds=folds)
    for i in range(len(states)):
        others = grades[(states == states[i]) & (folds != folds[i])]
        assert found[i] == pytest.approx(others.mean() if len(others) else 0.0, abs=1e-9)


def test_fitted_means_keep_noise_out_of_the_maximum():
    """E[max(r, C)] with raw grades is far above the truth; with fitted ones it is close."""
    votes, rng = Votes(0.01, most=10), np.random.default_rng(5)
    theta, a, b = votes.paths(3000, rng)
    right = graded(votes, theta, a, b) + votes.c * votes.n[a, b]
    C = votes.optimum()[a, b]
    folds = np.repeat(np.arange(len(a)) % 5, a.shape[1])
    fitted = fitted_means(basis(votes, a, b).reshape(-1, 8), right.ravel(), folds=folds).reshape(a.shape)
    cost = votes.c * votes.n[a, b]
    truth = snell_values(votes.r[a, b], C)[:, :-1].mean()
    assert snell_values(fitted - cost, C)[:, :-1].mean() == pytest.approx(truth, abs=0.01)
    assert snell_values(right - cost, C)[:, :-1].mean() > truth + 0.05


def test_low_value_by_hand():
    r, C = np.array([[0.5, 0.9], [0.6, 0.1]]), np.array([[0.55, -np.inf], [0.55, -np.inf]])
    assert greedy_stops(r, C).tolist() == [1, 0]
    found = low_value(r, C)
    assert found.value == pytest.approx(0.75)
    assert found.std_error == pytest.approx(0.15)
    assert low_value(r, C, payoffs=[[0, 1], [0, 1]]).value == 0.5
    assert math.isnan(low_value(r[:1], C[:1]).std_error)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fitted_means([[1.0], [1.0]], [0, 1], folds=[3, 3]), "folds has 1 different values"),
        (lambda: fitted_means([[1.0], [1.0]], [0], folds=[3, 3]), "grades has length 1, but features has 2"),
        (lambda: fitted_means([[1.0], [1.0]], [0, np.nan], folds=[0, 1]), r"grades\[1\] is nan"),
        (lambda: continuation_fit([[1.0]], [[[1.0], [2.0]]]), r"features has shape \(1, 2, 1\)"),
        (lambda: continuation_fit(np.zeros((0, 2)), np.zeros((0, 2, 1))), "there is nothing to fit"),
        (lambda: continuation_fit([[1.0]], [[[1.0]]], payoffs=[[1.0, 2.0]]), r"payoffs \(1, 2\)"),
        (
            lambda: continuation_values(ContinuationFit(np.zeros((1, 2)), 0.0), np.zeros((1, 2, 3))),
            r"features has shape \(1, 2, 3\), but the fit has P=2 and F=2",
        ),
        (lambda: low_value([[0.0]], [[1.0]]), "on path 0 the rule never stops"),
        (lambda: low_value([[0.0]], [[1.0]], payoffs=[[0.0, 1.0]]), r"payoffs has shape \(1, 2\)"),
        (lambda: low_value(np.zeros((0, 1)), np.zeros((0, 1))), "there is no path"),
        (lambda: high_value([[0.0]], [[0.0]], expected_values=[[0.0]]), "one prefix shorter"),
        (lambda: high_value([[]], [[]], expected_values=[[]]), "at least one prefix"),
    ],
)
def test_odd_inputs_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_single_prefix_is_its_own_certificate():
    fit = continuation_fit([[0.3], [0.5]], [[[1.0]], [[1.0]]])
    assert fit.coefficients.shape == (0, 1)
    assert fit.in_sample == 0.4
    assert high_value([[0.3], [0.5]], [[0.3], [0.5]], expected_values=np.zeros((2, 0))).value == 0.4
