"""From a trace and its report to the picture of the team: lanes, blocks, arrows, critical path."""

from collections.abc import Iterable, Iterator, Mapping

from orchestrace import metrics
from orchestrace.metrics import Work, taken_up, tool_names, work
from orchestrace.report import Report, by_descent, called, duration, noted
from orchestrace.trace import (
    Aggregate,
    Delegate,
    Event,
    HumanIntervention,
    Message,
    OrchestratorDecision,
    Return,
    Spawn,
    Stop,
    ToolCall,
    ToolResult,
    Trace,
    Turn,
)
from orchestrace.viewer.lanes import Arrow, Block, BlockKind, Lane, Lanes, Segment
from orchestrace.viewer.markup import cut

_WORDS = 110
"""Characters of a text that a hover shows."""
_BOTHERED = {"error": "failed", "denied": "denied", "timeout": "timed out"}


def team_lanes(report: Report, trace: Trace, *, title: str) -> Lanes:
    """The swim lanes of a trace. Agents stand under the one that spawned them; what has no time is not drawn.

    What agents did outside the session (`Work.outside`) is not drawn either, nor an agent that did nothing else.
    """
    done = work(trace, tools=tool_names(trace.source.adapter if trace.source is not None else None))
    strangers = {one.agent for one in done.outside}
    present = {one.agent for one in done.busy}
    rows = [row for row in by_descent(report.agents) if row.id in present or row.id not in strangers]
    place = {row.id: i for i, row in enumerate(rows)}
    spans = _extents(event for event in trace.events if event.agent not in strangers)
    spans |= _extents(trace.events[one.place] for one in done.busy if one.agent in strangers)
    lanes = [
        Lane(called(row), noted(row), *spans.get(row.id, (0.0, 0.0)), row.status, noted(row, brief=True))
        for row in rows
    ]
    critical = [_segment(s, place[s.agent]) for s in report.parallelism.critical_path if s.agent in place]
    blocks = sorted([*_busy(trace, done, place), *_marks(trace, place)], key=lambda b: b.start_s)
    return Lanes(title, lanes, blocks, list(_arrows(trace, place, spans)), critical)


def _segment(piece: metrics.Segment, lane: int) -> Segment:
    said = f"critical path, {duration(piece.end_s - piece.start_s)}: {piece.reason}"
    return Segment(lane, piece.start_s, piece.end_s, not piece.busy, said)


def _extents(events: Iterable[Event]) -> dict[str, tuple[float, float]]:
    """First and last time of each agent's own events."""
    found: dict[str, tuple[float, float]] = {}
    for event in events:
        if event.t is None or isinstance(event, HumanIntervention):
            continue
        start, end = found.get(event.agent, (event.t, event.t))
        found[event.agent] = (min(start, event.t), max(end, event.t + (event.duration_s or 0.0)))
    return found


def _busy(trace: Trace, done: Work, place: Mapping[str, int]) -> Iterator[Block]:
    status = {e.call: e.status for e in trace.events if isinstance(e, ToolResult)}
    for one in done.busy:
        event = trace.events[one.place]
        if one.agent not in place:
            continue
        took = duration(one.end_s - one.start_s) if one.timed else "length unknown"
        kind: BlockKind = "tool"
        if isinstance(event, ToolCall):
            bad = _BOTHERED.get(status.get(event.id, "ok"))
            kind = "failed" if bad else "tool"
            said = f"{event.tool} {bad or ''}".strip()
        else:
            folded = isinstance(event, Turn) and bool(event.labels.get("compaction"))
            kind, said = ("compaction", "context folded") if folded else ("turn", "model call")
            said += _output(event)
        yield Block(place[one.agent], one.start_s, one.end_s, kind, f"{said}, {took}{_quoted(event)}")


def _output(event: Event) -> str:
    if not isinstance(event, Turn) or event.tokens is None or event.tokens.output is None:
        return ""
    return f", {event.tokens.output:,} tokens out"


def _marks(trace: Trace, place: Mapping[str, int]) -> Iterator[Block]:
    for event in trace.events:
        if event.t is None or event.agent not in place:
            continue
        match event:
            case HumanIntervention():
                yield _mark(event, event.t, place, "human", f"a person: {event.kind}")
            case OrchestratorDecision():
                yield _mark(event, event.t, place, "decision", "decision")
            case Aggregate(turn=None):  # with a turn it is that turn's block
                yield _mark(event, event.t, place, "aggregate", f"{len(event.inputs)} taken up by {event.method}")
            case Stop():
                yield _mark(event, event.t, place, "stop", f"stop: {event.reason}")
            case _:
                pass


def _mark(event: Event, t: float, place: Mapping[str, int], kind: BlockKind, said: str) -> Block:
    chosen = ""
    if event.choice is not None and 0 <= event.choice.chosen < len(event.choice.options):
        chosen = f", chose {event.choice.options[event.choice.chosen]} ({event.choice.sub_decision})"
    return Block(place[event.agent], t, t, kind, f"{said}{chosen}{_quoted(event)}")


def _arrows(trace: Trace, place: Mapping[str, int], spans: Mapping[str, tuple[float, float]]) -> Iterator[Arrow]:
    read = taken_up(trace)
    index = {e.id: e for e in trace.events}
    arrival = {edge.src: index[edge.dst].t for edge in trace.edges if edge.type == "message" and edge.dst in index}
    for event in trace.events:
        if event.t is None or not isinstance(event, Spawn | Delegate | Return | Message):
            continue
        if event.agent not in place or event.to not in place:
            continue
        source, target, t, words = place[event.agent], place[event.to], event.t, _quoted(event)
        match event:
            case Spawn():
                first = spans.get(event.to, (t, t))[0]
                yield Arrow(source, target, t, max(first, t), "spawn", f"spawn{words}")
            case Delegate():
                yield Arrow(source, target, t, t, "spawn", f"delegate{words}")
            case Return():
                lost = event.id not in read
                said = f"returns{', never read' if lost else ''} ({event.status}){words}"
                yield Arrow(source, target, t, t, "unread" if lost else "return", said)
            case Message() if event.delivered is False:
                yield Arrow(source, target, t, t, "undelivered", f"message, never delivered{words}")
            case Message():
                known = "message" if event.delivered else "message, delivery unknown"
                yield Arrow(source, target, t, max(arrival.get(event.id) or t, t), "message", f"{known}{words}")


def _quoted(event: Event) -> str:
    text = event.content.preview if event.content is not None else ""
    return f": {cut(text, _WORDS)}" if text else ""
