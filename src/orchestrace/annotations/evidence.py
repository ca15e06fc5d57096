"""What the world outside a trace says about it: grades, verdicts, labels, and shares that were worked out earlier.

Rewards are pure functions of a trace and an `Evidence`. A grader or a judge runs elsewhere; what it said arrives here.
"""

from collections.abc import Mapping

import msgspec

from orchestrace.annotations.units import UnitKind


class Verdict(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, forbid_unknown_fields=True):
    """What a judge, or an agent that plays one, said of one event."""

    score: float
    """In [0, 1]: 0 wrong, 1 right."""
    by: str = ""
    """Id of the event that holds the verdict, or the name of a judge outside the team; empty: not known."""
    valid: bool = True
    """False: malformed, so that `score` says nothing."""


class Evidence(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Everything that rewards may know beyond the trace. Absent means unknown, never 0."""

    grades: Mapping[UnitKind, Mapping[str, float]] = {}
    """Unit kind -> unit id -> what a grader gave it, usually in [0, 1]."""
    verdicts: Mapping[str, tuple[Verdict, ...]] = {}
    """Event id -> the verdicts on it, in the order they were given."""
    labels: Mapping[str, tuple[str, ...]] = {}
    """Event id, or the trace id for the task itself -> the items that it covers, by name."""
    shares: Mapping[UnitKind, Mapping[str, float]] = {}
    """Unit kind -> unit id -> its share of the team's reward, where a credit method has worked it out."""

    def grade(self, unit: UnitKind, name: str) -> float | None:
        """What a unit was given; None: no grader saw it."""
        return self.grades.get(unit, {}).get(name)

    def share(self, unit: UnitKind, name: str) -> float | None:
        """A unit's share of the team's reward; None: nobody worked it out."""
        return self.shares.get(unit, {}).get(name)
