"""The optima and baselines that are known from closed forms and from independent programs."""

import math

import numpy as np
import pytest

from orchestrace.envs import by_name
from orchestrace.envs.voting.baselines import best_fixed_size, tuned_threshold


def start_of(env):
    return int(np.argmax(env.starts))


def asking(env):
    """[A] what each action costs in the start state; 0 for stop."""
    rewards = env.process.means[env.process.pairs[start_of(env)]].copy()
    rewards[0] = 0.0
    return rewards


def near(value):
    """Equal at five printed digits."""
    return pytest.approx(value, abs=6e-6)


def batches(env, leads):
    return [env.actions[env.optimal_action(start_of(env) + lead)] for lead in range(leads)]


BATCH = [
    # K, cr, ct, V*, batches from |lead| = 0 on, best one-shot, its k
    (9, 0.02, 0.005, 0.88389, "8 9 6 stop stop stop", 0.83619, 9),
    (9, 0.05, 0.002, 0.87834, "9 9 9 stop stop stop", 0.83319, 9),
    (9, 0.1, 0.01, 0.72453, "8 7 stop stop stop stop", 0.71119, 9),
    (15, 0.02, 0.005, 0.88472, "10 9 6 stop stop stop", 0.85499, 15),
    (15, 0.05, 0.002, 0.8927, "15 15 14 stop stop stop", 0.86999, 15),
    (15, 0.1, 0.01, 0.72453, "8 7 stop stop stop stop", 0.71178, 11),
    (25, 0.02, 0.005, 0.88472, "10 9 6 stop stop stop", 0.85499, 15),
    (25, 0.05, 0.002, 0.89444, "18 17 14 stop stop stop", 0.88255, 23),
    (25, 0.1, 0.01, 0.72453, "8 7 stop stop stop stop", 0.71178, 11),
]


@pytest.mark.parametrize(("k", "cr", "ct", "optimum", "plan", "one_shot", "size"), BATCH)
def test_batch_voting(k, cr, ct, optimum, plan, one_shot, size):
    env = by_name("batch-voting", {"p": 0.7, "cr": cr, "ct": ct, "max_batch": k})
    assert env.optimal_value() == near(optimum)
    assert batches(env, 6) == plan.split()
    assert env.baselines()["best-one-shot"] == near(one_shot)
    assert best_fixed_size(0.7, -asking(env)).n == size
    assert env.null() == ("stop", 0.5)


@pytest.mark.parametrize(
    ("cr", "ct", "one_shot", "serial"),
    [(0.02, 0.005, 0.923, 0.76689), (0.05, 0.002, 0.970, 0.66552), (0.1, 0.01, 0.943, 0.59)],
)
def test_batch_voting_leaves_room_above_its_baselines(cr, ct, one_shot, serial):
    env = by_name("batch-voting", {"cr": cr, "ct": ct})
    gap = env.optimal_value() - env.null().value
    assert (env.baselines()["best-one-shot"] - 0.5) / gap == pytest.approx(one_shot, abs=6e-4)
    assert env.baselines()["serial-only"] == near(serial)


def test_batch_voting_without_a_price_for_rounds_is_sequential_voting():
    batch = by_name("batch-voting", {"cr": 0, "ct": 0.01, "max_batch": 9})
    serial = by_name("sequential-voting", {"c": 0.01})
    assert batch.optimal_value() == pytest.approx(serial.optimal_value(), abs=1e-12)
    assert batch.baselines()["serial-only"] == near(0.87389)
    assert batch.baselines()["best-one-shot"] == near(0.81119)
    assert batch.baselines()["adaptive-consistency"] == serial.baselines()["adaptive-consistency"]
    # 4, 3, 2, 1 voters at once are as good as one by one: among ties the first
    values = batch.action_values()[start_of(batch) : start_of(batch) + 5]
    tied = values >= values.max(axis=1, keepdims=True) - 1e-12
    assert [np.flatnonzero(row).tolist() for row in tied] == [[1, 2, 3, 4], [1, 2, 3], [1, 2], [1], [0]]
    assert batches(batch, 5) == ["1", "1", "1", "1", "stop"]


