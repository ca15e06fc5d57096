"""Detectors that look at a batch: what rises in training while what it should serve does not.

Traces stand in the order of training and are of comparable tasks; the first half is compared with the second.
"""

from collections import defaultdict
from collections.abc import Sequence
from math import fsum, sqrt
from typing import NamedTuple

from orchestrace import metrics
from orchestrace.annotations import Evidence
from orchestrace.rewards._rows import mean
from orchestrace.rewards.balance import Spread, spreads
from orchestrace.rewards.compose import Composed
from orchestrace.rewards.findings import LEAST_TRACES, Batch, Finding, Trend, lacking, trend
from orchestrace.trace import Delegate, Spawn, Trace, Turn

SPAWNS, TURNS, GRADE = 0.5, 0.5, 0.02
"""Smaller changes count as none: in spawns, in critical steps, in what grades and verdicts say."""
DELEGATED, COLLAPSED = 0.5, 0.2
"""Share of traces that delegate: from at least the one to at most the other is a collapse."""
CORRELATED, PADDED, LEAST_FREE = 0.7, 0.05, 6
DROWNS, GROWS = 0.9, 0.4
"""Share of the variance of the total; growth of that share."""


def farmed_spawns(batch: Batch) -> tuple[Finding, ...]:
    """More and more agents are spawned, and neither critical steps nor the outcome get better.

    PARL's known failure where its weights are never annealed. Needs the team's grades.
    """
    name, graded = "pseudo_parallelism", _graded(batch)
    spawns, steps, outcome = (
        trend([float(_count(trace, Spawn)) for trace in graded]),
        trend([float(metrics.critical_steps(trace)) for trace in graded]),
        trend(_outcomes(batch, graded)),
    )
    if spawns is None or steps is None or outcome is None:
        says = f"Whether spawns are farmed takes at least {LEAST_TRACES} traces with a grade of the team."
        return lacking(name, "R7", traces=batch.traces, says=says)
    if not spawns.rises(SPAWNS) or steps.falls(TURNS) or outcome.rises(GRADE):
        return ()
    says = (
        f"Spawns rose {_from_to(spawns)} a trace, while critical steps went {_from_to(steps)} and the outcome "
        f"{_from_to(outcome)}."
    )
    return (Finding(name, "R7", says, _ids(graded), value=spawns.late - spawns.early, limit=SPAWNS),)


def delegation_collapse(batch: Batch) -> tuple[Finding, ...]:
    """Delegation dies out and the outcome does not get better: the serial collapse that PARL was made against.

    It is known to come where the orchestrator may only delegate and never act itself. An outcome that nobody graded
    counts as no better.
    """
    rate = trend([float(_count(trace, Spawn, Delegate) > 0) for trace in batch.traces])
    if rate is None:
        says = f"Whether delegation collapsed takes at least {LEAST_TRACES} traces."
        return lacking("delegation_collapse", "R7", traces=batch.traces, says=says)
    outcome = trend(_outcomes(batch, _graded(batch)))
    if rate.early < DELEGATED or rate.late > COLLAPSED or (outcome is not None and outcome.rises(GRADE)):
        return ()
    known = "" if outcome is None else f", while the outcome went {_from_to(outcome)}"
    says = f"The share of traces that delegate fell from {rate.early:.0%} to {rate.late:.0%}{known}."
    return (Finding("delegation_collapse", "R7", says, _ids(batch.traces), value=rate.late, limit=COLLAPSED),)


def verifier_collusion(batch: Batch) -> tuple[Finding, ...]:
    """The team's own verifiers approve more and more, and the grader does not.

    Verdicts by a named judge outside the team are left out: what counts is `Verdict.by` being an event of the trace, or
    empty. Needs grades of the team for grounding.
    """
    judged = [(trace, _approval(trace, batch.of(trace))) for trace in _graded(batch)]
    seen = [(trace, approval) for trace, approval in judged if approval is not None]
    approval, outcome = trend([value for _, value in seen]), trend(_outcomes(batch, [trace for trace, _ in seen]))
    if approval is None or outcome is None:
        says = f"Collusion takes at least {LEAST_TRACES} traces with verdicts by the team and a grade of it."
        return lacking("verifier_collusion", "R6", traces=batch.traces, says=says)
    if not approval.rises(GRADE) or outcome.rises(GRADE):
        return ()
    says = f"The team's verifiers approve more, {_from_to(approval)}, while the grade went {_from_to(outcome)}."
    ids = _ids([trace for trace, _ in seen])
    return (Finding("verifier_collusion", "R6", says, ids, value=approval.late - approval.early, limit=GRADE),)


