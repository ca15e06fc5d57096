"""From a trace to its report."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

import msgspec

from orchestrace.metrics import (
    Collaboration,
    Overhead,
    Parallelism,
    Prices,
    TokenTotals,
    collaboration,
    money,
    overhead,
    parallelism,
    token_totals,
    tool_names,
)
from orchestrace.report.agents import agent_rows
from orchestrace.report.checklist import checklist
from orchestrace.report.credit import credit_section
from orchestrace.report.document import EvidenceCounts, Report
from orchestrace.trace import KINDS, EdgeType, Trace, kind
from orchestrace.trace.views import turns

Section = TypeVar("Section", Parallelism, Collaboration, Overhead)

_HEADER: Mapping[str, str] = {
    "system": "the trace does not name it",
    "topology": "the trace does not name it",
    "clock": "no times were recorded",
    "started_at": "the wall-clock time of t = 0 was not recorded",
    "source": "a native recording: no adapter read it from a file",
}


def report(trace: Trace, *, blobs: Mapping[str, bytes] | None = None, prices: Prices | None = None) -> Report:
    """The report of a trace.

    Args:
      trace: any trace, also one that breaks the laws, and an empty one.
      blobs: texts by hash, besides those that the trace carries; near-duplicate messages need them.
      prices: model -> kind of token (input, output, cache_read, cache_write) -> US dollars per million tokens; used
        where the log itself has no costs.
    """
    tools = tool_names(trace.source.adapter if trace.source is not None else None)
    unknown = {name: reason for name, reason in _HEADER.items() if getattr(trace, name) is None}
    agents = agent_rows(trace, unknown, tools=tools)
    tokens = _token_totals(trace, unknown)
    paid = money(trace, prices=prices)
    if paid.usd is None:
        unknown["usd"] = paid.unknown
    sections: dict[str, Any] = {
        "parallelism": _lifted(parallelism(trace, tools=tools), "parallelism", unknown),
        "collaboration": _lifted(collaboration(trace, blobs=blobs), "collaboration", unknown),
        "overhead": _lifted(overhead(trace, tools=tools), "overhead", unknown),
    }
    kinds = Counter(kind(event) for event in trace.events)
    edges = Counter(edge.type for edge in trace.edges)
    evidence = Counter(edge.evidence for edge in trace.edges)
    return Report(
        trace_id=trace.trace_id,
        task_id=trace.task_id,
        **{name: getattr(trace, name) for name in _HEADER},
        agents=agents,
        counts={name: kinds[name] for name in KINDS},
        edges={name: edges[name] for name in get_args(EdgeType)},
        evidence=EvidenceCounts(evidence["explicit"], evidence["matched"], evidence["positional"]),
        tokens=tokens,
        usd=paid.usd,
        **sections,
        credit=credit_section(trace, sections["collaboration"], tokens=tokens.total, unknown=unknown),
        checklist=checklist(trace, unknown, wall_s=sections["parallelism"].wall_s, tokens=tokens.total),
        diagnostics=dict(sorted(trace.diagnostics.items())),
        unknown=unknown,
    )


def _lifted(section: Section, name: str, unknown: dict[str, str]) -> Section:
    """The section with its reasons moved to the report's own."""
    unknown |= {f"{name}.{field}": reason for field, reason in section.unknown.items()}
    return msgspec.structs.replace(section, unknown={})


def _token_totals(trace: Trace, unknown: dict[str, str]) -> TokenTotals:
    found = turns(trace)
    totals = token_totals(found)
    reason = "no turn gives them" if found else "the trace holds no turn"
    unknown |= {f"tokens.{name}": reason for name, n in msgspec.structs.asdict(totals).items() if n is None}
    return totals
