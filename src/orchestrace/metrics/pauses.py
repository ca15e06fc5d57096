"""Stretches in which no agent was busy, and what ended them."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple

from orchestrace.metrics.intervals import Spans, gaps, spans, union
from orchestrace.trace import HumanIntervention, Trace

HANDOVER_S = 1.0
"""A shorter pause that no person ends is a hand-over: two writers' records of one moment, apart by a flush or a clock.
Nobody works in it, so it is left out of wall time, with the waits for people."""


class Pauses(NamedTuple):
    """Time in which nobody was busy, as disjoint ascending spans that may touch."""

    human: Spans
    """The next thing that happened was a human intervention, or it was a hand-over of under a second."""
    idle: Spans
    """It was something else: a timer, a network, an agent whose log is missing."""


def pauses(trace: Trace, lanes: Iterable[Spans], *, first: float, last: float) -> Pauses:
    """The pauses between the first and the last busy moment.

    Args:
      trace: any trace.
      lanes: the busy time of each agent.
      first: start of the first busy span, in seconds.
      last: end of the last.
    """
    busy = union(spans((start, end) for lane in lanes for start, end in lane.tolist()))
    by_human: dict[float, bool] = {}
    for event in trace.events:
        if event.t is not None and first < event.t <= last:
            by_human[event.t] = by_human.get(event.t, False) or isinstance(event, HumanIntervention)
    times = sorted(by_human)
    human: list[tuple[float, float]] = []
    idle: list[tuple[float, float]] = []
    for start, end in gaps(busy, first=first, last=last).tolist():
        brief = end - start < HANDOVER_S
        while start < end:
            place = bisect_right(times, start)
            until = min(times[place], end) if place < len(times) else end
            (human if brief or by_human.get(until, False) else idle).append((start, until))
            start = until
    return Pauses(spans(human), spans(idle))
