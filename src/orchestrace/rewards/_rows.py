"""How reward functions make rows, and what they look up in the evidence."""

from collections.abc import Iterable, Sequence
from math import fsum, isfinite

from orchestrace.annotations import Evidence, LedgerKind, Reward, RewardFamily, UnitKind, Verdict
from orchestrace.rewards.absence import Rewards, Unavailable
from orchestrace.trace import Aggregate, Delegate, Event, Message, Spawn, Stop, ToolCall, ToolResult, Trace, Turn

HALF = 0.5
"""From this score on, a verdict or a grade says right."""


def rows_or(channel: str, found: Iterable[Reward], why: str) -> Rewards:
    """The rows; where there are none, why.

    Raises:
      ValueError: a row's value is not finite. Evidence that a caller made holds such a number.
    """
    made = tuple(found)
    for row in made:
        if not isfinite(row.value):
            raise ValueError(f"{row.channel} of {row.unit} {row.id!r} is {row.value}; it must be finite")
    return made or Unavailable(channel, why)


def team_row(channel: str, family: RewardFamily, *, trace: Trace, value: float, why: str = "") -> Rewards:
    """One row for the whole team."""
    return rows_or(channel, [Reward(channel, family, "team", trace.trace_id, value + 0.0, why)], "")


def graded(channel: str, family: RewardFamily, *, unit: UnitKind, ids: Sequence[str], evidence: Evidence) -> Rewards:
    """A row for each of these units that a grader saw."""
    grades = evidence.grades.get(unit, {})
    found = [Reward(channel, family, unit, name, grades[name]) for name in ids if name in grades]
    return rows_or(channel, found, f"the evidence grades no {unit} of this trace")


def unit_of(event: Event) -> tuple[LedgerKind, str] | None:
    """The unit that an event is, else the turn that made it; None: neither."""
    match event:
        case Turn():
            return "turn", event.id
        case Message():
            return "message", event.id
        case ToolCall():
            return "tool_call", event.id
        case ToolResult():
            return "tool_call", event.call
        case Spawn() | Delegate() | Aggregate() | Stop():
            return "decision", event.id
        case _:
            return None if event.turn is None else ("turn", event.turn)


def verdicts_on(event: str, evidence: Evidence, *, by: str | None = None) -> list[Verdict]:
    """The well-formed verdicts on an event; of one judge, or of all."""
    given = evidence.verdicts.get(event, ())
    return [verdict for verdict in given if verdict.valid and by in (None, verdict.by)]


def score(event: Event, evidence: Evidence) -> float | None:
    """How good an event is: the mean of its verdicts, else its grade, else that of the turn that made it."""
    given = verdicts_on(event.id, evidence)
    if given:
        return mean([verdict.score for verdict in given])
    own = unit_of(event)
    known = None if own is None else _grade(evidence, *own)
    return _grade(evidence, "turn", event.turn) if known is None and event.turn is not None else known


def _grade(evidence: Evidence, unit: LedgerKind, name: str) -> float | None:
    return next((grades.get(name) for kind, grades in evidence.grades.items() if kind == unit), None)


def mean(numbers: Sequence[float]) -> float:
    """The arithmetic mean of one number or more."""
    return fsum(numbers) / len(numbers)


def counted(n: int, noun: str) -> str:
    """`1 agent`, `3 agents`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
