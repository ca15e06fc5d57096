"""R8, hybrid reward: channels by weights, each one kept raw and weighted.

    total = Σ_c weighted_c,     weighted_c = weight_c · factor_c · raw_c

A channel that pays many units counts as the sum of its rows, or as their mean. Nothing is lost on the way: the rows,
each channel's numbers, and what could not be worked out stay in the result.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, isfinite
from typing import Literal

import msgspec

from orchestrace.annotations import Reward, RewardFamily
from orchestrace.rewards._rows import mean, team_row
from orchestrace.rewards.absence import Rewards, Unavailable
from orchestrace.rewards.schedules import Constant, Schedule, factor
from orchestrace.trace import Trace


class Term(msgspec.Struct, frozen=True):
    """How one channel enters the total."""

    channel: str
    weight: float = 1.0
    schedule: Schedule = Constant()
    reduce: Literal["sum", "mean"] = "sum"
    """How the rows of a channel make one number."""
    optional: bool = False
    """True: where the channel is unavailable, the total does without it. False: then there is no total."""


class Channel(msgspec.Struct, frozen=True, gc=False):
    """One channel on one trace."""

    channel: str
    family: RewardFamily
    raw: float
    """Sum or mean of its rows."""
    weight: float
    """After schedule; 0 where no term names the channel, which is then only logged."""
    weighted: float
    """weight · raw."""
    row_weight: float
    """What each row is multiplied with, so that the weighted rows sum to `weighted`."""


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """The reward of one trace, with everything that it is made of."""

    trace_id: str
    channels: tuple[Channel, ...]
    """In the order of the terms, then those without a term by name."""
    total: float | None
    """`math.fsum` of the weighted channels, so their order makes no difference; absent: a channel that carries weight
    and is not optional is unavailable."""
    rewards: tuple[Reward, ...]
    """Every row, raw."""
    unavailable: tuple[Unavailable, ...]


def composed(
    trace: Trace,
    emitted: Iterable[Rewards],
    *,
    terms: Sequence[Term],
    progress: float = 0.0,
    factors: Mapping[str, float] | None = None,
) -> Composed:
    """The weighted sum of channels.

    Args:
      trace: what the channels speak of.
      emitted: what reward functions gave; each channel by one of them.
      terms: one a channel. Channels without a term are logged with weight 0.
      progress: share of the updates that are done, for the schedules.
      factors: channel -> a further factor, of a schedule that has a memory (`schedules.annealed`).

    Raises:
      ValueError: a channel was emitted twice or has two terms; a term or a factor names a channel that was not emitted;
        a weight is not finite.
    """
    given, unavailable = _sorted(emitted)
    factors = factors or {}
    _check_names(terms, factors, known={*given, *(gone.channel for gone in unavailable)})
    unweighted = set(given) - {term.channel for term in terms}
    terms = [*terms, *(Term(name, 0.0) for name in sorted(unweighted))]
    weights = {t.channel: _weight(t, progress) * factors.get(t.channel, 1.0) for t in terms}
    channels = tuple(_channel(t, given[t.channel], weights[t.channel]) for t in terms if t.channel in given)
    lacking = any(t.channel not in given and weights[t.channel] and not t.optional for t in terms)
    return Composed(
        trace_id=trace.trace_id,
        channels=channels,
        total=None if lacking else fsum(channel.weighted for channel in channels),
        rewards=tuple(row for rows in given.values() for row in rows),
        unavailable=unavailable,
    )


def weighted_rows(result: Composed) -> tuple[Reward, ...]:
    """Every row times its weight; those of a channel sum to its `weighted`, up to rounding."""
    by = {channel.channel: channel.row_weight for channel in result.channels}
    return tuple(msgspec.structs.replace(row, value=by[row.channel] * row.value) for row in result.rewards)


def total(trace: Trace, result: Composed) -> Rewards:
    """The total as a row of its own, with the sum in words: channel `total`, family R8."""
    if result.total is None:
        missing = ", ".join(sorted(gone.channel for gone in result.unavailable))
        return Unavailable("total", f"not available: {missing}")
    why = " + ".join(f"{c.weight:g}·{c.channel} {c.raw:g}" for c in result.channels if c.weight)
    return team_row("total", "R8", trace=trace, value=result.total, why=why)


def _sorted(emitted: Iterable[Rewards]) -> tuple[dict[str, tuple[Reward, ...]], tuple[Unavailable, ...]]:
    given: dict[str, tuple[Reward, ...]] = {}
    unavailable: dict[str, Unavailable] = {}
    for rewards in emitted:
        names = {rewards.channel} if isinstance(rewards, Unavailable) else {row.channel for row in rewards}
        for name in names:
            if name in given or name in unavailable:
                raise ValueError(f"channel {name!r} was emitted twice")
        if isinstance(rewards, Unavailable):
            unavailable[rewards.channel] = rewards
            continue
        for name in sorted(names):
            given[name] = tuple(row for row in rewards if row.channel == name)
    return given, tuple(unavailable.values())


def _check_names(terms: Sequence[Term], factors: Mapping[str, float], *, known: set[str]) -> None:
    seen: set[str] = set()
    for name in [*(term.channel for term in terms), *factors]:
        if name not in known:
            raise ValueError(f"no channel {name!r} was emitted; there are: {', '.join(sorted(known)) or 'none'}")
    for term in terms:
        if term.channel in seen:
            raise ValueError(f"channel {term.channel!r} has two terms")
        seen.add(term.channel)


def _weight(term: Term, progress: float) -> float:
    if not isfinite(term.weight):
        raise ValueError(f"the weight of {term.channel!r} is {term.weight}; it must be finite")
    return term.weight * factor(term.schedule, progress)


def _channel(term: Term, rows: Sequence[Reward], weight: float) -> Channel:
    values = [row.value for row in rows]
    raw = mean(values) if term.reduce == "mean" else fsum(values)
    row_weight = weight / len(values) if term.reduce == "mean" else weight
    return Channel(term.channel, rows[0].family, raw, weight, weight * raw, row_weight)
