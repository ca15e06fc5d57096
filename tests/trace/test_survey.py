"""The survey's published form."""

import contextlib
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.adapters import schema_violations
from orchestrace.errors import TraceError
from orchestrace.testing.strategies import logs, survey_documents, traces
from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Delegate,
    Edge,
    Memory,
    Return,
    Source,
    Spawn,
    Tokens,
    ToolCall,
    ToolResult,
    Turn,
    decode,
    encode,
    survey,
    violations,
)
from orchestrace.trace.graph import Graph
from samples import SURVEY, needs_survey

LINKED = ("causal", "spawn", "delegate", "message", "return", "tool_dependency", "aggregate", "memory", "temporal")


def normal(document):
    """A document without the order of its keys, and with 0 and 0.0 the same."""
    return json.loads(json.dumps(document, sort_keys=True).replace(".0,", ",").replace(".0}", "}"))


@pytest.fixture
def example():
    return (SURVEY / "example_trace.json").read_bytes()


@needs_survey
def test_the_published_example(example):
    trace = survey.load(example)
    assert violations(trace) == []
    assert json.loads(survey.dump(trace)) == json.loads(example)
    result = next(event for event in trace.events if isinstance(event, ToolResult))
    assert (result.agent, result.call, result.labels["survey.agent"]) == ("executor_1", "e5", "browser.search")
    assert [(agent.id, agent.parent) for agent in trace.agents] == [
        ("orchestrator", None), ("planner_1", "orchestrator"), ("executor_1", "orchestrator"),
    ]  # fmt: skip
    assert trace.rewards == {"team": 1.0, "orchestration": 0.3, "tool": 0.1}


@needs_survey
def test_the_shipped_schema_and_example_are_the_published_ones(example):
    from importlib import resources

    shipped = resources.files("orchestrace.adapters") / "survey_data"
    assert (shipped / "example_trace.json").read_bytes() == example
    assert (shipped / "trace_schema.json").read_bytes() == (SURVEY / "trace_schema.json").read_bytes()
    assert "CC0" in (shipped / "NOTICE").read_text()


@needs_survey
@pytest.mark.parametrize(
    ("change", "path"),
    [
        (lambda d: d["costs"].pop("wall_clock_s"), "$.costs"),
        (lambda d: d.update(colour=1), "$"),
        (lambda d: d.update(topology="ring"), "$.topology"),
        (lambda d: d["events"].clear(), "$.events"),
        (lambda d: d["events"][0].pop("t"), "$.events[0]"),
        (lambda d: d["events"][0].update(t=-1), "$.events[0].t"),
        (lambda d: d["events"][0].update(type="thought"), "$.events[0].type"),
        (lambda d: d["edges"][0].update(type="memory"), "$.edges[0].type"),
        (lambda d: d["edges"][0].update(weight=1), "$.edges[0]"),
        (lambda d: d["rewards"].update(team="much"), "$.rewards.team"),
    ],
)
def test_what_the_schema_rejects_is_rejected(example, change, path):
    document = json.loads(example)
    assert schema_violations(example) == []
    change(document)
    assert [one.path for one in schema_violations(json.dumps(document).encode())] == [path]


@given(survey_documents())
def test_any_valid_document_loads_as_written_and_comes_out_again(document):
    data = json.dumps(document).encode()
    assert schema_violations(data) == []
    trace = survey.load(data)
    assert [event.id for event in trace.events] == [event["id"] for event in document["events"]]
    again = json.loads(survey.dump(trace))
    assert schema_violations(json.dumps(again).encode()) == []
    for before, after in zip(document["events"], again["events"], strict=True):
        assert {k: after.get(k) for k in before} == before
    assert again["edges"] == list({json.dumps(e): e for e in document["edges"]}.values())
    assert {k: again[k] for k in ("trace_id", "task_id", "topology", "rewards", "metrics", "costs")} == {
        k: document[k] for k in ("trace_id", "task_id", "topology", "rewards", "metrics", "costs")
    }
    violations(trace)  # whatever it breaks, it is told and not raised
    with contextlib.suppress(TraceError):  # a cycle, and nothing else
        Graph.of(trace)


