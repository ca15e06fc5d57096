"""Axes: from a quantity to a place on the page, and the round numbers where ticks stand."""

import math
from typing import NamedTuple

_CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)


class Scale(NamedTuple):
    """A linear map from [low, high] to [start, end] on the page."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """The place of a value; one outside the range is put at the range's edge."""
        return self.beyond(min(max(value, self.low), self.high))

    def beyond(self, value: float) -> float:
        """The place of a value, outside the range too."""
        return self.start + (value - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)


def ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    """Multiples of 1, 2 or 5 times a power of ten within [low, high], at most about `most` of them."""
    if not high - low > 1e-9 * max(1.0, abs(low)):
        return (low,)
    raw = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * (1 - 1e-9))
    return _multiples(low, high, step)


def clock_ticks(high_s: float, most: int) -> tuple[float, ...]:
    """Ticks of a clock from 0, in whole seconds, minutes, hours; where few seconds are shown, in parts of a second."""
    if high_s <= most:
        return ticks(0.0, high_s, most)
    step = next((s for s in _CLOCK_STEPS if high_s / s <= most), 86400 * math.ceil(high_s / 86400 / most))
    return _multiples(0.0, high_s, float(step))


def number(value: float) -> str:
    """A tick's number without noise: `0.5`, `12000` as `12k`."""
    if abs(value) >= 10_000:
        return f"{value / 1000:g}k"
    return f"{value:.10g}"


def _multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return tuple(i * step for i in range(first, last + 1))
