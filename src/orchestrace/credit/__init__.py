"""Who earned the result: credit as arithmetic on arrays, and the bridge to traces.

Reading order: `results` (three kinds that must never be mixed), `columns` (what credit is given to).
"""

from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.results import EXACT, Advantages, Sampling, ShapedRewards, Shares

__all__ = [
    "EXACT",
    "Advantages",
    "Rows",
    "Sampling",
    "ShapedRewards",
    "Shares",
    "rows",
]