@given(traces() | logs())
def test_any_trace_exports_to_a_valid_document_that_is_kept(trace):
    if not any(not isinstance(event, Turn) or event.agent in ("main", "other") for event in trace.events):
        return
    try:
        data = survey.dump(trace)
    except TraceError:
        assert all(isinstance(event, Turn) for event in trace.events)
        return
    assert schema_violations(data) == []
    assert survey.dump(survey.load(data)) == data


@given(traces(links=True), st.randoms(use_true_random=False))
def test_a_lawful_trace_comes_back_lawful(trace, die):
    for _ in range(8 if len(trace.events) > 1 else 0):  # links of any type, as far as the laws let them stand
        src, dst = sorted(die.sample(range(len(trace.events)), 2))
        edge = Edge(trace.events[src].id, trace.events[dst].id, die.choice(LINKED))
        more = msgspec.structs.replace(trace, edges=(*trace.edges, edge))
        trace = trace if violations(more) else more
    with contextlib.suppress(TraceError):  # nothing but folded turns
        data = survey.dump(trace)
        assert violations(survey.load(data)) == []
        assert survey.dump(survey.load(data)) == data


def folded_team():
    """w: a call, a turn that the call leads to, another call and its result, in that turn."""
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    b.agent(Agent("w", parent="main"))
    b.append(Spawn, "main", to="w")
    return b


def test_what_came_through_a_folded_turn_is_no_call():
    b = folded_team()
    first = b.append(ToolCall, "w", tool="x")
    turn = b.append(Turn, "w")
    second = b.append(ToolCall, "w", tool="y")
    b.append(ToolResult, "w", tool="y", call=second.id, turn=turn.id)
    b.link(first.id, turn.id, "tool_dependency")
    again = survey.load(survey.dump(b.build()))
    assert violations(again) == []
    assert [event.call for event in again.events if isinstance(event, ToolResult)] == [second.id]
    assert Edge("w.0", "w.3", "causal") in again.edges


def test_a_delegation_is_no_input():
    b = folded_team()
    answer = b.append(Return, "w", to="main")
    task = b.append(Delegate, "w", to="main")
    b.append(Aggregate, "main", inputs=(answer.id,))
    b.link(task.id, "main.1", "aggregate")
    again = survey.load(survey.dump(b.build()))
    assert again.events[-1].inputs == (answer.id,)
    assert Edge(task.id, "main.1", "causal") in again.edges


def test_what_reached_a_folded_turn_reaches_what_its_agent_did_next():
    b = folded_team()
    b.append(Turn, "w")
    b.append(Turn, "w")
    b.append(Return, "w", to="main")
    assert survey.load(survey.dump(b.build())).edges == (Edge("main.0", "w.2", "spawn"),)


def reach(trace, kept):
    """For each of these events, those of them that come before it, over edges and each agent's own order."""
    graph = Graph.of(trace)
    return {id_: {graph.ids[n] for n in graph.ancestors(graph.index[id_])} & kept for id_ in kept}


@given(traces())
def test_folding_neither_loses_nor_makes_a_way_from_one_event_to_another(trace):
    with contextlib.suppress(TraceError):  # nothing but folded turns
        again = survey.load(survey.dump(trace))
        kept = {event.id for event in again.events}
        assert reach(again, kept) == reach(trace, kept)


def test_what_a_result_says_of_its_tool_is_not_its_callers_role():
    raw = {"id": "e0", "t": 0, "type": "tool_call", "agent": "w", "tool": "x"}
    result = {"id": "e1", "t": 1, "type": "tool_result", "agent": "x", "role": "a tool", "tool": "x"}
    document = {
        "trace_id": "t", "task_id": "k", "events": [raw, result], "rewards": {},
        "edges": [{"src": "e0", "dst": "e1", "type": "return"}], "costs": {"tokens": 0, "wall_clock_s": 0},
    }  # fmt: skip
    trace = survey.load(json.dumps(document).encode())
    assert trace.agents == (Agent("w"),)
    assert json.loads(survey.dump(trace)) == document


