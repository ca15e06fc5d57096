"""Late rewards spread over steps: sums, telescopes, the best policy, labels and their calibration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestrace.credit.steps.redistribution import (
    brier_score,
    calibration_error,
    difference_shares,
    potential_rewards,
    prefix_labels,
    process_rewards,
)

numbers = st.floats(-5, 5)
some = st.lists(numbers, min_size=1, max_size=10)
units = st.floats(0, 1)


@given(some, numbers, st.sampled_from(["even", "last", "scale"]))
def test_difference_shares_sum_to_the_reward(g, reward, correction):
    assume(correction != "scale" or abs(g[-1]) > 1e-3)
    found = difference_shares(g, reward, correction=correction)
    assert found.values.sum() == pytest.approx(reward, abs=1e-9)
    assert found.residual == pytest.approx(0, abs=1e-9)


@given(some, st.sampled_from(["even", "last", "scale"]))
def test_a_right_prediction_needs_no_correction(g, correction):
    assume(g[-1] == 0 or abs(g[-1]) > 1e-3)
    found = difference_shares(g, g[-1], correction=correction).values
    slow = [g[0]] + [g[t] - g[t - 1] for t in range(1, len(g))]
    np.testing.assert_allclose(found, slow, atol=1e-12)


def test_difference_shares_worked_example():
    g = [0.1, 0.1, 0.6, 0.5, 1]
    np.testing.assert_allclose(difference_shares(g, 1).values, [0.1, 0, 0.5, -0.1, 0.5], atol=1e-12)
    np.testing.assert_allclose(difference_shares(g, 0).values, [-0.1, -0.2, 0.3, -0.3, 0.3], atol=1e-12)
    np.testing.assert_allclose(difference_shares(g, 0, correction="last").values, [0.1, 0, 0.5, -0.1, -0.5])
    np.testing.assert_allclose(difference_shares(g, 2, correction="scale").values, [0.2, 0, 1, -0.2, 1], atol=1e-12)
    assert difference_shares([], 0).values.shape == (0,)
    np.testing.assert_array_equal(difference_shares([0.5, 0], 0, correction="scale").values, [0.5, -0.5])


@given(st.lists(st.tuples(numbers, numbers), max_size=10), units, numbers)
def test_potentials_telescope(steps, discount, last):
    r, potentials = np.array(steps).reshape(-1, 2).T
    found = potential_rewards(r, potentials, discount=discount, last_potential=last)
    assert found.telescopes
    T = len(r)
    total = sum(discount**t * found.added[t] for t in range(T))
    start = potentials[0] if T else last
    assert total == pytest.approx(discount**T * last - start, abs=1e-9)
    np.testing.assert_array_equal(found.values, r + found.added)


def test_potentials_worked_example():
    found = potential_rewards(np.zeros(4), [0, 0.3, 0.2, 0.8], discount=0.9)
    np.testing.assert_allclose(found.added, [0.27, -0.12, 0.52, -0.8], atol=1e-12)
    assert found.added @ 0.9 ** np.arange(4) == pytest.approx(0, abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 1))
def test_potentials_leave_every_policy_where_it_was(seed, discount):
    """A tabular task: 4 states, 3 actions, some of which end it; every plan is followed. Returns move by −Φ(s₀)."""
    rng = np.random.default_rng(seed)
    to, pay, potential = rng.integers(-1, 4, (4, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    plain, shaped = [], []
    for plan in product(range(3), repeat=4):
        state, rewards, visited = 0, [], []
        while state >= 0 and len(rewards) < 6:
            visited.append(potential[state])
            rewards.append(pay[state, plan[state]])
            state = to[state, plan[state]]
        last = potential[state] if state >= 0 else 0.0
        powers = discount ** np.arange(len(rewards))
        bootstrap = discount ** len(rewards) * last
        plain.append(powers @ rewards)
        found = potential_rewards(rewards, visited, discount=discount, last_potential=last)
        shaped.append(powers @ found.values - bootstrap)  # what a cut-off return is bootstrapped with: V′ = V − Φ
    np.testing.assert_allclose(np.array(shaped) - plain, -potential[0], atol=1e-9)
    assert np.max(plain) - np.array(plain)[np.argmax(shaped)] < 1e-9


def test_a_potential_left_over_at_an_end_changes_the_best_policy():
    """Two ways to end, worth 1 and .9; a potential of .5 kept at the second end makes it look better."""
    first = potential_rewards([1.0], [0.2]).values.sum()
    second = potential_rewards([0.9], [0.2], last_potential=0.5).values.sum()
    assert second > first
    assert potential_rewards([0.9], [0.2]).values.sum() < first


def test_frontier_potentials_telescope_in_every_order_and_event_potentials_do_not():
    """A diamond: start, two parallel branches, a join."""
    frontier = {"": 0.0, "s": 0.1, "sx": 0.4, "sy": 0.3, "sxy": 0.8}
    sums = []
    for order in (("", "s", "sx", "sxy"), ("", "s", "sy", "sxy")):
        sums.append(potential_rewards(np.zeros(4), [frontier[state] for state in order]).added.sum())
    np.testing.assert_allclose(sums, 0, atol=1e-12)
    event = {"s": 0.1, "x": 0.4, "y": 0.3, "join": 0.8}
    steps = [(None, "s"), ("s", "x"), ("s", "y"), ("x", "join"), ("join", None)]
    each = [event.get(after, 0.0) - event.get(before, 0.0) for before, after in steps]
    assert abs(sum(each)) > 0.1


@given(st.lists(st.tuples(numbers, units), min_size=1, max_size=8), units, st.floats(0.1, 2))
def test_progress_pays_for_the_rise_and_raw_for_length(steps, start, weight):
    r, after = np.array(steps).T
    values = np.concatenate([[start], after])
    progress = process_rewards(r, values, weight=weight)
    assert progress.added.sum() == pytest.approx(weight * (values[-1] - start), abs=1e-9)
    assert not progress.telescopes
    longer = process_rewards(np.append(r, 0), np.append(values, values[-1]), weight=weight)
    assert longer.added.sum() == pytest.approx(progress.added.sum(), abs=1e-9)
    raw = process_rewards(r, values, form="raw", weight=weight)
    idle = process_rewards(np.append(r, 0), np.append(values, values[-1]), form="raw", weight=weight)
    assert idle.added.sum() - raw.added.sum() == pytest.approx(weight * values[-1], abs=1e-9)
    np.testing.assert_array_equal(raw.raw, r)


@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), max_size=6))
def test_labels_are_any_and_share(successes):
    found = prefix_labels(np.array(successes).reshape(-1, 3))
    assert found.hard.tolist() == [float(any(row)) for row in successes]
    np.testing.assert_allclose(found.soft, [sum(row) / 3 for row in successes])
    assert (found.hard >= found.soft).all()


def slow_calibration(values, outcomes, bins):
    total = 0.0
    for k in range(bins):
        inside = [(v, y) for v, y in zip(values, outcomes, strict=True) if min(int(v * bins), bins - 1) == k]
        if inside:
            mean_v, mean_y = (sum(column) / len(inside) for column in zip(*inside, strict=True))
            total += len(inside) / len(values) * abs(mean_v - mean_y)
    return total


@given(st.lists(st.tuples(units, st.integers(0, 1)), min_size=1, max_size=30), st.integers(1, 12))
def test_scores_equal_their_definitions(drawn, bins):
    v, y = zip(*drawn, strict=True)
    assert brier_score(v, y) == pytest.approx(sum((a - b) ** 2 for a, b in drawn) / len(drawn))
    assert calibration_error(v, y, bins=bins) == pytest.approx(slow_calibration(v, y, bins), abs=1e-9)
    assert brier_score(y, y) == calibration_error(y, y, bins=bins) == 0


def test_calibrated_is_not_informed():
    assert calibration_error([0.5, 0.5], [0, 1]) == 0
    assert brier_score([0.5, 0.5], [0, 1]) == 0.25
    assert calibration_error([0.9, 0.9, 0.1], [1, 0, 0]) == pytest.approx(0.9 / 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: difference_shares([], 1), "prefix_values is empty, but reward is 1"),
        (lambda: difference_shares([1], np.nan), "reward is nan"),
        (lambda: difference_shares([1, 0], 1, correction="scale"), r"prefix_values ends at 0.0, but reward is 1"),
        (lambda: difference_shares([5e-324], 1, correction="scale"), "no factor"),
        (lambda: difference_shares([1], 1, correction="none"), "correction is 'none'"),
        (lambda: potential_rewards([1, 2], [1]), "potentials has length 1, but rewards has 2"),
        (lambda: potential_rewards([1], [1], discount=1.5), "discount is 1.5"),
        (lambda: potential_rewards([1], [1], last_potential=np.inf), "last_potential is inf"),
        (lambda: process_rewards([1], [1]), "values has length 1, but rewards has 1"),
        (lambda: process_rewards([1], [1, 2], weight=np.nan), "weight is nan"),
        (lambda: process_rewards([1], [1, 2], form="log"), "form is 'log'"),
        (lambda: prefix_labels(np.zeros((2, 0))), "a prefix without a continuation"),
        (lambda: prefix_labels([[0.5]]), "successes must hold True and False"),
        (lambda: brier_score([], []), "values is empty"),
        (lambda: brier_score([0.5], [2]), r"outcomes must be in \[0, 1\]"),
        (lambda: calibration_error([1.5], [1]), r"values must be in \[0, 1\]"),
        (lambda: calibration_error([0.5], [1], bins=0), "bins is 0"),
    ],
)
def test_odd_inputs_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
