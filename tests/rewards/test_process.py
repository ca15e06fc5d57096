"""R4: progress, never raw value."""

from math import fsum, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Evidence
from orchestrace.rewards import Unavailable, process
from orchestrace.trace import Agent, Builder, Turn
from orchestrace.trace.views import turns
from rewards.hand_made import EVIDENCE, NOTHING, reordered, small_team, values


def test_progress_by_hand():
    # in trace order: V(a.0) = .25, V(a.3) = 1, V(b.0) = 0, starting from .1
    found = values(process.progress(small_team(), EVIDENCE, start=0.1))
    assert found == {"a.0": 0.15, "a.3": 0.75, "b.0": -1.0}
    assert values(process.progress(small_team(), EVIDENCE)) == {"a.3": 0.75, "b.0": -1.0}


def test_fewer_than_two_values():
    assert isinstance(process.progress(small_team(), NOTHING), Unavailable)
    assert isinstance(process.progress(small_team(), NOTHING, values={"a.0": 0.3}), Unavailable)
    with pytest.raises(ValueError, match="start is nan"):
        process.progress(small_team(), EVIDENCE, start=float("nan"))


def chain(n):
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    for _ in range(n):
        b.append(Turn, "main")
    return b.build()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.floats(0, 1))
def test_it_telescopes(levels, start):
    grades = {f"main.{i}": v for i, v in enumerate(levels)}
    found = process.progress(chain(len(levels)), Evidence(grades={"turn": grades}), start=start)
    assert isclose(fsum(values(found).values()), levels[-1] - start, abs_tol=1e-12)


@given(st.integers(1, 20))
def test_turns_that_add_nothing_earn_nothing(n):
    grades = {f"main.{i}": 0.5 for i in range(n)}
    padded = process.progress(chain(n), Evidence(grades={"turn": grades}), start=0.0)
    assert fsum(values(padded).values()) == 0.5


@given(st.randoms(use_true_random=False))
def test_another_order_with_values_of_its_own_prefixes(die):
    """Where a prefix is worth the sum of what its turns bring, each turn earns what it brings, in any order."""
    trace = small_team()
    worth = {turn.id: n + 1 for n, turn in enumerate(turns(trace))}
    other = reordered(trace, die)
    so_far, prefix_values = 0, {}
    for turn in turns(other):
        so_far += worth[turn.id]
        prefix_values[turn.id] = float(so_far)
    assert values(process.progress(other, NOTHING, values=prefix_values, start=0.0)) == worth
