"""Every law is a test: a lawful trace has no violation, and a mutation that breaks a law is reported with its place."""

from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.errors import TraceError
from orchestrace.testing.strategies import _trace, logs, traces
from orchestrace.trace import (
    KINDS,
    Agent,
    Aggregate,
    Assembler,
    Builder,
    Choice,
    Content,
    Despawn,
    Edge,
    Generation,
    HumanIntervention,
    Message,
    Return,
    SafetyEvent,
    Source,
    Spawn,
    Stop,
    Tokens,
    ToolCall,
    ToolResult,
    Trace,
    Turn,
    kind,
    observations,
    violations,
)

replace = msgspec.structs.replace


@given(traces(links=True))
def test_what_the_builder_builds_is_lawful(trace):
    assert violations(trace) == []


@given(logs())
def test_what_the_assembler_assembles_is_lawful(trace):
    assert violations(trace) == []


def team():
    """main: prompt, turn, two spawns, call and result, message; w0 and w1 answer; main aggregates and stops."""
    b = Builder(trace_id="t", task_id="k", clock="simulated")
    b.agent(Agent("main"))
    b.agent(Agent("w0", parent="main"))
    b.agent(Agent("w1", parent="main"))
    b.append(HumanIntervention, "main", t=0.0, initial=True)
    turn = b.append(Turn, "main", t=0.0, duration_s=1.0, tokens=Tokens(output=3))
    b.append(Spawn, "main", to="w0", t=1.0, turn=turn.id)
    b.append(Spawn, "main", to="w1", t=1.0, turn=turn.id)
    call = b.append(ToolCall, "main", tool="ls", t=1.0, turn=turn.id)
    b.append(ToolResult, "main", tool="ls", call=call.id, t=2.0)
    b.append(Message, "main", to="w0", delivered=True, t=2.0)
    own = [b.append(Turn, w, t=2.0, duration_s=1.0) for w in ("w0", "w1")]
    back = [b.append(Return, w, to="main", turn=t.id, t=3.0) for w, t in zip(("w0", "w1"), own, strict=True)]
    last = b.append(Turn, "main", t=4.0)
    b.append(Aggregate, "main", inputs=tuple(r.id for r in back), turn=last.id, t=4.0)
    b.append(Stop, "main", turn=last.id, t=4.0)
    return b.build()


def place(trace, kind_, n=0):
    return [i for i, event in enumerate(trace.events) if kind(event) == kind_][n]


def changed(trace, at, **fields):
    events = list(trace.events)
    events[at] = replace(events[at], **fields)
    return replace(trace, events=tuple(events))


def moved(trace, src, dst):
    events = list(trace.events)
    events.insert(dst, events.pop(src))
    return replace(trace, events=tuple(events))


def laws(trace):
    return {v.law for v in violations(trace)}


def test_the_team_is_lawful():
    assert violations(team()) == []


