"""R5: whether a call worked, was well formed, and served for something."""

from orchestrace.rewards import Unavailable, tool
from orchestrace.trace import Agent, Builder, ToolCall, ToolResult, Turn
from rewards.hand_made import EMPTY, EVIDENCE, NOTHING, small_team, values


def calls(*statuses, then_a_turn):
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    for status in statuses:
        call = b.append(ToolCall, "main", tool="search")
        if status is not None:
            b.append(ToolResult, "main", tool="search", call=call.id, status=status)
    if then_a_turn:
        b.append(Turn, "main")
    return b.build()


def test_status():
    # main.4 has no result yet: no row
    trace = calls("ok", "error", None, then_a_turn=True)
    assert values(tool.tool_status(trace, NOTHING)) == {"main.0": 1.0, "main.2": 0.0}
    assert values(tool.tool_status(trace, NOTHING, scores={"error": -1.0})) == {"main.2": -1.0}


def test_a_result_that_nobody_reads_is_worth_nothing():
    assert values(tool.tool_used(calls("ok", "error", then_a_turn=True), NOTHING)) == {"main.0": 1.0, "main.2": 0.0}
    assert values(tool.tool_used(calls("ok", then_a_turn=False), NOTHING)) == {"main.0": 0.0}


def test_schema_verdicts():
    assert values(tool.tool_schema(small_team(), EVIDENCE)) == {"a.1": 1.0}
    assert tool.tool_schema(small_team(), NOTHING) == Unavailable(
        "tool_schema", "no tool call has a verdict by 'schema'"
    )


def test_no_calls():
    for given in (tool.tool_status(EMPTY, NOTHING), tool.tool_used(EMPTY, NOTHING)):
        assert isinstance(given, Unavailable)
        assert given.why == "no tool call has a result"
