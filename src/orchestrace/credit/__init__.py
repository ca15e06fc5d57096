"""Who earned the result: credit as arithmetic on arrays, and the bridge to traces.

Reading order: `results` (three kinds that must never be mixed), `columns` (what credit is given to), `levels` (shares
of units that nest); then the bridge: `nesting` (how the units of a trace nest), `coalition_games` (what a coalition is
worth), `ledger` (one share for every unit at every level), `assign` (traces to columns and back).
"""

from orchestrace.credit.assign import ROW_UNITS, Assigned, assigned, credits_of
from orchestrace.credit.baselines import GroupBaseline
from orchestrace.credit.by_name import ADVANTAGE_METHODS, SHARE_METHODS, AdvantageMethod
from orchestrace.credit.coalition_games import Coalition, Game, closed_game, masked_vote, said, table_game
from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.ledger import EXACT_COALITIONS, ORDERS, ledger, rows_at
from orchestrace.credit.levels import LevelShares, causally_closed, coalitions, sampled_winter, winter
from orchestrace.credit.methods.outcome import grpo, rloo
from orchestrace.credit.nesting import Nest, Unit, nesting
from orchestrace.credit.results import EXACT, Advantages, Sampling, ShapedRewards, Shares
from orchestrace.credit.returns import Estimates, SequentialGAE, discounted, gae, whitened

__all__ = [
    "ADVANTAGE_METHODS",
    "EXACT",
    "EXACT_COALITIONS",
    "ORDERS",
    "ROW_UNITS",
    "SHARE_METHODS",
    "AdvantageMethod",
    "Advantages",
    "Assigned",
    "Coalition",
    "Estimates",
    "Game",
    "GroupBaseline",
    "LevelShares",
    "Nest",
    "Rows",
    "Sampling",
    "SequentialGAE",
    "ShapedRewards",
    "Shares",
    "Unit",
    "assigned",
    "causally_closed",
    "closed_game",
    "coalitions",
    "credits_of",
    "discounted",
    "gae",
    "grpo",
    "ledger",
    "masked_vote",
    "nesting",
    "rloo",
    "rows",
    "rows_at",
    "said",
    "sampled_winter",
    "table_game",
    "whitened",
    "winter",
]
