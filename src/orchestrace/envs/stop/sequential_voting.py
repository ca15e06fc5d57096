"""E5c, `sequential-voting`: voters of known competence, asked one at a time; when to stop?

State: the lead of A over B. Actions: stop, ask. Each voter is right with chance p and costs c; the reward is 1 if the
answer is right. The optimum (Wald 1945) stops at a lead of k*:

    ρ = (1 − p) / p,     acc(k) = 1 / (1 + ρᵏ),     E[N] = k / (2p − 1) · (1 − ρᵏ) / (1 + ρᵏ)
    k* = argmax acc(k) − c E[N]

Horizon: an episode whose lead reaches `voting.rules.lead_limit` is cut off without an answer. The
optimum never gets there.
"""

from collections.abc import Mapping

import numpy as np

from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import Floats
from orchestrace.envs.table_env import Grade, TableEnv
from orchestrace.envs.voting.baselines import adaptive_consistency, best_fixed_size, tuned_threshold
from orchestrace.envs.voting.env import voting_env
from orchestrace.envs.voting.rules import lead_features, lead_voting, price_feature

PARAMETERS: Mapping[str, Parameter] = {
    "p": Parameter(0.7, 0.51, 0.99, "chance that a voter is right"),
    "c": Parameter(0.01, 1e-6, 1.0, "price of one voter"),
}
MOST_FIXED = 100_000
"""The largest fixed number of voters that is tried."""


def sequential_voting(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E5c. A policy sees [margin, log odds, competence, price], see `voting.rules`.

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for an answer.
    """
    prices = np.array([0.0, settings["c"]])
    voting = lead_voting(name="sequential-voting", settings=settings, actions=("stop", "ask"), prices=prices)
    seen = np.column_stack([lead_features(voting), np.full(len(voting.posterior), price_feature(settings["c"]))])
    return voting_env(voting, seen, compare=_compared, grade=grade)


def _compared(env: TableEnv) -> dict[str, float]:
    p, c = env.settings["p"], env.settings["c"]
    most = min(int(0.5 / c) + 1, MOST_FIXED)  # more voters cost more than certainty is worth
    by_size: Floats = c * np.arange(most + 1, dtype=np.float64)
    return {
        "best-fixed-n": best_fixed_size(p, by_size).value,
        "tuned-threshold": tuned_threshold(env).value,
        "adaptive-consistency": adaptive_consistency(p, c),
    }