def rubric_mismatch(batch: Batch) -> tuple[Finding, ...]:
    """A role's reward goes up and the team's down: the rubric asks for something else than the task.

    By `evidence.grades["role"]` and the team's grades.
    """
    graded = _graded(batch)
    roles = dict.fromkeys(role for trace in graded for role in batch.of(trace).grades.get("role", {}))
    found, looked = [], False
    for role in roles:
        own = [(trace, batch.of(trace).grade("role", role)) for trace in graded]
        seen = [(trace, grade) for trace, grade in own if grade is not None]
        rubric, outcome = trend([grade for _, grade in seen]), trend(_outcomes(batch, [trace for trace, _ in seen]))
        if rubric is None or outcome is None:
            continue
        looked = True
        if rubric.rises(GRADE) and outcome.falls(GRADE):
            says = f"Role {role!r} is graded better, {_from_to(rubric)}, while the team fell {_from_to(outcome)}."
            ids, gained = _ids([trace for trace, _ in seen]), rubric.late - rubric.early
            found.append(Finding("rubric_mismatch", "R3", says, ids, units=(role,), value=gained, limit=GRADE))
    if not looked:
        says = f"Rubric mismatch takes at least {LEAST_TRACES} traces with grades of a role and of the team."
        return lacking("rubric_mismatch", "R3", traces=batch.traces, says=says)
    return tuple(found)


def step_padding(batch: Batch, composed: Sequence[Composed]) -> tuple[Finding, ...]:
    """The process reward of a trace grows with its length, at equal outcome.

    r, the correlation of a process channel (R4) with the number of turns after both are centred among traces of the
    same task and grade, is at least 0.7, on six degrees of freedom or more, and the longest trace gains by it at least
    a twentieth of the channel's mean size. Source: ours.

    Args:
      batch: traces with the team's grades.
      composed: their rewards; channels of R4 are looked at.
    """
    length = {trace.trace_id: sum(isinstance(event, Turn) for event in trace.events) for trace in batch.traces}
    group = {trace.trace_id: (trace.task_id, batch.outcome(trace)) for trace in _graded(batch)}
    rewards: defaultdict[str, list[_Point]] = defaultdict(list)
    for result in composed:
        for channel in result.channels if result.trace_id in group else ():
            if channel.family == "R4":
                point = _Point(group[result.trace_id], float(length[result.trace_id]), channel.raw)
                rewards[channel.channel].append(point)
    found, looked = [], False
    for name, points in sorted(rewards.items()):
        fit = _within_groups(points)
        if fit is None:
            continue
        looked = True
        if fit.correlation >= CORRELATED and fit.gain >= PADDED * mean([abs(point.reward) for point in points]):
            ids, r = _ids(_graded(batch)), fit.correlation
            says = f"At equal outcome {name!r} pays {fit.slope:.3g} for every turn more (correlation {r:.2f})."
            found.append(Finding("step_padding", "R4", says, ids, units=(name,), value=r, limit=CORRELATED))
    if not looked:
        says = "Step padding takes a process reward on graded traces of unequal length and equal outcome."
        return lacking("step_padding", "R4", traces=batch.traces, says=says)
    return tuple(found)


