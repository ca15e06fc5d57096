"""E4a to E4e against enumeration and closed forms."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import by_name
from orchestrace.envs.aggregate.estimates import RULES, squared_error
from orchestrace.envs.aggregate.votes import log_odds_weights
from orchestrace.envs.aggregate.weighted_vote import ABSTAIN, copied_ballots, weighted_vote_of
from orchestrace.testing.envs import check_env

few = settings(max_examples=20, deadline=None)


def team(*competences, **changed):
    given_settings = {**by_name("weighted-vote").settings, "abstain": 0.0, "voters": len(competences), **changed}
    return weighted_vote_of((competences,), settings=given_settings)


@pytest.mark.parametrize(
    ("competences", "optimum", "majority"),
    [((0.9, 0.6, 0.6, 0.6, 0.6), 0.90000, 0.78624), ((0.9, 0.75, 0.7, 0.6, 0.55), 0.90518, 0.84623)],
)
def test_known_teams(competences, optimum, majority):
    env = team(*competences)
    assert env.optimal_value() == pytest.approx(optimum, abs=6e-6)
    assert env.baselines()["majority"] == pytest.approx(majority, abs=6e-6)
    assert env.baselines()["as-if-independent"] == pytest.approx(optimum, abs=6e-6)


def test_a_prior_weighs_like_a_voter():
    env = team(0.9, 0.75, 0.7, 0.6, 0.55, prior=0.7)
    assert env.optimal_value() == pytest.approx(0.91657, abs=6e-6)
    assert env.baselines()["as-if-independent"] == pytest.approx(env.optimal_value())


@few
@given(st.lists(st.floats(0.51, 0.99), min_size=1, max_size=5), st.floats(0.2, 0.8), st.floats(0.5, 0.95))
def test_the_optimum_is_the_weighted_vote_with_chows_rule(competences, prior, sure):
    """Slow twin: sum over patterns of the larger joint chance; abstain where the posterior is below what is sure."""
    env, total = team(*competences, prior=prior, abstain=sure), 0.0
    for x in itertools.product((0, 1), repeat=len(competences)):
        a = prior * math.prod(p if v == 0 else 1 - p for p, v in zip(competences, x, strict=True))
        b = (1 - prior) * math.prod(1 - p if v == 0 else p for p, v in zip(competences, x, strict=True))
        total += max(a, b, sure * (a + b))
        weight = math.log(prior / (1 - prior))
        weight += sum(w if v == 0 else -w for w, v in zip(log_odds_weights(competences), x, strict=True))
        assert (weight > 0) == (a > b) or math.isclose(a, b)
    assert env.optimal_value() == pytest.approx(total, abs=1e-12)
    for state in range(len(env.starts)):
        stop = env.process.means[env.process.pairs[state]]
        abstains = env.optimal_action(state) == ABSTAIN
        assert not abstains or max(stop[0], stop[1]) <= sure + 1e-9


@few
@given(st.floats(0.55, 0.95), st.integers(2, 5))
def test_a_pure_copy_is_worth_nothing(p, n):
    env = team(*[p] * n, copying=1.0)
    assert env.optimal_value() == pytest.approx(team(p).optimal_value())
    for truth in (0, 1):
        assert sum(ballot.likelihoods[truth] for ballot in copied_ballots((p,) * n, 0.4)) == pytest.approx(1)


def test_who_takes_copies_for_independent_loses():
    copied = by_name("weighted-vote", {"copying": 0.7, "abstain": 0.0})
    assert copied.baselines()["as-if-independent"] < copied.optimal_value() - 0.005
    assert copied.optimal_value() < by_name("weighted-vote", {"abstain": 0.0}).optimal_value()


def test_many_options():
    env = by_name("many-options")
    assert env.optimal_value() == pytest.approx(0.736333, abs=1e-6)
    assert env.baselines()["weighted"] == pytest.approx(env.optimal_value())
    two = by_name("many-options", {"options": 2, "voters": 3, "seed": 4})
    assert two.baselines()["weighted"] == pytest.approx(two.optimal_value())


def test_precision_weighting():
    """σ = (.5, 1, 2), s² = 1: MSE* = 1 / (1 + 4 + 1 + ¼) = .160; best single .2."""
    independent = np.diag([0.25, 1.0, 4.0])
    errors = {name: squared_error(independent, rule(independent)) for name, rule in RULES.items()}
    assert errors["by precision"] == errors["by dependence"] == pytest.approx(0.16)
    assert errors["best single"] == pytest.approx(0.2)
    assert errors["none"] == 1.0
    # the plain mean of the reports, used as it is, errs by (.25 + 1 + 4) / 9; scaled as here it is never worse
    assert errors["mean"] == pytest.approx(1 / (1 + 9 / 5.25))
    assert errors["mean"] < 5.25 / 9


@few
@given(st.integers(0, 10_000))
def test_no_weights_beat_those_by_dependence(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    covariance = root @ root.T + 0.1 * np.eye(4)
    best = squared_error(covariance, RULES["by dependence"](covariance))
    for _ in range(20):
        assert squared_error(covariance, rng.normal(size=4)) >= best - 1e-9


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("weighted-vote", {"voters": 1, "instances": 1, "prior": 0.99, "abstain": 1.0}),
        ("many-options", {"options": 2, "voters": 1, "seed": 3}),
        ("estimates", {"agents": 2, "instances": 1, "dependence": 0.0}),
    ],
)
def test_the_contract_holds_at_the_edges(name, setting):
    check_env(by_name(name, setting), np.random.default_rng(2), episodes=500, traces=20)
