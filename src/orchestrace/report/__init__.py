"""What there is to say about one trace: the numbers, the reasons for the missing ones, and the sentence that matters.

`report(trace)` gives the data, `headline(report)` the sentence, `timeline(trace)` the swim lanes. Nothing here prints:
the command line and the viewer do.
"""

from orchestrace.report.credit import CreditSection, LostWord
from orchestrace.report.diagnostics import explained
from orchestrace.report.document import (
    AgentRow,
    Checklist,
    EvidenceCounts,
    Report,
    RewardChannels,
    SafetyInstrumentation,
    TeamAndRoles,
    TraceScale,
)
from orchestrace.report.figures import (
    Figure,
    counted,
    credit_sentences,
    doubts,
    key_figures,
    parallelism_figures,
    team_figures,
)
from orchestrace.report.headline import headline
from orchestrace.report.summary import report
from orchestrace.report.timeline import Block, Lane, timeline
from orchestrace.report.words import by_descent, called, clock, duration, noted, silent, tokens, told_tokens

__all__ = [
    "AgentRow",
    "Block",
    "Checklist",
    "CreditSection",
    "EvidenceCounts",
    "Figure",
    "Lane",
    "LostWord",
    "Report",
    "RewardChannels",
    "SafetyInstrumentation",
    "TeamAndRoles",
    "TraceScale",
    "by_descent",
    "called",
    "clock",
    "counted",
    "credit_sentences",
    "doubts",
    "duration",
    "explained",
    "headline",
    "key_figures",
    "noted",
    "parallelism_figures",
    "report",
    "silent",
    "team_figures",
    "timeline",
    "tokens",
    "told_tokens",
]
