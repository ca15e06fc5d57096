"""Work, span, wall and what follows from them."""

from math import isclose

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.timed_teams import EMPTY, dated, real_numbers, shifted, teams, troubled
from orchestrace.metrics import CLAUDE_CODE, critical_steps, parallelism
from orchestrace.trace import (
    Agent,
    Builder,
    Delegate,
    HumanIntervention,
    Return,
    Source,
    Spawn,
    Stop,
    ToolCall,
    Trace,
    Turn,
)

TIMES = ("work_s", "span_s", "elapsed_s", "answer_s", "human_s", "idle_s", "wall_s", "speedup", "efficiency")


def two_workers(**header):
    """main 0-2, a 2-8 and b 2-6 side by side, main 8-9, a person until 12, main 12-13."""
    b = Builder(trace_id="t", task_id="t", **header)
    b.agent(Agent("main"))
    turn = b.append(Turn, "main", t=0, duration_s=2)
    for child in "ab":
        b.agent(Agent(child, parent="main"))
        b.append(Spawn, "main", to=child, t=2, turn=turn.id)
    b.append(Turn, "a", t=2, duration_s=6)
    b.append(Turn, "b", t=2, duration_s=4)
    b.append(Return, "b", to="main", t=6)
    b.append(Return, "a", to="main", t=8)
    b.append(Turn, "main", t=8, duration_s=1)
    b.append(HumanIntervention, "main", t=12)
    b.append(Turn, "main", t=12, duration_s=1)
    return b


def test_a_team_that_can_be_read_by_eye():
    found = parallelism(two_workers().build())
    assert (found.work_s, found.elapsed_s, found.human_s, found.idle_s, found.wall_s) == (14.0, 13.0, 3.0, 0.0, 10.0)
    assert (found.span_s, found.speedup, found.peak_concurrency, found.efficiency) == (10.0, 1.4, 2, 0.7)
    assert found.critical_steps == 1 + 1 + 2
    assert found.useful_utilisation == 1.0
    assert found.coverage == 1.0
    assert found.unknown == {"answer_s": "no stop with an answer"}
    assert (found.long_calls, found.long_calls_s, found.outside_agents) == (0, 0.0, 0)


def test_a_recorded_serial_time_wins():
    assert parallelism(two_workers(costs={"serial_s": 30.0}).build()).speedup == 3.0


@given(dated | troubled | real_numbers)
def test_laws(trace):
    found = parallelism(trace)
    missing = {name for name, value in msgspec.structs.asdict(found).items() if value is None}
    assert missing == set(found.unknown)
    assert all(found.unknown.values())
    if found.work_s is None:
        return
    assert 0 <= found.span_s <= found.elapsed_s or isclose(found.span_s, found.elapsed_s)
    assert found.work_s >= found.span_s or isclose(found.work_s, found.span_s)
    assert found.human_s >= 0
    assert found.human_s + found.idle_s <= found.elapsed_s or isclose(found.human_s + found.idle_s, found.elapsed_s)
    union_s = found.elapsed_s - found.human_s - found.idle_s
    assert found.work_s >= union_s or isclose(found.work_s, union_s, abs_tol=1e-6)
    assert 1 <= found.peak_concurrency <= len({event.agent for event in trace.events})
    assert found.work_s <= found.peak_concurrency * union_s + 1e-6 + 1e-9 * found.work_s
    if found.speedup is not None:
        assert found.speedup == found.work_s / found.wall_s
        assert found.efficiency <= 1.0 + 1e-9


@given(dated)
def test_an_agent_that_does_nothing_changes_nothing(trace):
    joined = msgspec.structs.replace(trace, agents=(*trace.agents, Agent("bystander", unlinked=True)))
    assert parallelism(joined) == parallelism(trace)


@given(dated)
def test_only_differences_of_time_count(trace):
    now, later = parallelism(trace), parallelism(shifted(trace, 64.0))
    assert [getattr(now, name) for name in TIMES] == [getattr(later, name) for name in TIMES]


@given(teams)
def test_critical_steps_need_no_clock(trace):
    undated = msgspec.structs.replace(
        trace, events=tuple(msgspec.structs.replace(event, t=None, duration_s=None) for event in trace.events)
    )
    found = parallelism(undated)
    assert found.critical_steps == parallelism(trace).critical_steps
    assert found.critical_path == ()
    assert all(getattr(found, name) is None for name in TIMES)
    leaves = found.coverage is not None
    assert found.unknown["work_s"] == (
        "no turn and no tool call carries a time" if leaves else "the trace holds no turn and no tool call"
    )


