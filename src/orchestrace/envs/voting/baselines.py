"""Strong hand-made policies for voting, valued exactly."""

from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Process, optimum
from orchestrace.envs.probability import majority_accuracy
from orchestrace.envs.protocol import Floats
from orchestrace.envs.table_env import TableEnv, plan_value
from orchestrace.envs.voting.rules import STOP

ENOUGH = 0.95
"""The confidence at which Adaptive-Consistency stops, as published."""
MOST_VOTES = 4_000
"""Where Adaptive-Consistency answers even if it is not confident yet."""
NEGLIGIBLE = 1e-12
"""Chance of an episode that goes on, below which the rest of it is left out of a value."""


class FixedSize(NamedTuple):
    """Ask n voters, then stop."""

    n: int
    value: float


class Threshold(NamedTuple):
    """Ask, always by the same action, until the majority is right with chance `confidence`; then stop."""

    action: int
    confidence: float
    value: float


def best_fixed_size(p: float, prices: Floats) -> FixedSize:
    """The best n for voters of competence p when n of them cost prices[n]; n = 0 is stopping at once.

    One round of n voters (one-shot) and n rounds of one differ in prices only. Among ties the smallest n.
    """
    values = majority_accuracy(p, len(prices) - 1) - prices
    n = int(np.argmax(values))
    return FixedSize(n, float(values[n]))


def serial_only(env: TableEnv) -> float:
    """Value of the best policy that asks one voter at a time, optimally stopped."""
    full = env.process
    q = np.where(np.arange(len(env.actions)) < 2, full.pairs, -1)
    kept = q[q >= 0]
    outcomes = np.flatnonzero(np.isin(full.origins, kept))
    serial = Process(
        np.where(q >= 0, np.cumsum(q >= 0).reshape(q.shape) - 1, -1),
        np.concatenate([[0], np.cumsum(np.diff(full.first)[kept])]),
        full.targets[outcomes],
        full.chances[outcomes],
        full.rewards[outcomes],
    )
    return float(env.starts @ optimum(serial).values)


def tuned_threshold(env: TableEnv) -> Threshold:
    """The best posterior threshold: every asking action with every confidence that a state can have.

    Confidences are left out from where asking is never worth more than stopping, even if the rest were played
    optimally: stopping there as well makes such a policy no worse.
    """
    confidence = np.round(
        env.process.means[env.process.pairs[:, STOP]], 12
    )  # mirror states must not differ by rounding
    levels = np.unique(confidence)
    best = Threshold(STOP, float(levels[0]), plan_value(env, np.full(len(confidence), STOP)))
    for action in range(1, len(env.actions)):
        worth_it = env.solution.action_values[:, action] > env.solution.action_values[:, STOP]
        highest = np.max(confidence, where=worth_it, initial=0.0)
        for level in levels[: np.searchsorted(levels, highest, side="right") + 1]:
            asks = (confidence < level) & env.process.legal[:, action]
            value = plan_value(env, np.where(asks, action, STOP))
            if value > best.value:
                best = Threshold(action, float(level), value)
    return best


def adaptive_consistency(p: float, price: float, *, enough: float = ENOUGH) -> float:
    """Value of Adaptive-Consistency for voters of competence p, asked one at a time for `price` each.

    After a votes for one answer and b <= a for the other it stops where P(θ > ½ | a, b) >= `enough`, θ uniform a
    priori: it does not know p. That chance is P(Binomial(a + b + 1, ½) <= a). At `MOST_VOTES` it answers anyway.

    Source: Aggarwal et al. 2023, "Let's Sample Step by Step" (arXiv 2305.11860), its Beta stopping rule.
    """
    alive = np.ones(1)  # [n + 1] chance that j of n votes are right and that it has not stopped
    fair = np.array([0.5, 0.5])  # [n + 2] binomial of n + 1 fair coins
    value = 0.0
    for n in range(1, MOST_VOTES + 1):
        value -= price * alive.sum()
        alive = np.append(alive * (1 - p), 0.0) + np.append(0.0, alive * p)
        fair = 0.5 * (np.append(fair, 0.0) + np.append(0.0, fair))
        right = np.arange(n + 1)
        stops = np.cumsum(fair)[np.maximum(right, n - right)] >= enough - NEGLIGIBLE
        if n == MOST_VOTES:
            stops[:] = True
        value += alive[stops & (2 * right > n)].sum() + 0.5 * alive[stops & (2 * right == n)].sum()
        alive[stops] = 0.0
        if alive.sum() < NEGLIGIBLE:
            break
    return float(value)
