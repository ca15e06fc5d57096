"""What no field may hold: the builder refuses it and says where, the assembler mends and counts it."""

import json
from math import copysign, inf, isfinite, nan

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.errors import TraceError
from orchestrace.testing.strategies import events
from orchestrace.trace import (
    Agent,
    Assembler,
    Builder,
    Choice,
    Content,
    Generation,
    Harness,
    Message,
    Policy,
    Source,
    SourceFile,
    Tokens,
    Trace,
    Turn,
    decode,
    encode,
    violations,
)
from orchestrace.trace.values import is_finite, is_sound, mended

HALF = "a\ud800b"
HUGE = 10**400
LOG = Source("log", "1")


def builder():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    return b


def assembled(make=Turn, *, agent=None, header=None, writer="main", **fields):
    a = Assembler()
    a.agent(agent or Agent("main"))
    a.append(writer, make, "main", **fields)
    trace = a.assemble(**{"trace_id": "t", "task_id": "k", "source": LOG, **(header or {})})
    assert violations(trace) == []
    assert decode(encode(trace)) == trace
    return trace


EVENTS = [
    (Turn, {"labels": {"x": HALF}}, "labels.x"),
    (Turn, {"labels": {HALF: 1}}, "labels"),
    (Turn, {"model": HALF}, "model"),
    (Turn, {"choice": Choice("O5", ("go", HALF), 0)}, "choice.options[1]"),
    (Turn, {"choice": Choice("O5", ("go",), 0, policy=HALF)}, "choice.policy"),
    (Turn, {"generation": Generation(sampling={"stop": HALF})}, "generation.sampling.stop"),
    (Turn, {"generation": Generation(finish=HALF)}, "generation.finish"),
    (Turn, {"content": Content("0", 1, preview=HALF)}, "content.preview"),
    (Message, {"to": HALF}, "to"),
    (Message, {"to": "main", "channel": HALF}, "channel"),
]


@pytest.mark.parametrize(("make", "fields", "place"), EVENTS)
def test_half_a_character_in_an_event(make, fields, place):
    b = builder()
    with pytest.raises(TraceError, match="half a character") as told:
        b.append(make, "main", **fields)
    assert told.value.place == f"$.events[0].{place}"
    assert "law 0, event 'main.0'" in str(told.value)
    str(told.value).encode()
    trace = assembled(make, **fields)
    assert trace.diagnostics["surrogates"] == 1
    assert b"a?b" in encode(trace)


HEADERS = [
    ({"system": HALF}, "$.system"),
    ({"trace_id": HALF}, "$.trace_id"),
    ({"harness": Harness(HALF)}, "$.harness.name"),
    ({"policies": {"p": Policy(model=HALF)}}, "$.policies.p.model"),
    ({"rewards": {HALF: 1.0}}, "$.rewards"),
    ({"source": Source("log", "1", (SourceFile(HALF, "0", 1),))}, "$.source.files[0].name"),
]


@pytest.mark.parametrize(("header", "place"), HEADERS)
def test_half_a_character_in_a_header(header, place):
    with pytest.raises(TraceError, match="half a character") as told:
        builder().build(**header)
    assert told.value.place == place
    trace = assembled(header=header)
    assert trace.diagnostics["surrogates"] == 1
    assert b"a?b" in encode(trace)


@pytest.mark.parametrize(
    ("agent", "field"),
    [(Agent("main", role=HALF), "role"), (Agent(HALF), "id"), (Agent("main", tools=("x", HALF)), "tools[1]")],
)
def test_half_a_character_in_an_agent(agent, field):
    with pytest.raises(TraceError, match="half a character") as told:
        builder().agent(agent)
    assert told.value.place == f"$.agents[1].{field}"
    assert assembled(agent=agent).diagnostics["surrogates"] == 1


def test_names_that_become_equal_are_one_writer_and_one_agent():
    a = Assembler()
    a.agent(Agent("\ud800"))
    first = a.append("\ud800", Turn, "\ud800")
    second = a.append("\udfff", Turn, "\udfff", turn=first.id)
    a.link(first.id, second.id, "causal", "explicit")
    trace = a.assemble(trace_id="t", task_id="k", source=LOG)
    assert violations(trace) == []
    assert [(event.id, event.agent) for event in trace.events] == [("?.0", "?"), ("?.1", "?")]
    assert trace.diagnostics == {"surrogates": 5}