plans = st.recursive(
    st.tuples(st.integers(0, 3), st.just(())),
    lambda inner: st.tuples(st.integers(0, 3), st.lists(inner, min_size=1, max_size=3).map(tuple)),
    max_leaves=8,
)
"""(own turns, plans of the children) of one sub-agent."""


def steps(plan):
    own, children = plan
    return own + max(map(steps, children), default=0)


def carry_out(builder, agent, plan, *, report_to):
    own, children = plan
    for _ in range(own):
        builder.append(Turn, agent)
    for child in children:
        name = f"{agent}/{len(builder.build().agents)}"
        builder.agent(Agent(name, parent=agent))
        builder.append(Spawn, agent, to=name)
        carry_out(builder, name, child, report_to=agent)
    if report_to:
        builder.append(Return, agent, to=report_to)


@given(
    st.lists(st.tuples(st.integers(1, 3), st.lists(plans, min_size=1, max_size=3).map(tuple)), min_size=1, max_size=4)
)
def test_critical_steps_of_a_plan_are_its_longest_branches(rounds):
    b = Builder(trace_id="t", task_id="t")
    b.agent(Agent("main"))
    for plan in rounds:
        carry_out(b, "main", plan, report_to=None)
    assert critical_steps(b.build()) == sum(map(steps, rounds))


@given(teams)
def test_critical_steps_are_at_most_all_turns(trace):
    turns = [event for event in trace.events if isinstance(event, Turn)]
    assert critical_steps(trace) <= len(turns)


def test_a_follow_up_belongs_to_the_stage_of_its_delegate():
    b = two_workers(source=Source("test", "1"))
    b.append(Delegate, "main", to="a", t=13)
    for n in range(3):
        b.append(Turn, "a", t=13 + n, duration_s=1)
    b.append(Return, "a", to="main", t=16)
    b.append(Turn, "main", t=16, duration_s=1)
    # 1 main + 1 sub; 2 main + 3 sub; 1 main
    assert critical_steps(b.build()) == 2 + 5 + 1


def test_nothing_at_all():
    found = parallelism(EMPTY)
    assert found.critical_path == ()
    assert found.unknown["elapsed_s"] == "the trace holds no turn and no tool call"
    assert critical_steps(EMPTY) == 0


@pytest.mark.parametrize("duration", [None, 0.0, 2.0])
def test_one_event(duration):
    one = Trace(schema=1, trace_id="t", task_id="t", events=(Turn("a.0", "a", t=5.0, duration_s=duration),))
    found = parallelism(one)
    assert found.elapsed_s == (duration or 0.0)
    assert found.critical_steps == 1
    assert found.speedup is found.efficiency is None
    assert (
        found.unknown.get("speedup")
        == {
            None: "only 0 of 1 turns and tool calls carry a time and a duration",
            0.0: "no time passed: wall_s is 0",
            2.0: "one agent: nobody worked beside it, as far as the log says",
        }[duration]
    )


def test_deep_and_wide_teams_are_no_trouble():
    b = Builder(trace_id="t", task_id="t")
    b.agent(Agent("0"))
    b.append(Turn, "0", t=0, duration_s=1)
    for n in range(1, 3000):
        b.agent(Agent(str(n), parent=str(n - 1)))
        b.append(Spawn, str(n - 1), to=str(n), t=n)
        b.append(Turn, str(n), t=n, duration_s=1)
    found = parallelism(b.build())
    assert found.critical_steps == 3000
    assert found.span_s == found.work_s == found.wall_s == 3000.0
    assert found.peak_concurrency == 1


def with_strangers(**strangers):
    """main is busy 10-20 and 30-40, a worker 20-30; each stranger is busy for two seconds from a given time on."""
    b = Builder(trace_id="t", task_id="t", source=Source("test", "1"))
    b.agent(Agent("main"))
    b.agent(Agent("worker", parent="main"))
    b.append(Turn, "main", t=10, duration_s=10)
    b.append(Spawn, "main", to="worker", t=20)
    b.append(Turn, "worker", t=20, duration_s=10)
    b.append(Return, "worker", to="main", t=30)
    last = b.append(Turn, "main", t=30, duration_s=10)
    b.append(Stop, "main", turn=last.id, t=40)
    for name, t in strangers.items():
        b.agent(Agent(name, unlinked=True))
        b.append(Turn, name, t=t, duration_s=2)
    return parallelism(b.build())


