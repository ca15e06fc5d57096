"""Credit in words: who got it; cells that a judge scored; what it costs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.credit.counterfactuals.text import JudgeCredit, TextCredit, checked_texts, judge_scores, langmarl_calls

TEAMS = {"t1": ("planner", "coder"), "t2": ("planner",)}
WORDS = [
    TextCredit("planner", "t2", "split the task badly", 0.2),
    TextCredit("coder", "t1", "found the bug"),
    TextCredit("planner", "t1", "asked the right question", 0.9),
]


@given(st.permutations(WORDS))
def test_order_of_arrival_is_no_matter(words):
    assert checked_texts(words, agents=TEAMS) == (WORDS[2], WORDS[1], WORDS[0])


@given(st.sets(st.sampled_from("abcd")), st.lists(st.sampled_from("abcd"), max_size=5))
def test_passes_exactly_when_everyone_there_has_one(team, credited):
    words = [TextCredit(agent, "t", "well done") for agent in credited]
    if sorted(team) == sorted(credited):
        assert len(checked_texts(words, agents={"t": sorted(team)})) == len(team)
    else:
        with pytest.raises(ValueError, match="agent"):
            checked_texts(words, agents={"t": sorted(team)})


def test_calls_of_an_iteration():
    found = langmarl_calls(8, agents=3)
    assert found == (24, 8, 24, 6)
    assert found.total == 62
    assert langmarl_calls(0, agents=0).total == 0


@given(st.permutations([(agent, turn) for agent in "ab" for turn in range(3)]))
def test_every_cell_is_where_it_belongs(cells):
    found = judge_scores([JudgeCredit(a, t, (t + (a == "b")) / 4) for a, t in cells], ["a", "b"], rounds=3)
    assert found.tolist() == [[0, 0.25], [0.25, 0.5], [0.5, 0.75]]
    assert judge_scores([], [], rounds=0).shape == (0, 0)


ONE = [JudgeCredit("a", 0, 0.5)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: checked_texts(WORDS[1:], agents=TEAMS), "agent 'planner' has no credit in trace 't2'"),
        (lambda: checked_texts([*WORDS, WORDS[0]], agents=TEAMS), "agent 'planner' has two credits in trace 't2'"),
        (
            lambda: checked_texts([*WORDS, TextCredit("coder", "t2", "idle")], agents=TEAMS),
            "agent 'coder' has a credit, but took no part in trace 't2'",
        ),
        (lambda: checked_texts([TextCredit("a", "t3", "x")], agents=TEAMS), "trace 't3', which agents does not list"),
        (lambda: checked_texts([TextCredit("a", "t", " ")], agents={"t": ["a"]}), "says nothing"),
        (lambda: checked_texts([TextCredit("a", "t", "x", float("nan"))], agents={"t": ["a"]}), "is nan"),
        (lambda: checked_texts([], agents={"t": ["a", "a"]}), "agents lists 'a' twice in trace 't'"),
        (lambda: langmarl_calls(-1, agents=1), "traces is -1"),
        (lambda: judge_scores(ONE, ["a", "b"], rounds=1), "agent 'b' has no score in round 0"),
        (lambda: judge_scores(ONE * 2, ["a"], rounds=1), "agent 'a' has two scores in round 0"),
        (lambda: judge_scores(ONE, ["b"], rounds=1), "no cell for agent 'a' in round 0"),
        (lambda: judge_scores([JudgeCredit("a", 1, 0.5)], ["a"], rounds=1), "no cell for agent 'a' in round 1"),
        (lambda: judge_scores([JudgeCredit("a", 0, 1.5)], ["a"], rounds=1), "is 1.5"),
        (lambda: judge_scores([JudgeCredit("a", 0, float("nan"))], ["a"], rounds=1), "is nan"),
        (lambda: judge_scores([], ["a", "a"], rounds=1), "agents names 'a' twice"),
        (lambda: judge_scores([], [], rounds=-1), "rounds is -1"),
    ],
)
def test_odd_inputs_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