def test_shared_memory_comes_back_as_itself():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    b.agent(Agent("w", parent="main"))
    b.append(Spawn, "main", to="w", t=0.0)
    b.append(Memory, "w", op="write", key="plan", t=1.0)
    for _ in range(2):
        b.append(Memory, "main", op="read", key="plan", t=2.0)
    data = survey.dump(b.build())
    assert [event["type"] for event in json.loads(data)["events"]][1:] == ["tool_call", "tool_result", "tool_result"]
    again = survey.load(data)
    assert violations(again) == []
    assert [(event.agent, event.op, event.key) for event in again.events[1:]] == [
        ("w", "write", "plan"), ("main", "read", "plan"), ("main", "read", "plan"),
    ]  # fmt: skip


@needs_survey
@pytest.mark.parametrize(
    ("place", "extra"),
    [
        (5, {"status": "success"}),
        (5, {"status": "ok"}),
        (5, {"status": "failed"}),
        (5, {"status": "error"}),
        (6, {"status": "completed"}),
        (4, {"duration_s": "3s"}),
        (4, {"duration_s": True}),
        (4, {"usd": "free"}),
        (3, {"delivered": "yes"}),
        (1, {"to": ""}),
        (4, {"tool": ""}),
        (4, {"labels": {"n": 1}}),
        (4, {"turn": "e1", "call": "e1", "content": "x", "choice": 3}),
        (4, {"n": 10**30}),
        (4, {"was": "memory"}),
    ],
)
def test_extras_of_any_value_come_out_again(example, place, extra):
    document = json.loads(example)
    document["events"][place] |= extra
    data = json.dumps(document).encode()
    assert schema_violations(data) == []
    trace = survey.load(data)
    assert trace.diagnostics == {}
    assert json.loads(survey.dump(trace)) == document
    assert decode(encode(trace)) == trace


@needs_survey
@pytest.mark.parametrize(
    ("extra", "n"),
    [
        ({"x": None}, 1),
        ({"x": [1], "y": {}}, 2),
        ({"labels": "x"}, 1),
        ({"labels": {"a": [1], "b": 1}}, 1),
        ({"labels": {"survey.t": "x", "survey.role": "y"}}, 2),
        ({"status": None}, 1),
    ],
)
def test_what_no_label_can_hold_is_counted(example, extra, n):
    document = json.loads(example)
    document["events"][5] |= extra
    trace = survey.load(json.dumps(document).encode())
    assert trace.diagnostics == {"dropped_extras": n}
    assert schema_violations(survey.dump(trace)) == []


@needs_survey
def test_valid_bytes_that_the_fast_decoder_refuses(example):
    assert survey.load(b"\xef\xbb\xbf" + example) == survey.load(example)
    trace = survey.load(example.replace(b'"query_hash"', b'"\\ud800 \\ud83d\\ude80"'))
    assert trace.diagnostics == {"surrogates": 1}
    assert trace.events[4].labels["survey.content_ref"] == "? \U0001f680"


@needs_survey
@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda d: d["events"][5].pop("agent"), "$.events[5]"),
        (lambda d: d["events"][5].update(id=["x"]), "$.events[5].id"),
        (lambda d: d["events"][0].update(agent=""), "$.events[0].agent"),
        (lambda d: d["events"][0].update(t=-1), "$.events[0].t"),
        (lambda d: d["events"][0].update(role=4), "$.events[0].role"),
        (lambda d: d["events"][3].update({"from": 4}), "$.events[3].from"),
        (lambda d: d["events"][0].update(type=["a"]), "$.events[0].type"),
        (lambda d: d["edges"][0].update(weight=1), "$.edges[0]"),
        (lambda d: d.update(trace_id=""), "$.trace_id"),
        (lambda d: d.update(colour=1), "$"),
    ],
)
def test_a_wrong_shape_is_named_by_its_place(example, change, place):
    document = json.loads(example)
    change(document)
    with pytest.raises(TraceError) as caught:
        survey.load(json.dumps(document).encode())
    assert caught.value.place == place