@pytest.mark.parametrize(
    ("p", "c", "k", "optimum"),
    [(0.7, 0.01, 4, 0.87389), (0.6, 0.005, 6, 0.79351), (0.55, 0.001, 13, 0.81925), (0.8, 0.02, 3, 0.88769)],
)
def test_sequential_voting(p, c, k, optimum):
    env = by_name("sequential-voting", {"p": p, "c": c})
    assert env.optimal_value() == near(optimum)
    assert env.optimal_value() == pytest.approx(wald(p, c, k), abs=1e-10)
    assert batches(env, k + 2) == ["ask"] * k + ["stop"] * 2
    assert env.null() == ("stop", 0.5)
    assert env.baselines()["tuned-threshold"] == pytest.approx(env.optimal_value(), abs=1e-10)


def wald(p, c, k):
    """acc(k) − c E[N] of stopping at a lead of k, in closed form."""
    rho = (1 - p) / p
    return 1 / (1 + rho**k) - c * k / (2 * p - 1) * (1 - rho**k) / (1 + rho**k)


UNKNOWN = [
    # c, V*, best fixed n, Adaptive-Consistency at .95, best threshold on a .01 grid, its value, ratio on all thresholds
    (0.002, 0.90565, 0.87391, 0.90165, 0.94, 0.90197, 0.9961),
    (0.01, 0.83301, 0.79375, 0.78954, 0.88, 0.82425, 0.9899),
    (0.03, 0.75234, 0.72250, 0.50926, 0.75, 0.74851, 0.9949),
]


@pytest.mark.parametrize(("c", "optimum", "fixed", "adaptive", "threshold", "on_grid", "finest"), UNKNOWN)
def test_unknown_voters(c, optimum, fixed, adaptive, threshold, on_grid, finest):
    env = by_name("unknown-voters", {"c": c})
    baselines = env.baselines()
    assert env.optimal_value() == near(optimum)
    assert env.null() == ("stop", 0.5)
    assert baselines["best-fixed-n"] == near(fixed)
    assert baselines["adaptive-consistency"] == near(adaptive)
    asks = (env.process.means[env.process.pairs[:, 0]] < threshold + 1e-9) & env.legal()[:, 1]
    assert env.exact_value(np.column_stack([~asks, asks])) == near(on_grid)
    assert baselines["tuned-threshold"] >= on_grid - 6e-6
    assert baselines["tuned-threshold"] / env.optimal_value() == pytest.approx(finest, abs=6e-5)


def test_the_tuned_threshold_of_batch_voting_is_close_to_the_optimum():
    env = by_name("batch-voting", {"cr": 0.02, "ct": 0.005})
    best = tuned_threshold(env)
    assert (env.actions[best.action], best.value) == ("10", near(0.88341))
    assert best.confidence == pytest.approx(1 / (1 + (3 / 7) ** 3))
    leads, eye = np.abs(np.arange(len(env.legal())) - start_of(env)), np.eye(len(env.actions))
    by_hand = {
        (size, lead): env.exact_value(eye[np.where(leads < lead, size, 0)])
        for size in range(1, 26)
        for lead in range(9)
    }
    assert max(by_hand, key=by_hand.get) == (10, 3)
    assert max(by_hand.values()) == pytest.approx(best.value, abs=1e-12)


def test_adaptive_consistency_matches_a_simulation():
    env = by_name("sequential-voting", {"p": 0.7, "c": 0.01})
    rng, returns = np.random.default_rng(0), []
    for _ in range(2_000):
        right = n = 0
        while n == 0 or beta_majority(max(right, n - right), min(right, n - right)) < 0.95:
            right, n = right + (rng.random() < 0.7), n + 1
        returns.append((2 * right > n) - 0.01 * n)
    error = np.std(returns) / math.sqrt(len(returns))
    assert abs(np.mean(returns) - env.baselines()["adaptive-consistency"]) < 4 * error


def beta_majority(a, b):
    """P(θ > ½ | a, b) for θ uniform a priori, by binomial sums."""
    n = a + b + 1
    return sum(math.comb(n, j) for j in range(a + 1)) / 2**n
