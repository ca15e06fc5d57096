"""What a trace measures: work and span, collaboration, overhead, tokens. Pure functions of the trace.

Every section is a struct whose fields are absent (None) where they cannot be known, with the reason beside them under
`unknown`. Reading order: `intervals` (time as sets), `busy` and `pauses` (who worked when), `critical_path` and
`critical_steps`, `parallelism` (E2), `collaboration` (E3), `overhead` (E4), `flow` (reachability), `tokens`.
E1 to E4 are the survey's dimensions of evaluation (arXiv 2605.02801, section 9); E1, success, is what a reward tells.
"""

from orchestrace.metrics.busy import Busy, Work, busy_lanes, work
from orchestrace.metrics.collaboration import Collaboration, collaboration, taken_up
from orchestrace.metrics.critical_path import Segment, critical_path
from orchestrace.metrics.critical_steps import critical_steps
from orchestrace.metrics.flow import Ratio, error_amplification, useful_utilisation
from orchestrace.metrics.intervals import Spans, covers, length, spans, union
from orchestrace.metrics.overhead import Overhead, overhead
from orchestrace.metrics.parallelism import Parallelism, parallelism
from orchestrace.metrics.pauses import Pauses, pauses
from orchestrace.metrics.tokens import Money, Prices, TokenTotals, money, token_totals
from orchestrace.metrics.tools import CLAUDE_CODE, NO_NAMES, ToolNames, tool_names

__all__ = [
    "CLAUDE_CODE",
    "NO_NAMES",
    "Busy",
    "Collaboration",
    "Money",
    "Overhead",
    "Parallelism",
    "Pauses",
    "Prices",
    "Ratio",
    "Segment",
    "Spans",
    "TokenTotals",
    "ToolNames",
    "Work",
    "busy_lanes",
    "collaboration",
    "covers",
    "critical_path",
    "critical_steps",
    "error_amplification",
    "length",
    "money",
    "overhead",
    "parallelism",
    "pauses",
    "spans",
    "taken_up",
    "token_totals",
    "tool_names",
    "union",
    "useful_utilisation",
    "work",
]
