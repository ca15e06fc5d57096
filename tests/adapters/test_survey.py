"""Survey documents as the adapter finds, reads and refuses them."""

import hashlib
import json
from importlib import resources

import msgspec
import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from adapters.test_conformance import own_document
from orchestrace.adapters import BytesFiles, Read, SchemaViolation, Skip, detected, read_files, schema_violations
from orchestrace.errors import TraceError
from orchestrace.testing.strategies import survey_documents
from orchestrace.trace import Agent, Builder, Return, Source, SourceFile, Spawn, Turn, encode, survey, violations

SHIPPED = resources.files("orchestrace.adapters") / "survey_data"
EXAMPLE, SCHEMA = ((SHIPPED / f"{name}.json").read_bytes() for name in ("example_trace", "trace_schema"))


def changed(**change):
    return json.dumps(json.loads(EXAMPLE) | change).encode()


def owners(data, name="a.json"):
    return [match.adapter for match in detected(BytesFiles({name: data}))]


def test_the_shipped_example_is_read():
    (read,) = read_files(BytesFiles({"a.json": EXAMPLE}))
    assert isinstance(read, Read)
    file = SourceFile("a.json", hashlib.sha256(EXAMPLE).hexdigest(), len(EXAMPLE))
    assert (read.trace.source, read.trace.native) == (Source("survey", "1", (file,)), False)
    bare = msgspec.structs.replace(read.trace, source=Source("survey", "1"))
    assert (bare, read.blobs, read.diagnostics) == (survey.load(EXAMPLE), {}, {})
    assert violations(read.trace) == []


@pytest.mark.parametrize(
    ("data", "adapters"),
    [
        (EXAMPLE, ["survey"]),
        (b"\n  " + EXAMPLE, ["survey"]),
        (
            own_document()["trace.json"] if "trace.json" in own_document() else next(iter(own_document().values())),
            ["native"],
        ),
        (changed(schema=1), ["native"]),
        (b"{}", []),
        (b"[]", []),
        (b"", []),
        (json.dumps({"events": [], "edges": []}).encode(), []),
        (json.dumps({"trace_id": "t", "task_id": "k", "events": {}, "edges": []}).encode(), []),
    ],
)
def test_a_document_is_known_by_its_content(data, adapters):
    assert owners(data) == adapters


def test_a_long_export_is_known_whichever_list_comes_first():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    for n in range(1500):
        b.agent(Agent(f"w{n}", parent="main"))
        b.append(Spawn, "main", to=f"w{n}", t=0.0)
        b.append(Return, f"w{n}", to="main", t=1.0)
    b.append(Turn, "main", t=2.0)
    data = survey.dump(b.build())
    assert data.index(b'"events"') > 1 << 16
    assert owners(data) == ["survey"]
    document = json.loads(data)
    turned = json.dumps({"events": document["events"]} | document).encode()
    assert owners(turned) == ["survey"]
    (read,) = read_files(BytesFiles({"a.json": data}))
    assert len(read.trace.events) == 3001


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (changed(edges=[*json.loads(EXAMPLE)["edges"], {"src": "e8", "dst": "e1", "type": "causal"}]), "(law 1)"),
        (changed(edges=[]), "(law 3); `orchestrace validate` lists them all"),
        (changed(events=[]), "$.events"),
        (changed(colour=1), "colour"),
        (changed(topology="ring"), "$.topology"),
    ],
)
def test_a_document_that_cannot_be_used_is_a_skip_that_says_why(data, reason):
    (skip,) = read_files(BytesFiles({"a.json": data}))
    assert isinstance(skip, Skip)
    assert skip.path == "a.json"
    assert reason in skip.reason


@given(survey_documents())
def test_every_valid_document_is_read_or_named_by_a_law(document):
    data = json.dumps(document).encode()
    assert schema_violations(data) == []
    (outcome,) = read_files(BytesFiles({"a.json": data}))
    broken = violations(survey.load(data))
    if broken:
        assert outcome.reason.startswith(str(broken[0]))
    else:
        assert encode(outcome.trace) == encode(msgspec.structs.replace(survey.load(data), source=outcome.trace.source))
        assert schema_violations(survey.dump(outcome.trace)) == []