@pytest.mark.parametrize(
    ("kind_", "fields", "law", "field"),
    [
        ("turn", {"duration_s": -1.0}, 0, "duration_s"),
        ("turn", {"t": float("nan")}, 0, "t"),
        ("turn", {"usd": float("inf")}, 0, "usd"),
        ("spawn", {"token_span": (3, 1)}, 0, "token_span"),
        ("spawn", {"choice": Choice("O1", ("a", "b"), 2)}, 0, "choice.chosen"),
        ("spawn", {"choice": Choice("O1", ("a", "b"), 0, legal=(True,))}, 0, "choice.legal"),
        ("spawn", {"choice": Choice("O1", ("a",), 0, logprob=float("-inf"))}, 0, "choice.logprob"),
        ("turn", {"tokens": Tokens(cache_read=-1)}, 0, "tokens.cache_read"),
        ("turn", {"tokens": Tokens(output=2, reasoning=3)}, 0, "tokens.reasoning"),
        ("turn", {"content": Content("0", -1)}, 0, "content.bytes"),
        ("turn", {"labels": {"x": float("nan")}}, 0, "labels.x"),
        ("turn", {"generation": Generation(sampling={"top_p": float("inf")})}, 0, "generation.sampling.top_p"),
        ("turn", {"t": 10**400}, 0, "t"),
        ("stop", {"id": "main.0"}, 1, "id"),
        ("stop", {"id": ""}, 1, "id"),
        ("human_intervention", {"agent": "nobody"}, 2, "agent"),
        ("message", {"to": "nobody"}, 2, "to"),
        ("return", {"to": ""}, 2, "to"),
        ("spawn", {"to": "main"}, 2, "to"),
        ("tool_result", {"call": "main.1"}, 3, "call"),
        ("tool_result", {"call": ""}, 3, "call"),
        ("tool_result", {"agent": "w0"}, 3, "agent"),
        ("aggregate", {"inputs": ("w0.1", "w0.1")}, 4, "inputs[1]"),
        ("aggregate", {"inputs": ("main.1",)}, 4, "inputs[0]"),
        ("aggregate", {"inputs": ("main.6",)}, 4, "inputs[0]"),
        ("stop", {"turn": "main.2"}, 5, "turn"),
        ("stop", {"turn": "w0.0"}, 5, "turn"),
        ("stop", {"turn": "later.9"}, 5, "turn"),
        ("stop", {"agent": "w0", "turn": None}, 6, "agent"),
        ("return", {"to": "w1"}, 7, "to"),
        ("stop", {"t": 0.5}, 8, "t"),
    ],
)
def test_a_mutation_breaks_its_law_at_its_place(kind_, fields, law, field):
    trace = team()
    at = place(trace, kind_)
    broken = changed(trace, at, **fields)
    found = [v for v in violations(broken) if v.law == law]
    assert any(v.path == f"$.events[{at}].{field}" and v.event == broken.events[at].id for v in found), found
    assert f"(law {law})" in str(found[0])


def test_a_result_twice():
    trace = team()
    at = place(trace, "tool_result")
    again = replace(trace.events[at], id="main.99")
    events = (*trace.events[: at + 1], again, *trace.events[at + 1 :])
    assert 3 in laws(replace(trace, events=events))


def test_an_input_in_two_aggregates():
    trace = team()
    at = place(trace, "aggregate")
    events = (*trace.events[: at + 1], replace(trace.events[at], id="main.99"), *trace.events[at + 1 :])
    assert [v.path for v in violations(replace(trace, events=events)) if v.law == 4][:1] == [
        f"$.events[{at + 1}].inputs[0]"
    ]


def test_a_child_acts_before_its_spawn():
    trace = team()
    broken = moved(trace, place(trace, "turn", 1), 1)
    found = [v for v in violations(broken) if v.law == 2]
    assert found[0].path == "$.events[1].agent"
    assert "'w0' acts before its spawn" in found[0].message


def test_agents_roots_and_spawns():
    trace = team()
    without = tuple(e for e in trace.events if e.agent != "w1" and getattr(e, "to", "") != "w1")
    edges = tuple(e for e in trace.edges if "w1" not in e.src + e.dst and e.src != "main.3" and e.dst != "main.3")
    bare = replace(trace, events=without, edges=edges)
    bare = changed(bare, place(bare, "aggregate"), inputs=("w0.1",))
    assert [str(v) for v in violations(bare)] == ["$.agents[2]: agent 'w1' has no spawn and is not unlinked (law 2)"]
    agents = (*bare.agents[:2], replace(bare.agents[2], unlinked=True))
    assert violations(replace(bare, agents=agents)) == []
    assert any(v.path == "$.agents" for v in violations(replace(trace, agents=(), events=(), edges=())))
    twice = replace(trace, agents=(*trace.agents, Agent("w0")))
    assert (1, "$.agents[1].id") in {(v.law, v.path) for v in violations(twice)}
    wrong = replace(trace, agents=(trace.agents[0], replace(trace.agents[1], parent="w1"), trace.agents[2]))
    assert 2 in laws(wrong)


def of_unlinked(parents, spawns=()):
    """main, and unlinked agents with these parents; main, or an agent that was spawned, spawns the others."""
    agents = [Agent("main"), *(Agent(name, parent=parent, unlinked=True) for name, parent in parents.items())]
    agents += [Agent(to, parent=by) for by, to in spawns]
    events = tuple(Spawn(f"{by}.{n}", by, to=to) for n, (by, to) in enumerate(spawns))
    return Trace(schema=1, trace_id="t", task_id="k", agents=tuple(agents), events=events, source=Source("log", "1"))


