"""Ticks are round, inside the range, and few."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.report import clock, duration
from orchestrace.viewer.scale import Scale, clock_ticks, number, ticks

reals = st.floats(-1e6, 1e6, allow_nan=False)


@given(reals, st.floats(1e-3, 1e6), st.integers(2, 12))
def test_ticks_lie_inside_and_are_few(low: float, width: float, most: int) -> None:
    found = ticks(low, low + width, most)
    slack = 1e-6 * max(1.0, abs(low), width)
    assert all(low - slack <= t <= low + width + slack for t in found)
    assert len(found) <= most + 1
    assert list(found) == sorted(set(found))


@given(st.floats(0, 1e9), st.integers(3, 12))
def test_a_clock_starts_at_zero_and_ends_in_time(high: float, most: int) -> None:
    found = clock_ticks(high, most)
    assert found[0] == 0.0
    assert len(found) <= most + 1
    assert found[-1] <= high * (1 + 1e-9) + 1e-9


@given(reals, st.floats(1e-3, 1e6), st.floats(-2, 3))
def test_a_scale_stays_on_the_page(low: float, width: float, share: float) -> None:
    scale = Scale(low, low + width, 400.0, 10.0)
    assert 10.0 - 1e-6 <= scale(low + share * width) <= 400.0 + 1e-6


def test_an_empty_range_is_no_error() -> None:
    assert Scale(3.0, 3.0, 0.0, 10.0)(3.0) == 0.0
    assert ticks(3.0, 3.0, 5) == (3.0,)
    assert clock_ticks(0.0, 5) == (0.0,)


@pytest.mark.parametrize(
    ("seconds", "on_the_clock", "as_length"),
    [(0.0, "0 s", "0 s"), (1.25, "1.25 s", "1.25 s"), (42.0, "0:42", "42 s"), (59.7, "1:00", "1 min"),
     (310.2, "5:10", "5 min 10 s"), (3900.0, "1:05:00", "1 h 5 min")],
)  # fmt: skip
def test_times_as_people_say_them(seconds: float, on_the_clock: str, as_length: str) -> None:
    assert clock(seconds) == on_the_clock
    assert duration(seconds) == as_length


def test_numbers() -> None:
    assert [number(x) for x in (0.30000000000000004, 5.0, 20_000.0)] == ["0.3", "5", "20k"]
