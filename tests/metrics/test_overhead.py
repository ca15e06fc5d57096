"""What share of what a team wrote was about the team itself."""

import msgspec
import pytest
from hypothesis import given

from metrics.timed_teams import EMPTY, teams
from orchestrace.metrics import CLAUDE_CODE, overhead
from orchestrace.metrics.overhead import block_tokens
from orchestrace.trace import Agent, Aggregate, Builder, Message, Return, Source, Spawn, Stop, Tokens, ToolCall, Turn


def alone():
    b = Builder(trace_id="t", task_id="t", source=Source("claude_code", "1"))
    b.agent(Agent("main"))
    return b


def team():
    b = alone()
    b.agent(Agent("a", parent="main"))
    return b


def test_tokens_are_split_by_bytes():
    b = team()
    turn = b.append(Turn, "main", tokens=Tokens(input=7, output=100), content=b.text("x" * 10))
    b.append(Spawn, "main", to="a", turn=turn.id, content=b.text("y" * 20))
    b.append(ToolCall, "main", tool="TaskCreate", turn=turn.id, content=b.text("z" * 30))
    b.append(ToolCall, "main", tool="Bash", turn=turn.id, content=b.text("w" * 40))
    found = overhead(b.build(), tools=CLAUDE_CODE)
    assert found.protocol_tokens == {"management": 30.0, "spawn": 20.0}
    assert found.protocol_overhead == 0.5
    assert found.delegation_cost_tokens == 107.0
    assert found.coverage == 1.0
    assert overhead(b.build()).protocol_overhead == 0.2  # without names no tool manages


def test_a_span_wins_over_bytes_and_reasoning_is_no_block():
    b = team()
    turn = b.append(Turn, "main", tokens=Tokens(output=100, reasoning=50), content=b.text("x" * 10))
    b.append(Spawn, "main", to="a", turn=turn.id, token_span=(60, 70), content=b.text("y" * 1000))
    b.append(Message, "main", to="a", turn=turn.id, content=b.text("z" * 30))
    assert overhead(b.build()).protocol_tokens == {"spawn": 10.0, "message": 30.0}


def test_an_answer_is_not_overhead_but_a_block_that_stops_is():
    b = team()
    b.append(Spawn, "main", to="a")
    turn = b.append(Turn, "main", tokens=Tokens(output=100), content=b.text("the answer"))
    b.append(Stop, "main", turn=turn.id, content=b.text("the answer"))
    assert overhead(b.build()).protocol_overhead == 0.0
    other = team()
    other.append(Spawn, "main", to="a")
    turn = other.append(Turn, "main", tokens=Tokens(output=100), content=other.text("the answer"))
    other.append(Stop, "main", turn=turn.id, content=other.text("I am done."))
    assert overhead(other.build()).protocol_tokens == {"stop": 50.0}


def test_one_agent_is_no_team():
    """Its task list runs nobody: a share of team talk would mean nothing."""
    b = alone()
    turn = b.append(Turn, "main", tokens=Tokens(output=100), content=b.text("x" * 10))
    b.append(ToolCall, "main", tool="TodoWrite", turn=turn.id, content=b.text("y" * 30))
    b.agent(Agent("stranger", unlinked=True))
    found = overhead(b.build(), tools=CLAUDE_CODE)
    assert found.protocol_overhead is found.protocol_tokens is None
    assert found.unknown["protocol_overhead"] == "no team: no agent made or addressed another"
    b.append(Message, "main", to="stranger", turn=turn.id, content=b.text("z" * 60))
    assert overhead(b.build(), tools=CLAUDE_CODE).protocol_overhead == 0.9


def test_an_aggregate_beside_the_text():
    b = team()
    b.append(Spawn, "main", to="a")
    back = b.append(Return, "a", to="main")
    turn = b.append(Turn, "main", tokens=Tokens(output=80), content=b.text("1234"))
    b.append(Aggregate, "main", turn=turn.id, inputs=(back.id,), content=b.text("123456789012"))
    assert overhead(b.build()).protocol_tokens == {"aggregate": 60.0}


def test_below_half_coverage_there_is_no_figure():
    b = alone()
    b.append(Turn, "main", tokens=Tokens(output=5))
    for _ in range(2):
        b.append(Turn, "main", tokens=Tokens(input=5))
    found = overhead(b.build())
    assert found.coverage == pytest.approx(1 / 3)
    assert found.unknown["protocol_overhead"] == "only 33% of the turns carry output tokens"
    assert found.unknown["delegation_cost_tokens"] == "nothing was spawned or delegated"


def test_errors_that_spread_need_labels():
    b = alone()
    wrong = b.append(Turn, "main", labels={"corrupted": True})
    b.append(ToolCall, "main", tool="Bash", turn=wrong.id, labels={"corrupted": True})
    b.append(Turn, "main")
    b.append(Turn, "main", labels={"corrupted": True})
    assert overhead(b.build()).error_amplification == 2.0
    assert overhead(EMPTY).unknown["error_amplification"] == "no event carries the label 'corrupted'"


@given(teams)
def test_laws(trace):
    found = overhead(trace)
    assert {name for name, value in msgspec.structs.asdict(found).items() if value is None} == set(found.unknown)
    if found.protocol_overhead is not None:
        assert 0.0 <= found.protocol_overhead <= 1.0 + 1e-12
    turns = [event for event in trace.events if isinstance(event, Turn) and event.tokens and event.tokens.output]
    for turn in turns:
        own = [event for event in trace.events if event.turn == turn.id]
        assert sum(tokens for _, tokens in block_tokens(turn, own)) <= turn.tokens.output + 1e-9