@pytest.mark.parametrize(
    ("parents", "spawns", "wrong"),
    [
        ({"a": "main", "b": "a", "c": None}, (), []),
        ({"a": "nobody"}, (), [1]),
        ({"a": "a"}, (), [1]),
        ({"a": "b", "b": "a", "c": "a"}, (), [1, 2]),
        ({"a": "b", "b": "c", "c": "b"}, (), [2, 3]),
        ({"a": "b"}, (("a", "b"),), [1]),
        ({"a": "c"}, (("a", "b"), ("b", "c")), [1]),
        ({"a": "b"}, (("main", "b"),), []),
    ],
)
def test_the_parents_of_unlinked_agents_are_declared_and_run_in_no_circle(parents, spawns, wrong):
    found = violations(of_unlinked(parents, spawns))
    assert [(v.law, v.path) for v in found] == [(2, f"$.agents[{place}].parent") for place in wrong]
    a = Assembler()
    for agent in of_unlinked(parents, spawns).agents:
        a.agent(agent)
    for by, to in spawns:
        a.append(by, Spawn, by, to=to)
    a.append("main", Turn, "main")
    trace = a.assemble(trace_id="t", task_id="k", source=Source("log", "1"))
    assert violations(trace) == []
    assert trace.diagnostics.get("dropped_parents", 0) == len(wrong)
    assert [agent.parent for agent in trace.agents[1 : 1 + len(parents)]] == [
        None if place in wrong else parent for place, parent in enumerate(parents.values(), 1)
    ]
    assert trace.diagnostics.get("unlinked", 0) == len(parents)


@given(st.lists(st.integers(-2, 7), min_size=1, max_size=8))
def test_who_is_in_a_circle_comes_back_to_himself(parents):
    """A slow twin: walk up from each agent for as many steps as there are agents. -1 is main, -2 nobody."""
    names = {-2: "nobody", -1: "main"} | {n: f"a{n}" for n in range(len(parents))}
    parents = [min(parent, len(parents) - 1) for parent in parents]
    expected = []
    for n, parent in enumerate(parents):
        walked, up = [], parent
        while up >= 0 and len(walked) <= len(parents):
            walked.append(up)
            up = parents[up]
        if parent == -2 or n in walked:
            expected.append(n + 1)
    trace = of_unlinked({names[n]: names[parent] for n, parent in enumerate(parents)})
    assert [v.path for v in violations(trace)] == [f"$.agents[{place}].parent" for place in expected]


def test_a_long_chain_of_parents():
    chain = {f"a{n}": f"a{n + 1}" for n in range(50_000)} | {"a50000": "main"}
    assert violations(of_unlinked(chain)) == []
    assert len(violations(of_unlinked(chain | {"a50000": "a0"}))) == 50_001


@pytest.mark.parametrize(
    ("edge", "law", "part"),
    [
        (Edge("nowhere", "main.1", "causal"), 1, ".src"),
        (Edge("main.1", "nowhere", "causal"), 1, ".dst"),
        (Edge("main.2", "main.1", "causal"), 1, ""),
        (Edge("main.1", "main.1", "causal"), 1, ""),
    ],
)
def test_edges_join_what_is_there_and_run_forward(edge, law, part):
    trace = team()
    broken = replace(trace, edges=(*trace.edges, edge))
    assert (law, f"$.edges[{len(trace.edges)}]{part}") in {(v.law, v.path) for v in violations(broken)}


def test_fields_imply_edges_and_edges_say_no_more():
    trace = team()
    for law, type_ in ((5, "causal"), (3, "tool_dependency"), (4, "aggregate")):
        without = replace(trace, edges=tuple(e for e in trace.edges if e.type != type_))
        assert laws(without) == {law}, type_
    extra = Builder(trace_id="t", task_id="k")
    extra.agent(Agent("main"))
    calls = [extra.append(ToolCall, "main", tool="a") for _ in range(2)]
    result = extra.append(ToolResult, "main", call=calls[0].id)
    with pytest.raises(TraceError, match="law 3"):
        extra.link(calls[1].id, result.id, "tool_dependency")
    built = extra.build()
    more = replace(built, edges=(*built.edges, Edge(calls[1].id, result.id, "tool_dependency")))
    assert [v.law for v in violations(more)] == [3]


