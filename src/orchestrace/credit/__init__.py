"""Who earned the result: credit as arithmetic on arrays, and the bridge to traces.

Reading order: `results` (three kinds that must never be mixed), `columns` (what credit is given to), `games`
(values of coalitions), `restricted` (where not every coalition can form), `levels` (shares of units within units).
"""

from orchestrace.credit._game import causally_closed
from orchestrace.credit._vectors import MOST_PLAYERS
from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.games import (
    banzhaf_value,
    leave_one_out_value,
    owen_value,
    shapley_value,
    value_vector,
)
from orchestrace.credit.levels import (
    MOST_COALITIONS,
    LevelShares,
    Path,
    Tree,
    coalitions,
    sampled_winter,
    units,
    winter,
)
from orchestrace.credit.restricted import connected_sets, down_sets, myerson_value, precedence_value
from orchestrace.credit.results import EXACT, Advantages, Sampling, ShapedRewards, Shares

__all__ = [
    "EXACT",
    "MOST_COALITIONS",
    "MOST_PLAYERS",
    "Advantages",
    "LevelShares",
    "Path",
    "Rows",
    "Sampling",
    "ShapedRewards",
    "Shares",
    "Tree",
    "banzhaf_value",
    "causally_closed",
    "coalitions",
    "connected_sets",
    "down_sets",
    "leave_one_out_value",
    "myerson_value",
    "owen_value",
    "precedence_value",
    "rows",
    "sampled_winter",
    "shapley_value",
    "units",
    "value_vector",
    "winter",
]
