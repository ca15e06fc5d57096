"""How a weight changes over training."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.rewards.schedules import (
    Constant,
    Convergence,
    ConvergenceState,
    Cosine,
    Linear,
    annealed,
    factor,
    observed,
)

schedules = st.one_of(st.just(Constant()), st.floats(0.01, 2).map(Linear), st.floats(0.01, 2).map(Cosine))
RULE = Convergence(window=4, tolerance=0.2, patience=3, over=4)


def test_by_hand():
    assert [factor(Constant(), p) for p in (0, 0.5, 2)] == [1, 1, 1]
    assert [factor(Linear(0.4), p) for p in (0, 0.1, 0.2, 0.4, 0.9)] == [1, 0.75, 0.5, 0, 0]
    assert [round(factor(Cosine(0.4), p), 12) for p in (0, 0.1, 0.2, 0.4, 0.9)] == [1, 0.853553390593, 0.5, 0, 0]
    assert factor(Linear(2), 1.0) == 0.5  # ends before it reaches 0


@given(schedules, st.lists(st.floats(0, 3), min_size=2))
def test_a_schedule_starts_at_one_and_never_grows(schedule, progress):
    found = [factor(schedule, p) for p in sorted(progress)]
    assert factor(schedule, 0.0) == 1
    assert all(0 <= later <= earlier for earlier, later in pairwise(found))


@pytest.mark.parametrize(("schedule", "progress"), [(Linear(), -0.1), (Linear(), math.nan), (Linear(0), 0.5),
                                                    (Cosine(-1), 0.5)])  # fmt: skip
def test_odd_input(schedule, progress):
    with pytest.raises(ValueError, match="must be"):
        factor(schedule, progress)


def course(rates, rule=RULE):
    state, factors = ConvergenceState(), []
    for rate in rates:
        state = observed(rule, state, spawn_rate=rate)
        factors.append(annealed(rule, state))
    return factors


def test_annealing_waits_for_the_spawn_rate_to_settle():
    # constant from the start: quiet after updates 2, 3, 4, so it begins at the fourth and takes four
    assert course([5.0] * 9) == [1, 1, 1, 1, 0.75, 0.5, 0.25, 0, 0]
    # it rises by 1 each update: the average never stays
    assert course([float(n) for n in range(30)]) == [1.0] * 30


def test_a_slow_drift_is_no_rest():
    # each step is below the tolerance, but not the way from where the quiet began
    assert course([0.18 * n for n in range(40)]) == [1.0] * 40


def test_what_never_settles_may_be_given_a_last_update():
    rule = Convergence(window=4, tolerance=0.2, patience=3, over=2, latest=5)
    assert course([float(n) for n in range(8)], rule) == [1, 1, 1, 1, 1, 0.5, 0, 0]


@given(st.lists(st.floats(0, 50), max_size=60))
def test_the_factor_never_grows(rates):
    found = [1.0, *course(rates)]
    assert all(0 <= later <= earlier for earlier, later in pairwise(found))


@given(st.lists(st.floats(0, 50), min_size=1, max_size=10))
def test_the_average_is_the_mean_while_the_window_is_not_full(rates):
    state = ConvergenceState()
    for rate in rates:
        state = observed(Convergence(window=10), state, spawn_rate=rate)
    assert math.isclose(state.average, sum(rates) / len(rates), abs_tol=1e-9)


def test_odd_rules():
    with pytest.raises(ValueError, match="spawn_rate is nan"):
        observed(RULE, ConvergenceState(), spawn_rate=math.nan)
    with pytest.raises(ValueError, match="window is 0; it must be above 0"):
        observed(Convergence(window=0), ConvergenceState(), spawn_rate=1.0)
