"""R1: one number for the whole rollout."""

import math
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Evidence, Reward
from orchestrace.rewards import Unavailable, graders, rows, team
from rewards.hand_made import EVIDENCE, NOTHING, one, small_team

words = st.lists(st.sampled_from(["paris", "the", "a", "in", "France.", "is", "42"]), max_size=6).map(" ".join)
items = st.frozensets(st.integers(0, 6))


def test_a_grade_is_a_row_about_the_team():
    assert team.outcome(small_team(), EVIDENCE) == (Reward("outcome", "R1", "team", "t", 0.8),)


def test_without_a_grade_there_is_a_reason_and_no_zero():
    given_ = team.outcome(small_team(), NOTHING)
    assert given_ == Unavailable("outcome", "the evidence grades no team of this trace")
    assert rows(given_) == ()


def test_a_grade_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"outcome of team 't' is nan; it must be finite"):
        team.outcome(small_team(), Evidence(grades={"team": {"t": math.nan}}))


def test_what_the_environment_paid():
    trace = small_team(rewards={"team": 0.75})
    assert one(team.env_return(trace, NOTHING)) == 0.75
    missing = team.env_return(trace, NOTHING, name="other")
    assert missing == Unavailable("env_return", "the trace records no reward 'other'; it records: team")


def test_answers_against_references():
    trace = small_team()
    assert one(team.exact_match(trace, NOTHING, answer="The  Paris!", references=["London", "paris"])) == 1
    # said {in, paris}, right {paris, france}: one common word, 2·1/(2 + 2)
    assert one(team.token_f1(trace, NOTHING, answer="in Paris", references=["Paris, France"])) == 0.5
    assert one(team.numeric(trace, NOTHING, answer="1,204", reference=1200, relative=0.01)) == 1
    assert one(team.numeric(trace, NOTHING, answer="1,204", reference=1200)) == 0
    assert one(team.numeric(trace, NOTHING, answer="about 1200", reference=1200)) == 0
    assert one(team.numeric(trace, NOTHING, answer="nan", reference=1200)) == 0
    assert one(team.tests_passed(trace, NOTHING, passed=[True, False, True, True])) == 0.75


def test_no_answer_is_not_a_wrong_answer():
    trace = small_team()
    given_ = [
        team.exact_match(trace, NOTHING, answer=None, references=["x"]),
        team.token_f1(trace, NOTHING, answer=None, references=["x"]),
        team.item_f1(trace, NOTHING, answer=None, reference={1}),
        team.table_f1(trace, NOTHING, answer=None, reference=[], key=["k"]),
        team.numeric(trace, NOTHING, answer=None, reference=1),
        team.tests_passed(trace, NOTHING, passed=[]),
    ]
    assert all(isinstance(one_, Unavailable) for one_ in given_)
    assert one(team.item_f1(trace, NOTHING, answer=[], reference={1})) == 0


def test_a_table_whose_rows_align_by_key():
    right = [{"City": "Paris", "Size": "2.1"}, {"City": "Rome", "Size": "2.8"}]
    said = [{"city": "rome", "size": "2.8"}, {"city": "PARIS", "size": "21"}]
    # four cells each, and all but Paris's size are common (2.1 is not 21): 2·3/(4 + 4)
    found = team.table_f1(small_team(), NOTHING, answer=said, reference=right, key=["city"])
    assert one(found) == 0.75
    assert isinstance(found, tuple)
    assert found[0].channel == "item_f1"


@pytest.mark.parametrize("references", [[], "Paris"])
def test_references_are_a_list(references):
    with pytest.raises(ValueError, match="references is"):
        graders.exact("Paris", references)


def squad_f1(answer, reference):
    """The textbook form, by precision and recall."""

    def clean(text):
        text = re.sub(r"[^\w\s]", "", text.lower())
        return [w for w in text.split() if w not in ("a", "an", "the")]

    said, right = clean(answer), clean(reference)
    common = sum((Counter(said) & Counter(right)).values())
    if not said or not right:
        return float(said == right)
    if not common:
        return 0.0
    precision, recall = common / len(said), common / len(right)
    return 2 * precision * recall / (precision + recall)


@given(words, words)
def test_token_f1_is_the_textbook_one(answer, reference):
    assert math.isclose(graders.token_f1(answer, [reference]), squad_f1(answer, reference))
    assert graders.token_f1(answer, [reference, answer]) == 1
    assert graders.exact(answer, [reference]) <= graders.token_f1(answer, [reference])


@given(items, items)
def test_item_f1(said, right):
    found = graders.item_f1(said, right)
    assert found == graders.item_f1(right, said)
    assert (found == 1) == (said == right)
    if said & right:
        precision, recall = len(said & right) / len(said), len(said & right) / len(right)
        assert math.isclose(found, 2 * precision * recall / (precision + recall))
