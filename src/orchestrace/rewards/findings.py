"""What a detector says, and how it tells a change from noise."""

from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from typing import NamedTuple

import msgspec

from orchestrace.annotations import Evidence, RewardFamily
from orchestrace.rewards._rows import mean
from orchestrace.trace import Trace

LEAST_TRACES = 8
"""Below this, nothing is said about how a batch changed."""


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One way in which reward was, or could be, earned without work; or what a detector lacked to look for it."""

    detector: str
    """Its name."""
    family: RewardFamily
    """The reward family that is gamed so."""
    says: str
    """One plain sentence."""
    traces: tuple[str, ...]
    """Ids of the traces that it is about."""
    known: bool = True
    """False: the detector could not look; `says` tells what was missing. A detector that looked and found nothing is
    silent."""
    units: tuple[str, ...] = ()
    """Ids of the agents, events or channels at fault."""
    value: float | None = None
    """What was measured; absent: several things were."""
    limit: float | None = None
    """From where on it is a finding."""


class Batch(NamedTuple):
    """Traces of comparable tasks in the order in which they were trained on, and what is known about each."""

    traces: Sequence[Trace]
    evidence: Mapping[str, Evidence]
    """By trace id; a trace without any is known by itself alone."""

    def of(self, trace: Trace) -> Evidence:
        """The evidence about one trace."""
        return self.evidence.get(trace.trace_id, Evidence())

    def outcome(self, trace: Trace) -> float | None:
        """The team's grade."""
        return self.of(trace).grade("team", trace.trace_id)


class Trend(NamedTuple):
    """The first half of a series against the second."""

    early: float
    late: float
    noise: float
    """Two standard errors of their difference."""

    def rises(self, least: float) -> bool:
        """Whether it went up by more than the noise, and by `least` at least."""
        return self.late - self.early >= least and self.late - self.early > self.noise

    def falls(self, least: float) -> bool:
        """Whether it went down so."""
        return self.early - self.late >= least and self.early - self.late > self.noise


def trend(values: Sequence[float]) -> Trend | None:
    """The trend of a series; None: it is shorter than `LEAST_TRACES`. The middle of an odd one is left out."""
    if len(values) < LEAST_TRACES:
        return None
    half = len(values) // 2
    first, second = values[:half], values[-half:]
    return Trend(mean(first), mean(second), 2 * sqrt(_error(first) + _error(second)))


def lacking(detector: str, family: RewardFamily, *, traces: Sequence[Trace], says: str) -> tuple[Finding, ...]:
    """A detector's word that it could not look."""
    return (Finding(detector, family, says, tuple(trace.trace_id for trace in traces), known=False),)


def _error(values: Sequence[float]) -> float:
    """Squared standard error of the mean."""
    centre = mean(values)
    return fsum((value - centre) ** 2 for value in values) / (len(values) - 1) / len(values)
