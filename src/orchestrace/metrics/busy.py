"""When each agent was busy: with model calls, and with the tool calls that are work of its own.

A log can hold agents of which nobody knows who made them, dated a day away from the session: a warm-up, a call made for
the product itself. What such an agent did outside the lifetime of the roots is set aside (ours), so that one stray
record does not turn half an hour of work into a day of waiting.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from orchestrace.metrics.intervals import Spans, spans, union
from orchestrace.metrics.tools import NO_NAMES, ToolNames
from orchestrace.trace import ToolCall, ToolResult, Trace, Turn
from orchestrace.trace.views import spawn_tree

_DIGITS = 9
"""Decimal places of an end: nanoseconds."""


class Busy(NamedTuple):
    """One turn, or one leaf tool call, in seconds since the trace began."""

    place: int
    """In `trace.events`."""
    agent: str
    start_s: float
    end_s: float
    """`start_s` where the log does not say how long it took, or says less than nothing."""
    kind: Literal["model", "tool"]
    timed: bool
    """False: how long it took is not known."""


class Work(NamedTuple):
    """All that agents were busy with."""

    busy: tuple[Busy, ...]
    """In trace order; what carries no time is not among them."""
    leaves: int
    """Turns and leaf tool calls, with or without a time; those set aside are not counted."""
    outside: tuple[Busy, ...] = ()
    """Set aside: what unlinked agents without a known parent did while no root lived."""

    @property
    def coverage(self) -> float | None:
        """Share of the leaves of which start and duration are known; absent where there are none."""
        return sum(one.timed for one in self.busy) / self.leaves if self.leaves else None


def work(trace: Trace, *, tools: ToolNames = NO_NAMES) -> Work:
    """Every turn and every leaf tool call with its time.

    A call of a tool that waits for other agents, or for a person, is no leaf. A call without a duration lasts until
    its result, where both carry a time. The roots live from their first busy moment to their last; without one,
    nothing is set aside.
    """
    answered = {event.call: event.t for event in trace.events if isinstance(event, ToolResult)}
    no_leaf = tools.waiting | tools.asking
    found, leaves = [], 0
    for place, event in enumerate(trace.events):
        if not isinstance(event, Turn | ToolCall) or (isinstance(event, ToolCall) and event.tool in no_leaf):
            continue
        leaves += 1
        if event.t is not None:
            end = _end(event, event.t, answered.get(event.id))
            kind: Literal["model", "tool"] = "model" if isinstance(event, Turn) else "tool"
            start = event.t
            found.append(Busy(place, event.agent, start, start if end is None else end, kind, end is not None))
    strange = _outside(trace, found)
    inside = tuple(one for one in found if one.place not in strange)
    return Work(inside, leaves - len(strange), tuple(one for one in found if one.place in strange))


def _outside(trace: Trace, busy: Sequence[Busy]) -> set[int]:
    """Places of what agents that nobody is known to have made did outside the roots' lifetime."""
    tree = spawn_tree(trace)
    made = {child for children in tree.children.values() for child in children}
    unlinked = set(tree.unlinked) - made
    roots = set(tree.roots)
    own = [one for one in busy if one.agent in roots]
    if not unlinked or not own:
        return set()
    first, last = min(one.start_s for one in own), max(one.end_s for one in own)
    return {one.place for one in busy if one.agent in unlinked and (one.end_s < first or one.start_s > last)}


def _end(event: Turn | ToolCall, start: float, answered: float | None) -> float | None:
    """When it was over; None where the log does not say, or says less than nothing."""
    if event.duration_s is None:
        return answered if answered is not None and answered >= start else None
    if event.duration_s < 0:
        return None
    # Rounded, because t + (u - t) need not be u: what began at u would be some 1e-14 s away from what ended there.
    return max(start, round(start + event.duration_s, _DIGITS))


def busy_lanes(busy: Sequence[Busy]) -> Mapping[str, Spans]:
    """Each agent's busy time as disjoint ascending spans; agents that were not busy are absent."""
    by_agent: dict[str, list[tuple[float, float]]] = {}
    for one in busy:
        by_agent.setdefault(one.agent, []).append((one.start_s, one.end_s))
    return {agent: union(spans(pairs)) for agent, pairs in by_agent.items()}