def test_a_replaced_event_and_a_kept_text_are_mended_too():
    a = Assembler()
    a.agent(Agent("main"))
    event = a.append("main", Turn, "main", content=a.text("x\ud800"))
    a.replace(msgspec.structs.replace(event, model=HALF, t=nan, duration_s=-1.0, usd=2))
    a.count(f"odd_{HALF}")
    trace = a.assemble(trace_id="t", task_id="k", source=LOG)
    assert trace.diagnostics == {"negative_duration": 1, "not_finite": 1, "odd_a?b": 1, "surrogates": 2}
    assert (trace.events[0].model, trace.events[0].t, trace.events[0].usd) == ("a?b", None, 2.0)
    assert list(a.blobs.values()) == [b"x?"]
    assert decode(encode(trace)) == trace


NUMBERS = [
    ({"t": HUGE}, "t", 0),
    ({"usd": -HUGE}, "usd", 0),
    ({"duration_s": inf}, "duration_s", 0),
    ({"labels": {"x": nan, "y": 1}}, "labels.x", 0),
    ({"generation": Generation(sampling={"temperature": nan})}, "generation.sampling.temperature", 0),
    ({"choice": Choice("O1", ("a",), 0, logprob=nan)}, "choice.logprob", 0),
    ({"choice": Choice("O1", ("a",), 0, value=HUGE)}, "choice.value", 0),
    ({"labels": {"x": 10**5000}}, "labels.x", 0),
    ({"duration_s": -1.0}, "duration_s", "negative_duration"),
    ({"tokens": Tokens(output=-1, input=2)}, "tokens.output", "out_of_range"),
    ({"tokens": Tokens(output=1, reasoning=2)}, "tokens.reasoning", "out_of_range"),
    ({"content": Content("0", -1)}, "content.bytes", "out_of_range"),
    ({"token_span": (3, 1)}, "token_span", "out_of_range"),
    ({"choice": Choice("O1", ("a",), 1)}, "choice.chosen", "out_of_range"),
    ({"choice": Choice("O1", ("a",), 0, legal=())}, "choice.legal", "out_of_range"),
]


@pytest.mark.parametrize(("fields", "place", "counted"), NUMBERS)
def test_a_number_that_cannot_be(fields, place, counted):
    b = builder()
    with pytest.raises(TraceError, match=r"law 0, event 'main\.0'") as told:
        b.append(Turn, "main", **fields)
    assert told.value.place == f"$.events[0].{place}"
    trace = assembled(**fields)
    assert trace.diagnostics == {counted or "not_finite": 1}
    (event,) = trace.events
    assert event.tokens in (None, Tokens(input=2), Tokens(output=1))
    assert event.choice in (None, Choice("O1", ("a",), 0))
    assert event.labels in ({}, {"y": 1})


def test_a_choice_may_be_wrong_in_two_ways():
    trace = assembled(choice=Choice("O1", ("a",), 7, legal=(True, True)))
    assert trace.diagnostics == {"out_of_range": 2}
    assert trace.events[0].choice is None


@pytest.mark.parametrize("number", [HUGE, -HUGE, inf, nan])
@pytest.mark.parametrize("name", ["rewards", "costs", "metrics"])
def test_a_total_that_cannot_be(name, number):
    with pytest.raises(TraceError, match="not finite") as told:
        builder().build(**{name: {"x": number}})
    assert told.value.place == f"$.{name}.x"
    trace = assembled(header={name: {"x": number, "y": 1}})
    assert (getattr(trace, name), trace.diagnostics) == ({"y": 1.0}, {"not_finite": 1})


@pytest.mark.parametrize(
    ("header", "place"),
    [
        ({"harness": {"name": "h"}}, "$.harness"),
        ({"policies": {"p": {"model": "m"}}}, "$.policies.p"),
        ({"source": Source("a", "1", ({"name": "f", "sha256": "0", "bytes": 1},))}, "$.source.files[0]"),
        ({"rewards": {"x": "1"}}, "$.rewards[...]"),
        ({"rewards": [1.0]}, "$.rewards"),
        ({"rewards": {"x": True}}, "$.rewards[...]"),
        ({"topology": "ring"}, "$.topology"),
        ({"seed": 1.5}, "$.seed"),
        ({"system": object()}, "$"),
    ],
)
def test_a_header_holds_what_it_should(header, place):
    for made in (lambda: builder().build(**header), lambda: Builder(trace_id="t", task_id="k", **header).build()):
        with pytest.raises(TraceError) as told:
            made()
        assert told.value.place == place or "no agent is a root" in str(told.value)


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"tokens": {"output": 1}}, "$.events[0].tokens"),
        ({"choice": {"sub_decision": "O1", "options": ["a"], "chosen": 0}}, "$.events[0].choice"),
        ({"t": "5"}, "$.events[0].t"),
        ({"t": True}, "$.events[0].t"),
        ({"labels": {"x": object()}}, "$.events[0]"),
        ({"labels": {"x": None}}, "$.events[0].labels[...]"),
        ({"choice": Choice("O9", ("a",), 0)}, "$.events[0].choice.sub_decision"),
    ],
)
def test_an_event_holds_what_it_should(fields, place):
    b = builder()
    with pytest.raises(TraceError) as told:
        b.append(Turn, "main", **fields)
    assert told.value.place == place
    assert b.append(Turn, "main").id == "main.0"