def test_strangers_outside_the_session_do_not_stretch_it():
    """An agent that nobody is known to have made, a day later or a moment before: no time of the team's is its."""
    alone, joined = with_strangers(), with_strangers(early=0, late=86_400)
    assert joined.outside_agents == 2
    assert (joined.work_s, joined.elapsed_s, joined.span_s, joined.speedup) == (30.0, 30.0, 30.0, 1.0)
    for name in (*TIMES, "critical_path", "peak_concurrency", "coverage"):
        assert getattr(joined, name) == getattr(alone, name)


@pytest.mark.parametrize("t", [8, 15, 40])
def test_strangers_inside_the_session_count(t):
    found = with_strangers(beside=t)
    assert found.outside_agents == 0
    assert found.work_s == 32.0
    assert found.elapsed_s == 30.0 + {8: 2.0, 15: 0.0, 40: 2.0}[t]


def test_an_agent_of_a_known_parent_is_no_stranger():
    b = two_workers(source=Source("test", "1"))
    b.agent(Agent("later", parent="main", unlinked=True))
    b.append(Turn, "later", t=1000, duration_s=1)
    assert parallelism(b.build()).elapsed_s == 1001.0


def test_without_a_root_nobody_is_a_stranger():
    one = Turn("a.0", "a", t=5.0, duration_s=2.0)
    two = msgspec.structs.replace(one, id="b.0", agent="b", t=500.0)
    agents = (Agent("a", unlinked=True), Agent("b", unlinked=True))
    found = parallelism(Trace(schema=1, trace_id="t", task_id="t", agents=agents, events=(one, two)))
    assert (found.elapsed_s, found.outside_agents) == (497.0, 0)


def test_one_agent_has_no_speedup_unless_a_serial_time_is_recorded():
    def alone(**header):
        b = Builder(trace_id="t", task_id="t", **header)
        b.agent(Agent("main"))
        b.append(Turn, "main", t=0, duration_s=2)
        return parallelism(b.build())

    assert alone().speedup is None
    assert alone(costs={"serial_s": 3.0}).speedup == 1.5
    assert alone(metrics={"serial_s": 0.0}).speedup == 0.0


def test_the_answer_comes_before_the_last_work():
    b = two_workers(source=Source("test", "1"))
    turn = b.append(Turn, "main", t=13, duration_s=1)
    b.append(Stop, "main", turn=turn.id, t=14)
    b.append(Turn, "a", t=14, duration_s=6)
    found = parallelism(b.build())
    assert (found.answer_s, found.elapsed_s) == (14.0, 20.0)


@pytest.mark.parametrize(
    ("stop", "why"),
    [
        ({"t": 3.0, "reason": "budget"}, "no stop with an answer"),
        ({}, "the answer, or all that came before it, carries no time"),
        ({"t": 0.5}, "the answer is dated before all work"),
    ],
)
def test_an_answer_without_a_time(stop, why):
    b = Builder(trace_id="t", task_id="t", source=Source("test", "1"))
    b.agent(Agent("main"))
    turn = b.append(Turn, "main", t=1, duration_s=2)
    b.append(Stop, "main", turn=turn.id, **stop)
    found = parallelism(b.build())
    assert (found.answer_s, found.unknown["answer_s"]) == (None, why)


def test_long_calls_are_counted():
    b = Builder(trace_id="t", task_id="t", source=Source("claude_code", "1"))
    b.agent(Agent("main"))
    turn = b.append(Turn, "main", t=0, duration_s=100)
    for seconds in (60, 61, 90):
        b.append(ToolCall, "main", tool="Bash", t=100, duration_s=seconds, turn=turn.id)
    b.append(ToolCall, "main", tool="AskUserQuestion", t=100, duration_s=900, turn=turn.id)
    found = parallelism(b.build(), tools=CLAUDE_CODE)
    assert (found.long_calls, found.long_calls_s) == (2, 151.0)
