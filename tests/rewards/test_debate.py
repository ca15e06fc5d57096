"""R6: verdicts, and CoMAS's pairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Evidence, Verdict
from orchestrace.rewards import Unavailable, debate
from orchestrace.rewards.debate import Interaction
from rewards.hand_made import EVIDENCE, NOTHING, small_team, values

PAIR = Interaction("a.3", "b.1", "main.3")


def judged(score, valid=True):
    return Evidence(verdicts={"a.3": (Verdict(score, by="main.3", valid=valid),)})


def test_verdicts_are_about_the_unit_that_the_event_is():
    # a.3: mean of .5 and 1, the malformed one left out; a.4 and b.2 are returns, so about the turns that made them
    found = debate.verdict(small_team(), EVIDENCE)
    assert isinstance(found, tuple)
    assert [(row.unit, row.id, row.value) for row in found] == [
        ("decision", "main.1", 1.0),
        ("decision", "main.2", 0.0),
        ("tool_call", "a.1", 1.0),
        ("turn", "a.3", 0.75),
        ("turn", "a.3", 0.7),
        ("turn", "b.0", 0.4),
        ("decision", "main.4", 0.9),
    ]
    assert values(debate.verdict(small_team(), EVIDENCE, by="b.0")) == {"a.3": 0.5}
    assert debate.verdict(small_team(), NOTHING, by="x") == Unavailable(
        "verdict", "no event has a well-formed verdict by 'x'"
    )


@given(st.floats(0, 1), st.booleans())
def test_what_a_solution_gains_its_evaluation_loses(score, centred):
    found = debate.comas(small_team(), judged(score), interactions=[PAIR], centred=centred)
    assert isinstance(found, tuple)
    assert {row.unit for row in found} == {"turn", "message"}
    paid = values(found)
    assert abs(paid["a.3"] + paid["b.1"] - (0.0 if centred else 1.0)) < 1e-12
    assert paid["main.3"] == 0


def test_a_malformed_verdict_costs_the_judge_and_says_nothing_of_the_pair():
    assert values(debate.comas(small_team(), judged(0.9, valid=False), interactions=[PAIR])) == {"main.3": -1.0}


def test_odd_input():
    trace = small_team()
    assert isinstance(debate.comas(trace, NOTHING, interactions=[PAIR]), Unavailable)
    assert isinstance(debate.comas(trace, judged(0.5), interactions=[]), Unavailable)
    with pytest.raises(ValueError, match="interaction names 'nobody', but trace 't' has no such event"):
        debate.comas(trace, judged(0.5), interactions=[Interaction("a.3", "nobody", "main.3")])
    for score in (1.5, float("nan")):
        with pytest.raises(ValueError, match=r"the verdict on 'a\.3' is .*; it must lie in \[0, 1\]"):
            debate.comas(trace, judged(score), interactions=[PAIR])
