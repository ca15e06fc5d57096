"""What there is to say about one trace: the numbers, the reasons for the missing ones, and the sentence that matters.

`report(trace)` gives the data, `headline(report)` the sentence, `timeline(trace)` the swim lanes. Nothing here prints:
the command line and the viewer do.
"""

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
from orchestrace.report.headline import headline
from orchestrace.report.summary import report
from orchestrace.report.timeline import Block, Lane, timeline

__all__ = [
    "AgentRow",
    "Block",
    "Checklist",
    "EvidenceCounts",
    "Lane",
    "Report",
    "RewardChannels",
    "SafetyInstrumentation",
    "TeamAndRoles",
    "TraceScale",
    "headline",
    "report",
    "timeline",
]