def test_native_laws_are_for_native_traces():
    trace = team()
    late = replace(trace, events=(*trace.events, Turn("main.99", "main", t=1.0)))
    assert laws(late) == {7, 8}
    assert laws(replace(late, source=Source("log", "1"))) == set()
    assert observations(replace(late, source=Source("log", "1"))) == {"time_went_back": 1}


def test_nothing_after_a_despawn_and_only_some_after_a_stop():
    trace = team()
    gone = Despawn("main.90", "main", to="w0", t=5.0)
    assert laws(replace(trace, events=(*trace.events, gone))) == set()
    acts = Return("w0.90", "w0", to="main", status="cancelled", t=5.0)
    assert laws(replace(trace, events=(*trace.events, acts))) == set()
    assert laws(replace(trace, events=(*trace.events, gone, acts))) == {7}
    for after in (HumanIntervention("main.91", "main", t=5.0), Stop("main.92", "main", t=5.0)):
        expected = {7} if isinstance(after, Stop) else set()
        assert laws(replace(trace, events=(*trace.events, after))) == expected


def test_a_cause_is_not_later_than_what_it_caused():
    trace = team()
    broken = changed(trace, place(trace, "return"), t=2.5)  # its own turn began at 2.0: fine
    assert laws(broken) == set()
    broken = changed(trace, place(trace, "turn", 3), t=2.5)  # before the returns that it read
    assert {v.path.split("[")[0] for v in violations(broken) if v.law == 8} == {"$.edges"}


def test_all_violations_are_reported():
    trace = team()
    broken = changed(changed(trace, place(trace, "tool_result"), call="x"), place(trace, "stop"), turn="y")
    broken = changed(broken, place(trace, "message"), to="z")
    assert {3, 5, 2} <= laws(broken)


