"""The long tables of a page: agents, and the critical path."""

from collections.abc import Sequence

from orchestrace.report import Report, by_descent, called, clock, duration
from orchestrace.viewer.tables import Row

MOST_ROWS = 200
"""Rows of a long table; the rest is counted."""


def agent_table(report: Report) -> tuple[tuple[str, ...], list[Row]]:
    """One row an agent, under the one that spawned it."""
    columns = ("Agent", "Role", "Depth", "Turns", "Tokens", "Busy", "From", "To", "Status")
    rows = [
        Row(called(a), (a.role, str(a.depth), f"{a.turns:,}", "unknown" if a.tokens is None else f"{a.tokens:,}",
                        "unknown" if a.busy_s is None else duration(a.busy_s), _at(a.start_s), _at(a.end_s), a.status))
        for a in by_descent(report.agents)[:MOST_ROWS]
    ]  # fmt: skip
    return columns, rows


def path_table(report: Report) -> tuple[tuple[str, ...], list[Row]]:
    """The critical path, piece by piece."""
    names = {a.id: called(a) for a in report.agents}
    rows = [
        Row(clock(s.start_s), (duration(s.end_s - s.start_s), names.get(s.agent, s.agent), s.reason, s.event))
        for s in report.parallelism.critical_path[:MOST_ROWS]
    ]
    return ("At", "For", "Agent", "What", "Event"), rows


def more(n: int, most: int = MOST_ROWS) -> Sequence[str]:
    """What a table of n rows leaves out."""
    return (f"{n - most:,} of {n:,} rows, the last",) if n > most else ()


def _at(seconds: float | None) -> str:
    return "unknown" if seconds is None else clock(seconds)
