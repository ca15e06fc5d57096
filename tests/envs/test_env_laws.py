"""What holds for every environment, setting and policy."""

import math
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import NAMES, by_name
from orchestrace.envs.dynamic_programming import optimum, policy_values
from orchestrace.envs.probability import binomial_pmf, chance_above_half, majority_accuracy
from orchestrace.testing.envs import check_env, optimal_policy, random_policy
from orchestrace.testing.policies import check_policy


def start_of(env):
    return int(np.argmax(env.starts))


few = settings(max_examples=25, deadline=None)

competences = st.floats(0.55, 0.95)
prices = st.floats(0.001, 0.2)
environments = st.one_of(
    st.builds(
        lambda **s: by_name("batch-voting", s), p=competences, cr=prices, ct=prices, max_batch=st.integers(1, 12)
    ),
    st.builds(lambda **s: by_name("sequential-voting", s), p=competences, c=prices),
    st.builds(
        lambda **s: by_name("unknown-voters", s),
        c=prices,
        max_votes=st.integers(1, 15),
        a0=st.floats(0.2, 5),
        b0=st.floats(0.2, 5),
    ),
)
seeds = st.integers(0, 2**32 - 1)


@few
@given(environments, seeds)
def test_no_policy_beats_the_optimum(env, seed):
    best, rng = env.optimal_value(), np.random.default_rng(seed)
    assert env.exact_value(optimal_policy(env)) == pytest.approx(best, abs=1e-10)
    for _ in range(3):
        assert env.exact_value(random_policy(env, rng)) <= best + 1e-10
    assert env.null().value <= best + 1e-10
    for name, value in env.baselines().items():
        assert value <= best + 1e-10, name


@few
@given(environments)
def test_the_optimum_solves_the_bellman_equation(env):
    """Slow twin: V(s) = maxₐ r + Σ P V, state by state."""
    process, solution = env.process, optimum(env.process)
    for s in range(0, len(process.pairs), 7):
        q = []
        for pair in process.pairs[s]:
            outcomes = range(process.first[pair], process.first[pair + 1]) if pair >= 0 else ()
            worth = [
                process.chances[o]
                * (process.rewards[o] + (solution.values[process.targets[o]] if process.targets[o] >= 0 else 0.0))
                for o in outcomes
            ]
            q.append(sum(worth) if worth else -math.inf)
        assert max(q) == pytest.approx(solution.values[s], abs=1e-9)
        assert q[env.optimal_action(s)] == pytest.approx(max(q), abs=1e-9)


@few
@given(environments, seeds)
def test_exact_value_matches_the_slow_twin(env, seed):
    policy = 0.5 * random_policy(env, np.random.default_rng(seed))
    policy[:, 0] += 0.5  # so that the twin's walk is short
    twin = counted if env.name == "unknown-voters" else walked
    assert env.exact_value(policy) == pytest.approx(twin(env, policy), abs=1e-9)


def walked(env, policy):
    """Leads under each truth in turn, round by round: no posterior enters, only votes and the right answer."""
    p, total = env.settings["p"], 0.0
    for truth_is_a in (True, False):
        says_a = p if truth_is_a else 1 - p
        mass = {0: 0.5}
        while sum(mass.values()) > 1e-12:
            after = {}
            for lead, chance in mass.items():
                row = policy[start_of(env) + lead]
                total += chance * row[0] * ((lead >= 0) == truth_is_a)
                for k in range(1, len(row)):
                    total -= chance * row[k] * price(env, k)
                    for j in range(k + 1):
                        votes = math.comb(k, j) * says_a**j * (1 - says_a) ** (k - j)
                        reached = lead + 2 * j - k
                        if 0 <= start_of(env) + reached < len(policy):
                            after[reached] = after.get(reached, 0.0) + chance * row[k] * votes
            mass = after
    return total


def price(env, k):
    s = env.settings
    return s["c"] if env.name == "sequential-voting" else s["cr"] + s["ct"] * k


