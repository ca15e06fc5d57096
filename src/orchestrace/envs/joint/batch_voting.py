"""E5f, `batch-voting`: how many voters to ask at once, and when to stop?

State: the lead of A over B. Actions: stop, or 1..K voters in parallel. A round costs cr (latency) and each voter ct
(tokens); the reward is 1 if the answer is right. With d the lead and q(d) the posterior of A:

    V(d) = max { max(q, 1 − q),  maxₖ −cr − ct k + E[V(d')] }

It joins O1 (how many to spawn) with O5 (when to stop); the aggregate (O4) is the exact posterior vote. Asking one at a
time loses to the price of rounds, one large round to the price of voters. With cr = 0 it is `sequential-voting`.
Optima are optima given K: a small K overstates how much one-shot loses.

Horizon: an episode whose lead reaches `voting.rules.lead_limit` is cut off without an answer. The
optimum never gets there.
"""

from collections.abc import Mapping

import numpy as np

from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import Floats
from orchestrace.envs.table_env import Grade, TableEnv
from orchestrace.envs.voting.baselines import adaptive_consistency, best_fixed_size, serial_only, tuned_threshold
from orchestrace.envs.voting.env import voting_env
from orchestrace.envs.voting.rules import lead_features, lead_voting, price_feature
from orchestrace.errors import RecipeError

PARAMETERS: Mapping[str, Parameter] = {
    "p": Parameter(0.7, 0.51, 0.99, "chance that a voter is right"),
    "cr": Parameter(0.02, 0.0, 1.0, "price of one round"),
    "ct": Parameter(0.005, 0.0, 1.0, "price of one voter"),
    "max_batch": Parameter(25, 1, 64, "most voters in one round, K", whole=True),
}
LEAST_PRICE = 1e-6


def batch_voting(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E5f. A policy sees [margin, log odds, competence, price of a round, price of a voter], see `voting.rules`.

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for an answer.

    Raises:
      RecipeError: asking is free, and nothing would ever be optimal but asking for ever.
    """
    cr, ct, largest = settings["cr"], settings["ct"], int(settings["max_batch"])
    if cr + ct < LEAST_PRICE:
        raise RecipeError(f"cr + ct = {cr + ct:g}, but asking must cost at least {LEAST_PRICE:g}", place="cr, ct")
    prices, actions = _prices(cr, ct, largest), ("stop", *map(str, range(1, largest + 1)))
    voting = lead_voting(name="batch-voting", settings=settings, actions=actions, prices=prices)
    priced = np.broadcast_to([price_feature(cr), price_feature(ct)], (len(voting.posterior), 2))
    return voting_env(voting, np.column_stack([lead_features(voting), priced]), compare=_compared, grade=grade)


def _compared(env: TableEnv) -> dict[str, float]:
    p, cr, ct = env.settings["p"], env.settings["cr"], env.settings["ct"]
    return {
        "serial-only": serial_only(env),
        "best-one-shot": best_fixed_size(p, _prices(cr, ct, int(env.settings["max_batch"]))).value,
        "tuned-threshold": tuned_threshold(env).value,
        "adaptive-consistency": adaptive_consistency(p, cr + ct),
    }


def _prices(cr: float, ct: float, largest: int) -> Floats:
    sizes = np.arange(largest + 1)
    return np.where(sizes > 0, cr + ct * sizes, 0.0)
