"""R3: each role by its own measure."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Evidence, Verdict
from orchestrace.rewards import Unavailable, role
from orchestrace.trace import Agent, Builder, Turn
from rewards.hand_made import EVIDENCE, NOTHING, small_team, values


def test_a_grade_for_a_role():
    assert values(role.role_grade(small_team(), EVIDENCE)) == {"solver": 0.9}
    assert isinstance(role.role_grade(small_team(), NOTHING), Unavailable)


def test_a_rubric_weighs_the_criteria_that_were_judged():
    # a.3 of the solver: format 1.0, depth malformed, so 1.0; with b.0 as a criterion too: (3·1 + 1·.5)/4
    trace = small_team()
    assert values(role.role_rubric(trace, EVIDENCE, rubrics={"solver": {"format": 3, "depth": 1}})) == {"a.3": 1.0}
    assert values(role.role_rubric(trace, EVIDENCE, rubrics={"solver": {"format": 3, "b.0": 1}})) == {"a.3": 0.875}
    assert isinstance(role.role_rubric(trace, EVIDENCE, rubrics={"lead": {"format": 1}}), Unavailable)
    with pytest.raises(ValueError, match="the rubric of 'solver' gives 'format' the weight 0"):
        role.role_rubric(trace, EVIDENCE, rubrics={"solver": {"format": 0}})


def three_roles():
    b = Builder(trace_id="t", task_id="k")
    for name in ("solver", "verifier", "corrector"):
        b.agent(Agent(name, role=name))
        b.append(Turn, name)
    return b.build()


def told(right, score, *, corrected=1.0, valid=True):
    return Evidence(
        grades={"turn": {"solver.0": right, "corrector.0": corrected}},
        verdicts={"solver.0": (Verdict(score, by="verifier.0", valid=valid),)},
    )


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (told(0.0, 0.1), {"solver.0": 0, "verifier.0": 1, "corrector.0": 1}),
        (told(0.0, 0.9, corrected=0.0), {"solver.0": 0, "verifier.0": 0, "corrector.0": 0}),
        (told(1.0, 0.9), {"solver.0": 1, "verifier.0": 1, "corrector.0": 1}),
        (
            told(0.5, 0.5, corrected=0.5),
            {"solver.0": 1, "verifier.0": 1, "corrector.0": 1},
        ),  # from a half on it is right
        (told(0.5, 0.4), {"solver.0": 1, "verifier.0": 0, "corrector.0": 1}),
        (told(0.4, 0.5), {"solver.0": 0, "verifier.0": 0, "corrector.0": 1}),
        (told(1.0, 0.9, valid=False), {"solver.0": 1, "verifier.0": 0, "corrector.0": 1}),
    ],
)
def test_marsrl(evidence, expected):
    assert values(role.verifiable_role(three_roles(), evidence)) == expected


def test_what_cannot_be_checked_has_no_row():
    unknown = Evidence(verdicts={"solver.0": (Verdict(1.0, by="verifier.0"),)})
    assert isinstance(role.verifiable_role(three_roles(), unknown), Unavailable)


@given(st.sampled_from([0.0, 1.0]), st.floats(0, 1), st.sampled_from([0.0, 1.0]))
def test_no_role_is_paid_for_what_comes_later(right, score, corrected):
    whole, evidence = three_roles(), told(right, score, corrected=corrected)
    found = values(role.verifiable_role(whole, evidence))
    for n in (1, 2):
        earlier = values(role.verifiable_role(msgspec.structs.replace(whole, events=whole.events[:n]), evidence))
        assert earlier == {name: value for name, value in found.items() if name in earlier}
        assert len(earlier) == n
