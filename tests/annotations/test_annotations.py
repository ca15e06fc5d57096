import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import (
    Annotations,
    CoalitionValues,
    Credit,
    CreditRow,
    Evidence,
    Reward,
    Verdict,
    decode,
    decode_coalitions,
    decode_evidence,
    encode,
    evidence_from,
)
from orchestrace.errors import InputError

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ROWS = st.builds(CreditRow, NAMES, NUMBERS, std_error=st.none() | NUMBERS, n=st.none() | st.integers(0, 99))
CREDITS = st.builds(
    Credit,
    unit=st.sampled_from(["team", "agent", "turn", "token"]),
    method=NAMES,
    kind=st.sampled_from(["share", "advantage", "shaped"]),
    definition=NAMES,
    rows=st.lists(ROWS, max_size=4).map(tuple),
    residual=st.none() | NUMBERS,
    model_calls=st.integers(0, 9),
)
REWARDS = st.builds(Reward, NAMES, st.sampled_from(["R1", "R7"]), st.sampled_from(["team", "agent"]), NAMES, NUMBERS)
ANNOTATIONS = st.builds(
    Annotations,
    trace_id=NAMES,
    trace_digest=NAMES,
    rewards=st.lists(REWARDS, max_size=3).map(tuple),
    verdicts=st.dictionaries(NAMES, st.builds(Verdict, NUMBERS).map(lambda v: (v,)), max_size=2),
    credits=st.lists(CREDITS, max_size=3).map(tuple),
)


@given(ANNOTATIONS)
def test_bytes_and_back(annotations):
    assert decode(encode(annotations)) == annotations
    assert encode(decode(encode(annotations))) == encode(annotations)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_numbers_are_finite(bad):
    row = CreditRow("a", 1.0, std_error=bad)
    credit = Credit(unit="agent", method="m", kind="share", definition="d", rows=(CreditRow("a", 0.0), row))
    with pytest.raises(ValueError, match=r"credits\[0\]\.rows\[1\]\.std_error"):
        encode(Annotations(trace_id="t", trace_digest="d", credits=(credit,)))
    with pytest.raises(ValueError, match=r"rewards\[0\]\.value"):
        encode(Annotations(trace_id="t", trace_digest="d", rewards=(Reward("c", "R1", "team", "t", bad),)))
    with pytest.raises(ValueError, match="verdicts"):
        encode(Annotations(trace_id="t", trace_digest="d", verdicts={"e": (Verdict(bad),)}))


def test_evidence_says_what_it_knows():
    evidence = decode_evidence(b'{"grades": {"agent": {"ann": 0.5}}, "shares": {"agent": {"bob": 0.0}}}')
    assert evidence.grade("agent", "ann") == 0.5
    assert evidence.grade("agent", "bob") is None
    assert evidence.share("agent", "bob") == 0.0
    assert Evidence().grade("team", "t") is None


def test_shares_become_evidence_and_advantages_do_not():
    rows = (
        CreditRow("t", 1.0, unit="team"),
        CreditRow("ann", 0.75, unit="agent"),
        CreditRow("t0:rest", 0.1, unit="remainder"),
    )
    share = Credit(unit="agent", method="winter", kind="share", definition="d", rows=rows)
    advantage = Credit(unit="agent", method="rloo", kind="advantage", definition="d", rows=(CreditRow("ann", -5.0),))
    evidence = evidence_from([share, advantage], verdicts={"e": (Verdict(1.0),)})
    assert evidence.shares == {"team": {"t": 1.0}, "agent": {"ann": 0.75}}
    assert evidence.verdicts["e"][0].score == 1.0


@pytest.mark.parametrize("document", [b"", b"[]", b'{"grades": {"agency": {}}}', b'{"grades": {"agent": {"a": "x"}}}'])
def test_no_evidence_is_said_where(document):
    with pytest.raises(InputError, match="not evidence"):
        decode_evidence(document)


@pytest.mark.parametrize("document", [b"", b"{}", b'{"trace_id": 1, "trace_digest": ""}'])
def test_no_annotations_are_said_where(document):
    with pytest.raises(InputError, match="not annotations"):
        decode(document)


def test_a_table_of_coalitions():
    given_ = {
        "unit": "agent",
        "definition": "replay",
        "values": [{"units": [], "value": 0}, {"units": ["a"], "value": 1}],
    }
    table = decode_coalitions(json.dumps(given_).encode())
    assert isinstance(table, CoalitionValues)
    assert [row.units for row in table.values] == [(), ("a",)]
    for spoil, said in [
        ({"values": [{"units": ["a", "b"], "value": 0}, {"units": ["b", "a"], "value": 1}]}, "stands twice"),
        ({"unit": "agency"}, "no table"),
        ({"extra": 1}, "no table"),
        ({"values": [{"units": ["a"], "value": 1e999}]}, "not finite|no table"),
    ]:
        with pytest.raises(InputError, match=said):
            decode_coalitions(json.dumps({**given_, **spoil}).replace("Infinity", "1e999").encode())