WRONG = (None, True, 0, -1, -0.5, 2, 1e300, "", "x", [], {}, [{}], {"a": None})


def places(value, path=()):
    """Every place in a document, itself included."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield from places(part, (*path, key))


def mutated(document, path):
    """The document with something else, or nothing, at that place, or with one key more there."""
    *above, last = path
    for wrong in (*WRONG, "gone", "more"):
        copy = holder = json.loads(json.dumps(document))
        for key in above:
            holder = holder[key]
        if wrong == "gone":
            del holder[last]
        elif wrong == "more":
            if not isinstance(holder[last], dict):
                continue
            holder[last]["more"] = 1
        else:
            holder[last] = wrong
        yield copy


def refused_at(data):
    """The place that `load` names in its refusal; None where it refuses nothing."""
    try:
        survey.load(data)
    except TraceError as error:
        return error.place
    return None


def test_loading_refuses_what_the_schema_refuses_and_nothing_else():
    """One event and edge of each shape in the example, each place of them and each wrong value there."""
    document = json.loads(EXAMPLE)
    document |= {"events": document["events"][:2], "edges": document["edges"][:1], "metrics": {"task_success": 1}}
    document["events"][1] |= {"from": "a", "to": "b", "tool": "c", "trusted": False, "content_ref": "d"}
    document["costs"] |= {"messages": 1, "usd": -1}
    judge = Draft202012Validator(json.loads(SCHEMA))
    told = []
    for changed_ in (one for path in places(document) if path for one in mutated(document, path)):
        refusals = {error.json_path for error in judge.iter_errors(changed_)}
        place = refused_at(json.dumps(changed_).encode())
        assert (place in refusals) if refusals else (place is None), changed_
        told.append(place is None)
    assert 50 < sum(told) < len(told) - 50


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topology": None}, "$.topology: "),
        ({"system": None}, "$.system: "),
        ({"events": []}, "$.events: "),
        ({"costs": {"tokens": 1}}, "$.costs: missing required field `wall_clock_s`"),
        ({"costs": {"tokens": -1, "wall_clock_s": 0}}, "$.costs.tokens: -1 is less than 0"),
        ({"rewards": {"team": "much"}}, "$.rewards.team: Expected `float`, got `str`"),
        ({"metrics": {"x": 10**400}}, "$.metrics.x: Number out of range"),
    ],
)
def test_a_refusal_names_the_place(change, message):
    with pytest.raises(TraceError) as refused:
        survey.load(changed(**change))
    assert str(refused.value).startswith(message)


def test_a_number_that_no_float_holds_stays_a_label():
    document = json.loads(EXAMPLE)
    document["events"][0] |= {"duration_s": 10**400, "usd": 1.5}
    trace = survey.load(json.dumps(document).encode())
    assert (trace.events[0].duration_s, trace.events[0].usd) == (None, 1.5)
    assert json.loads(survey.dump(trace)) == document


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"costs": {"tokens": 1}}, ("$.costs", "'wall_clock_s' is a required property")),
        ({"colour": 1}, ("$", "Additional properties are not allowed ('colour' was unexpected)")),
        ({"events": []}, ("$.events", None)),
        ({"topology": "ring"}, ("$.topology", None)),
    ],
)
def test_the_schema_judges(change, found):
    (one,) = schema_violations(changed(**change))
    assert isinstance(one, SchemaViolation)
    assert one.path == found[0]
    assert found[1] in (None, one.message)


def test_every_violation_is_told_and_none_at_length():
    document = json.loads(EXAMPLE)
    del document["costs"]["wall_clock_s"]
    document |= {"colour": 1, "topology": "r" * 10_000}
    found = schema_violations(json.dumps(document).encode())
    assert [one.path for one in found] == ["$", "$.costs", "$.topology"]
    assert max(len(one.message) for one in found) <= 300


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"[" * 100_000, EXAMPLE.replace(b"12000", b"NaN")])
def test_what_is_no_json_is_no_document(data):
    with pytest.raises(TraceError, match="no JSON document"):
        schema_violations(data)
