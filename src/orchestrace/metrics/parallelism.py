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
from orchestrace.trace import Stop, Trace, Turn

_TIMES = ("work_s", "span_s", "elapsed_s", "human_s", "idle_s", "wall_s", "speedup", "efficiency")
LONG_S = 60.0
"""A tool call of more seconds may hide a wait for a person's permission, which most logs do not record."""
_ONE_AGENT = "one agent: nobody worked beside it, as far as the log says"
_NO_LEAF = "the trace holds no turn and no tool call"


class Parallelism(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Seconds, and what follows from them. Absent is not known; `unknown` says why."""

    work_s: float | None
    """Sum over agents of the time in which each was busy."""
    span_s: float | None
    """The busy part of the critical path."""
    elapsed_s: float | None
    """From the first busy moment to the last."""
    answer_s: float | None
    """From the first busy moment to the last stop with the reason `answer`; agents may be busy after it."""
    human_s: float | None
    """Nobody was busy, and the next thing that happened was a human intervention; hand-overs under a second too."""
    idle_s: float | None
    """Nobody was busy for a second or more, and the next thing was something else."""
    wall_s: float | None
    """elapsed - human."""
    speedup: float | None
    """(recorded serial_s, else work_s) / wall_s; absent where one agent alone was busy, and no serial_s is recorded."""
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
    long_calls: int
    """Leaf tool calls of more than a minute. A wait for a permission inside one counts as work."""
    long_calls_s: float
    """Seconds of these calls, summed."""
    outside_agents: int
    """Unlinked agents of which something is left out of every time here, since no root lived then (`Work.outside`)."""
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
    long = [one.end_s - one.start_s for one in done.busy if one.kind == "tool" and one.end_s - one.start_s > LONG_S]
    path = critical_path(trace, done.busy, tools=tools)
    times = _times(trace, done, path)
    useful = useful_utilisation(trace)
    steps = critical_steps(trace) if any(isinstance(event, Turn) for event in trace.events) else None
    answer_s, unanswered = _answer(trace, done)
    known = {*times, "peak_concurrency"} if "work_s" in times else {*times}
    unknown = {name: _reason(times, done) for name in (*_TIMES, "peak_concurrency") if name not in known}
    unknown |= {} if answer_s is not None else {"answer_s": unanswered}
    unknown |= {} if useful.value is not None else {"useful_utilisation": useful.unknown}
    unknown |= {} if steps is not None else {"critical_steps": "the trace holds no turn"}
    unknown |= {} if done.leaves else {"coverage": _NO_LEAF}
    return Parallelism(
        **{name: times.get(name) for name in _TIMES},
        answer_s=answer_s,
        peak_concurrency=_peak(done) if "work_s" in times else None,
        critical_steps=steps,
        useful_utilisation=useful.value,
        coverage=done.coverage,
        long_calls=len(long),
        long_calls_s=fsum(long),
        outside_agents=len({one.agent for one in done.outside}),
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


def _reason(times: Mapping[str, float], done: Work) -> str:
    """Why figures about busy time are not known; where the times are, only the ratios can be missing."""
    return _missing(done) or (_ONE_AGENT if times["wall_s"] > 0 else "no time passed: wall_s is 0")


def _alone(done: Work) -> bool:
    return sum(len(lane) > 0 for lane in busy_lanes(done.busy).values()) < 2


def _answer(trace: Trace, done: Work) -> tuple[float | None, str]:
    """Seconds from the first busy moment to the last answer, or why they are not known."""
    answers = [event.t for event in trace.events if isinstance(event, Stop) and event.reason == "answer"]
    if not answers:
        return None, "no stop with an answer"
    first = min((one.start_s for one in done.busy), default=None)
    last = max((t for t in answers if t is not None), default=None)
    if first is None or last is None:
        return None, "the answer, or all that came before it, carries no time"
    return (last - first, "") if last >= first else (None, "the answer is dated before all work")


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
    recorded = trace.costs.get("serial_s", trace.metrics.get("serial_s"))
    if times["wall_s"] > 0 and (recorded is not None or not _alone(done)):
        serial_s = times["work_s"] if recorded is None else recorded
        times["speedup"] = serial_s / times["wall_s"]
        times["efficiency"] = times["speedup"] / _peak(done)
    return times


def _peak(done: Work) -> int:
    """Most agents busy at once; an agent that acted in an instant was busy then, so at least one."""
    return max(most_at_once(list(busy_lanes(done.busy).values())), 1)
