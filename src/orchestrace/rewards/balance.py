"""How much each channel moves the total, and weights that would share the movement out as one wishes."""

from collections.abc import Mapping, Sequence
from math import fsum, sqrt
from typing import NamedTuple

import msgspec

from orchestrace.rewards._rows import mean
from orchestrace.rewards.compose import Composed, Term


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """One channel over a batch of traces."""

    channel: str
    traces: int
    """Traces on which the channel could be worked out; the moments are over them."""
    mean: float
    """Of the raw channel."""
    variance: float
    """Of the raw channel, with 1/n."""
    share: float | None
    """Variance of the weighted channel / sum of those variances, in [0, 1]; absent: no channel varies."""
    of_total: float | None
    """Cov(weighted channel, total) / Var(total): what it moves of the total, alone and together with others. These sum
    to 1 over the channels and may be negative; absent: the total does not vary, or is not known on every trace."""
    balanced: float | None
    """The weight with which it would have its target share; absent: it carries no weight, or does not vary."""


class Moments(msgspec.Struct, frozen=True, gc=False):
    """Mean and variance of a channel so far. The default has seen nothing."""

    n: float = 0.0
    """How many values it stands for; less than it has seen, where old ones are forgotten."""
    mean: float = 0.0
    variance: float = 0.0
    """With 1/n."""


def moments(before: Mapping[str, Moments], batch: Sequence[Composed], *, keep: float = 1.0) -> dict[str, Moments]:
    """Each raw channel's moments with one more batch.

    With n, μ, v so far, kept to the share `keep`, and m values of mean μ', variance v' (Chan, Golub, LeVeque 1979):

        n ← keep·n,     δ = μ' − μ,     μ ← μ + δ·m/(n + m),     v ← (n·v + m·v' + δ²·n·m/(n + m)) / (n + m)

    Args:
      before: empty at the start.
      batch: composed rewards; a trace on which a channel is unavailable says nothing about it.
      keep: share of the past that is kept, in [0, 1]; 1: the exact variance of all values.

    Raises:
      ValueError: `keep` lies outside [0, 1].
    """
    if not 0 <= keep <= 1:
        raise ValueError(f"keep is {keep}; it must lie in [0, 1]")
    found = dict(before)
    for name, values in _raw(batch).items():
        old = found.get(name, Moments())
        n, m = keep * old.n, len(values)
        centre, spread = _two(values)
        delta, both = centre - old.mean, n + m
        variance = (n * old.variance + m * spread + delta * delta * n * m / both) / both
        found[name] = Moments(both, old.mean + delta * m / both, variance)
    return found


def balanced(
    terms: Sequence[Term], known: Mapping[str, Moments], *, targets: Mapping[str, float] | None = None
) -> tuple[Term, ...]:
    """The terms with weights under which each channel has its target share of the variance.

        w'_c = sign(w_c) · √(target_c · Σ_d w_d² v_d / v_c)

    over the channels that carry weight and vary, so that Σ w² v stays what it was; the others keep their weights. It
    takes channels for uncorrelated. Never done unless asked for: reported, it is `Spread.balanced`. Source: ours, for
    the survey's open question of balancing by variance (arXiv 2605.02801, §6.4).

    Args:
      terms: with the weights that serve now.
      known: raw moments by channel.
      targets: channel -> share that it should have, above 0, in any unit; a channel without one keeps its weight.
        Absent: equal shares.

    Raises:
      ValueError: a target is not above 0.
    """
    for name, target in (targets or {}).items():
        if not target > 0:
            raise ValueError(f"the target of {name!r} is {target}; it must be above 0")
    wished = {
        term.channel: 1.0 if targets is None else targets[term.channel]
        for term in terms
        if term.weight and known.get(term.channel, Moments()).variance > 0
        if targets is None or term.channel in targets
    }
    all_wished = fsum(wished.values())
    whole = fsum(term.weight**2 * known[term.channel].variance for term in terms if term.channel in wished)
    made = []
    for term in terms:
        if term.channel in wished:
            size = sqrt(wished[term.channel] / all_wished * whole / known[term.channel].variance)
            term = msgspec.structs.replace(term, weight=size if term.weight > 0 else -size)
        made.append(term)
    return tuple(made)


def spreads(batch: Sequence[Composed], *, targets: Mapping[str, float] | None = None) -> tuple[Spread, ...]:
    """Each channel's part in how the total varies over a batch, by name.

    Args:
      batch: composed rewards of comparable traces; on a trace without it a channel adds 0 to the total, and is counted
        so in `share` and `of_total`.
      targets: as in `balanced`, for `Spread.balanced`; the weights that serve now are those of the last trace.
    """
    raw, known = _raw(batch), moments({}, batch)
    latest = {channel.channel: channel.weight for result in batch for channel in result.channels}
    wished = {
        term.channel: term.weight for term in balanced([Term(*pair) for pair in latest.items()], known, targets=targets)
    }
    totals = [result.total for result in batch]
    total = [number for number in totals if number is not None]
    added = {name: [fsum(c.weighted for c in result.channels if c.channel == name) for result in batch] for name in raw}
    variances = {name: _two(values).variance for name, values in added.items()}
    whole, all_of_it = fsum(variances.values()), _two(total).variance if len(total) == len(totals) and total else 0.0
    return tuple(
        Spread(
            channel=name,
            traces=len(raw[name]),
            mean=known[name].mean,
            variance=known[name].variance,
            share=variances[name] / whole if whole else None,
            of_total=_covariance(added[name], total) / all_of_it if all_of_it else None,
            balanced=wished[name] if latest[name] and known[name].variance > 0 else None,
        )
        for name in sorted(raw)
    )


class _Two(NamedTuple):
    """The first two moments."""

    mean: float
    variance: float


def _raw(batch: Sequence[Composed]) -> dict[str, list[float]]:
    """Channel -> its raw values, of the traces that have it."""
    found: dict[str, list[float]] = {}
    for result in batch:
        for channel in result.channels:
            found.setdefault(channel.channel, []).append(channel.raw)
    return found


def _two(values: Sequence[float]) -> _Two:
    centre = mean(values)
    return _Two(centre, mean([(value - centre) ** 2 for value in values]))


def _covariance(a: Sequence[float], b: Sequence[float]) -> float:
    centre_a, centre_b = mean(a), mean(b)
    return mean([(x - centre_a) * (y - centre_b) for x, y in zip(a, b, strict=True)])
