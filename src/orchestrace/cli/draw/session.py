"""A report for a person to read in a terminal."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from orchestrace.cli.draw.columns import Column, shortened, table
from orchestrace.cli.draw.lanes import plain, swim_lanes
from orchestrace.cli.screen import said
from orchestrace.metrics import Segment
from orchestrace.report import (
    AgentRow,
    Figure,
    Report,
    by_descent,
    called,
    clock,
    credit_sentences,
    doubts,
    duration,
    headline,
    parallelism_figures,
    team_figures,
    timeline,
    tokens,
    told_tokens,
)
from orchestrace.trace import Trace, observations

N = TypeVar("N", int, float)

NARROW = 64
"""Below this many characters what a figure means stands under it, not beside it."""
INDENT = 2
MOST_OF_A_NAME, MOST_OF_A_ROLE = 44, 22
MOST_OF_A_PROJECT = 16
MOST_AGENTS = 40
MOST_SEGMENTS = 14
_STATUS_STYLE = {"completed": "green", "failed": "red", "cancelled": "yellow", "truncated": "yellow", "running": "cyan"}
_UNKNOWN = "–"
_WAITING_FOR_A_PERSON = "waiting for a person"
_BLINK_S = 0.5
"""A shorter wait does not cut a piece of the critical path in two, and is not named in one."""


def session(report: Report, trace: Trace, *, width: int, ascii_only: bool = False) -> Iterator[RenderableType]:
    """The whole report, part by part."""
    yield said(headline(report), "bold")
    yield _subtitle(report)
    yield from _titled("Team", [_team(report.agents, width=width)])
    names = {row.id: called(row) for row in report.agents}
    order = {row.id: place for place, row in enumerate(by_descent(report.agents))}
    lanes = sorted(timeline(trace), key=lambda lane: order.get(lane.agent, len(order)))
    rows = swim_lanes(lanes, names, width=width)
    yield from _titled("Time", map(plain, rows) if ascii_only else rows)
    yield from _titled("Figures", _figures(parallelism_figures(report), width=width))
    yield from _titled("Critical path", _critical_path(report, names, width=width))
    yield from _titled("Together", _figures(team_figures(report), width=width))
    yield from _titled("Credit", [Padding(said(line), (0, 0, 0, INDENT)) for line in credit_sentences(report)])
    yield from _titled("Read with care", _care(report, trace))
    yield Text()


def session_table(reports: Sequence[Report], *, width: int) -> Table:
    """One row a session."""
    names = _short_names([report.trace_id for report in reports])
    projects = [_project(report) for report in reports]
    walls = [(report.parallelism.wall_s, report.parallelism.speedup) for report in reports]
    columns = [
        Column("Session", [shortened(said(names[report.trace_id]), 18) for report in reports], "left"),
        *([Column("Project", [said(project) for project in projects], "left", 4)] if any(projects) else ()),
        Column("Begun", [said((r.started_at or _UNKNOWN)[:16].replace("T", " ")) for r in reports], "left", 2),
        Column("Agents", [Text(f"{len(report.agents):,}") for report in reports], gives_way=6),
        Column("Events", [Text(f"{sum(report.counts.values()):,}") for report in reports], gives_way=7),
        Column("Tokens", [_known(report.tokens.total, tokens) for report in reports], gives_way=3),
        Column("Wall", [_known(wall, duration) for wall, _ in walls], gives_way=1),
        Column("Speed-up", [_known(speedup, "{:.2f}×".format) for _, speedup in walls], gives_way=5),
        Column("What matters", [said(headline(report)) for report in reports], "left", least=28, wraps=True),
    ]
    return table(columns, width=width)


def _project(report: Report) -> str:
    """The folder that a session's log lies in, below the one that was given; its end, where it is long."""
    files = report.source.files if report.source is not None else ()
    above = files[0].name.split("/")[:-1] if files else []
    while above and (above[-1] == "subagents" or above[-1] in report.trace_id):  # where agents' logs lie
        above.pop()
    project = above[-1] if above else ""
    return project if len(project) <= MOST_OF_A_PROJECT else "…" + project[1 - MOST_OF_A_PROJECT :]


def _known(value: N | None, shown: Callable[[N], str]) -> Text:
    return Text(_UNKNOWN if value is None else shown(value))


