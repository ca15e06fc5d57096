"""Who was busy when, and what ended the time in which nobody was."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from metrics.timed_teams import dated, troubled
from orchestrace.metrics import CLAUDE_CODE, busy_lanes, length, pauses, tool_names, work
from orchestrace.trace import Agent, Builder, HumanIntervention, ToolCall, ToolResult, Turn


def team():
    builder = Builder(trace_id="t", task_id="t")
    builder.agent(Agent("main"))
    return builder


def test_a_call_without_a_duration_lasts_until_its_result():
    b = team()
    call = b.append(ToolCall, "main", tool="bash", t=1.0)
    b.append(ToolResult, "main", tool="bash", call=call.id, t=4.0)
    (one,) = work(b.build()).busy
    assert (one.start_s, one.end_s, one.kind, one.timed) == (1.0, 4.0, "tool", True)


def test_what_has_no_duration_is_an_instant_and_says_so():
    b = team()
    b.append(Turn, "main", t=2.0)
    b.append(Turn, "main")
    found = work(b.build())
    assert [(one.start_s, one.end_s, one.timed) for one in found.busy] == [(2.0, 2.0, False)]
    assert found.coverage == 0.0
    assert found.leaves == 2


def test_waiting_for_agents_or_people_is_not_work():
    b = team()
    for tool in ("TaskOutput", "AskUserQuestion", "TaskList", "Bash"):
        b.append(ToolCall, "main", tool=tool, t=0.0, duration_s=1.0)
    assert [trace_tool(b, one) for one in work(b.build(), tools=CLAUDE_CODE).busy] == ["TaskList", "Bash"]
    assert len(work(b.build()).busy) == 4
    assert tool_names("claude-code") == tool_names("claude_code") == CLAUDE_CODE
    assert not tool_names(None).waiting


def trace_tool(builder, one):
    return builder.build().events[one.place].tool


def test_a_pause_belongs_to_what_ends_it():
    b = team()
    b.append(Turn, "main", t=0.0, duration_s=2.0)
    b.append(HumanIntervention, "main", kind="mode", t=5.0)
    b.append(HumanIntervention, "main", t=6.0)
    b.append(Turn, "main", t=7.0, duration_s=1.0)
    b.append(Turn, "main", t=10.0, duration_s=1.0)
    trace = b.build()
    found = pauses(trace, busy_lanes(work(trace).busy).values(), first=0.0, last=11.0)
    assert found.human.tolist() == [[2.0, 5.0], [5.0, 6.0]]
    assert found.idle.tolist() == [[6.0, 7.0], [8.0, 10.0]]


@given(troubled | dated)
def test_pauses_against_a_grid_of_half_seconds(trace):
    found = work(trace)
    if not found.busy:
        return
    first, last = min(one.start_s for one in found.busy), max(one.end_s for one in found.busy)
    paused = pauses(trace, busy_lanes(found.busy).values(), first=first, last=last)
    human = idle = 0.0
    for half in range(int(2 * first), int(2 * last)):
        now = half / 2 + 0.25
        if any(one.start_s <= now < one.end_s for one in found.busy):
            continue
        later = [event for event in trace.events if event.t is not None and now < event.t <= last]
        following = [event for event in later if event.t == min(other.t for other in later)]
        if any(isinstance(event, HumanIntervention) for event in following):
            human += 0.5
        else:
            idle += 0.5
    assert length(paused.human) == human
    assert length(paused.idle) == idle


@given(dated)
def test_work_is_at_least_what_anyone_did(trace):
    found = work(trace)
    lanes = busy_lanes(found.busy)
    for agent, lane in lanes.items():
        own = [one for one in found.busy if one.agent == agent]
        longest = max(one.end_s - one.start_s for one in own)
        assert longest <= length(lane) <= sum(one.end_s - one.start_s for one in own)
    assert found.coverage in (None, 1.0)
    assert msgspec.structs.asdict(trace)["events"] == trace.events


@given(st.integers(0, 10**7), st.integers(1, 10**6), st.integers(1, 10**6))
def test_milliseconds_in_a_log_leave_no_crumbs_between_what_touches(begun, took, longer):
    """t and duration_s as an adapter makes them of three recorded milliseconds."""
    start, middle, end = (ms / 1000 for ms in (begun, begun + took, begun + took + longer))
    b = team()
    b.append(Turn, "main", t=start, duration_s=middle - start)
    b.append(Turn, "main", t=middle, duration_s=end - middle)
    trace = b.build()
    lane = busy_lanes(work(trace).busy)["main"]
    assert lane.tolist() == [[start, end]]
