"""The views: each answers its question on a hand-made team, and keeps its law on random ones."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.errors import TraceError
from orchestrace.testing.strategies import traces
from orchestrace.trace import (
    Agent,
    Builder,
    Delegate,
    Despawn,
    HumanIntervention,
    Message,
    Return,
    Source,
    Spawn,
    Stop,
    ToolCall,
    ToolResult,
    Trace,
    Turn,
    views,
    violations,
)

EMPTY = Trace(schema=1, trace_id="t", task_id="t")


def team(**header):
    builder = Builder(trace_id="t", task_id="t", **header)
    builder.agent(Agent("main"))
    return builder


def spawned(builder, by, child):
    builder.agent(Agent(child, parent=by))
    return builder.append(Spawn, by, to=child, content=builder.text(f"task of {child}"))


def critical_steps(stages):
    """Textbook: main turns + max over sub-agents, recursively, summed over stages."""
    total = 0
    for stage in stages:
        steps = [len(member.turns) for member in stage.members]
        below = [0] * len(steps)
        for place in reversed(range(len(steps))):
            steps[place] += below[place]
            parent = stage.members[place].parent
            if parent is not None:
                below[parent] = max(below[parent], steps[place])
        total += max((n for n, member in zip(steps, stage.members, strict=True) if member.parent is None), default=0)
    return total


@pytest.fixture
def two_stages():
    """main spawns a and b; a spawns c; both return; main follows up with a, which returns; main answers."""
    builder = team()
    builder.append(HumanIntervention, "main", kind="prompt", initial=True)
    builder.append(Turn, "main", t=0.0, duration_s=1.0)
    for child in "ab":
        spawned(builder, "main", child)
    builder.append(Turn, "a", t=1.0, duration_s=1.0)
    spawned(builder, "a", "c")
    builder.append(Turn, "b", t=1.0, duration_s=5.0)
    for t in (2.0, 3.0):
        builder.append(Turn, "c", t=t, duration_s=1.0)
    builder.append(Return, "c", to="a")
    builder.append(Return, "a", to="main")
    builder.append(Return, "b", to="main", status="failed")
    builder.append(Turn, "main", t=6.0, duration_s=1.0)
    builder.append(Delegate, "main", to="a")
    builder.append(Turn, "a", t=7.0, duration_s=1.0)
    call = builder.append(ToolCall, "a", tool="bash", t=8.0, duration_s=4.0)
    builder.append(ToolResult, "a", tool="bash", call=call.id, t=12.0)
    builder.append(Return, "a", to="main")
    builder.append(Turn, "main", t=13.0, duration_s=1.0)
    builder.append(Stop, "main")
    return builder.build()


def test_lanes_and_turns(two_stages):
    assert [event.id for event in views.lanes(two_stages)["c"]] == ["c.0", "c.1", "c.2"]
    assert [turn.id for turn in views.turns(two_stages, "a")] == ["a.0", "a.3"]
    assert len(views.turns(two_stages)) == 8
    assert views.lanes(EMPTY) == {}
    assert views.turns(EMPTY) == ()


def test_spawn_tree_and_depths(two_stages):
    tree = views.spawn_tree(two_stages)
    assert tree.roots == ("main",)
    assert tree.unlinked == ()
    assert tree.children == {"main": ("a", "b"), "a": ("c",), "b": (), "c": ()}
    assert {child: spawn.agent for child, spawn in tree.spawns.items()} == {"a": "main", "b": "main", "c": "a"}
    assert views.depths(two_stages) == {"main": 0, "a": 1, "b": 1, "c": 2}
    assert views.spawn_tree(EMPTY) == ((), (), {}, {})


def test_unlinked_agents_hang_below_a_known_parent():
    agents = (
        Agent("below", parent="lost", unlinked=True),
        Agent("main"),
        Agent("lost", unlinked=True),
        Agent("child", parent="main", unlinked=True),
    )
    trace = Trace(schema=1, trace_id="t", task_id="t", agents=agents)
    tree = views.spawn_tree(trace)
    assert tree.roots == ("main",)
    assert tree.unlinked == ("below", "lost", "child")
    assert tree.children == {"below": (), "main": ("child",), "lost": ("below",), "child": ()}
    assert views.depths(trace) == {"below": 1, "main": 0, "lost": 0, "child": 1}


def test_agents_that_spawn_each_other_do_not_hang():
    events = (Spawn("a.0", "a", to="b"), Spawn("b.0", "b", to="a"), Spawn("b.1", "b", to="b"), Turn("x.0", "x"))
    trace = Trace(schema=1, trace_id="t", task_id="t", events=events)
    assert views.spawn_tree(trace).roots == ("x",)
    assert views.depths(trace) == {"a": 0, "b": 0, "x": 0}
    assert len(views.stages(trace)) == 1


def test_a_deep_and_wide_team():
    builder = team()
    for depth in range(2_000):
        spawned(builder, f"d{depth - 1}" if depth else "main", f"d{depth}")
        builder.append(Turn, f"d{depth}")
    for child in range(1_000):
        spawned(builder, "main", f"w{child}")
    trace = builder.build()
    assert views.depths(trace)["d1999"] == 2_000
    assert critical_steps(views.stages(trace)) == 2_000
    assert len(views.prefix(trace, trace.events[-2].id).agents) == 3_000


def test_stages(two_stages):
    first, second, third = views.stages(two_stages)
    assert [turn.id for turn in first.turns] == ["main.1"]
    assert [(m.agent, m.opened_by, m.parent, len(m.turns)) for m in first.members] == [
        ("main", None, None, 1),
        ("a", "main.2", 0, 1),
        ("b", "main.3", 0, 1),
        ("c", "a.1", 1, 2),
    ]
    assert [(m.agent, m.parent, len(m.turns)) for m in second.members] == [("main", None, 1), ("a", 0, 1)]
    assert [(m.agent, m.parent, len(m.turns)) for m in third.members] == [("main", None, 1)]
    assert critical_steps((first, second, third)) == (1 + 3) + (1 + 1) + 1
    assert views.stages(EMPTY) == ()


def test_a_child_of_a_slow_agent_stays_in_its_stage():
    builder = team()
    builder.append(Turn, "main")
    for child in ("slow", "quick"):
        spawned(builder, "main", child)
    builder.append(Return, "quick", to="main")
    builder.append(Turn, "main")
    spawned(builder, "slow", "late")
    builder.append(Turn, "late")
    first, second = views.stages(builder.build())
    assert [member.agent for member in first.members] == ["main", "slow", "quick", "late"]
    assert first.members[3].parent == 1
    assert [member.agent for member in second.members] == ["main"]


def test_roots_run_side_by_side_and_unlinked_agents_join():
    builder = team(source=Source("test", "1"))
    builder.agent(Agent("peer"))
    builder.agent(Agent("lost", unlinked=True))
    for agent in ("main", "peer", "peer", "lost"):
        builder.append(Turn, agent)
    (stage,) = views.stages(builder.build())
    assert [(m.agent, m.parent, len(m.turns)) for m in stage.members] == [
        ("main", None, 1),
        ("peer", None, 2),
        ("lost", 0, 1),
    ]
    assert critical_steps((stage,)) == 2


@given(traces())
def test_every_turn_is_in_one_stage(trace):
    stages = views.stages(trace)
    found = sorted(turn.id for stage in stages for member in stage.members for turn in member.turns)
    assert found == sorted(turn.id for turn in views.turns(trace))
    for stage in stages:
        for place, member in enumerate(stage.members):
            assert member.parent is None or member.parent < place
    opened = {member.opened_by for stage in stages for member in stage.members} - {None}
    assert {event.id for event in trace.events if isinstance(event, Spawn)} <= opened


def test_message_graph():
    builder = team()
    spawn = spawned(builder, "main", "a")
    builder.agent(Agent("b"))
    builder.append(Spawn, "main", to="b")
    lost = builder.append(Message, "a", to="b", delivered=False)
    answer = builder.append(Return, "a", to="main")
    graph = views.message_graph(builder.build())
    assert graph == {("main", "a"): (spawn,), ("a", "b"): (lost,), ("a", "main"): (answer,)}


def test_context_is_what_could_be_read():
    builder = team()
    prompt = builder.append(HumanIntervention, "main")
    turn = builder.append(Turn, "main")
    spawn = spawned(builder, "main", "a")
    work = builder.append(Turn, "a")
    builder.append(Message, "main", to="a", delivered=False)
    builder.append(Message, "main", to="a")
    heard = builder.append(Message, "main", to="a", delivered=True)
    answer = builder.append(Return, "a", to="main")
    trace = builder.build()
    assert views.context(trace, "a") == (spawn, work, heard, answer)
    own = [event for event in trace.events if event.agent == "main"]
    assert views.context(trace, "main") == (*own, answer)
    assert own[:3] == [prompt, turn, spawn]
    assert views.context(views.prefix(trace, spawn.id), "a") == (spawn,)

    folded = builder.append(Turn, "main", labels={"compaction": True})
    later = builder.append(Message, "a", to="main", delivered=True)
    assert views.context(builder.build(), "main") == (folded, later)
    assert views.context(EMPTY, "main") == ()


@given(traces(), st.data())
def test_prefix_is_lawful_and_holds_the_past_only(trace, data):
    if not trace.events:
        return
    last = data.draw(st.sampled_from(trace.events))
    prefix = views.prefix(trace, last.id)
    assert violations(prefix) == []
    place = trace.events.index(last)
    assert prefix.events == trace.events[: place + 1]
    ids = {event.id for event in prefix.events}
    assert prefix.edges == tuple(edge for edge in trace.edges if {edge.src, edge.dst} <= ids)
    assert set(views.spawn_tree(prefix).roots) == set(views.spawn_tree(trace).roots)
    assert (prefix.rewards, prefix.costs, prefix.metrics) == ({}, {}, {})


@given(traces())
@settings(max_examples=30)
def test_prefix_of_the_last_event_is_the_trace(trace):
    if trace.events:
        whole = views.prefix(trace, trace.events[-1].id)
        assert whole.events == trace.events
        assert whole.edges == trace.edges
        assert violations(whole) == []


def test_prefix_keeps_only_agents_and_blobs_of_the_past():
    builder = team()
    builder.agent(Agent("b"))
    builder.append(Message, "main", to="b", content=builder.text("soon"))
    spawned(builder, "main", "a")
    builder.append(Spawn, "main", to="b")
    trace = msgspec.structs.replace(builder.build(), blobs=builder.blobs)
    prefix = views.prefix(trace, "main.0")
    assert prefix.agents == (Agent("main"), Agent("b", unlinked=True))
    assert list(prefix.blobs.values()) == [b"soon"]
    with pytest.raises(TraceError, match=r"has no event 'main\.9'"):
        views.prefix(trace, "main.9")


def test_lifetimes(two_stages):
    assert views.lifetimes(two_stages) == {"main": (0.0, 14.0), "a": (1.0, 12.0), "b": (1.0, 6.0), "c": (2.0, 4.0)}
    assert views.lifetimes(EMPTY) == {}


def test_statuses(two_stages):
    assert views.statuses(two_stages) == {"main": "completed", "a": "completed", "b": "failed", "c": "completed"}
    unfinished = views.prefix(two_stages, "a.3")
    assert views.statuses(unfinished) == {"main": "running", "a": "running", "b": "failed", "c": "completed"}
    assert views.statuses(views.prefix(two_stages, "main.3")) == {
        "main": "running",
        "a": "never_started",
        "b": "never_started",
    }


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("answer", "completed"),
        ("error", "failed"),
        ("budget", "truncated"),
        ("limit", "truncated"),
        ("interrupted", "cancelled"),
        ("external", "cancelled"),
    ],
)
def test_a_root_ends_by_its_last_stop(reason, status):
    builder = team(source=Source("test", "1"))
    builder.append(Stop, "main", reason="answer")
    builder.append(Stop, "main", reason=reason)
    assert views.statuses(builder.build()) == {"main": status}
    builder.append(HumanIntervention, "main")
    assert views.statuses(builder.build()) == {"main": status}
    builder.append(Turn, "main")
    assert views.statuses(builder.build()) == {"main": "running"}


def test_a_despawn_cancels_what_has_not_returned():
    builder = team()
    for child in "abc":
        spawned(builder, "main", child)
    builder.append(Turn, "a")
    builder.append(Return, "b", to="main", status="truncated")
    for child in "abc":
        builder.append(Despawn, "main", to=child)
    assert views.statuses(builder.build()) == {
        "main": "running",
        "a": "cancelled",
        "b": "truncated",
        "c": "cancelled",
    }
