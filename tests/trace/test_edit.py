"""Edits: lawful in, lawful out; what is stale is what the change had a part in; nothing is invented."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.errors import TraceError
from orchestrace.testing.strategies import traces
from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Delegate,
    Edge,
    Message,
    OrchestratorDecision,
    Parent,
    Return,
    Source,
    Spawn,
    ToolCall,
    ToolResult,
    Turn,
    edit,
    views,
    violations,
)
from orchestrace.trace.graph import Graph


@st.composite
def changes(draw):
    """A trace and one of its events."""
    trace = draw(traces().filter(lambda trace: trace.events))
    return trace, draw(st.sampled_from(trace.events))


def descendants(trace, ids):
    """Textbook, over edges and the order inside agents."""
    following = {}
    for edge in trace.edges:
        following.setdefault(edge.src, []).append(edge.dst)
    for lane in views.lanes(trace).values():
        for before, after in pairwise(lane):
            following.setdefault(before.id, []).append(after.id)
    seen, waiting = set(), list(ids)
    while waiting:
        for name in following.get(waiting.pop(), ()):
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return seen


@given(changes())
def test_drop_obeys_the_laws_and_invents_nothing(change):
    trace, event = change
    edited, stale, dropped = edit.drop(trace, event.id)
    assert violations(edited) == []
    remaining = [event.id for event in edited.events]
    assert event.id in dropped
    assert [event.id for event in trace.events if event.id not in dropped] == remaining
    assert set(edited.edges) == {edge for edge in trace.edges if not {edge.src, edge.dst} & set(dropped)}
    assert set(edited.agents) <= set(trace.agents)
    assert stale == descendants(trace, dropped) - set(dropped)
    assert stale <= set(remaining)
    assert (edited.rewards, edited.seed) == ({}, None)
    originals = {event.id: event for event in trace.events}
    for after in edited.events:
        before = originals[after.id]
        assert after == before or set(after.inputs) == set(before.inputs) - set(dropped)


@given(changes())
def test_drop_takes_no_more_than_it_must(change):
    """Every event that fell names a fallen event or agent, or returns for a fallen order."""
    trace, event = change
    edited, _, dropped = edit.drop(trace, event.id)
    agents = {agent.id for agent in trace.agents} - {agent.id for agent in edited.agents}
    gone = set(dropped)
    for fallen in trace.events:
        if fallen.id in gone and fallen.id != event.id:
            named = {fallen.turn, getattr(fallen, "call", None), *getattr(fallen, "inputs", ())} & gone
            named |= {fallen.agent, getattr(fallen, "to", None)} & agents
            assert named or (trace.native and isinstance(fallen, Return))
    spawned = {event.to for event in trace.events if isinstance(event, Spawn) and event.id in gone}
    tree = views.spawn_tree(trace)
    assert all(agent in spawned or agent in tree.unlinked for agent in agents)


@given(changes())
def test_truncate_is_the_prefix(change):
    trace, event = change
    edited, stale, dropped = edit.truncate(trace, event.id)
    prefix = views.prefix(trace, event.id)
    assert violations(edited) == []
    assert (edited.events, edited.edges, edited.agents) == (prefix.events, prefix.edges, prefix.agents)
    assert stale == frozenset()
    assert dropped == tuple(event.id for event in trace.events[len(prefix.events) :])
    assert edited.parent == Parent(trace.trace_id, event.id, f"truncate:{event.id}")
    assert edited.trace_id == f"t~truncate:{event.id}"


@given(changes())
def test_grafting_what_was_there_gives_it_back(change):
    trace, event = change
    place = trace.events.index(event) + 1
    edited, stale, dropped = edit.graft(
        trace, event.id, events=trace.events[place:], agents=trace.agents, trace_id="again"
    )
    assert violations(edited) == []
    assert edited.trace_id == "again"
    assert edited.events == trace.events
    assert set(edited.agents) == set(trace.agents)
    positional = {edge.evidence for edge in edited.edges} - {"explicit"}
    assert positional == set() or not trace.native
    assert [(e.src, e.dst, e.type) for e in edited.edges] == [(e.src, e.dst, e.type) for e in trace.edges]
    assert stale == frozenset()
    assert dropped == tuple(event.id for event in trace.events[place:])


@given(changes())
def test_replacing_an_event_by_itself_changes_nothing_but_the_header(change):
    trace, event = change
    edited, stale, dropped = edit.replace(trace, event)
    assert (edited.events, edited.edges, edited.agents) == (trace.events, trace.edges, trace.agents)
    assert stale == descendants(trace, [event.id])
    assert dropped == ()


@given(changes(), st.data())
def test_replace_keeps_the_laws_or_refuses(change, data):
    trace, event = change
    other = data.draw(st.sampled_from(trace.events))
    agents = [agent.id for agent in trace.agents]
    turns = [turn.id for turn in views.turns(trace, event.agent)]
    kinds = [
        OrchestratorDecision(event.id, event.agent, turn=data.draw(st.sampled_from([None, *turns]))),
        Message(event.id, event.agent, to=data.draw(st.sampled_from(agents)), t=event.t, delivered=False),
        msgspec.structs.replace(other, id=event.id, agent=event.agent),
    ]
    replacement = data.draw(st.sampled_from(kinds))
    place = trace.events.index(event)
    naive = msgspec.structs.replace(trace, events=(*trace.events[:place], replacement, *trace.events[place + 1 :]))
    # The edit mends edges; what is wrong with the events themselves it cannot mend.
    faults = [
        fault for fault in violations(naive) if fault.path.startswith("$.events") and "no edge" not in fault.message
    ]
    try:
        edited = edit.replace(trace, replacement).trace
    except TraceError:
        assert violations(naive)
    else:
        assert not faults
        assert violations(edited) == []


@pytest.fixture
def team():
    builder = Builder(trace_id="t", task_id="t", rewards={"outcome": 1.0}, seed=3)
    builder.agent(Agent("main"))
    first = builder.append(Turn, "main")
    for child in "ab":
        builder.agent(Agent(child, parent="main"))
        builder.append(Spawn, "main", to=child, turn=first.id)
        builder.append(Turn, child)
    call = builder.append(ToolCall, "a", tool="bash", turn="a.0")
    builder.append(ToolResult, "a", tool="bash", call=call.id)
    builder.append(Turn, "a")
    builder.append(Message, "a", to="b", delivered=True)
    builder.append(Turn, "b")
    returns = [builder.append(Return, child, to="main") for child in "ab"]
    taken_up = builder.append(Turn, "main")
    builder.append(Aggregate, "main", inputs=tuple(event.id for event in returns), turn=taken_up.id)
    return builder


def test_drop_a_spawn_takes_the_agent_and_its_words(team):
    edited, stale, dropped = edit.drop(team.build(), "main.1")
    assert dropped == ("main.1", "a.0", "a.1", "a.2", "a.3", "a.4", "a.5")
    assert [agent.id for agent in edited.agents] == ["main", "b"]
    assert stale == {"main.2", "b.0", "b.1", "b.2", "main.3", "main.4"}
    assert edited.events[-1].inputs == ("b.2",)
    assert edited.parent == Parent("t", "main.0", "drop:main.1")


def test_drop_a_middle_event_bridges_nothing(team):
    trace = team.build()
    edited, stale, dropped = edit.drop(trace, "a.3")
    assert dropped == ("a.3",)
    assert stale == {"a.4", "a.5", "b.1", "b.2", "main.3", "main.4"}
    assert not [edge for edge in edited.edges if edge.src == "a.2"]
    graph = Graph.of(edited)
    assert graph.index["a.4"] in graph.descendants(graph.index["a.2"]), "the order inside an agent closes by itself"


def test_drop_a_call_takes_its_result_and_a_turn_what_it_made(team):
    assert edit.drop(team.build(), "a.1").dropped == ("a.1", "a.2")
    assert edit.drop(team.build(), "a.0").dropped == ("a.0", "a.1", "a.2")
    assert len(edit.drop(team.build(), "main.0").trace.events) == 1


def test_drop_the_last_input_takes_the_aggregate(team):
    once = edit.drop(team.build(), "a.5").trace
    assert edit.drop(once, "b.2").dropped == ("b.2", "main.4")


def test_drop_a_delegate_takes_the_return_that_answered_it_alone():
    for source, expected in ((None, ("b.0", "a.1")), (Source("test", "1"), ("b.0",))):
        builder = Builder(trace_id="t", task_id="t", source=source)
        builder.agent(Agent("main"))
        for child in "ab":
            builder.agent(Agent(child))
            builder.append(Spawn, "main", to=child)
        builder.append(Return, "a", to="main")
        builder.append(Delegate, "b", to="a")
        builder.append(Return, "a", to="b")
        builder.append(Return, "a", to="main")
        assert edit.drop(builder.build(), "b.0").dropped == expected


def test_drop_takes_what_was_said_to_an_agent_before_its_spawn():
    builder = Builder(trace_id="t", task_id="t")
    for agent in ("main", "a"):
        builder.agent(Agent(agent))
    builder.append(Message, "main", to="a")
    builder.append(Spawn, "main", to="a")
    assert edit.drop(builder.build(), "main.1").dropped == ("main.0", "main.1")


def test_a_redirected_message_is_no_longer_delivered(team):
    trace = team.build()
    message = next(event for event in trace.events if isinstance(event, Message))
    assert Edge("a.4", "b.1", "message") in trace.edges
    for changed in (msgspec.structs.replace(message, to="main"), msgspec.structs.replace(message, delivered=False)):
        edited = edit.replace(trace, changed).trace
        assert set(trace.edges) - set(edited.edges) == {Edge("a.4", "b.1", "message")}


def test_a_changed_reference_moves_its_edge(team):
    trace = team.build()
    call = next(event for event in trace.events if isinstance(event, ToolCall))
    edited = edit.replace(trace, msgspec.structs.replace(call, turn=None)).trace
    assert set(trace.edges) - set(edited.edges) == {Edge("a.0", "a.1", "causal")}
    assert edit.replace(edited, call).trace.edges == trace.edges


def test_refusals(team):
    trace = team.build()
    with pytest.raises(TraceError, match="has no event 'zz'"):
        edit.drop(trace, "zz")
    with pytest.raises(TraceError, match="has no event 'zz'"):
        edit.replace(trace, Turn("zz", "main"))
    with pytest.raises(TraceError, match="belongs to agent 'a', its replacement to 'b'"):
        edit.replace(trace, Turn("a.0", "b"))
    with pytest.raises(TraceError, match="break law 2: agent 'a' acts before its spawn"):
        edit.replace(trace, Turn("main.1", "main"))
    with pytest.raises(TraceError, match=r"break law 1: event id 'main\.0' is taken"):
        edit.graft(trace, "main.0", events=[Turn("main.0", "main")])
    with pytest.raises(TraceError, match=r"there is no event 'b\.0'"):
        edit.graft(trace, "main.0", events=[Turn("main.9", "main")], edges=[Edge("b.0", "main.9", "causal")])


def test_graft_writes_the_deliveries(team):
    trace = team.build()
    edited = edit.graft(
        trace,
        "a.2",
        events=[Turn("a.9", "a"), Spawn("a.10", "a", to="n"), Turn("n.0", "n")],
        agents=[Agent("n", parent="a")],
    ).trace
    assert {Edge("a.2", "a.9", "causal"), Edge("a.10", "n.0", "spawn")} <= set(edited.edges)
    assert [agent.id for agent in edited.agents] == ["main", "a", "b", "n"]
    assert violations(edited) == []


def test_blobs_of_what_is_gone_are_gone():
    builder = Builder(trace_id="t", task_id="t")
    builder.agent(Agent("main"))
    for text in ("kept", "private"):
        builder.append(Turn, "main", content=builder.text(text))
    trace = msgspec.structs.replace(builder.build(), blobs=builder.blobs)
    assert list(edit.drop(trace, "main.1").trace.blobs.values()) == [b"kept"]
