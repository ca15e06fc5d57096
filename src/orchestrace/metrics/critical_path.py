"""The critical path: what the team's elapsed time went to, from the first busy moment to the last.

From the last busy event walk back, each time to the cause that ended last. What lies between a cause's end and the
start of what it caused is waiting. The pieces are clipped so that they neither overlap nor leave a hole: each begins at
the very number at which the one before ended, so they sum to the elapsed time exactly.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import inf
from typing import NamedTuple

import msgspec

from orchestrace.metrics.busy import Busy
from orchestrace.metrics.tools import NO_NAMES, ToolNames
from orchestrace.trace import HumanIntervention, Return, ToolCall, ToolResult, Trace, Turn

_DELIVERIES = ("return", "message", "delegate", "spawn")


class Segment(msgspec.Struct, frozen=True, gc=False):
    """A piece of the critical path, in seconds since the trace began."""

    event: str
    """Id of the event that took the time or, where nobody worked on the path, that was waited for."""
    agent: str
    """Whose event it is."""
    start_s: float
    """Where the piece before ends."""
    end_s: float
    """Where the next one starts."""
    reason: str
    """model, tool; of waiting also human, idle, `waiting for <agent>`."""
    busy: bool
    """False: waiting. `model` and `tool` wait too, where the log does not say how long they took."""


class _Cause(NamedTuple):
    place: int
    ended: float
    """When it was over, for what it caused; never later than that began."""
    delivered: bool
    """It brought something from another agent; preferred among causes that ended together."""


def critical_path(trace: Trace, busy: Sequence[Busy], *, tools: ToolNames = NO_NAMES) -> tuple[Segment, ...]:
    """The path, in order of time; empty where nobody was busy.

    Causes are the trace's edges that run forward, but not the temporal ones, and the order inside an agent: the event
    before, and the turn before. A tool call that goes on beside what follows it in its agent did not hold it up, and is
    passed over.

    Args:
      trace: any trace, also one that breaks the laws.
      busy: turns and leaf tool calls that carry a time, as `work` gives them.
      tools: names by which waiting calls are known.
    """
    if not busy:
        return ()
    walk = _Walk(trace, busy, tools)
    return tuple(walk.segments())[::-1]


class _Walk:
    """What the walk looks up: when each event began and ended, and what came before it."""

    def __init__(self, trace: Trace, busy: Sequence[Busy], tools: ToolNames) -> None:
        self.events = trace.events
        self.tools = tools
        self.busy = {one.place: one for one in busy}
        self.first = min(one.start_s for one in busy)
        self.last = max(busy, key=lambda one: (one.end_s, one.place))
        self.by_end = sorted(busy, key=lambda one: one.end_s)
        self.ends = [one.end_s for one in self.by_end]
        self.causes: list[list[tuple[int, bool]]] = [[] for _ in self.events]
        index = {event.id: place for place, event in enumerate(self.events)}
        for edge in trace.edges:
            src, dst = index.get(edge.src, -1), index.get(edge.dst, -1)
            if edge.type != "temporal" and 0 <= src < dst:
                self.causes[dst].append((src, edge.type in _DELIVERIES))
        self.before: list[int] = []
        """Place of the agent's event before; -1 for its first."""
        self.turn_before: list[int] = []
        self.ended: list[float] = []
        """When each event was over; without a time of its own, when its causes were; -inf: nobody knows."""
        self._look_back()

    def _look_back(self) -> None:
        latest: dict[str, int] = {}
        latest_turn: dict[str, int] = {}
        for place, event in enumerate(self.events):
            self.before.append(latest.get(event.agent, -1))
            self.turn_before.append(latest_turn.get(event.agent, -1))
            latest[event.agent] = place
            if isinstance(event, Turn):
                latest_turn[event.agent] = place
            known = self.busy.get(place)
            ended = known.end_s if known is not None else event.t
            if ended is None:
                earlier = [src for src, _ in self.causes[place]] + [self.before[place]]
                ended = max((self.ended[src] for src in earlier if src >= 0), default=-inf)
            self.ended.append(ended)

    def segments(self) -> Iterator[Segment]:
        """The pieces, latest first."""
        place, now = self.last.place, self.last.end_s
        while now > self.first:
            doing = self.busy.get(place)
            if doing is not None and doing.start_s < now:
                start = max(doing.start_s, self.first)
                yield self._segment(place, start, now, doing.kind, busy=True)
                now = start
            cause = max(self._causes(place, now), key=lambda c: (c.ended, c.delivered, c.place), default=None)
            until = self.first if cause is None else max(cause.ended, self.first)
            if until < now:
                yield self._segment(place, until, now, self._reason(place, cause, until, now), busy=False)
                now = until
            if cause is not None:
                place = cause.place

    def _segment(self, place: int, start: float, end: float, reason: str, *, busy: bool) -> Segment:
        event = self.events[place]
        return Segment(event.id, event.agent, start, end, reason, busy)

    def _causes(self, place: int, now: float) -> Iterator[_Cause]:
        for src, delivered in self.causes[place]:
            if self.ended[src] > -inf:
                yield _Cause(src, min(self.ended[src], now), delivered)
        before = self.before[place]
        while before >= 0 and isinstance(self.events[before], ToolCall) and self.ended[before] > now:
            before = self.before[before]
        for src in {before, self.turn_before[place]}:
            if src >= 0 and self.ended[src] > -inf:
                yield _Cause(src, min(self.ended[src], now), delivered=False)

    def _reason(self, place: int, cause: _Cause | None, start: float, end: float) -> str:
        event = self.events[place]
        if isinstance(event, HumanIntervention):
            return "human"
        if cause is None:
            return "idle"
        source = self.events[cause.place]
        unknown = self.busy.get(cause.place)
        if unknown is not None and not unknown.timed:
            return unknown.kind
        if isinstance(event, Return):
            return f"waiting for {event.agent}"
        if isinstance(event, ToolResult) and event.tool in self.tools.waiting | self.tools.asking:
            return "human" if event.tool in self.tools.asking else self._waited(event, start, end)
        return "idle" if source.agent == event.agent else f"waiting for {source.agent}"

    def _waited(self, result: ToolResult, start: float, end: float) -> str:
        """What a waiting call waited for: the agent whose work ended last meanwhile."""
        for place in range(bisect_right(self.ends, end) - 1, -1, -1):
            if self.ends[place] <= start:
                break
            if self.by_end[place].agent != result.agent:
                return f"waiting for {self.by_end[place].agent}"
        return "tool"
