"""Mixed values: the forward pass by hand, monotone, individually greedy; routers' rewards."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit.counterfactuals.mixing import Mixer, mixed_values
from orchestrace.credit.counterfactuals.routing import agent_q_mix_rewards, puppeteer_rewards, puppeteer_step_costs

seeds = st.integers(0, 2**32 - 1)


def mixers(rng, B, n, H):
    return Mixer(rng.normal(size=(B, n, H)), rng.normal(size=(B, H)), rng.normal(size=(B, H)), rng.normal(size=B))


def slow_total(q, mixer, b):
    """One state, one unit at a time."""
    total = mixer.state_values[b]
    for h in range(mixer.outer.shape[1]):
        x = mixer.inner_bias[b, h] + sum(q[b, i] * abs(mixer.inner[b, i, h]) for i in range(q.shape[1]))
        total += abs(mixer.outer[b, h]) * (x if x > 0 else math.exp(x) - 1)
    return total


@given(seeds, st.integers(1, 3), st.integers(1, 4), st.integers(1, 5))
def test_totals_equal_the_slow_loop_and_slopes_finite_differences(seed, B, n, H):
    rng = np.random.default_rng(seed)
    q, mixer, h = rng.normal(size=(B, n)), mixers(rng, B, n, H), 1e-6
    found = mixed_values(q, mixer)
    for b in range(B):
        assert found.totals[b] == pytest.approx(slow_total(q, mixer, b), abs=1e-9)
    for i in range(n):
        up, down = q.copy(), q.copy()
        up[:, i] += h
        down[:, i] -= h
        slope = (mixed_values(up, mixer).totals - mixed_values(down, mixer).totals) / (2 * h)
        np.testing.assert_allclose(found.slopes[:, i], slope, atol=1e-5)


@given(seeds, st.floats(0, 3))
def test_never_falls_when_an_agents_value_rises(seed, rise):
    rng = np.random.default_rng(seed)
    q, mixer = rng.normal(size=(1, 3)) * 3, mixers(rng, 1, 3, 4)
    found = mixed_values(q, mixer)
    assert (found.slopes >= 0).all()
    for i in range(3):
        risen = q + rise * np.eye(3)[i]
        assert mixed_values(risen, mixer).totals[0] >= found.totals[0] - 1e-12


@given(seeds)
def test_best_joint_action_is_each_agents_best(seed):
    """Individual-global-max, over all joint actions of 3 agents with 3 actions."""
    rng = np.random.default_rng(seed)
    tables, mixer = rng.normal(size=(3, 3)), mixers(rng, 1, 3, 4)
    own = tuple(int(a) for a in tables.argmax(axis=1))
    totals = {joint: mixed_values([tables[range(3), joint]], mixer).totals[0] for joint in product(range(3), repeat=3)}
    assert totals[own] == pytest.approx(max(totals.values()), abs=1e-12)


def test_very_negative_units_neither_overflow_nor_move():
    mixer = Mixer(np.ones((1, 1, 1)), np.full((1, 1), -2000.0), np.ones((1, 1)), np.zeros(1))
    low = mixed_values([[0.0]], mixer)
    assert (low.totals.tolist(), low.slopes.tolist()) == ([-1.0], [[0.0]])
    far = Mixer(np.ones((1, 1, 1)), np.full((1, 1), 2000.0), np.ones((1, 1)), np.zeros(1))
    high = mixed_values([[0.0]], far)
    assert (high.totals.tolist(), high.slopes.tolist()) == ([2000.0], [[1.0]])


def test_agent_q_mix_rewards():
    found = agent_q_mix_rewards([1, 1, 0], [0, 5_000, 80_000])
    np.testing.assert_allclose(found.values, [1, 0.95, -0.1])
    np.testing.assert_allclose(found.raw, [1, 1, 0])
    assert agent_q_mix_rewards([], []).values.shape == (0,)


def test_puppeteer_step_costs_rise_to_a_tenth():
    costs = puppeteer_step_costs(np.arange(6), most_steps=5)
    np.testing.assert_allclose(costs, [0.1 * math.log(1 + (s + 1) / 6) / math.log(2) for s in range(6)])
    assert (np.diff(costs) > 0).all()
    assert costs[-1] == pytest.approx(0.1)


@pytest.mark.parametrize(("R", "sign"), [(1.0, 1), (0.0, -1), (-1.0, -1)])
def test_puppeteer_rewards_by_hand(R, sign):
    found = puppeteer_rewards(R, [20_000, 50_000, 10], most_steps=5, factors=[-1, -1.5, 0.5])
    c = [0.1 * math.log2(1 + (s + 1) / 6) for s in range(3)]
    np.testing.assert_allclose(found.values, [-c[0] * 0.2, -1.5 * c[1] * 0.5, R + sign * 0.5 * c[2]])
    np.testing.assert_allclose(found.raw, [0, 0, R])
    assert puppeteer_rewards(1, [7], most_steps=1).values == pytest.approx([1 + 0.05 * math.log2(1.5)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mixed_values([[1.0]], Mixer(np.ones((2, 1, 1)), [[0]], [[1]], [0])), "inner has length 2"),
        (lambda: mixed_values([[1.0]], Mixer(np.ones((1, 2, 1)), [[0]], [[1]], [0])), r"inner has shape \(1, 2, 1\)"),
        (lambda: mixed_values([[1.0]], Mixer(np.ones((1, 1, 2)), [[0]], [[1]], [0])), r"inner_bias has shape \(1, 1\)"),
        (lambda: mixed_values([[1.0]], Mixer([[[np.nan]]], [[0]], [[1]], [0])), r"inner\[0, 0, 0\] is nan"),
        (lambda: agent_q_mix_rewards([1], [1, 2]), "tokens has length 2, but accuracy has 1"),
        (lambda: agent_q_mix_rewards([1], [-1]), r"tokens\[0\] is negative"),
        (lambda: agent_q_mix_rewards([1], [1], most_tokens=0), "most_tokens is 0"),
        (lambda: puppeteer_step_costs([-1], most_steps=5), "steps must not be negative"),
        (lambda: puppeteer_step_costs([1], most_steps=0), "most_steps is 0"),
        (lambda: puppeteer_rewards(1, [], most_steps=5), "tokens is empty"),
        (lambda: puppeteer_rewards(1, [-1], most_steps=5), r"tokens\[0\] is negative"),
        (lambda: puppeteer_rewards(math.nan, [1], most_steps=5), "task_reward is nan"),
        (lambda: puppeteer_rewards(1, [1], most_steps=5, factors=[1, 2]), "factors has length 2, but tokens has 1"),
    ],
)
def test_odd_inputs_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
