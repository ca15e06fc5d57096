"""Whole pages: one file each, no script, nothing loaded."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from orchestrace.report import (
    Report,
    by_descent,
    called,
    counted,
    credit_sentences,
    duration,
    headline,
    key_figures,
    noted,
    parallelism_figures,
    team_figures,
    told_tokens,
)
from orchestrace.trace import Trace
from orchestrace.viewer.lanes import lanes_svg
from orchestrace.viewer.learning import learning_sections
from orchestrace.viewer.long_tables import agent_table, more, path_table
from orchestrace.viewer.markup import Markup, element, joined
from orchestrace.viewer.tables import (
    Node,
    figures_table,
    left_out,
    legend,
    picture,
    section,
    stats,
    table,
    tree,
)
from orchestrace.viewer.tables import document as html_document
from orchestrace.viewer.team import team_lanes

_LEGEND = {
    "turn": "model call", "tool": "tool call", "failed": "failed tool call", "compaction": "context folded",
    "human": "a person spoke", "decision": "decision", "aggregate": "returns taken up", "stop": "stop",
    "critical": "critical path", "critical waiting": "waiting on it", "spawn": "spawn", "return": "return",
    "unread": "return never read", "message": "message", "undelivered": "message never delivered",
}  # fmt: skip


MADE_UP = "A made-up session in the shape of a real Claude Code log."
"""What the session of the demo is; wherever it is shown, this is said."""


class Session(NamedTuple):
    """A trace and its report."""

    report: Report
    trace: Trace


class Episode(NamedTuple):
    """One episode of the learned policy."""

    name: str
    """Of which setting: `cr=0.02,ct=0.005`."""
    report: Report
    trace: Trace


def report_page(*sessions: Session) -> str:
    """The page of `report --html`: one session, or several one after the other.

    Args:
      sessions: at least one.
    """
    first = sessions[0].report
    title = headline(first) if len(sessions) == 1 else f"{len(sessions)} sessions"
    body: list[Markup] = []
    for i, session in enumerate(sessions):
        if len(sessions) > 1:
            body.append(element("div", *_header(session.report, level="h2"), id=f"s{i}"))
        body += session_sections(session, prefix=f"s{i}-")
    header = _header(first) if len(sessions) == 1 else [element("h1", title), _contents(sessions)]
    return html_document(title, header, body)


def demo_page(
    session: Session,
    *,
    training: Mapping[str, Any] | None = None,
    curve: Iterable[Mapping[str, Any]] = (),
    episodes: Sequence[Episode] = (),
) -> str:
    """The page of `demo`: the report of a made-up session, then what an orchestrator learned, then an episode of it.

    Args:
      session: the imported session; the page says that it is made up.
      training: the JSON contract of `train`; absent: training was not finished, and the page says so.
      curve: rows of `curve.jsonl`.
      episodes: of the learned policy; each is drawn.
    """
    body = session_sections(session, prefix="s-")
    if training is None:
        body.append(section("Learning", element("p", "Training was not finished."), anchor="learning"))
    else:
        body += learning_sections(training, curve)
    body += (_episode(episode, i) for i, episode in enumerate(episodes))
    header = [*_header(session.report), element("p", MADE_UP, class_="soft")]
    return html_document(headline(session.report), header, body)


def run_page(training: Mapping[str, Any], curve: Iterable[Mapping[str, Any]]) -> str:
    """The page of a training run: the learning curve, and the policy beside the optimum and the baselines.

    Args:
      training: the JSON contract of `train`.
      curve: rows of `curve.jsonl`.
    """
    title = f"{training['algorithm']} on {training['env']}"
    alarms = [element("p", f"Too good to be true, {key}: {why}") for key, why in training.get("alarm", {}).items()]
    header = [element("p", "training run", class_="eyebrow"), element("h1", title), *alarms]
    return html_document(title, header, learning_sections(training, curve))


def session_sections(session: Session, *, prefix: str = "") -> list[Markup]:
    """Tree, swim lanes, figures, critical path, diagnostics of one trace. `prefix` keeps ids apart."""
    report, trace = session
    columns, rows = agent_table(report)
    agents = table("Every agent, under the one that spawned it.", columns, rows)
    as_table = _details("The same as a table", agents, left_out(more(len(report.agents))))
    hint = element("p", "Time runs to the right. Point at anything to see what it is.", class_="soft")
    parts = (hint, *_lanes(report, trace), as_table)
    return [
        section("Who was spawned by whom", tree(_nodes(report)), anchor=f"{prefix}tree"),
        section("Who did what when", *parts, anchor=f"{prefix}lanes"),
        section("In numbers", _numbers(report), _path(report), anchor=f"{prefix}figures"),
        section("Credit", element("ul", *(element("li", line) for line in credit_sentences(report))),
                anchor=f"{prefix}credit"),
        section("What was skipped, repaired or guessed", figures_table("Counts", counted(report)),
                anchor=f"{prefix}diagnostics"),
    ]  # fmt: skip


def _contents(sessions: Sequence[Session]) -> Markup:
    """A line a session, in the order of the page: its id, when it began, and the sentence that matters."""
    lines = []
    for i, (report, _) in enumerate(sessions):
        begun = (report.started_at or "")[:16].replace("T", " ")
        link = element("a", report.trace_id, href=f"#s{i}")
        lines.append(element("li", link, element("span", f" {begun} ", class_="soft"), headline(report)))
    return element("nav", element("ol", *lines), class_="contents", aria_label="Sessions")


def _header(report: Report, level: str = "h1") -> list[Markup]:
    source = report.source.adapter if report.source is not None else "recorded by orchestrace"
    n = sum(report.counts.values())
    elapsed = report.parallelism.elapsed_s
    said = [
        f"{len(report.agents):,} {'agent' if len(report.agents) == 1 else 'agents'}",
        f"{n:,} events" + ("" if elapsed is None else f" in {duration(elapsed)}"),
    ]
    if told_tokens(report):
        said.append(told_tokens(report))
    if report.started_at:
        said.append("from " + report.started_at[:19].replace("T", " "))
    return [
        element("p", f"{source} · {report.trace_id}", class_="eyebrow"),
        element(level, headline(report)),
        element("p", ", ".join(said) + ".", class_="lead"),
        stats(key_figures(report)),
    ]


def _numbers(report: Report) -> Markup:
    left = figures_table("How much ran side by side", parallelism_figures(report))
    right = figures_table("What the team told each other, and what it cost", team_figures(report))
    return element("div", left, right, class_="columns")


def _path(report: Report) -> Markup:
    pieces = len(report.parallelism.critical_path)
    if not pieces:
        return Markup("")
    columns, rows = path_table(report)
    said = table("What the elapsed time went to, without overlap or hole.", columns, rows)
    return _details(
        f"The critical path, {pieces:,} {'piece' if pieces == 1 else 'pieces'}", said, left_out(more(pieces))
    )


def _nodes(report: Report) -> list[Node]:
    """The spawn tree, built from the leaves up: a child stands after its parent in `by_descent`."""
    rows = by_descent(report.agents)
    children: dict[str | None, list[Node]] = {}
    known = {row.id for row in rows}
    for row in reversed(rows):
        node = Node(called(row), noted(row), row.status, tuple(reversed(children.pop(row.id, []))))
        children.setdefault(row.parent if row.parent in known else None, []).append(node)
    return list(reversed(children.get(None, [])))


def _episode(episode: Episode, i: int) -> Markup:
    reward = ", ".join(f"{channel} {value:.3f}" for channel, value in episode.trace.rewards.items())
    costs = ", ".join(f"{name} {value:g}" for name, value in episode.trace.costs.items())
    said = f"Reward: {reward or 'none'}. Costs: {costs or 'none'}. The clock is simulated."
    parts = (element("p", said), *_lanes(episode.report, episode.trace))
    return section(f"An episode of the learned policy, {episode.name}", *parts, anchor=f"episode{i}")


def _lanes(report: Report, trace: Trace) -> list[Markup]:
    """The picture, the legend of what is in it, and what is not."""
    lanes = team_lanes(report, trace, title=f"Swim lanes of {report.trace_id}")
    drawn = lanes_svg(lanes)
    kinds: set[str] = {b.kind for b in lanes.blocks} | {a.kind for a in lanes.arrows}
    kinds |= {"critical waiting" if s.waiting else "critical" for s in lanes.critical}
    shown = [(kind, name) for kind, name in _LEGEND.items() if kind in kinds]
    strangers = report.parallelism.outside_agents
    outside = (f"what {strangers:,} {'agent' if strangers == 1 else 'agents'} did outside the session",)
    missing = drawn.left_out + (outside if strangers else ())
    return [picture(drawn.svg, "swim lanes"), legend(*shown), left_out(missing)]


def _details(summary: str, *parts: str) -> Markup:
    return element("details", element("summary", summary), joined(parts))
