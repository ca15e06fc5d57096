"""The assembler: whatever a log says, a lawful trace, and every loss counted."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.testing.strategies import _assembled, _records, logs
from orchestrace.trace import (
    KINDS,
    Agent,
    Aggregate,
    Assembler,
    Edge,
    Message,
    Return,
    Source,
    Spawn,
    Stop,
    ToolCall,
    ToolResult,
    Turn,
    encode,
    violations,
)

LOG = Source("log", "1")


def assembled(assembler):
    trace = assembler.assemble(trace_id="t", task_id="k", source=LOG)
    assert violations(trace) == []
    return trace


@given(logs())
def test_whatever_is_recorded_the_trace_is_lawful(trace):
    assert violations(trace) == []


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_equal_records_give_equal_bytes_and_nothing_is_lost_uncounted(seed, size):
    first, again = _assembled(Random(seed), size), _assembled(Random(seed), size)
    assert encode(first) == encode(again)
    made, _ = _records(Random(seed), size)
    dropped = sum(n for name, n in first.diagnostics.items() if name.startswith("dropped_") and name[8:] in KINDS)
    assert len(first.events) + dropped == len(made)


@given(st.integers(0, 2**32))
def test_writers_in_any_interleaving_give_the_same_trace(seed):
    """Each writer's order is all that counts."""
    die = Random(seed)
    records = {w: [(float(die.randrange(9)), n) for n in range(die.randrange(1, 6))] for w in ("main", "a", "b")}
    for writer in records.values():
        writer.sort()

    def build(order):
        assembler = Assembler()
        for name in ("main", "a", "b"):
            assembler.agent(Agent(name))
        at = Counter()
        for writer in order:
            t, n = records[writer][at[writer]]
            at[writer] += 1
            assembler.append(writer, Turn, writer, t=t, labels={"n": n})
        return assembled(assembler)

    order = [w for w, own in records.items() for _ in own]
    straight = build(order)
    die.shuffle(order)
    shuffled = build(order)
    assert {e.id: e for e in straight.events} == {e.id: e for e in shuffled.events}
    for writer, own in records.items():
        assert [e.labels["n"] for e in shuffled.events if e.agent == writer] == [n for _, n in own]
    times = [e.t for e in shuffled.events]
    assert times == sorted(times)


def test_a_link_orders_what_time_does_not():
    a = Assembler()
    a.agent(Agent("main"))
    a.agent(Agent("w", parent="main"))
    turn = a.append("main", Turn, "main", t=5.0)
    spawn = a.append("main", Spawn, "main", to="w", t=5.0, turn=turn.id)
    child = a.append("w", Turn, "w", t=1.0)
    a.link(spawn.id, child.id, "spawn", "matched")
    trace = assembled(a)
    assert [e.id for e in trace.events] == ["main.0", "main.1", "w.0"]
    assert Edge("main.1", "w.0", "spawn", "matched") in trace.edges
    assert trace.diagnostics == {}


def test_a_contradiction_drops_the_positional_link_first():
    a = Assembler()
    a.agent(Agent("main"))
    x, y = a.append("main", Turn, "main", t=0.0), a.append("main", Turn, "main", t=1.0)
    a.link(y.id, x.id, "causal", "positional")
    trace = assembled(a)
    assert [e.id for e in trace.events] == [x.id, y.id]
    assert trace.diagnostics == {"dropped_edges": 1}
    assert trace.edges == ()


def test_what_breaks_a_law_is_dropped_or_mended_and_counted():
    a = Assembler()
    a.agent(Agent("main"))
    a.agent(Agent("w", parent="main"))
    call = a.append("main", ToolCall, "main", tool="ls", turn="nowhere.1")
    for _ in range(2):
        a.append("main", ToolResult, "main", call=call.id)
    a.append("main", ToolResult, "main", call="nowhere.2")
    spawn = a.append("main", Spawn, "main", to="w")
    a.append("main", Spawn, "main", to="w")
    back = a.append("main", Return, "w", to="main")
    a.append("main", Aggregate, "main", inputs=(back.id, "nowhere.3"))
    a.append("main", Aggregate, "main", inputs=(back.id,))
    a.append("main", Stop, "w")
    trace = assembled(a)
    assert trace.diagnostics == {
        "cleared_turn": 1, "dropped_aggregate": 1, "dropped_inputs": 2, "dropped_spawn": 1, "dropped_stop": 1,
        "dropped_tool_result": 2,
    }  # fmt: skip
    assert [e.id for e in trace.events] == ["main.0", "main.1", spawn.id, back.id, "main.7"]


def test_numbers_that_no_trace_may_hold_become_absent():
    a = Assembler()
    a.agent(Agent("main"))
    a.append(
        "main", Turn, "main", t=float("nan"), duration_s=-1.0, usd=float("inf"), labels={"x": float("nan"), "y": 1}
    )
    trace = a.assemble(trace_id="t", task_id="k", source=LOG, costs={"usd": float("inf"), "n": 1})
    assert trace.diagnostics == {"negative_duration": 1, "not_finite": 4}
    assert (trace.events[0].t, trace.events[0].duration_s, trace.events[0].usd) == (None, None, None)
    assert (trace.events[0].labels, trace.costs) == ({"y": 1}, {"n": 1.0})


def test_agents_nobody_spawned_are_unlinked_and_names_nobody_declared_are_counted():
    a = Assembler()
    a.agent(Agent("main"))
    a.agent(Agent("lost", parent="main"))
    a.append("lost", Turn, "lost")
    a.append("ghost", Turn, "ghost")
    a.append("main", Message, "main", to="nobody", delivered=False)
    trace = assembled(a)
    agents = {agent.id: agent for agent in trace.agents}
    assert agents["lost"].unlinked
    assert agents["ghost"].unlinked
    assert not agents["nobody"].unlinked
    assert trace.diagnostics == {"undeclared": 2, "unlinked": 2}


def test_deliveries_that_were_not_linked_are_positional():
    a = Assembler()
    a.agent(Agent("main"))
    a.agent(Agent("w", parent="main"))
    spawn = a.append("main", Spawn, "main", to="w", t=0.0)
    own = a.append("w", Turn, "w", t=1.0)
    back = a.append("main", Return, "w", to="main", t=2.0, turn=own.id)
    later = a.append("main", Turn, "main", t=3.0)
    trace = assembled(a)
    assert Edge(spawn.id, own.id, "spawn", "positional") in trace.edges
    assert Edge(back.id, later.id, "return", "positional") in trace.edges
    assert Edge(own.id, back.id, "causal", "explicit") in trace.edges


def test_a_spawn_ring_leaves_a_root():
    a = Assembler()
    a.agent(Agent("main"))
    a.append("main", Spawn, "main", to="main")
    trace = assembled(a)
    assert trace.diagnostics["dropped_spawn"] == 1


def test_links_need_both_ends():
    a = Assembler()
    with pytest.raises(ValueError, match="no event"):
        a.link("x", "y", "causal", "explicit")


def test_many_records():
    a = Assembler()
    a.agent(Agent("main"))
    previous = None
    for n in range(20_000):
        event = a.append(f"w{n % 100}", Turn, "main", t=float(n % 977))
        if previous is not None and n % 3 == 0:
            a.link(event.id, previous.id, "causal", "positional")
        previous = event
    assert len(assembled(a).events) == 20_000