def _short_names(trace_ids: Sequence[str]) -> dict[str, str]:
    """The least that tells each session apart: `claude_code:ef958aa1-0e93…` as `ef958aa1`, or as much as it takes."""
    names = {trace_id: trace_id.rpartition(":")[2] for trace_id in trace_ids}
    taken = {n: Counter(name[:n] for name in names.values()) for n in (8, 13, 18, 23)}
    return {
        trace_id: name[: next((n for n, counts in taken.items() if counts[name[:n]] == 1), len(name))]
        for trace_id, name in names.items()
    }


def _subtitle(report: Report) -> Text:
    events = sum(report.counts.values())
    parts = [report.trace_id, report.system or "", report.topology or ""]
    parts += [(report.started_at or "")[:19].replace("T", " "), f"{events:,} {'event' if events == 1 else 'events'}"]
    parts.append(told_tokens(report))
    if report.usd is not None:
        parts.append(f"${report.usd:,.2f}")
    return said(" · ".join(part for part in parts if part), "dim")


def _titled(title: str, parts: Iterable[RenderableType]) -> Iterator[RenderableType]:
    """A title and its parts; nothing where there are none."""
    first = True
    for part in parts:
        if first:
            yield Text()
            yield Text(title, style="bold underline")
            first = False
        yield part


def _team(agents: Sequence[AgentRow], *, width: int) -> RenderableType:
    rows = by_descent(agents)
    stems = _stems(rows)[:MOST_AGENTS]
    shown = rows[:MOST_AGENTS]
    named = [Text(stem, "bright_black").append_text(said(called(row))) for row, stem in zip(shown, stems, strict=True)]
    columns = [
        Column("Agent", [shortened(name, MOST_OF_A_NAME) for name in named], "left", least=20),
        Column("Role", [shortened(said(row.role, "dim"), MOST_OF_A_ROLE) for row in shown], "left", 5),
        Column("Turns", [Text(f"{row.turns:,}") for row in shown], gives_way=3),
        Column("Tokens", [_known(row.tokens, tokens) for row in shown], gives_way=2),
        Column("Busy", [_known(row.busy_s, duration) for row in shown], gives_way=1),
        Column("From", [_known(row.start_s, clock) for row in shown], gives_way=4),
        Column("To", [_known(row.end_s, clock) for row in shown], gives_way=4),
        Column("Status", [_status(row.status) for row in shown], "left"),
    ]
    drawn: RenderableType = table(columns, width=width - INDENT)
    if len(rows) > MOST_AGENTS:
        drawn = Group(drawn, Text(f"and {len(rows) - MOST_AGENTS} more", style="dim"))
    return Padding(drawn, (0, 0, 0, INDENT))


def _status(status: str) -> Text:
    return said(status.replace("_", " "), _STATUS_STYLE.get(status, "dim"))


def _stems(rows: Sequence[AgentRow]) -> list[str]:
    """The branches before each name. Rows stand under their parents, so depth and what follows say it all."""
    stems: list[str] = []
    open_depths: set[int] = set()
    for row in reversed(rows):
        last = row.depth not in open_depths
        bars = "".join("│ " if depth in open_depths else "  " for depth in range(1, row.depth))
        stems.append(bars + ("└ " if last else "├ ") if row.depth else "")
        open_depths = {depth for depth in open_depths if depth < row.depth} | ({row.depth} if row.depth else set())
    return stems[::-1]


def _figures(figures: Iterable[Figure], *, width: int) -> list[RenderableType]:
    beside = width >= NARROW
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    drawn.add_column(no_wrap=beside, min_width=20)
    drawn.add_column(justify="right", no_wrap=True, style="bold", min_width=12)
    if beside:
        drawn.add_column(style="dim")
    for figure in figures:
        cells = (said(figure.name), said(figure.value), said(figure.meaning))
        drawn.add_row(*cells[: 3 if beside else 2])
        if figure.meaning and not beside:
            drawn.add_row(Padding(said(figure.meaning, "dim"), (0, 0, 0, INDENT)))
    return [Padding(drawn, (0, 0, 0, INDENT))]


