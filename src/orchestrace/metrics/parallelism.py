"""E2, parallelism: how much work was done in how much time, and what running side by side bought."""

from collections.abc import Mapping, Sequence
from math import fsum

import msgspec

from orchestrace.metrics.busy import Work, busy_lanes, work
from orchestrace.metrics.critical_path import Segment, critical_path
from orchestrace.metrics.critical_steps import critical_steps
from orchestrace.metrics.flow import useful_utilisation
from orchestrace.metrics.intervals import length, most_at_once
from orchestrace.metrics.pauses import pauses
from orchestrace.metrics.tokens import LEAST_COVERAGE
from orchestrace.metrics.tools import NO_NAMES, ToolNames
from orchestrace.trace import Trace, Turn

_TIMES = ("work_s", "span_s", "elapsed_s", "human_s", "idle_s", "wall_s", "speedup", "efficiency")
_NO_LEAF = "the trace holds no turn and no tool call"


class Parallelism(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Seconds, and what follows from them. Absent is not known; `unknown` says why."""

    work_s: float | None
    """Sum over agents of the time in which each was busy."""
    span_s: float | None
    """The busy part of the critical path."""
    elapsed_s: float | None
    """From the first busy moment to the last."""
    human_s: float | None
    """Nobody was busy, and the next thing that happened was a human intervention; hand-overs under a second too."""
    idle_s: float | None
    """Nobody was busy for a second or more, and the next thing was something else."""
    wall_s: float | None
    """elapsed - human."""
    speedup: float | None
    """(recorded serial_s, else work_s) / wall_s."""
    peak_concurrency: int | None
    """Most agents busy at once."""
    efficiency: float | None
    """speedup / peak_concurrency."""
    critical_steps: int | None
    """Turns on the longest branch, stage by stage; needs no times."""
    useful_utilisation: float | None
    """Sub-agent actions with a path to the final answer / all sub-agent actions."""
    coverage: float | None
    """Share of turns and leaf tool calls with a known start and duration."""
    critical_path: tuple[Segment, ...]
    """Sums to elapsed_s exactly; empty where no time is known."""
    unknown: Mapping[str, str] = {}
    """Field -> why it is absent."""


def parallelism(trace: Trace, *, tools: ToolNames = NO_NAMES) -> Parallelism:
    """The parallelism of a trace (E2 of the survey, arXiv 2605.02801; the definitions are ours).

    Args:
      trace: any trace, also one that breaks the laws.
      tools: names of the tools that wait for agents or people; their calls are not busy time.
    """
    done = work(trace, tools=tools)
    path = critical_path(trace, done.busy, tools=tools)
    times = _times(trace, done, path)
    useful = useful_utilisation(trace)
    steps = critical_steps(trace) if any(isinstance(event, Turn) for event in trace.events) else None
    reason = _missing(done) or "no time passed: wall_s is 0"
    known = {*times, "peak_concurrency"} if "work_s" in times else {*times}
    unknown = {name: reason for name in (*_TIMES, "peak_concurrency") if name not in known}
    unknown |= {} if useful.value is not None else {"useful_utilisation": useful.unknown}
    unknown |= {} if steps is not None else {"critical_steps": "the trace holds no turn"}
    unknown |= {} if done.leaves else {"coverage": _NO_LEAF}
    return Parallelism(
        **{name: times.get(name) for name in _TIMES},
        peak_concurrency=_peak(done) if "work_s" in times else None,
        critical_steps=steps,
        useful_utilisation=useful.value,
        coverage=done.coverage,
        critical_path=path,
        unknown=unknown,
    )


def _missing(done: Work) -> str | None:
    """What stands in the way of any figure about busy time."""
    if not done.leaves:
        return _NO_LEAF
    if not done.busy:
        return "no turn and no tool call carries a time"
    if (done.coverage or 0.0) < LEAST_COVERAGE:
        timed = sum(one.timed for one in done.busy)
        return f"only {timed} of {done.leaves} turns and tool calls carry a time and a duration"
    return None


def _times(trace: Trace, done: Work, path: Sequence[Segment]) -> dict[str, float]:
    """Those of the figures that are known."""
    if not done.busy:
        return {}
    first, last = min(one.start_s for one in done.busy), max(one.end_s for one in done.busy)
    times = {"elapsed_s": last - first}
    if _missing(done):
        return times
    lanes = busy_lanes(done.busy)
    paused = pauses(trace, lanes.values(), first=first, last=last)
    times["work_s"] = fsum(length(lane) for lane in lanes.values())
    times["span_s"] = fsum(number for piece in path if piece.busy for number in (piece.end_s, -piece.start_s))
    times["human_s"], times["idle_s"] = length(paused.human), length(paused.idle)
    times["wall_s"] = times["elapsed_s"] - times["human_s"]
    if times["wall_s"] > 0:
        serial_s = trace.costs.get("serial_s", trace.metrics.get("serial_s", times["work_s"]))
        times["speedup"] = serial_s / times["wall_s"]
        times["efficiency"] = times["speedup"] / _peak(done)
    return times


def _peak(done: Work) -> int:
    """Most agents busy at once; an agent that acted in an instant was busy then, so at least one."""
    return max(most_at_once(list(busy_lanes(done.busy).values())), 1)
