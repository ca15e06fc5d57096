"""Who earned the result: credit as arithmetic on arrays, and the bridge to traces.

Reading order: `results` (three kinds that must never be mixed), `columns` (what credit is given to), `levels` (shares
of units within units).
"""

from orchestrace.credit._game import causally_closed
from orchestrace.credit.columns import Rows, rows
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
from orchestrace.credit.results import EXACT, Advantages, Sampling, ShapedRewards, Shares

__all__ = [
    "EXACT",
    "MOST_COALITIONS",
    "Advantages",
    "LevelShares",
    "Path",
    "Rows",
    "Sampling",
    "ShapedRewards",
    "Shares",
    "Tree",
    "causally_closed",
    "coalitions",
    "rows",
    "sampled_winter",
    "units",
    "winter",
]
