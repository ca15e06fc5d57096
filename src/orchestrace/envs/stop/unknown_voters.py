"""E5d, `unknown-voters`: nobody knows how good the voters are; when to stop?

A voter says A with chance θ ~ Beta(a0, b0), and the right answer is what most voters would say: A where θ > ½. State:
the votes (a for A, b for B). Actions: stop, ask; each voter costs c. With α = a + a0, β = b + b0:

    V(a, b) = max { max(q, 1 − q),  −c + α / (α + β) V(a + 1, b) + β / (α + β) V(a, b + 1) },     q = P(θ > ½ | α, β)

Horizon: after `max_votes` votes only stop is legal.
"""

from collections.abc import Mapping

import numpy as np

from orchestrace.envs.dynamic_programming import Process, dense_process
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.probability import chance_above_half
from orchestrace.envs.protocol import END, Bools, Floats, Ints
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.envs.voting.baselines import ENOUGH, tuned_threshold
from orchestrace.envs.voting.env import voting_env
from orchestrace.envs.voting.rules import STOP, Truth, Voting, answered, price_feature

PARAMETERS: Mapping[str, Parameter] = {
    "c": Parameter(0.01, 1e-6, 1.0, "price of one voter"),
    "max_votes": Parameter(40, 1, 200, "most votes in an episode, N", whole=True),
    "a0": Parameter(1.0, 0.1, 100.0, "prior weight of voters who say A"),
    "b0": Parameter(1.0, 0.1, 100.0, "prior weight of voters who say B"),
}
ASK = 1
HORIZON = 20.0
"""Votes left from which a policy sees nothing of the end."""


def unknown_voters(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E5d. A policy sees [margin 2m − 1, log odds of m, lead of the mean, width, nearness of the end, price].

    m is the chance that the more probable answer is right. The first two are as in `rules.lead_features`; the third is
    |α − β| / (α + β), the width of the posterior 1 / √(α + β), the nearness of the end max(0, 1 − left / HORIZON). All
    are bounded and mean the same whatever N is, so that a policy transfers to other horizons.

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for an answer.
    """
    votes = _states(int(settings["max_votes"]))
    posterior = np.array([chance_above_half(a + settings["a0"], b + settings["b0"]) for a, b in votes.tolist()])
    voting = Voting(
        name="unknown-voters",
        settings=settings,
        actions=("stop", "ask"),
        sizes=(0, 1),
        prices=np.array([0.0, settings["c"]]),
        state_names=tuple(f"{a} for A, {b} for B" for a, b in votes.tolist()),
        start=0,
        posterior=posterior,
        process=_process(settings, votes=votes, posterior=posterior),
        truth=lambda rng: _truth(settings, rng),
        ask="O5",
        weighted=False,
    )
    return voting_env(voting, _features(voting, votes), compare=_compared, grade=grade)


def _states(most: int) -> Ints:
    """[S, 2] (a, b), ordered by a + b, then by a: (a, b) is number n (n + 1) / 2 + a with n = a + b."""
    return np.array([(a, n - a) for n in range(most + 1) for a in range(n + 1)])


def _process(settings: Mapping[str, float], *, votes: Ints, posterior: Floats) -> Process:
    a, b = votes.T
    n, S = a + b, len(votes)
    legal = np.column_stack([np.ones(S, dtype=np.bool_), n < settings["max_votes"]])
    says_a = (a + settings["a0"]) / (n + settings["a0"] + settings["b0"])
    targets, chances = np.full((S, 2, 2), END), np.zeros((S, 2, 2))
    next_b = (n + 1) * (n + 2) // 2 + a
    targets[:, ASK] = np.where(legal[:, ASK, None], np.column_stack([next_b, next_b + 1]), END)
    chances[:, ASK] = np.where(legal[:, ASK, None], np.column_stack([1 - says_a, says_a]), 0.0)
    rewards = np.full((S, 2, 2), -settings["c"])
    chances[:, STOP], rewards[:, STOP] = answered(posterior, width=2)
    return dense_process(targets, chances, rewards=rewards, legal=legal)


def _truth(settings: Mapping[str, float], rng: np.random.Generator) -> Truth:
    theta = float(rng.beta(settings["a0"], settings["b0"]))
    return Truth("A" if theta > 0.5 else "B", theta)


def _features(voting: Voting, votes: Ints) -> Floats:
    m, n = voting.confidence, votes.sum(axis=1)
    alpha, beta = (votes + np.array([voting.settings["a0"], voting.settings["b0"]])).T
    log_odds = np.minimum(np.log(m) - np.log1p(-np.minimum(m, 1 - 1e-9)), 10.0) / 5
    near = np.maximum(0.0, 1 - (voting.settings["max_votes"] - n) / HORIZON)
    price = np.full(len(votes), price_feature(voting.settings["c"]))
    lead = np.abs(alpha - beta) / (alpha + beta)
    return np.column_stack([2 * m - 1, log_odds, lead, 1 / np.sqrt(alpha + beta), near, price])


def _compared(env: TableEnv) -> dict[str, float]:
    votes = _states(int(env.settings["max_votes"]))
    n, legal = votes.sum(axis=1), env.process.legal[:, ASK]
    fixed = [_asking(env, (n < size) & legal) for size in range(int(n[-1]) + 1)]
    confident = np.array([chance_above_half(max(a, b) + 1, min(a, b) + 1) >= ENOUGH for a, b in votes.tolist()])
    return {
        "best-fixed-n": max(fixed),
        "tuned-threshold": tuned_threshold(env).value,
        "adaptive-consistency": _asking(env, ~confident & legal),
        "always-ask": fixed[-1],
    }


def _asking(env: TableEnv, asks: Bools) -> float:
    return plan_value(env, np.where(asks, ASK, STOP))