def counted(env, policy):
    """The textbook recursion on (a, b)."""
    s = env.settings

    @lru_cache(None)
    def value(a, b):
        n = a + b
        stop, ask = policy[n * (n + 1) // 2 + a]
        q = chance_above_half(a + s["a0"], b + s["b0"])
        total = stop * max(q, 1 - q)
        if ask:
            says_a = (a + s["a0"]) / (n + s["a0"] + s["b0"])
            total += ask * (-s["c"] + says_a * value(a + 1, b) + (1 - says_a) * value(a, b + 1))
        return total

    return value(0, 0)


@few
@given(st.floats(0.55, 0.95), prices, prices, st.integers(1, 12))
def test_voters_of_known_competence_are_symmetric(p, cr, ct, k):
    env = by_name("batch-voting", {"p": p, "cr": cr, "ct": ct, "max_batch": k})
    stops = env.process.means[env.process.pairs[:, 0]]
    best = env.solution
    np.testing.assert_allclose(stops, stops[::-1])
    np.testing.assert_allclose(best.values, best.values[::-1], atol=1e-10)
    np.testing.assert_array_equal(env.features(), env.features()[::-1])
    assert (np.diff(stops[start_of(env) :]) >= 0).all()


@few
@given(competences, prices, prices, st.integers(1, 10))
def test_more_options_and_lower_prices_never_hurt(p, cr, ct, k):
    def value(**changed):
        given_settings = {"p": p, "cr": cr, "ct": ct, "max_batch": k} | changed
        return by_name("batch-voting", given_settings).optimal_value()

    assert value(max_batch=k + 1) >= value() - 1e-10
    assert value(cr=cr / 2) >= value() - 1e-10
    assert value(ct=ct / 2) >= value() - 1e-10


@given(st.floats(0.1, 300), st.floats(0.1, 300))
def test_chance_above_half_is_symmetric_and_steps_right(a, b):
    """P(a, b) + P(b, a) = 1, and P(a, b) = ½ P(a + 1, b) + ½ P(a, b + 1) − the step of the recurrence at ½."""
    assert chance_above_half(a, b) + chance_above_half(b, a) == pytest.approx(1, abs=1e-12)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    step = math.exp(-(a + b) * math.log(2) - log_beta)
    assert chance_above_half(a + 1, b) == pytest.approx(chance_above_half(a, b) + step / a, abs=1e-11)


@given(st.integers(1, 210), st.integers(1, 210))
def test_chance_above_half_of_whole_numbers_is_a_binomial_sum(a, b):
    n = a + b - 1
    assert chance_above_half(a, b) == pytest.approx(sum(math.comb(n, j) for j in range(a)) / 2**n, abs=1e-12)


@given(st.floats(0, 1), st.integers(0, 40))
def test_majority_accuracy_is_a_binomial_sum(p, n):
    pmf = binomial_pmf(n, p)
    assert pmf.sum() == pytest.approx(1)
    slow = sum(pmf[j] * (1 if 2 * j > n else 0.5 if 2 * j == n else 0) for j in range(n + 1))
    assert majority_accuracy(p, n) == pytest.approx(np.append(majority_accuracy(p, n)[:-1], slow))
    assert len(majority_accuracy(p, n)) == n + 1


SMALLER = {"inquiry": {"contexts": 4, "rounds": 2, "most": 1}}
"""Settings for environments whose default is large; their own tests look at those."""


@pytest.mark.parametrize("grade", ["outcome", "posterior"])
@pytest.mark.parametrize("name", NAMES)
def test_every_environment_keeps_the_contract(name, grade):
    check_env(by_name(name, SMALLER.get(name), grade=grade), np.random.default_rng(7))


def test_the_contract_holds_at_the_edges():
    for name, setting in [
        ("batch-voting", {"max_batch": 1, "p": 0.99, "cr": 1.0}),
        ("sequential-voting", {"p": 0.51, "c": 1e-3}),
        ("unknown-voters", {"max_votes": 1, "a0": 0.1, "b0": 100.0}),
    ]:
        check_env(by_name(name, setting), np.random.default_rng(1), episodes=100, traces=20)


def test_the_posterior_grade_has_the_same_mean_and_less_variance():
    graded = {grade: by_name("sequential-voting", grade=grade) for grade in ("outcome", "posterior")}
    states = np.full(20_000, start_of(graded["outcome"]) + 2)
    stop = np.zeros_like(states)
    rewards = {grade: env.step(states, stop, np.random.default_rng(0)).rewards for grade, env in graded.items()}
    assert set(np.unique(rewards["outcome"])) == {0.0, 1.0}
    assert np.ptp(rewards["posterior"]) == 0
    exact = float(rewards["posterior"][0])
    assert abs(rewards["outcome"].mean() - exact) < 4 * math.sqrt(exact * (1 - exact) / len(states))


@pytest.mark.parametrize("name", NAMES)
def test_arguments_that_cannot_be_are_refused(name):
    env = by_name(name, SMALLER.get(name))
    policy = optimal_policy(env)
    with pytest.raises(ValueError, match="shape"):
        env.exact_value(policy[1:])
    with pytest.raises(ValueError, match=r"policy\[3\] is no distribution"):
        env.exact_value(np.where(np.arange(len(policy))[:, None] == 3, 0.0, policy))
    with pytest.raises(ValueError, match=r"policy\[0\] is no distribution"):
        env.exact_value(policy * np.nan)
    single = policy.astype(np.float32)
    assert env.exact_value(single) == pytest.approx(env.optimal_value())


def test_illegal_actions_are_refused():
    env = by_name("unknown-voters", {"max_votes": 2})
    full = len(env.legal()) - 1
    with pytest.raises(ValueError, match="not legal"):
        env.step(np.array([0, full]), np.array([1, 1]), np.random.default_rng(0))
    with pytest.raises(ValueError, match="not legal"):
        env.exact_value(np.full(env.legal().shape, 0.5))


def test_a_policy_that_never_stops_is_cut_off_and_earns_nothing():
    env = by_name("batch-voting", {"cr": 0.001, "ct": 0.0})
    for action in range(1, len(env.actions)):
        policy = np.zeros(env.legal().shape)
        policy[:, action] = 1
        assert -1 < env.exact_value(policy) < 0
    # no optimal plan comes near the limit
    values = policy_values(env.process, optimal_policy(env))
    assert values[start_of(env)] == pytest.approx(env.optimal_value())


@dataclass
class Broken:
    """An environment with one thing replaced."""

    env: object
    replaced: dict

    def __getattr__(self, name):
        return self.replaced[name] if name in self.replaced else getattr(self.env, name)


def _generous(env):
    return lambda s, a, rng: (step := env.step(s, a, rng))._replace(rewards=step.rewards + 0.1)


def _forgetful(env):
    die = np.random.default_rng(5)
    return lambda policy, *, rng, trace_id: env.episode(policy, rng=die, trace_id=trace_id)


def _greedy(env):
    return lambda policy, *, rng, trace_id: msgspec.structs.replace(
        env.episode(policy, rng=rng, trace_id=trace_id), rewards={"team": 2.0}
    )


def _elsewhere(env):
    def step(s, a, rng):
        step = env.step(s, a, rng)
        return step._replace(states=np.where(step.done, 5, step.states))

    return step


@pytest.mark.parametrize(
    ("name", "replaced", "message"),
    [
        ("optimal_value", lambda env: lambda: env.optimal_value() - 0.01, "but V\\* is"),
        ("optimal_action", lambda env: lambda state: 1, "illegal in state"),
        ("exact_value", lambda env: lambda policy: env.exact_value(policy) + 0.02, "but V\\* is"),
        ("null", lambda env: lambda: env.null()._replace(value=0.4), "V_null is 0.4"),
        ("null", lambda env: lambda: env.null()._replace(action="ask"), "not legal in every state"),
        ("baselines", lambda env: lambda: {"magic": 1.0}, "baseline 'magic' is worth 1.0"),
        ("step", _generous, "step gives"),
        ("episode", _forgetful, "unequal bytes"),
        ("episode", _greedy, "episode gives"),
        ("state_name", lambda env: lambda state: "here", "two states have one name"),
        ("features", lambda env: lambda: env.features() * np.nan, "not finite"),
        ("legal", lambda env: lambda: env.legal().astype(int), "not bool"),
        ("features", lambda env: lambda: env.features() * 100, "not of order one"),
        ("features", lambda env: lambda: env.features() * 0, "look alike"),
        ("action_features", lambda env: lambda: np.full((*env.legal().shape, 1), 11.0), "action features reach 11"),
        ("reset", lambda env: lambda n, rng: np.full(n, 3), "whose chance is 0"),
        ("reset", lambda env: lambda n, rng: np.full(n, 0)[:-1], "reset gives shape"),
        ("step", _elsewhere, "where no episode starts"),
        ("describe", lambda env: lambda state: "Votes are counted.", "read alike"),
    ],
)
def test_the_conformance_check_finds(name, replaced, message):
    env = by_name("unknown-voters", {"max_votes": 8})
    with pytest.raises(AssertionError, match=message):
        check_env(Broken(env, {name: replaced(env)}), np.random.default_rng(0), episodes=1_000, traces=30)


@pytest.mark.parametrize(
    ("name", "replaced", "message"),
    [
        ("reset", lambda env: lambda n, rng: np.where(rng.random(n) < 0.2, 0, env.reset(n, rng)), "degrees of freedom"),
        ("reset", lambda env: lambda n, rng: env.reset(n, np.random.default_rng()), "unequal starts"),
        ("factors", lambda env: dict(reversed(env.factors.items())), "should have"),
        ("factors", lambda env: dict(list(env.factors.items())[1:]), "do not count its actions"),
        ("factors", lambda env: {agent: ("none", *o[:0:-1]) for agent, o in env.factors.items()}, "should have"),
    ],
)
def test_the_conformance_check_finds_in_a_team(name, replaced, message):
    env = by_name("assignment")
    with pytest.raises(AssertionError, match=message):
        check_env(Broken(env, {name: replaced(env)}), np.random.default_rng(0), episodes=1_000, traces=30)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (lambda policy: policy[1:], "has shape"),
        (lambda policy: policy * np.nan, "not finite"),
        (lambda policy: policy - [[0.1, -0.1]], "negative"),
        (lambda policy: policy * 0.9, "sum to 0.9"),
        (lambda policy: policy[:, ::-1], "not legal there"),
    ],
)
def test_the_check_of_policies_finds(fault, message):
    env = by_name("unknown-voters", {"max_votes": 8})
    check_policy(optimal_policy(env), env, rng=np.random.default_rng(0))
    with pytest.raises(AssertionError, match=message):
        check_policy(fault(optimal_policy(env)), env, rng=np.random.default_rng(0))


def test_the_check_of_policies_compares_with_simulated_episodes():
    env = by_name("unknown-voters", {"max_votes": 8})
    with pytest.raises(AssertionError, match="the policy gives"):
        check_policy(optimal_policy(env), Broken(env, {"step": _generous(env)}), rng=np.random.default_rng(0))
