"""The numbers of a report as rows: name, value, and what it means, or why it cannot be known."""

from collections.abc import Iterator
from typing import NamedTuple

from orchestrace.report.diagnostics import explained
from orchestrace.report.document import Report
from orchestrace.report.words import DOUBTFUL_OUTPUT, called, duration, silent, tokens

UNKNOWN = "–"
"""Stands for a value that is not known, or that there is none of; the reason stands beside it."""


MOST_LOST = 6
"""Unread returns that are named one by one."""


class Figure(NamedTuple):
    """A number and what it means."""

    name: str
    value: str
    meaning: str = ""


def key_figures(report: Report) -> list[Figure]:
    """The few large numbers on top; those that are not known are left out."""
    told = report.parallelism
    found = [
        Figure("Agents", f"{len(report.agents):,}", "with the root"),
        Figure("Wall", _time(told.wall_s), _WALL),
        Figure("Work", _time(told.work_s), _WORK),
        Figure("Speed-up", _times(told.speedup), _SPEEDUP),
        Figure("Most at once", _count(told.peak_concurrency), "agents busy at one time"),
        Figure("Tokens", _tokens(report.tokens.total), "of all agents that left a turn, cache included"),
    ]
    return [figure for figure in found if figure.value]


def parallelism_figures(report: Report) -> Iterator[Figure]:
    """Work, span and what running side by side bought."""
    told = report.parallelism
    rows = (
        ("work_s", _time(told.work_s), "Work", _WORK),
        ("span_s", _time(told.span_s), "Span", "busy part of the critical path: no team of these agents is faster"),
        ("elapsed_s", _time(told.elapsed_s), "Elapsed", "from the first busy moment to the last"),
        ("answer_s", _time(told.answer_s), "Until the answer", "from the first busy moment to the last answer"),
        ("human_s", _time(told.human_s), "Waiting for a person", "nobody busy, and a person spoke next"),
        ("wall_s", _time(told.wall_s), "Wall", _WALL),
        ("speedup", _times(told.speedup), "Speed-up", _SPEEDUP),
        ("peak_concurrency", _count(told.peak_concurrency), "Most at once", "agents busy at one time"),
        ("efficiency", _share(told.efficiency), "Efficiency", "speed-up / most at once"),
        ("critical_steps", _count(told.critical_steps), "Critical steps", "turns on the longest branch, by stages"),
    )
    for key, value, name, meaning in rows:
        yield _known(report, f"parallelism.{key}", value, name=name, meaning=meaning)


def credit_sentences(report: Report) -> list[str]:
    """What can be said about credit without replays, and what more would take; findings first."""
    told, names = report.credit, {row.id: called(row) for row in report.agents}
    lines = [finding.says for finding in told.findings]
    for word in told.unread_returns[:MOST_LOST]:
        spent = f", who used {tokens(word.tokens)} tokens" if word.tokens is not None else ""
        lines.append(f"Return {word.event} of {names.get(word.agent, word.agent)}{spent}, was never read.")
    if len(told.unread_returns) > MOST_LOST:
        lines.append(f"So were {len(told.unread_returns) - MOST_LOST:,} more; --json lists them all.")
    if told.wasted_share:
        lines.append(f"{told.wasted_share:.0%} of all tokens went into what nobody read.")
    return [*lines, "Shares and advantages need a reward: orchestrace credit --help."]


def team_figures(report: Report) -> Iterator[Figure]:
    """What agents told each other, and what it cost."""
    told, cost = report.collaboration, report.overhead
    lost = f"{told.undelivered:,} never delivered, {told.delivery_unknown:,} unknown"
    unread = f"{told.failed_returns:,} no success, {told.unconsumed_returns:,} never read"
    yield Figure("Messages", f"{told.messages:,}", lost)
    yield Figure("Returns", f"{told.returns:,}", unread)
    each = cost.delegation_cost_tokens
    rows = (
        ("collaboration.unconsumed_tokens", _tokens(told.unconsumed_tokens), "Tokens never read",
         "of agents of which no return was read"),
        ("collaboration.redundancy", _share(told.redundancy), "Redundancy", "messages whose text had been sent before"),
        ("overhead.protocol_overhead", _share(cost.protocol_overhead), "Protocol overhead",
         "output tokens that went into running the team"),
        ("overhead.delegation_cost_tokens", _tokens(each), "Tokens a delegation", "of the whole trace"),
    )  # fmt: skip
    for path, value, name, meaning in rows:
        yield _known(report, path, value, name=name, meaning=meaning)
    t = report.tokens
    kinds = (("input", t.input), ("output", t.output), ("cache read", t.cache_read), ("cache write", t.cache_write))
    for kind, n in kinds:
        key = f"tokens.{kind.replace(' ', '_')}"
        doubtful = kind == "output" and report.diagnostics.get(DOUBTFUL_OUTPUT, 0)
        least = f"at least: {doubtful:,} turns carry a placeholder" if doubtful else ""
        yield _known(report, key, "" if n is None else f"{n:,}", name=f"Tokens, {kind}", meaning=least)


def doubts(report: Report) -> list[Figure]:
    """What makes a total or a time say less than it seems to; empty where nothing is known to."""
    told = report.parallelism
    found = []
    lost = silent(report)
    if lost:
        why = "their logs are missing, or they never acted: their tokens and times are in no total"
        found.append(Figure("spawned agents without a turn", f"{lost:,}", why))
    doubtful = report.diagnostics.get(DOUBTFUL_OUTPUT, 0)
    if doubtful:
        why = "the log holds a placeholder far below what was written: output tokens and overhead are lower bounds"
        found.append(Figure("turns with doubtful output tokens", f"{doubtful:,}", why))
    if told.long_calls and report.clock != "simulated":
        why = f"{duration(told.long_calls_s)} in all; waiting for a permission inside a call counts as work"
        found.append(Figure("tool calls over a minute", f"{told.long_calls:,}", why))
    if told.outside_agents:
        why = "the log does not say who spawned them, and they acted while no root did: left out of every time"
        found.append(Figure("agents outside the session", f"{told.outside_agents:,}", why))
    return found


def counted(report: Report) -> list[Figure]:
    """What was skipped, repaired or guessed, and how the edges are known."""
    e = report.evidence
    return [
        *doubts(report),
        *(Figure(kind.replace("_", " "), f"{n:,}", explained(kind)) for kind, n in report.diagnostics.items()),
        Figure("edges by id", f"{e.explicit:,}", "the producer wrote the link"),
        Figure("edges by match", f"{e.matched:,}", "a unique text, prompt or name"),
        Figure("edges by position", f"{e.positional:,}", "order or time alone"),
    ]


_WALL = "elapsed, without waiting for a person"
_WORK = "time in which each agent was busy, summed over agents"
_SPEEDUP = "work / wall: how much faster than one agent that does it all"


def _tokens(n: float | None) -> str:
    return "" if n is None else tokens(round(n))


def _known(report: Report, path: str, value: str, *, name: str, meaning: str) -> Figure:
    """A figure, or a dash and the reason why it is not known; `path` is its place in the report."""
    if value:
        return Figure(name, value, meaning)
    return Figure(name, UNKNOWN, report.unknown.get(path, meaning))


def _time(seconds: float | None) -> str:
    return "" if seconds is None else duration(seconds)


def _times(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}×"


def _share(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.0%}"


def _count(n: int | None) -> str:
    return "" if n is None else f"{n:,}"
