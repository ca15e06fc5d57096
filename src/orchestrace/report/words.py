"""Numbers and agents as a person says them; the terminal and the page use the same words."""

from collections.abc import Sequence

from orchestrace.report.document import AgentRow, Report

DOUBTFUL_OUTPUT = "doubtful_output_tokens"
"""Diagnostic: turns whose output tokens are a placeholder, far below what was written."""


def clock(seconds: float) -> str:
    """A time since the start: `0:42`, `18:24`, `1:05:00`; below ten seconds with what a person would say, `1.5 s`."""
    if abs(seconds) < 10:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    whole = round(seconds)
    minutes, s = divmod(whole, 60)
    hours, m = divmod(minutes, 60)
    return f"{hours}:{m:02d}:{s:02d}" if hours else f"{m}:{s:02d}"


def duration(seconds: float) -> str:
    """A length of time in at most two units: `0.42 s`, `42 s`, `5 min 10 s`, `1 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, s = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {s} s" if s else f"{minutes} min"
    hours, m = divmod(minutes, 60)
    return f"{hours} h {m} min" if m else f"{hours} h"


def tokens(n: int) -> str:
    """`842`, `54k`, `2.1M`."""
    if n < 1_000:
        return str(n)
    return f"{n / 1_000:.0f}k" if n < 999_500 else f"{n / 1_000_000:.1f}M"


def silent(report: Report) -> int:
    """How many spawned agents left no turn and no tool call: their logs are missing, or they never acted."""
    return sum(not row.turns and row.busy_s is None and row.parent is not None for row in report.agents)


def told_tokens(report: Report) -> str:
    """The tokens in words, with what is not in them: `802,567 tokens, 15,220 of them output`; empty: not known."""
    totals = report.tokens
    if totals.total is None:
        return ""
    doubtful = report.diagnostics.get(DOUBTFUL_OUTPUT, 0)
    least = "at least " if doubtful else ""
    said = f"{totals.total:,} tokens, {least}{totals.output or 0:,} of them output"
    lost = silent(report)
    return said + (f", without those of {lost:,} spawned {'agent' if lost == 1 else 'agents'}" if lost else "")


def by_descent(rows: Sequence[AgentRow]) -> list[AgentRow]:
    """Each agent followed by those it spawned, in the order of declaration."""
    known = {row.id for row in rows}
    children: dict[str | None, list[AgentRow]] = {}
    for row in rows:
        children.setdefault(row.parent if row.parent in known else None, []).append(row)
    ordered: list[AgentRow] = []
    waiting = list(reversed(children.get(None, [])))
    while waiting:
        row = waiting.pop()
        ordered.append(row)
        waiting.extend(reversed(children.pop(row.id, [])))
    seen = {row.id for row in ordered}
    return [*ordered, *(row for row in rows if row.id not in seen)]  # a ring of parents has no root to start from


def called(row: AgentRow) -> str:
    """What a person calls an agent: the name in its spawn, else its role and the start of its id."""
    if row.name or not row.role or row.role == row.id:
        return row.name or row.id
    if row.depth == 0 and row.parent is None:
        return row.role
    return row.id if len(row.id) <= 12 else f"{row.role} {row.id[:8]}"


def noted(row: AgentRow, *, brief: bool = False) -> str:
    """A few words on an agent: role, turns, tokens, time; in brief only turns and tokens, or time without any."""
    said = [row.role] if row.name and row.role and not brief else []
    if row.turns:
        said.append(f"{row.turns:,} {'turn' if row.turns == 1 else 'turns'}")
    if row.tokens is not None:
        said.append(f"{tokens(row.tokens)} tokens")
    if row.busy_s and not (brief and row.tokens is not None):
        said.append(duration(row.busy_s))
    return ", ".join(said)
