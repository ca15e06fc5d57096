"""The one sentence: the gravest thing first, in plain words."""

import pytest
from hypothesis import given

from metrics.timed_teams import EMPTY, troubled
from orchestrace.report import doubts, headline, report, silent, told_tokens
from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    HumanIntervention,
    Message,
    Return,
    Source,
    Spawn,
    Stop,
    Tokens,
    Turn,
)


class Team:
    """Two sub-agents that work side by side; what went wrong is said by the arguments."""

    def __init__(self, *, read=2, statuses=("completed", "completed"), apart=0.0, stop=True, delivered=None):
        self.b = Builder(trace_id="t", task_id="t", source=Source("test", "1"))
        self.b.agent(Agent("main"))
        self.turn = self.b.append(Turn, "main", t=0, duration_s=1, tokens=Tokens(output=20))
        for child in "ab":
            self.b.agent(Agent(child, parent="main"))
            self.b.append(Spawn, "main", to=child, t=1)
        for place, child in enumerate("ab"):
            self.b.append(Turn, child, t=1 + place * apart, duration_s=10, tokens=Tokens(output=40))
        back = [self.b.append(Return, c, to="main", t=30, status=s) for c, s in zip("ab", statuses, strict=True)]
        if delivered is not None:
            self.b.append(Message, "main", to="a", t=30, delivered=delivered)
        last = self.b.append(Turn, "main", t=1 + apart + 10, duration_s=1)
        if read:
            self.b.append(Aggregate, "main", inputs=tuple(one.id for one in back[:read]), turn=last.id)
        if stop:
            self.b.append(Stop, "main", t=40)

    @property
    def headline(self):
        return headline(report(self.b.build()))


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({}, "Nothing was lost: 2 sub-agents, all 2 returns were read, 1.83 times as fast as one agent."),
        ({"read": 1}, "1 of 2 returns was never read; 40% of tokens."),
        ({"read": 0, "delivered": False}, "2 of 2 returns were never read; 80% of tokens."),
        ({"delivered": False}, "The only message was never received."),
        ({"statuses": ("failed", "completed")}, "1 of 2 returns was not a success."),
        ({"stop": False}, "The log ends before the team has answered."),
        ({"apart": 10.0}, "2 sub-agents bought no time: the team was 1.00 times as fast as one agent."),
    ],
)
def test_what_is_said(wrong, sentence):
    assert Team(**wrong).headline == sentence


def alone():
    b = Builder(trace_id="t", task_id="t", source=Source("test", "1"))
    b.agent(Agent("main"))
    b.append(Turn, "main", t=0, duration_s=1)
    return b


def test_one_agent_and_nobody():
    b = alone()
    b.append(Stop, "main", t=1)
    assert headline(report(b.build())) == "One agent, 1 turn; nothing was lost."
    assert headline(report(EMPTY)) == "The trace holds no events."


def test_waiting_for_a_person():
    b = alone()
    b.append(HumanIntervention, "main", t=9)
    b.append(Turn, "main", t=9, duration_s=1)
    b.append(Stop, "main", t=10)
    assert headline(report(b.build())) == "80% of the time nobody worked: the team waited for a person."


def test_talking_about_itself():
    b = alone()
    b.agent(Agent("a", parent="main"))
    turn = b.append(Turn, "main", t=1, duration_s=1, tokens=Tokens(output=100), content=b.text("x" * 10))
    b.append(Spawn, "main", to="a", t=2, turn=turn.id, content=b.text("y" * 90))
    b.append(Turn, "a", t=2, duration_s=1, tokens=Tokens(output=1))
    back = b.append(Return, "a", to="main", t=3)
    b.append(Aggregate, "main", inputs=(back.id,), t=3)
    b.append(Stop, "main", t=3)
    assert headline(report(b.build())) == "89% of the output tokens went into running the team, not into the task."


def test_doubtful_output_tokens_make_no_headline():
    b = alone()
    b.agent(Agent("a", parent="main"))
    turn = b.append(Turn, "main", t=1, duration_s=1, tokens=Tokens(output=100), content=b.text("x"))
    b.append(Spawn, "main", to="a", t=2, turn=turn.id, content=b.text("y" * 90))
    b.append(Turn, "a", t=2, duration_s=1, tokens=Tokens(output=1))
    b.append(Aggregate, "main", inputs=(b.append(Return, "a", to="main", t=3).id,), t=3)
    b.append(Stop, "main", t=3)
    assert "98% of the output tokens" in headline(report(b.build()))
    found = report(b.build(diagnostics={"doubtful_output_tokens": 2}))
    assert headline(found) == "Nothing was lost: 1 sub-agent, what came back was read."
    assert told_tokens(found) == "101 tokens, at least 101 of them output"
    assert [doubt.value for doubt in doubts(found)] == ["2"]


def test_agents_whose_logs_are_missing_are_told_beside_the_totals():
    b = alone()
    for name in ("a", "b", "c"):
        b.agent(Agent(name, parent="main"))
        b.append(Spawn, "main", to=name, t=1)
    b.append(Turn, "a", t=1, duration_s=1, tokens=Tokens(output=9))
    b.append(Return, "b", to="main", t=2)
    found = report(b.build())
    assert silent(found) == 2
    assert told_tokens(found) == "9 tokens, 9 of them output, without those of 2 spawned agents"
    assert [(doubt.name, doubt.value) for doubt in doubts(found)] == [("spawned agents without a turn", "2")]


def test_time_that_the_log_does_not_explain():
    b = alone()
    b.append(Turn, "main", t=99, duration_s=1)
    b.append(Stop, "main", t=100)
    assert headline(report(b.build())) == "98% of the wall time nobody was busy, as far as the log says."


def test_agents_that_nobody_is_known_to_have_made():
    b = alone()
    b.agent(Agent("lost", unlinked=True))
    b.append(Stop, "main", t=1)
    trace = b.build(diagnostics={"unlinked": 1})
    assert headline(report(trace)) == "The log does not say who spawned 1 of its 2 agents."


def test_a_person_spoke_and_nobody_answered():
    b = Builder(trace_id="t", task_id="t", source=Source("test", "1"))
    b.agent(Agent("main"))
    b.append(HumanIntervention, "main", t=0, initial=True)
    assert headline(report(b.build())) == "No agent did anything."


@given(troubled)
def test_there_is_always_one_sentence(trace):
    said = headline(report(trace))
    assert said.endswith(".")
    assert "\n" not in said