def test_labels_do_not_overwrite_what_the_schema_asks_for():
    b = Builder(trace_id="t", task_id="k", source=Source("survey", "1"))
    b.agent(Agent("main"))
    labels = {"survey.t": "x", "survey.type": "x", "survey.id": 1, "survey.agent": 3, "survey.role": 4, "n": 1}
    b.append(Turn, "main", labels=labels)
    assert schema_violations(survey.dump(b.build())) == []


@pytest.mark.parametrize(("name", "header"), [("trace_id", {"trace_id": ""}), ("task_id", {"task_id": ""})])
def test_a_name_that_the_schema_needs_and_the_trace_lacks(name, header):
    b = Builder(**({"trace_id": "t", "task_id": "k"} | header))
    b.agent(Agent("main"))
    b.append(Turn, "main")
    with pytest.raises(TraceError) as caught:
        survey.dump(b.build())
    assert caught.value.place == f"$.{name}"


@needs_survey
@pytest.mark.parametrize(("to", "inputs"), [("orchestrator", ("e7",)), ("planner_1", ())])
def test_inputs_are_what_was_sent_to_the_agent_that_aggregates(example, to, inputs):
    document = json.loads(example)
    document["events"][6]["to"] = to
    document["edges"].append({"src": "e6", "dst": "e8", "type": "aggregate"})  # a tool's result is no input
    trace = survey.load(json.dumps(document).encode())
    assert trace.events[7].inputs == inputs
    assert json.loads(survey.dump(trace)) == document


def test_turns_are_folded_and_their_edges_joined():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    b.agent(Agent("w", parent="main"))
    lead = b.append(Turn, "main", t=0.0, tokens=Tokens(output=5))
    b.append(Spawn, "main", to="w", turn=lead.id, t=1.0)
    own = b.append(Turn, "w", t=1.0, tokens=Tokens(output=7, input=2))
    b.append(ToolCall, "w", tool="ls", turn=own.id, t=2.0)
    document = json.loads(survey.dump(b.build()))
    assert [(e["id"], e["type"]) for e in document["events"]] == [
        ("main.0", "orchestrator_decision"), ("main.1", "spawn"), ("w.1", "tool_call"),
    ]  # fmt: skip
    assert {"src": "main.1", "dst": "w.1", "type": "spawn"} in document["edges"]
    assert document["costs"] == {"tokens": 14.0, "wall_clock_s": 2.0}


def test_a_trace_without_events_cannot_be_exported():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    with pytest.raises(TraceError, match="no event"):
        survey.dump(b.build())


def test_times_that_are_absent_are_placed():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    for _ in range(2):
        b.append(Turn, "main")
    b.append(Turn, "main", t=7.0)
    b.append(Turn, "main")
    document = json.loads(survey.dump(b.build()))
    assert [(e["t"], e.get("t_source")) for e in document["events"]] == [
        (0.0, "order"), (1.0, "order"), (7.0, None), (7.0, "order"),
    ]  # fmt: skip
    again = survey.load(survey.dump(b.build()))
    assert [event.t for event in again.events] == [None, None, 7.0, None]
    assert json.loads(survey.dump(again)) == document


@pytest.mark.parametrize(
    ("times", "written"),
    [
        ([None, None, None, 0.5], [0.0, 0.5, 0.5, 0.5]),
        ([-3.0, -1.0, None, 2.0], [0.0, 2.0, 2.0, 5.0]),
        ([None, -3.0], [0.0, 0.0]),
    ],
)
def test_no_time_is_negative_and_none_goes_past_the_first_known(times, written):
    b = Builder(trace_id="t", task_id="k", source=Source("log", "1"))
    b.agent(Agent("main"))
    for t in times:
        b.append(Turn, "main", t=t)
    assert [event["t"] for event in json.loads(survey.dump(b.build()))["events"]] == written


def test_a_document_whose_times_are_only_an_order_has_no_clock():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    b.append(Turn, "main")
    assert survey.load(survey.dump(b.build())).clock is None


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"[" * 10_000, b'{"trace_id": 1}', b"\xff", b'{"trace_id":"t"}'])
def test_other_bytes_are_a_trace_error(data):
    with pytest.raises(TraceError):
        survey.load(data)
