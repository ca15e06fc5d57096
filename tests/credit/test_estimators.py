"""Estimates from a budget: laws, exactness where it is promised, means within four standard errors, odd input."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit import (
    VALUE_ESTIMATORS,
    VALUE_KINDS,
    CoalitionValue,
    banzhaf_msr,
    banzhaf_value,
    connected_sets,
    down_sets,
    kernel_shapley,
    myerson_value,
    permutation_shapley,
    precedence_value,
    replicated,
    shapley_value,
    stratified_shapley,
)


def antithetic(evaluate, n, **given):
    return permutation_shapley(evaluate, n, antithetic=True, **given)


def unpaired(evaluate, n, **given):
    return kernel_shapley(evaluate, n, paired=False, **given)


def noisy_kernel(evaluate, n, **given):
    return kernel_shapley(evaluate, n, noisy=True, **given)


SHAPLEY = [permutation_shapley, antithetic, stratified_shapley, kernel_shapley, unpaired, noisy_kernel]
STRUCTURE = {"myerson": [(0, 1), (1, 2), (2, 3)], "owen": [[0, 1], [2], [3]], "precedence": {3: [1], 1: [0]}}
sizes = st.integers(2, 6)
seeds = st.integers(0, 10**9)


class Asked:
    """A game as a vector, looked up; keeps what it was asked for."""

    def __init__(self, v, noise=None):
        self.v, self.noise, self.coalitions = np.asarray(v, float), noise, []

    def __call__(self, coalitions):
        assert coalitions.dtype == bool
        places = coalitions @ (1 << np.arange(coalitions.shape[1]))
        self.coalitions += places.tolist()
        found = self.v[places]
        return found if self.noise is None else (self.noise.random(len(found)) < found).astype(float)


def random_vector(n, seed):
    return np.random.default_rng(seed).normal(size=1 << n)


def of_pairs(n, seed):
    """Every player and every pair adds something; nothing else does."""
    rng = np.random.default_rng(seed)
    inside = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(float)
    return inside @ rng.normal(size=n) + np.einsum("si,ij,sj->s", inside, rng.normal(size=(n, n)), inside)


def threshold(n, seed):
    weights = np.random.default_rng(seed).uniform(0.2, 1, n)
    inside = (np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(float)
    v = 1 / (1 + np.exp(-6 * (inside @ weights / weights.sum() - 0.6)))
    return (v - v[0]) / (v[-1] - v[0])


def ends(v):
    return v[0], v[-1]


@given(sizes, seeds, st.sampled_from(SHAPLEY), st.booleans())
def test_shares_add_up_and_the_budget_is_kept(n, seed, estimate, known):
    v = random_vector(n, seed)
    asked = Asked(v)
    budget = 2 * n * (n - 1) + 3
    found = estimate(asked, n, budget=budget, rng=np.random.default_rng(seed), ends=ends(v) if known else None)
    assert found.total == v[-1] - v[0]
    assert abs(found.residual) < 1e-9
    assert found.sampling.model_calls == len(asked.coalitions) <= budget
    if known:
        assert not {0, len(v) - 1} & set(asked.coalitions)


@given(sizes, seeds)
def test_one_order_gives_marginal_contributions(n, seed):
    v = random_vector(n, seed)
    asked = Asked(v)
    found = permutation_shapley(asked, n, budget=n - 1, rng=np.random.default_rng(seed), ends=ends(v))
    prefixes = [0, *asked.coalitions, len(v) - 1]
    for before, after in pairwise(prefixes):
        assert math.isclose(found.values[(after ^ before).bit_length() - 1], v[after] - v[before])
    assert (found.sampling.n, found.sampling.std_error) == (1, None)


@given(sizes, seeds)
def test_games_of_pairs_are_exact(n, seed):
    v = of_pairs(n, seed)
    exact = shapley_value(v).values
    rng = np.random.default_rng(seed)
    for estimate, budget in ((antithetic, 2 * (n - 1)), (stratified_shapley, n * (n - 1)), (kernel_shapley, 2 * n)):
        found = estimate(Asked(v), n, budget=budget, rng=rng, ends=ends(v))
        assert np.allclose(found.values, exact), estimate


@given(sizes, seeds, st.booleans(), st.booleans())
def test_kernel_on_all_coalitions_is_exact(n, seed, paired, noisy):
    v = random_vector(n, seed)
    asked = Asked(v)
    budget = 2 * (2**n - 2) if noisy else 2**n + 9
    # a noisy v is asked for again where a size has budget to spare; with enough of it all sizes are complete
    budget *= 40 if noisy else 1
    rng = np.random.default_rng(seed)
    found = kernel_shapley(asked, n, budget=budget, rng=rng, ends=ends(v), paired=paired, noisy=noisy)
    assert np.allclose(found.values, shapley_value(v).values)
    if not noisy:
        assert sorted(asked.coalitions) == list(range(1, len(v) - 1))
        assert not found.sampling.std_error.any()


@given(sizes, seeds, st.booleans())
def test_kernel_draws_no_coalition_twice_and_pairs_are_complements(n, seed, paired):
    asked = Asked(random_vector(n, seed))
    budget = max(2**n - 3, 2)
    kernel_shapley(asked, n, budget=budget, rng=np.random.default_rng(seed), ends=(0, 1), paired=paired)
    assert len(set(asked.coalitions)) == len(asked.coalitions) == (budget // 2 * 2 if paired else budget)
    if paired:
        assert {2**n - 1 - s for s in asked.coalitions} == set(asked.coalitions)


def slow_kernel(n, v, coalitions):
    """The textbook fit: weights k(s), the constraint by a Lagrange multiplier."""
    inside = np.array([[s >> i & 1 for i in range(n)] for s in coalitions], float)
    size = inside.sum(axis=1)
    weight = np.array([(n - 1) / (math.comb(n, int(s)) * s * (n - s)) for s in size])
    normal = np.zeros((n + 1, n + 1))
    normal[:n, :n] = 2 * inside.T @ (inside * weight[:, None])
    normal[n, :n] = normal[:n, n] = 1
    right = np.append(2 * inside.T @ (weight * (v[coalitions] - v[0])), v[-1] - v[0])
    return np.linalg.solve(normal, right)[:n]


@given(st.integers(3, 6), seeds, st.booleans())
def test_kernel_is_the_textbook_fit(n, seed, paired):
    v = random_vector(n, seed)
    everyone = np.arange(1, len(v) - 1)
    found = kernel_shapley(Asked(v), n, budget=len(v), rng=np.random.default_rng(seed), ends=ends(v), paired=paired)
    assert np.allclose(found.values, slow_kernel(n, v, everyone))


@pytest.mark.parametrize("estimate", SHAPLEY)
@pytest.mark.parametrize("noise", [False, True], ids=["exact v", "noisy v"])
def test_means_are_within_four_standard_errors(estimate, noise):
    n = 6
    v = np.clip(threshold(n, 0), 0, 1)
    exact = shapley_value(v).values
    draws, rng = [], np.random.default_rng(1)
    for _ in range(40):
        game = Asked(v, np.random.default_rng(rng.integers(10**9)) if noise else None)
        draws.append(estimate(game, n, budget=60, rng=rng, ends=ends(v)))
    values = np.array([draw.values for draw in draws])
    error = values.std(axis=0, ddof=1) / math.sqrt(len(draws))
    bias = 0.01 if estimate in (kernel_shapley, unpaired) else 0  # a ratio: unbiased only as the budget grows
    assert (np.abs(values.mean(axis=0) - exact) <= 4 * error + bias + 1e-12).all()
    promised = np.mean([draw.sampling.std_error**2 for draw in draws if draw.sampling.std_error is not None] or [0])
    if promised and not (noise and estimate in (kernel_shapley, unpaired)):
        assert 0.6 < math.sqrt(promised / values.var(axis=0, ddof=1).mean()) < 1.6


def test_truncation_saves_calls_and_shows_its_bias():
    v = np.where(np.arange(64) & 3 == 3, 1.0, 0.0)  # players 0 and 1 make everything
    plain = permutation_shapley(Asked(v), 6, budget=100, rng=np.random.default_rng(0), ends=(0, 1))
    cut = permutation_shapley(Asked(v), 6, budget=100, rng=np.random.default_rng(0), ends=(0, 1), tolerance=0.01)
    assert cut.sampling.n > plain.sampling.n
    assert cut.sampling.model_calls <= 100
    assert abs(cut.residual) < 1e-12
    loose = permutation_shapley(Asked(v), 6, budget=100, rng=np.random.default_rng(0), ends=(0, 1), tolerance=1)
    assert (loose.sampling.model_calls, loose.residual, loose.values.tolist()) == (0, 1, [0] * 6)


@given(st.integers(1, 6), seeds)
def test_banzhaf_msr_is_a_difference_of_means(n, seed):
    v = random_vector(n, seed)
    asked = Asked(v)
    found = banzhaf_msr(asked, n, budget=15, rng=np.random.default_rng(seed))
    for i in range(n):
        inside = [v[s] for s in asked.coalitions if s >> i & 1]
        outside = [v[s] for s in asked.coalitions if not s >> i & 1]
        assert math.isclose(found.values[i], np.mean(inside) - np.mean(outside), abs_tol=1e-12)
        if found.sampling.std_error is not None:
            error = math.sqrt(np.var(inside, ddof=1) / len(inside) + np.var(outside, ddof=1) / len(outside))
            assert math.isclose(found.sampling.std_error[i], error, abs_tol=1e-12)
    assert len(asked.coalitions) == found.sampling.model_calls == found.sampling.n == 15


def test_banzhaf_msr_within_four_standard_errors():
    v = np.clip(threshold(6, 3), 0, 1)
    for noise in (None, np.random.default_rng(0)):
        found = banzhaf_msr(Asked(v, noise), 6, budget=3000, rng=np.random.default_rng(1))
        assert (np.abs(found.values - banzhaf_value(v).values) <= 4 * found.sampling.std_error).all()


@given(st.integers(1, 5), seeds)
def test_replicated_once_is_exact_and_asks_for_what_is_needed(n, seed):
    v = random_vector(n, seed)
    chain = [(i, i + 1) for i in range(n - 1)]
    order = {i: [i - 1] for i in range(1, n)}
    for value, needed in (
        (shapley_value, None),
        (lambda v: myerson_value(v, chain), connected_sets(n, chain)),
        (lambda v: precedence_value(v, order), down_sets(n, order)),
    ):
        asked = Asked(v)
        found = replicated(asked, n, value=value, needed=needed)
        assert np.allclose(found.values, value(v).values)
        assert len(asked.coalitions) == (len(v) if needed is None else needed.sum()) == found.sampling.model_calls
        assert found.sampling.n is None


def test_replicates_average_the_noise():
    v = np.clip(threshold(4, 2), 0, 1)
    found = replicated(Asked(v, np.random.default_rng(0)), 4, budget=14 * 200 + 5, ends=ends(v))
    assert (found.sampling.n, found.sampling.model_calls) == (200, 2800)
    assert (np.abs(found.values - shapley_value(v).values) <= 4 * found.sampling.std_error).all()
    assert abs(found.residual) < 1e-12


@pytest.mark.parametrize("kind", VALUE_KINDS)
def test_names_resolve_to_functions(kind):
    v = random_vector(4, 0)
    structure = STRUCTURE.get(kind)
    exact = CoalitionValue(kind=kind, structure=structure)(Asked(v), 4)
    again = CoalitionValue(kind=kind, structure=structure, estimator="replicated")(Asked(v), 4, budget=40)
    assert np.allclose(exact.values, again.values)
    fitting = 0
    for estimator in VALUE_ESTIMATORS[2:]:
        try:
            method = CoalitionValue(kind=kind, estimator=estimator, structure=structure, definition="replay")
        except ValueError as error:
            assert "for those: exact, replicated" in str(error)  # noqa: PT017
            continue
        fitting += 1
        found = method(Asked(v), 4, budget=3000, rng=np.random.default_rng(0))
        assert np.allclose(found.values, exact.values, atol=0.25)
        assert found.sampling.definition == "replay"
    assert fitting == {"shapley": 5, "banzhaf": 1}.get(kind, 0)


def test_wrong_pairs_are_refused():
    for given_, message in (
        ({"estimator": "msr"}, "msr estimates banzhaf values, not shapley; for those: exact, replicated, permutation"),
        ({"kind": "banzhaf", "estimator": "kernel"}, "kernel estimates shapley values, not banzhaf"),
        ({"kind": "sharpley"}, "no such kind 'sharpley'; there are shapley, "),
        ({"estimator": "mcmc"}, "no such estimator 'mcmc'"),
        ({"kind": "owen"}, "owen needs a structure: unions"),
        ({"structure": [[0]]}, "shapley has no structure; only myerson, owen, precedence have one"),
    ):
        with pytest.raises(ValueError, match=message):
            CoalitionValue(**given_)
    with pytest.raises(ValueError, match="kernel needs a budget"):
        CoalitionValue(estimator="kernel")(Asked([0, 1]), 1)
    with pytest.raises(ValueError, match="needs a generator"):
        CoalitionValue(estimator="kernel")(Asked([0, 1]), 1, budget=4)


@pytest.mark.parametrize("estimate", SHAPLEY)
def test_nobody_one_and_two(estimate):
    rng = np.random.default_rng(0)
    assert estimate(Asked([5.0]), 0, budget=4, rng=rng).values.shape == (0,)
    assert estimate(Asked([5.0]), 0, budget=4, rng=rng, ends=(0, 0)).total == 0
    alone = estimate(Asked([1.0, 4.0]), 1, budget=4, rng=rng)
    assert (alone.values.tolist(), alone.sampling.model_calls, alone.residual) == ([3.0], 2, 0)
    two = estimate(Asked([0.0, 1.0, 2.0, 6.0]), 2, budget=400, rng=rng)
    assert np.allclose(two.values, [2.5, 3.5], atol=0.5)


@pytest.mark.parametrize("estimate", [*SHAPLEY, banzhaf_msr])
def test_odd_input_is_refused(estimate):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="must be finite"):
        estimate(lambda S: np.full(len(S), math.nan), 4, budget=50, rng=rng)
    with pytest.raises(ValueError, match="evaluate returned shape"):
        estimate(lambda S: 1.0, 4, budget=50, rng=rng)
    with pytest.raises(ValueError, match="budget is 0" if estimate is banzhaf_msr else "budget is 2 after 2 for v"):
        estimate(Asked(np.zeros(16)), 4, budget=0 if estimate is banzhaf_msr else 2, rng=rng)
    if estimate is not banzhaf_msr:
        with pytest.raises(ValueError, match="ends is"):
            estimate(Asked(np.zeros(16)), 4, budget=50, rng=rng, ends=(0, math.nan))


def test_equal_seeds_equal_shares():
    for estimate in SHAPLEY:
        one, two = (
            estimate(Asked(random_vector(5, 0)), 5, budget=45, rng=np.random.default_rng(7)).values for _ in range(2)
        )
        assert one.tobytes() == two.tobytes()


def test_many_players():
    weights = np.arange(30.0)
    for estimate in SHAPLEY:
        found = estimate(lambda S: S @ weights, 30, budget=900, rng=np.random.default_rng(0))
        assert np.allclose(found.values, weights, atol=1e-6), estimate


@pytest.mark.long
def test_errors_per_evaluation_under_outcome_noise():
    """Root mean square errors of 0/1 outcomes, 8 players, 512 evaluations: the fit, then rings, then orders."""
    errors = {estimate: [] for estimate in (noisy_kernel, stratified_shapley, permutation_shapley)}
    for seed in range(100):
        v = np.clip(threshold(8, seed), 0, 1)
        rng = np.random.default_rng(seed)
        for estimate, found in errors.items():
            shares = estimate(Asked(v, rng), 8, budget=512, rng=rng, ends=ends(v)).values
            found.append(math.sqrt(((shares - shapley_value(v).values) ** 2).mean()))
    kernel, rings, orders = (float(np.mean(found)) for found in errors.values())
    assert 0.030 < kernel < 0.038
    assert kernel < 0.95 * rings < 0.95 * 0.80 * orders
    assert 0.050 < orders < 0.060
