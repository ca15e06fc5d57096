"""What is said about a trace, beside it and never in it: evidence from outside, rewards, verdicts, credit.

Reading order: `units` (what a result can be about), `evidence` and `coalitions` (what comes in), `records` (what is
kept).
"""

from orchestrace.annotations.coalitions import CoalitionValue, CoalitionValues, decode_coalitions
from orchestrace.annotations.evidence import Evidence, Verdict
from orchestrace.annotations.records import (
    Annotations,
    Credit,
    CreditKind,
    CreditRow,
    Reward,
    RewardFamily,
    decode,
    decode_evidence,
    decode_evidence_by_trace,
    encode,
    evidence_from,
)
from orchestrace.annotations.units import LedgerKind, UnitKind

__all__ = [
    "Annotations",
    "CoalitionValue",
    "CoalitionValues",
    "Credit",
    "CreditKind",
    "CreditRow",
    "Evidence",
    "LedgerKind",
    "Reward",
    "RewardFamily",
    "UnitKind",
    "Verdict",
    "decode",
    "decode_coalitions",
    "decode_evidence",
    "decode_evidence_by_trace",
    "encode",
    "evidence_from",
]
