"""Time as sets: every operation against a grid of seconds."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.metrics.intervals import covers, gaps, length, most_at_once, spans, union

pairs = st.lists(st.tuples(st.integers(0, 20), st.integers(-2, 8)).map(lambda p: (p[0], p[0] + p[1])), max_size=12)
GRID = range(-1, 31)


def seconds(given):
    """The whole seconds [k, k + 1) that spans cover."""
    return {k for start, end in np.asarray(given).tolist() for k in GRID if start <= k < end}


@given(pairs)
def test_union_covers_the_same_seconds_and_is_disjoint(given_pairs):
    found = union(spans(given_pairs))
    assert seconds(found) == seconds(given_pairs)
    assert (found[:, 0] < found[:, 1]).all()
    assert (found[1:, 0] > found[:-1, 1]).all()
    assert length(found) == len(seconds(given_pairs))


@given(pairs)
def test_gaps_are_what_a_union_leaves_free(given_pairs):
    found = union(spans(given_pairs))
    free = gaps(found, first=-1.0, last=31.0)
    assert seconds(free) == set(GRID) - seconds(found)
    assert covers(found, np.arange(-1.0, 31.0)).tolist() == [k in seconds(found) for k in GRID]


@given(st.lists(pairs, max_size=5))
def test_most_at_once_is_the_busiest_second(lanes):
    busiest = max((sum(k in seconds(lane) for lane in lanes) for k in GRID), default=0)
    assert most_at_once([union(spans(lane)) for lane in lanes]) == busiest


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9)), max_size=20))
def test_length_is_the_exact_sum_rounded_once(given_pairs):
    found = union(spans(given_pairs))
    assert length(found) == float(sum(Fraction(end) - Fraction(start) for start, end in found.tolist()))


def test_one_lane_after_the_other_is_no_overlap():
    assert most_at_once([spans([(0, 1)]), spans([(1, 2)])]) == 1