@given(traces(native=True, links=True), st.integers(0, 10_000))
def test_no_mutation_makes_the_checks_fail(trace, seed):
    """Whatever is dropped or swapped, the answer is a list of violations."""
    events = list(trace.events)
    if len(events) > 1:
        i, j = seed % len(events), (seed // 7) % len(events)
        events[i], events[j] = events[j], events[i]
        del events[(seed // 3) % len(events)]
    mutated = replace(trace, events=tuple(events))
    for one in violations(mutated):
        assert one.path.startswith("$.")
        assert 0 <= one.law <= 8


NEW = "new.0"


def added(trace, event, place):
    """The trace with one more event, and what `violations` must say of it."""
    path = f"$.events[{len(trace.events)}].{place}"
    return replace(trace, events=(*trace.events, event)), (event.id, path)


def free(trace):
    """Agents whose next event breaks no law by itself."""
    gone = {event.to for event in trace.events if isinstance(event, Despawn)}
    spawned = {event.to for event in trace.events if isinstance(event, Spawn)}
    return [a.id for a in trace.agents if a.id not in gone and (a.parent is None or a.unlinked or a.id in spawned)]


def breaks_0(trace):
    at = len(trace.events) // 2
    if not trace.events:
        return None
    return changed(trace, at, duration_s=-1.0), (trace.events[at].id, f"$.events[{at}].duration_s")


def breaks_1(trace):
    if not trace.events:
        return None
    edge = Edge("nowhere", trace.events[0].id, "causal")
    return replace(trace, edges=(*trace.edges, edge)), (None, f"$.edges[{len(trace.edges)}].src")


def breaks_2(trace):
    lone = Agent("lone", parent="main")
    return replace(trace, agents=(*trace.agents, lone)), (None, f"$.agents[{len(trace.agents)}]")


def breaks_3(trace):
    return added(trace, ToolResult(NEW, "main", call="nowhere"), "call") if not trace.native else None


def breaks_4(trace):
    return added(trace, Aggregate(NEW, "main", inputs=("nowhere",)), "inputs[0]") if not trace.native else None


def breaks_5(trace):
    return added(trace, SafetyEvent(NEW, "main", turn="nowhere"), "turn") if "main" in free(trace) else None


def breaks_6(trace):
    spawned = {event.to for event in trace.events if isinstance(event, Spawn)}
    below = [agent.id for agent in trace.agents if agent.unlinked or agent.id in spawned]
    return added(trace, Stop(NEW, below[-1]), "agent") if below and not trace.native else None


def breaks_7(trace):
    if not trace.native or "main" not in free(trace):
        return None
    if not any(isinstance(event, Stop) for event in trace.events):
        trace, _ = added(trace, Stop("new.1", "main"), "")
    return added(trace, Stop(NEW, "main"), "type")


def breaks_8(trace):
    last = {event.agent: event.t for event in trace.events if event.t is not None}
    late = [name for name in free(trace) if name in last]
    return added(trace, SafetyEvent(NEW, late[-1], t=last[late[-1]] - 1.0), "t") if late and trace.native else None


BREAKS = (breaks_0, breaks_1, breaks_2, breaks_3, breaks_4, breaks_5, breaks_6, breaks_7, breaks_8)


@settings(max_examples=40)
@given(traces(max_events=40))
def test_each_law_can_be_broken_alone_and_is_named_with_its_event_and_place(trace):
    for law, breaks in enumerate(BREAKS):
        found = breaks(trace)
        if found is not None:
            broken, (event, path) = found
            assert [(v.law, v.event, v.path) for v in violations(broken)] == [(law, event, path)]


def test_every_law_is_broken_by_the_property_above():
    reached = set()
    for seed in range(60):
        trace = _trace(Random(seed), 40, native=seed % 2 == 0, max_agents=12, links=False)
        reached |= {law for law, breaks in enumerate(BREAKS) if breaks(trace) is not None}
    assert reached == set(range(9))


@settings(max_examples=40)
@given(traces(native=False, max_events=20).filter(lambda trace: trace.events))
def test_laws_that_are_broken_together_are_all_told(trace):
    """Each of five mutations at once: as many violations, in any order."""
    expected = set()
    for law in (1, 2, 3, 4, 5):
        made = BREAKS[law](trace)
        if made is not None:
            trace, (_, path) = made
            new = trace.events[-1]
            if new.id == NEW:
                trace = replace(trace, events=(*trace.events[:-1], replace(new, id=f"new.{law}")))
            expected.add((law, path))
    assert {(v.law, v.path) for v in violations(trace)} == expected
    assert {1, 2, 3, 4} <= {law for law, _ in expected}


def test_observations():
    b = Builder(trace_id="t", task_id="k", source=Source("log", "1"), costs={"output_tokens": 9})
    b.agent(Agent("main"))
    b.agent(Agent("w", parent="main"))
    b.append(Turn, "main", t=5.0, tokens=Tokens(output=1))
    b.append(Spawn, "main", to="w", t=6.0)
    b.append(Turn, "w", t=2.0)
    b.append(Message, "main", to="w", delivered=False, t=1.0)
    b.append(Despawn, "main", to="w", t=7.0)
    b.append(Turn, "w", t=8.0)
    assert observations(b.build()) == {
        "acted_after_despawn": 1,
        "child_before_spawn": 1,
        "time_went_back": 1,
        "totals_differ": 1,
        "undelivered_messages": 1,
    }


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_trace_has_no_more_agents_than_asked_for(n):
    @given(traces(max_agents=n))
    def check(trace):
        assert 1 <= len(trace.agents) <= n

    check()


def test_the_strategy_reaches_every_kind_and_every_optional_field():
    """What no random trace holds, no property is tested on."""
    instants = {"orchestrator_decision", "spawn", "despawn", "delegate", "message", "return", "aggregate", "stop"}
    reached = set()
    for seed in range(200):
        trace = _trace(Random(seed), 60, native=seed % 2 == 0, max_agents=12, links=True)
        for event in trace.events:
            reached |= {(kind(event), name) for name in event.__struct_fields__ if getattr(event, name) not in EMPTY}
    missing = {(tag, name) for tag, cls in KINDS.items() for name in cls.__struct_fields__} - reached
    assert missing == {("turn", "turn"), ("turn", "token_span"), *((tag, "duration_s") for tag in instants)}


EMPTY = (None, "", (), {}, False)