def drowned_channels(batch: Batch, composed: Sequence[Composed]) -> tuple[Finding, ...]:
    """One channel other than the outcome makes nine tenths of the variance, though the outcome varies as well."""
    if len(composed) < LEAST_TRACES:
        says = f"Which channel drowns the rest takes the composed rewards of at least {LEAST_TRACES} traces."
        return lacking("drowned_channels", "R8", traces=batch.traces, says=says)
    outcomes = _outcome_channels(composed)
    parts = spreads(composed)
    weighted = [part for part in parts if part.share]
    if any(part.channel in outcomes and not part.variance for part in parts) or len(weighted) < 2:
        return ()
    top = max(weighted, key=_share)
    if _share(top) < DROWNS or top.channel in outcomes:
        return ()
    says = f"Channel {top.channel!r} makes {_share(top):.0%} of the variance of the reward and drowns the others."
    ids = tuple(result.trace_id for result in composed)
    return (Finding("drowned_channels", "R8", says, ids, units=(top.channel,), value=top.share, limit=DROWNS),)


def weight_drift(batch: Batch, composed: Sequence[Composed]) -> tuple[Finding, ...]:
    """A channel other than the outcome gained at least 0.4 of the variance from the first half to the second."""
    if len(composed) < LEAST_TRACES:
        says = f"Weight drift takes the composed rewards of at least {LEAST_TRACES} traces."
        return lacking("weight_drift", "R8", traces=batch.traces, says=says)
    half = len(composed) // 2
    before = {part.channel: _share(part) for part in spreads(composed[:half])}
    outcomes, ids = _outcome_channels(composed), tuple(result.trace_id for result in composed)
    found = []
    for part in spreads(composed[-half:]):
        early = before.get(part.channel, 0.0)
        if part.channel not in outcomes and _share(part) - early >= GROWS:
            says = (
                f"Channel {part.channel!r} grew from {early:.0%} to {_share(part):.0%} of the variance of the reward."
            )
            gained = _share(part) - early
            found.append(Finding("weight_drift", "R8", says, ids, units=(part.channel,), value=gained, limit=GROWS))
    return tuple(found)


class _Point(NamedTuple):
    group: tuple[str, float | None]
    length: float
    reward: float


class _Fit(NamedTuple):
    """A line through points that are centred in their groups."""

    slope: float
    correlation: float
    gain: float
    """What the longest gains over the shortest, within a group."""


def _within_groups(points: Sequence[_Point]) -> _Fit | None:
    """None: too few points beside the means of their groups, or all of a group equally long or equally paid."""
    groups: defaultdict[object, list[_Point]] = defaultdict(list)
    for point in points:
        groups[point.group].append(point)
    x, y = [], []
    for own in groups.values():
        length, reward = mean([point.length for point in own]), mean([point.reward for point in own])
        x += [point.length - length for point in own]
        y += [point.reward - reward for point in own]
    xx, yy = fsum(a * a for a in x), fsum(b * b for b in y)
    if len(points) - len(groups) < LEAST_FREE or not xx:
        return None
    xy = fsum(a * b for a, b in zip(x, y, strict=True))
    longest = max(max(p.length for p in own) - min(p.length for p in own) for own in groups.values())
    return _Fit(xy / xx, xy / sqrt(xx * yy) if yy else 0.0, xy / xx * longest)


def _approval(trace: Trace, evidence: Evidence) -> float | None:
    """Mean of the well-formed verdicts that the team's own judges gave."""
    events = {"", *(event.id for event in trace.events)}
    scores = [v.score for given in evidence.verdicts.values() for v in given if v.valid and v.by in events]
    return mean(scores) if scores else None


def _graded(batch: Batch) -> list[Trace]:
    return [trace for trace in batch.traces if batch.outcome(trace) is not None]


def _outcomes(batch: Batch, traces: Sequence[Trace]) -> list[float]:
    return [grade for trace in traces if (grade := batch.outcome(trace)) is not None]


def _outcome_channels(composed: Sequence[Composed]) -> set[str]:
    return {channel.channel for result in composed for channel in result.channels if channel.family == "R1"}


def _count(trace: Trace, *kinds: type) -> int:
    return sum(isinstance(event, kinds) for event in trace.events)


def _share(part: Spread) -> float:
    return part.share or 0.0


def _ids(traces: Sequence[Trace]) -> tuple[str, ...]:
    return tuple(trace.trace_id for trace in traces)


def _from_to(change: Trend) -> str:
    return f"from {change.early:.3g} to {change.late:.3g}"
