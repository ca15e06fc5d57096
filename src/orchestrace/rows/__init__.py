"""Training rows: a trace and its credit as what a trainer reads.

Reading order: `tokens` (token arrays as bytes), `merge` and `lineages` (which turns are one run of tokens),
`advantages` (credit, token by token), `rollouts` (what trains), `rows`, `weights`, `batch` (the whole), `table`.
"""

from orchestrace.rows.advantages import RolloutCredit, rollout_credit
from orchestrace.rows.batch import RowBatch, row_batch
from orchestrace.rows.lineages import Beginning
from orchestrace.rows.merge import Span
from orchestrace.rows.rollouts import Rollout, failure
from orchestrace.rows.rows import Row, unmerged
from orchestrace.rows.table import table
from orchestrace.rows.tokens import MEDIA, packed, unpacked
from orchestrace.rows.weights import Weighting

__all__ = [
    "MEDIA",
    "Beginning",
    "Rollout",
    "RolloutCredit",
    "Row",
    "RowBatch",
    "Span",
    "Weighting",
    "failure",
    "packed",
    "rollout_credit",
    "row_batch",
    "table",
    "unmerged",
    "unpacked",
]
