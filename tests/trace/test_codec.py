"""Bytes and traces: one canonical document a trace, and nothing but TraceError from hostile bytes."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.errors import TraceError
from orchestrace.testing.strategies import logs, traces
from orchestrace.trace import (
    KINDS,
    Agent,
    Builder,
    Choice,
    Source,
    Turn,
    content_digest,
    decode,
    digest,
    encode,
    unknown_fields,
)

replace = msgspec.structs.replace


def small():
    b = Builder(trace_id="t", task_id="k", rewards={"b": 1, "a": 2})
    b.agent(Agent("main"))
    b.append(Turn, "main", t=1, duration_s=2, labels={"z": 1, "a": "x"}, choice=Choice("O5", ("stop",), 0, logprob=0))
    return b.build()


@given(traces(links=True) | logs())
def test_what_is_written_is_read(trace):
    data = encode(trace)
    assert decode(data) == trace
    assert encode(decode(data)) == data
    assert unknown_fields(data) == []


@given(traces(links=True))
def test_equal_traces_have_equal_bytes_whatever_the_order_of_maps(trace):
    def reversed_maps(value):
        if isinstance(value, dict):
            return {key: reversed_maps(value[key]) for key in reversed(value)}
        return [reversed_maps(item) for item in value] if isinstance(value, list) else value

    document = reversed_maps(json.loads(encode(trace)))
    assert encode(decode(json.dumps(document, indent=1).encode())) == encode(trace)


@given(traces(links=True))
def test_digests_leave_out_how_the_trace_came_here(trace):
    moved = replace(trace, diagnostics={"x": 1}, source=Source("other", "2"), blobs={"h": b"x"})
    assert digest(moved) == digest(trace)
    later = replace(
        moved, started_at="2026-01-01T00:00:00Z", clock="recorded",
        events=tuple(replace(event, t=9.0, duration_s=1.0) for event in moved.events),
    )  # fmt: skip
    assert content_digest(later) == content_digest(trace)
    if trace.events:
        assert digest(replace(trace, events=trace.events[:-1])) != digest(trace)
        assert content_digest(replace(trace, events=trace.events[:-1])) != content_digest(trace)


def test_the_digest_is_pinned():
    """Bytes that change break every stored digest; a change here is a new schema."""
    assert encode(small()) == (
        b'{"schema":1,"trace_id":"t","task_id":"k","rewards":{"a":2.0,"b":1.0},"agents":[{"id":"main"}],'
        b'"events":[{"type":"turn","id":"main.0","agent":"main","t":1.0,"duration_s":2.0,"choice":'
        b'{"sub_decision":"O5","options":["stop"],"chosen":0,"logprob":0.0},"labels":{"a":"x","z":1}}]}'
    )
    assert digest(small()) == "e309f035abbe90f9ec1fae6ca6f2dd19ef29f0337e6bbd05c4b532f489849fdc"


@pytest.mark.parametrize("zero", ["-0.0", "-0", "-0e5", "-0.00E-3"])
def test_negative_zero_is_zero(zero):
    data = f'{{"schema":1,"trace_id":"t-0","task_id":"2026-01-05","rewards":{{"x":{zero} ,"y":-0.5}}}}'.encode()
    assert encode(decode(data)) == encode(decode(data.replace(b":" + zero.encode() + b" ", b":0 ")))
    assert b'"x":0.0,"y":-0.5' in encode(decode(data))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_are_finite(number):
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    for fields in (
        {"t": number}, {"usd": number}, {"labels": {"x": number}}, {"choice": Choice("O1", ("a",), 0, value=number)},
    ):  # fmt: skip
        with pytest.raises(TraceError):
            b.append(Turn, "main", **fields)
        event = Turn("main.0", "main", **fields)
        with pytest.raises(TraceError, match="not finite"):
            encode(replace(small(), events=(event,)))
    for name in ("rewards", "costs", "metrics"):
        with pytest.raises(TraceError, match="not finite"):
            b.build(**{name: {"x": number}})
        with pytest.raises(TraceError, match="not finite"):
            encode(replace(small(), **{name: {"x": number}}))


def test_the_word_null_in_a_text_is_no_number():
    event = Turn("main.0", "main", labels={"said": "a:null,b"})
    assert decode(encode(replace(small(), events=(event,)))).events == (event,)


def test_an_unknown_event_type_is_refused_by_name():
    data = encode(small()).replace(b'"turn"', b'"thought"')
    with pytest.raises(TraceError) as told:
        decode(data)
    assert "'thought'" in str(told.value)
    assert told.value.place == "$.events[0].type"
    assert all(name in str(told.value) for name in KINDS)


def test_unknown_fields_are_skipped_and_listed():
    document = json.loads(encode(small()))
    document["colour"] = 1
    document["agents"][0]["mood"] = 2
    document["events"][0]["smell"] = 3
    document["events"][0]["choice"]["why"] = {"deep": 1}
    data = json.dumps(document).encode()
    assert decode(data) == small()
    assert unknown_fields(data) == [
        "$.agents[0].mood", "$.events[0].choice.why", "$.events[0].smell", "$.colour",
    ]  # fmt: skip


HOSTILE = [
    b"", b"{", b"null", b"[]", b"3", b'"x"', b"{}", b"\xff\xfe", b"[" * 10_000, b'{"a":' * 10_000,
    b'{"schema":1}', b'{"schema":2,"trace_id":"a","task_id":"b"}', b'{"schema":1,"trace_id":1,"task_id":"b"}',
    b'{"schema":1,"trace_id":"\\ud800","task_id":"b"}',
    b'{"schema":1,"trace_id":"a","task_id":"b","x":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    b'{"schema":1,"trace_id":"a","task_id":"b","seed":' + b"9" * 5000 + b"}",
    b'{"schema":1,"trace_id":"a","task_id":"b","rewards":{"x":NaN}}',
    b'{"schema":1,"trace_id":"a","task_id":"b","rewards":{"x":1e999}}',
    b'{"schema":1,"trace_id":"a","task_id":"b","events":[{"type":"turn"}]}',
    b'{"schema":1,"trace_id":"a","task_id":"b","events":[{}]}',
    b'{"schema":1,"trace_id":"a","task_id":"b","events":{}}',
]  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_bytes_are_a_trace_error(data):
    with pytest.raises(TraceError) as told:
        decode(data)
    assert "\n" not in str(told.value)


def test_a_document_cut_anywhere_is_a_trace_error():
    data = encode(small())
    for end in range(len(data)):
        with pytest.raises(TraceError):
            decode(data[:end])


@given(st.binary(max_size=60))
def test_random_bytes(data):
    with pytest.raises(TraceError):
        decode(data)


@given(traces(max_events=8), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
def test_flipped_bytes_give_a_trace_or_a_trace_error(trace, flips):
    data = bytearray(encode(trace))
    for place, byte in flips:
        data[place % len(data)] = byte
    try:
        again = decode(bytes(data))
    except TraceError:
        return
    assert decode(encode(again)) == again