def _critical_path(report: Report, names: dict[str, str], *, width: int) -> list[RenderableType]:
    """The longest pieces in order of time; neighbours of one agent and reason are one piece."""
    pieces = _joined(report.parallelism.critical_path)
    if not pieces:
        return []
    longest = sorted(pieces, key=lambda piece: piece[0].start_s - piece[-1].end_s)[:MOST_SEGMENTS]
    drawn = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for justify in ("right", "right", "left"):
        drawn.add_column(justify=justify, no_wrap=True, max_width=max(12, width // 2 - 4))
    drawn.add_column()
    for piece in sorted(longest, key=lambda piece: piece[0].start_s):
        start, end = piece[0].start_s, piece[-1].end_s
        style = "" if any(part.busy for part in piece) else "dim"
        drawn.add_row(
            Text(clock(start) if width >= NARROW else "", style="dim"),
            Text(duration(end - start), style=style or "bold"),
            said(names.get(piece[0].agent, piece[0].agent), style),
            said(_reason(piece, names), style),
        )
    shown: list[RenderableType] = [Padding(drawn, (0, 0, 0, INDENT))]
    rest = len(pieces) - len(longest)
    if rest:
        kept = sum(piece[-1].end_s - piece[0].start_s for piece in longest)
        total = report.parallelism.elapsed_s or 0.0
        share = f", {(total - kept) / total:.1%} of the time" if total else ""
        shown.append(Text(f"  and {rest} shorter pieces{share}", style="dim"))
    return shown


def _joined(path: Sequence[Segment]) -> list[list[Segment]]:
    pieces: list[list[Segment]] = []
    for segment in path:
        blink = segment.end_s - segment.start_s < _BLINK_S
        if pieces and pieces[-1][-1].agent == segment.agent and (pieces[-1][-1].busy == segment.busy or blink):
            pieces[-1].append(segment)
        else:
            pieces.append([segment])
    return pieces


def _reason(piece: Sequence[Segment], names: dict[str, str]) -> str:
    """What took the time of a piece, longest first; what took next to none of it is not named."""
    by_reason: dict[str, float] = {}
    for segment in piece:
        before, waiting, agent = segment.reason.partition("waiting for ")
        reason = f"{before}{waiting}{names.get(agent, agent)}"
        reason = _WAITING_FOR_A_PERSON if segment.reason == "human" else reason
        by_reason[reason] = by_reason.get(reason, 0.0) + segment.end_s - segment.start_s
    parts = sorted(by_reason.items(), key=lambda item: -item[1])
    parts = [part for part in parts if part[1] >= _BLINK_S] or parts[:1]
    if len(parts) == 1:
        return parts[0][0] + (f", {len(piece)} times" if len(piece) > 1 and len(by_reason) == 1 else "")
    return ", ".join(f"{reason} {duration(seconds)}" for reason, seconds in parts)


def _care(report: Report, trace: Trace) -> list[RenderableType]:
    """What was skipped, repaired or guessed, and facts about the log."""
    seen = observations(trace)
    ignored = {kind: n for kind, n in report.diagnostics.items() if kind.startswith("ignored_")}
    other = {kind: n for kind, n in report.diagnostics.items() if kind not in ignored}
    lines: list[Text] = []
    if seen:
        lines.append(said("seen in the log: " + _counts(seen)))
    if other:
        lines.append(said("counted on import: " + _counts(other)))
    if ignored:
        named = {kind.removeprefix("ignored_"): n for kind, n in ignored.items()}
        lines.append(said(f"housekeeping records, no events: {sum(named.values()):,} ({_counts(named)})", "dim"))
    lines += [said(f"{doubt.value} {doubt.name}: {doubt.meaning}") for doubt in doubts(report)]
    e = report.evidence
    total = e.explicit + e.matched + e.positional
    if total:
        shares = (e.explicit / total, e.matched / total, e.positional / total)
        words = "{:.0%} rest on ids that the producer wrote, {:.0%} on matching texts, {:.0%} on order alone"
        lines.append(said(f"of {total:,} edges, " + words.format(*shares), "dim"))
    return [Padding(line, (0, 0, 0, INDENT)) for line in lines]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{n:,} {kind.replace('_', ' ')}" for kind, n in sorted(counts.items(), key=lambda item: -item[1]))
