"""The strict builder."""

import pytest
from hypothesis import given

from orchestrace.errors import TraceError
from orchestrace.testing.strategies import traces
from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Delegate,
    Edge,
    HumanIntervention,
    Memory,
    Message,
    Return,
    Source,
    Spawn,
    Stop,
    ToolCall,
    ToolResult,
    Turn,
    encode,
    kind,
    violations,
)


def builder(**header):
    b = Builder(trace_id="t", task_id="k", **header)
    b.agent(Agent("main"))
    b.agent(Agent("w", parent="main"))
    return b


def test_ids_count_per_agent():
    b = builder()
    assert [b.append(Turn, "main").id, b.append(Spawn, "main", to="w").id, b.append(Turn, "w").id] == [
        "main.0", "main.1", "w.0",
    ]  # fmt: skip


def test_every_edge_that_fields_and_order_imply():
    b = builder()
    b.append(HumanIntervention, "main")
    turn = b.append(Turn, "main")
    b.append(Spawn, "main", to="w", turn=turn.id)
    call = b.append(ToolCall, "main", tool="ls")
    b.append(ToolResult, "main", tool="ls", call=call.id)
    b.append(Message, "main", to="w", delivered=True)
    b.append(Message, "main", to="w", delivered=False)
    own = b.append(Turn, "w")
    b.append(Return, "w", to="main", turn=own.id)
    b.append(Delegate, "main", to="w")
    last = b.append(Turn, "main")
    b.append(Aggregate, "main", inputs=("w.1",), turn=last.id)
    b.append(Turn, "w")
    assert set(b.build().edges) == {
        Edge("main.0", "main.1", "causal"),
        Edge("main.1", "main.2", "causal"),
        Edge("main.2", "w.0", "spawn"),
        Edge("main.3", "main.4", "tool_dependency"),
        Edge("main.5", "w.0", "message"),
        Edge("w.0", "w.1", "causal"),
        Edge("main.4", "main.8", "causal"),
        Edge("w.1", "main.8", "return"),
        Edge("w.1", "main.9", "aggregate"),
        Edge("main.8", "main.9", "causal"),
        Edge("main.7", "w.2", "delegate"),
    }


def test_a_read_is_reached_by_the_latest_write_of_its_key():
    b = builder()
    for op, key in (("read", "k"), ("write", "k"), ("read", "k"), ("write", "k"), ("read", "k"), ("read", "other")):
        b.append(Memory, "main", op=op, key=key)
    b.append(Spawn, "main", to="w")
    assert {(e.src, e.dst) for e in b.build().edges if e.type == "memory"} == {
        ("main.1", "main.2"), ("main.3", "main.4"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("make", "agent", "fields", "law", "place"),
    [
        (Turn, "nobody", {}, 2, "$.events[1].agent"),
        (Turn, "w", {}, 2, "$.events[1].agent"),
        (ToolResult, "main", {"call": "x"}, 3, "$.events[1].call"),
        (Stop, "main", {"turn": "main.7"}, 5, "$.events[1].turn"),
        (Turn, "main", {"t": 1.0}, 8, "$.events[1].t"),
        (Turn, "main", {"t": 3.0, "duration_s": -1.0}, 0, "$.events[1].duration_s"),
    ],
)
def test_the_first_unlawful_event_is_refused_and_nothing_is_kept(make, agent, fields, law, place):
    b = builder()
    b.append(Turn, "main", t=2.0)
    before = len(b._events)
    with pytest.raises(TraceError) as told:
        b.append(make, agent, **fields)
    assert f"law {law}" in str(told.value)
    assert told.value.place == place
    assert len(b._events) == before
    assert b.append(Turn, "main", t=2.0).id == "main.1"


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"labels": {"a": [1]}}, "$.events[0].labels[...]"),
        ({"tokens": 5}, "$.events[0].tokens"),
        ({"content": "text"}, "$.events[0].content"),
        ({"turn": 7}, "$.events[0].turn"),
    ],
)
def test_fields_hold_what_they_should(fields, place):
    b = builder()
    with pytest.raises(TraceError) as told:
        b.append(Turn, "main", **fields)
    assert told.value.place == place
    assert b.append(Turn, "main").id == "main.0"


def test_a_delivery_may_not_run_back_in_time():
    b = builder()
    b.append(Spawn, "main", to="w", t=5.0)
    with pytest.raises(TraceError, match="before its cause"):
        b.append(Turn, "w", t=4.0)
    log = builder(source=Source("log", "1"))
    log.append(Spawn, "main", to="w", t=5.0)
    assert log.append(Turn, "w", t=4.0).t == 4.0


def test_agents_are_declared_once():
    b = builder()
    for agent in (Agent("main"), Agent("")):
        with pytest.raises(TraceError, match="law 1"):
            b.agent(agent)


def test_links_run_forward_between_events_that_stand():
    b = builder()
    a, c = b.append(Turn, "main"), b.append(Turn, "main")
    b.link(a.id, c.id, "memory")
    for src, dst in ((c.id, a.id), (a.id, a.id), ("x", a.id), (a.id, "x")):
        with pytest.raises(TraceError, match="law 1"):
            b.link(src, dst, "memory")


def test_a_missing_spawn_is_told_at_the_end():
    with pytest.raises(TraceError, match="'w' has no spawn"):
        builder().build()
    with pytest.raises(TraceError, match="no agent is a root"):
        Builder(trace_id="t", task_id="k").build()


def test_a_builder_goes_on_after_building():
    b = builder()
    b.append(Spawn, "main", to="w")
    first = b.build(rewards={"team": 1})
    b.append(Turn, "w")
    assert len(b.build().events) == len(first.events) + 1
    assert first.rewards == {"team": 1.0}


def test_texts_are_kept_by_hash():
    b = builder()
    content = b.text("hello")
    assert b.blobs == {content.hash: b"hello"}


@given(traces(links=True))
def test_replaying_a_trace_through_a_builder_gives_the_same_bytes(trace):
    """Agents, events and links that are not implied: the same calls, the same bytes."""
    built = ("schema", "agents", "events", "edges")
    b = Builder(**{name: getattr(trace, name) for name in trace.__struct_fields__ if name not in built})
    for agent in trace.agents:
        b.agent(agent)
    for event in trace.events:
        fields = {name: getattr(event, name) for name in event.__struct_fields__ if name != "id"}
        assert kind(b.append(type(event), **fields)) == kind(event)
    for edge in trace.edges:
        if edge.type in ("safety_flow", "temporal"):
            b.link(edge.src, edge.dst, edge.type, edge.evidence)
    assert encode(b.build()) == encode(trace)
    assert violations(b.build()) == []