def test_agents_and_links_hold_what_they_should():
    b = builder()
    with pytest.raises(TraceError) as told:
        b.agent(Agent("w", parent=5))
    assert told.value.place == "$.agents[1].parent"
    a, c = b.append(Turn, "main"), b.append(Turn, "main")
    with pytest.raises(TraceError) as told:
        b.link(a.id, c.id, "nonsense")
    assert told.value.place == "$.edges[0].type"


def test_lists_become_tuples_as_they_are_read():
    b = builder()
    event = b.append(Turn, "main", choice=Choice("O1", ["a", "b"], 1, legal=[True, True]), token_span=[0, 2])
    assert (event.choice.options, event.choice.legal, event.token_span) == (("a", "b"), (True, True), (0, 2))
    assert decode(encode(b.build())) == b.build()


def test_zero_has_no_sign():
    def fields(zero):
        choice = Choice("O1", ("a",), 0, logprob=zero, value=zero)
        generation = Generation(sampling={"temperature": zero})
        return {"t": zero, "usd": zero, "labels": {"x": zero}, "choice": choice, "generation": generation}

    traces = []
    for zero in (0.0, -0.0):
        b = builder()
        b.append(Turn, "main", **fields(zero))
        traces.append((b.build(rewards={"r": zero}), assembled(header={"costs": {"c": zero}}, **fields(zero))))
    assert [encode(trace) for trace in traces[0]] == [encode(trace) for trace in traces[1]]
    for data in map(encode, traces[0]):
        assert encode(decode(data.replace(b":0.0", b":-0.0"))) == data


@pytest.mark.parametrize(
    ("fields", "place"), [({"labels": {"x": HALF}}, "labels.x"), ({"t": inf}, "t"), ({"model": HALF}, "model")]
)
def test_encoding_says_where_the_flaw_is(fields, place):
    trace = Trace(schema=1, trace_id="t", task_id="k", agents=(Agent("main"),), events=(Turn("a", "main", **fields),))
    with pytest.raises(TraceError) as told:
        encode(trace)
    assert told.value.place == f"$.events[0].{place}"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from([-0.0, inf, nan])
    | st.text() | st.text("a\ud800\udfff", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\udbff", max_size=2), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


def parts(value):
    """Every key and value, at any depth."""
    yield value
    if isinstance(value, dict):
        yield from value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(part)


def flaws(value):
    """How many numbers are not finite and how many characters are halves."""
    text = "".join(part for part in parts(value) if isinstance(part, str))
    bad = sum(isinstance(part, float) and not isfinite(part) for part in parts(value))
    return bad + sum("\ud800" <= character <= "\udfff" for character in text)


@given(JSON)
def test_each_flaw_is_told_once_and_none_stays(value):
    told = []
    document = {"x": value}
    clean = mended(document, "$", told.append)
    merged = json.dumps(value).count("\\udbff") > 1  # names that become equal are one, and the last wins
    assert sum(flaw.n for flaw in told) == flaws(document) or merged
    assert flaws(clean) == 0
    assert not any(isinstance(part, float) and copysign(1.0, part) < 0 and part == 0 for part in parts(clean))
    assert mended(clean, "$", told.append) == clean
    assert json.loads(msgspec.json.encode(clean)) == clean
    if is_sound(document):
        assert flaws(document) == 0
        assert json.dumps(clean) == json.dumps(document)


@given(st.integers() | st.floats() | st.sampled_from([HUGE, -HUGE, 2**1023, 2**1024]))
def test_a_number_is_finite_where_a_float_holds_it(number):
    try:
        held = isfinite(float(number))
    except OverflowError:
        held = False
    assert is_finite(number) == held


@given(events())
def test_a_lawful_event_is_sound(event):
    told = []
    assert mended(event, "$", told.append) == event
    assert not told
