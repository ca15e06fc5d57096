"""R6, debate and verifier reward: what was said, by what a judge or the debate's end made of it.

How it is gamed: verifiers that agree with whatever they see, and talk that repeats itself (`hacking`: verifier
collusion, repeated messages).
"""

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from orchestrace.annotations import Evidence, LedgerKind, Reward, Verdict
from orchestrace.rewards._rows import mean, rows_or, unit_of, verdicts_on
from orchestrace.rewards.absence import Rewards
from orchestrace.trace import Trace


class Interaction(NamedTuple):
    """One round of CoMAS: a solution, a peer's evaluation of it, and the event in which a judge scored the solution."""

    solution: str
    evaluation: str
    judge: str


def verdict(trace: Trace, evidence: Evidence, *, by: str | None = None) -> Rewards:
    """Each judged event by the mean of its well-formed verdicts.

    A row is about the message, turn, tool call or decision that the event is, else about the turn that made it.

    Args:
      trace: the debate.
      evidence: `verdicts` by event.
      by: one judge's verdicts alone: its name, or the event in which the debate was resolved; absent: everyone's.
    """
    found = []
    for event in trace.events:
        unit, given = unit_of(event), verdicts_on(event.id, evidence, by=by)
        if unit is not None and given:
            value = mean([verdict.score for verdict in given])
            found.append(Reward("verdict", "R6", *unit, value, f"mean of {len(given)}"))
    return rows_or("verdict", found, "no event has a well-formed verdict" + (f" by {by!r}" if by is not None else ""))


def comas(
    trace: Trace,
    evidence: Evidence,
    *,
    interactions: Sequence[Interaction],
    malformed: float = -1.0,
    centred: bool = False,
) -> Rewards:
    """CoMAS: what a solution gains, its evaluation loses. One row for each of the three events of an interaction.

        solution: u,     evaluation: 1 − u,     u in [0, 1] the judge's score of the solution
        judge: 0 for a well-formed verdict, `malformed` for another

    So each pair sums to 1, or to 0 where it is centred (u − ½ and ½ − u), and the judge earns nothing by what it says.
    A malformed verdict says nothing about the pair, which then has no rows. Scores 1, 2, 3 are u = 0, ½, 1. Source:
    CoMAS (arXiv 2510.08529), whose code was not public: pairing and penalty by its text, the numbers ours.

    Args:
      trace: the rollout.
      evidence: `verdicts` on the solution, with the judge's event as `by`; of several the last counts.
      interactions: who solved, who evaluated, who judged, by event id.
      malformed: what a malformed verdict costs the judge.
      centred: pairs that sum to 0.

    Raises:
      ValueError: an interaction names an event that the trace lacks, or a score lies outside [0, 1].
    """
    units: dict[str, tuple[LedgerKind, str] | None] = {event.id: unit_of(event) for event in trace.events}
    shift = 0.5 if centred else 0.0
    found = []
    for pair in interactions:
        unknown = [name for name in pair if name not in units]
        if unknown:
            raise ValueError(f"interaction names {unknown[0]!r}, but trace {trace.trace_id!r} has no such event")
        given = [v for v in evidence.verdicts.get(pair.solution, ()) if v.by == pair.judge]
        for event, value, why in _paid(pair, given[-1], malformed=malformed, shift=shift) if given else ():
            unit = units[event]
            if unit is not None:
                found.append(Reward("comas", "R6", *unit, value, why))
    return rows_or("comas", found, "no interaction has a verdict by its judge")


def _paid(pair: Interaction, given: Verdict, *, malformed: float, shift: float) -> list[tuple[str, float, str]]:
    """Event, value, why."""
    if not given.valid:
        return [(pair.judge, malformed, "malformed verdict")]
    if not (isfinite(given.score) and 0 <= given.score <= 1):
        raise ValueError(f"the verdict on {pair.solution!r} is {given.score}; it must lie in [0, 1]")
    return [
        (pair.solution, given.score - shift, "solution"),
        (pair.evaluation, 1.0 - given.score - shift, "evaluation"),
        (pair.judge, 0.0, "well-formed verdict"),
    ]
