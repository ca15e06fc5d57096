"""The critical path: its laws on any trace, and its answers on teams that can be read by eye."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given

from metrics.timed_teams import dated, real_numbers, shifted, troubled
from orchestrace.metrics import CLAUDE_CODE, critical_path, work
from orchestrace.trace import (
    Agent,
    Builder,
    HumanIntervention,
    Message,
    Return,
    Source,
    Spawn,
    Stop,
    ToolCall,
    ToolResult,
    Turn,
)


def path(trace, tools=CLAUDE_CODE):
    return critical_path(trace, work(trace, tools=tools).busy, tools=tools)


def said(trace):
    """(agent, start, end, reason) of each piece."""
    return [(piece.agent, piece.start_s, piece.end_s, piece.reason) for piece in path(trace)]


def team(*agents):
    builder = Builder(trace_id="t", task_id="t", source=Source("claude_code", "1"))
    builder.agent(Agent("main"))
    for agent in agents:
        builder.agent(Agent(agent, parent="main"))
    return builder


@given(troubled | dated | real_numbers)
def test_the_pieces_are_the_elapsed_time_exactly(trace):
    busy = work(trace, tools=CLAUDE_CODE).busy
    pieces = path(trace)
    if not busy:
        assert pieces == ()
        return
    first, last = min(one.start_s for one in busy), max(one.end_s for one in busy)
    assert sum(Fraction(p.end_s) - Fraction(p.start_s) for p in pieces) == Fraction(last) - Fraction(first)
    assert all(before.end_s == after.start_s for before, after in pairwise(pieces))
    assert all(piece.start_s < piece.end_s for piece in pieces)


@given(troubled | real_numbers)
def test_busy_pieces_lie_within_the_event_they_name(trace):
    busy = {trace.events[one.place].id: one for one in work(trace, tools=CLAUDE_CODE).busy}
    events = {event.id: event for event in trace.events}
    for piece in path(trace):
        assert events[piece.event].agent == piece.agent
        if piece.busy:
            one = busy[piece.event]
            assert one.start_s <= piece.start_s < piece.end_s <= one.end_s
            assert piece.reason == one.kind


@given(dated)
def test_a_later_clock_moves_the_path_and_nothing_else(trace):
    moved = [(a, s - 64.0, e - 64.0, why) for a, s, e, why in said(shifted(trace, 64.0))]
    assert moved == said(trace)


def test_one_agent_alone():
    b = team()
    b.append(HumanIntervention, "main", t=0.0, initial=True)
    turn = b.append(Turn, "main", t=0.0, duration_s=3.0)
    call = b.append(ToolCall, "main", tool="Bash", t=2.0, duration_s=4.0, turn=turn.id)
    b.append(ToolResult, "main", tool="Bash", call=call.id, t=6.0)
    b.append(Turn, "main", t=6.5, duration_s=1.5)
    assert said(b.build()) == [
        ("main", 0.0, 2.0, "model"),  # clipped: the call began while the turn was still being written
        ("main", 2.0, 6.0, "tool"),
        ("main", 6.0, 6.5, "idle"),
        ("main", 6.5, 8.0, "model"),
    ]


def test_the_slowest_child_is_on_the_path():
    b = team("quick", "slow")
    turn = b.append(Turn, "main", t=0.0, duration_s=2.0)
    b.append(Spawn, "main", to="quick", t=1.0, turn=turn.id)
    b.append(Spawn, "main", to="slow", t=2.0, turn=turn.id)
    b.append(Turn, "quick", t=1.0, duration_s=3.0)
    b.append(Turn, "slow", t=2.5, duration_s=6.0)
    b.append(Return, "quick", to="main", t=4.0)
    b.append(Return, "slow", to="main", t=9.0)
    b.append(Turn, "main", t=9.0, duration_s=1.0)
    assert said(b.build()) == [
        ("main", 0.0, 2.0, "model"),
        ("slow", 2.0, 2.5, "waiting for main"),
        ("slow", 2.5, 8.5, "model"),
        ("slow", 8.5, 9.0, "waiting for slow"),
        ("main", 9.0, 10.0, "model"),
    ]


def test_a_person_in_between():
    b = team()
    turn = b.append(Turn, "main", t=0.0, duration_s=2.0)
    b.append(Stop, "main", t=2.0, turn=turn.id)
    b.append(HumanIntervention, "main", t=10.0)
    b.append(Turn, "main", t=10.0, duration_s=1.0)
    assert said(b.build()) == [("main", 0.0, 2.0, "model"), ("main", 2.0, 10.0, "human"), ("main", 10.0, 11.0, "model")]


@pytest.mark.parametrize(("tool", "reason"), [("TaskOutput", "waiting for child"), ("AskUserQuestion", "human")])
def test_a_waiting_call_says_what_it_waited_for(tool, reason):
    b = team("child")
    turn = b.append(Turn, "main", t=0.0, duration_s=1.0)
    b.append(Spawn, "main", to="child", t=1.0, turn=turn.id)
    call = b.append(ToolCall, "main", tool=tool, t=1.0, duration_s=7.0, turn=turn.id)
    b.append(Turn, "child", t=2.0, duration_s=4.0)
    b.append(ToolResult, "main", tool=tool, call=call.id, t=8.0)
    b.append(Turn, "main", t=8.0, duration_s=1.0)
    assert said(b.build()) == [("main", 0.0, 1.0, "model"), ("main", 1.0, 8.0, reason), ("main", 8.0, 9.0, "model")]


def test_a_background_call_did_not_hold_up_what_went_on_beside_it():
    b = team()
    first = b.append(Turn, "main", t=0.0, duration_s=2.0)
    b.append(ToolCall, "main", tool="Bash", t=1.0, duration_s=99.0, turn=first.id)
    b.append(Turn, "main", t=2.0, duration_s=100.0)
    assert said(b.build()) == [("main", 0.0, 2.0, "model"), ("main", 2.0, 102.0, "model")]


def test_what_took_unknown_time_is_the_reason_for_the_gap():
    b = team()
    b.append(Turn, "main", t=0.0)
    b.append(Turn, "main", t=5.0, duration_s=1.0)
    pieces = path(b.build())
    assert [(p.start_s, p.end_s, p.reason, p.busy) for p in pieces] == [
        (0.0, 5.0, "model", False),
        (5.0, 6.0, "model", True),
    ]


def test_a_cause_without_a_time_is_seen_through():
    b = team("child")
    turn = b.append(Turn, "main", t=0.0, duration_s=2.0)
    b.append(Spawn, "main", to="child", turn=turn.id)
    b.append(Turn, "child", t=2.0, duration_s=2.0)
    assert said(b.build()) == [("main", 0.0, 2.0, "model"), ("child", 2.0, 4.0, "model")]


def test_a_message_is_a_cause_once_delivered():
    def talk(delivered):
        b = Builder(trace_id="t", task_id="t")
        b.agent(Agent("a"))
        b.agent(Agent("b"))
        b.append(Turn, "b", t=0.0, duration_s=1.0)
        turn = b.append(Turn, "a", t=0.0, duration_s=4.0)
        b.append(Message, "a", to="b", t=4.0, turn=turn.id, delivered=delivered)
        b.append(Turn, "b", t=4.0, duration_s=1.0)
        return said(b.build())

    assert talk(delivered=True) == [("a", 0.0, 4.0, "model"), ("b", 4.0, 5.0, "model")]
    assert talk(delivered=False) == [("b", 0.0, 1.0, "model"), ("b", 1.0, 4.0, "idle"), ("b", 4.0, 5.0, "model")]


def test_a_child_dated_before_its_spawn():
    b = team("child")
    turn = b.append(Turn, "main", t=0.0, duration_s=2.0)
    b.append(Spawn, "main", to="child", t=2.0, turn=turn.id)
    b.append(Turn, "child", t=1.5, duration_s=4.0)
    assert said(b.build()) == [("main", 0.0, 1.5, "model"), ("child", 1.5, 5.5, "model")]


def test_what_was_said_while_writing_does_not_hide_the_writing():
    b = team("child")
    turn = b.append(Turn, "main", t=0.0, duration_s=10.0)
    b.append(Spawn, "main", to="child", t=5.0, turn=turn.id)
    b.append(Turn, "main", t=10.0, duration_s=1.0)
    assert said(b.build()) == [("main", 0.0, 10.0, "model"), ("main", 10.0, 11.0, "model")]


def test_of_answers_at_one_moment_the_agents_is_followed():
    """A return that a waiting call brought: the path goes on through the child, not through the wait."""
    b = team("child")
    turn = b.append(Turn, "main", t=0.0, duration_s=1.0)
    b.append(Spawn, "main", to="child", t=1.0, turn=turn.id)
    call = b.append(ToolCall, "main", tool="TaskOutput", t=1.0, duration_s=7.0, turn=turn.id)
    b.append(Turn, "child", t=1.0, duration_s=7.0)
    b.append(Return, "child", to="main", t=8.0)
    b.append(ToolResult, "main", tool="TaskOutput", call=call.id, t=8.0)
    b.append(Turn, "main", t=8.0, duration_s=1.0)
    assert said(b.build()) == [("main", 0.0, 1.0, "model"), ("child", 1.0, 8.0, "model"), ("main", 8.0, 9.0, "model")]


def test_the_cause_that_ended_last_is_followed_whoever_sent_it():
    b = team("child")
    turn = b.append(Turn, "main", t=0.0, duration_s=1.0)
    b.append(Spawn, "main", to="child", t=1.0, turn=turn.id)
    call = b.append(ToolCall, "main", tool="Bash", t=1.0, duration_s=7.0, turn=turn.id)
    b.append(Turn, "child", t=1.0, duration_s=2.0)
    b.append(Return, "child", to="main", t=3.0)
    b.append(ToolResult, "main", tool="Bash", call=call.id, t=8.0)
    b.append(Turn, "main", t=8.0, duration_s=1.0)
    assert said(b.build()) == [("main", 0.0, 1.0, "model"), ("main", 1.0, 8.0, "tool"), ("main", 8.0, 9.0, "model")]
