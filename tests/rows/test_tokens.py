"""Token arrays keep every number; what is no token array is refused, by name."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.errors import InputError
from orchestrace.rows import MEDIA, packed, unpacked
from orchestrace.rows.tokens import sampled
from orchestrace.trace import Generation, Turn

IDS, LOGPROBS = packed("ids", [5, 6, 7]), packed("logprobs", [-0.5, -1.0, 0.0])


def turn(**fields):
    return Turn(id="main.0", agent="main", generation=Generation(**fields))


@given(st.lists(st.integers(0, 2**31 - 1)))
def test_ids_come_back(values):
    assert unpacked("ids", packed("ids", values)).tolist() == values


@given(st.lists(st.floats(max_value=0.0, allow_infinity=False, allow_nan=False)))
def test_logprobs_come_back_to_the_last_bit(values):
    assert unpacked("logprobs", packed("logprobs", values)).tobytes() == np.array(values, np.float64).tobytes()


@given(st.lists(st.booleans()))
def test_masks_come_back(values):
    assert unpacked("mask", packed("mask", values)).tolist() == values


def test_the_bytes_are_as_documented():
    assert packed("ids", [1, 258]) == b"\xfftok<i4\n" + b"\x01\0\0\0" + b"\x02\x01\0\0"
    assert packed("logprobs", [-1.0]) == b"\xfftok<f8\n" + b"\0\0\0\0\0\0\xf0\xbf"
    assert packed("mask", [True, False]) == b"\xfftok|u1\n" + b"\x01\0"
    assert set(MEDIA) == {"ids", "logprobs", "mask"}


@given(st.text())
def test_no_text_looks_like_token_ids(text):
    with pytest.raises(InputError, match="no ids blob"):
        unpacked("ids", text.encode("utf-8", "replace"))


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        ("ids", [3, -1], r"ids\[1\] is -1, expected a token id in 0..2147483647"),
        ("ids", [2**31], r"ids\[0\] is 2147483648"),
        ("ids", [1.0], "ids have dtype float64, expected <i4"),
        ("ids", [[1]], r"ids have shape \(1, 1\)"),
        ("logprobs", [-1.0, 0.7], r"logprobs\[1\] is 0.7, expected a natural log, finite and at most 0"),
        ("logprobs", [float("nan")], r"logprobs\[0\] is nan"),
        ("logprobs", [float("-inf")], r"logprobs\[0\] is -inf"),
        ("mask", [0, 1], "mask have dtype int64"),
    ],
)
def test_wrong_values_are_refused(kind, values, said):
    with pytest.raises(ValueError, match=said):
        packed(kind, values)


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("ids", LOGPROBS, "no ids blob: it begins with .*<f8"),
        ("ids", b"", "no ids blob"),
        ("ids", IDS[:-1], "a broken ids blob: 11 bytes hold no whole number of <i4"),
        ("ids", b"\xfftok<i4\n\xff\xff\xff\xff", r"ids\[0\] is -1"),
        ("mask", b"\xfftok|u1\n\x02", r"mask\[0\] is 2, expected 0 or 1"),
        ("logprobs", b"\xfftok<f8\n" + b"\xff" * 8, r"logprobs\[0\] is nan"),
    ],
)
def test_broken_blobs_are_refused_and_located(kind, data, said):
    with pytest.raises(InputError, match=f"^here: {said}"):
        unpacked(kind, data, place="here")


@pytest.mark.parametrize(
    ("event", "blobs", "why"),
    [
        (Turn(id="main.0", agent="main"), {}, "no generation recorded"),
        (turn(), {}, "no token ids recorded"),
        (turn(token_ids="i"), {}, "token ids not among the blobs"),
        (turn(token_ids="i", loss_mask="m"), {"i": IDS}, "loss mask not among the blobs"),
    ],
)
def test_a_turn_without_tokens_says_why(event, blobs, why):
    assert sampled(event, blobs, place="") == why


@pytest.mark.parametrize(
    ("fields", "lacking"),
    [
        ({}, ("prompt not recorded", "logprobs not recorded")),
        ({"prompt_hash": "gone", "logprobs": "gone"}, ("prompt not among the blobs", "logprobs not among the blobs")),
        ({"prompt_hash": "text", "logprobs": "l"}, ("prompt recorded as text, not as token ids",)),
        ({"prompt_hash": "i", "logprobs": "l"}, ()),
    ],
)
def test_what_a_turn_lacks_is_listed(fields, lacking):
    tokens = sampled(turn(token_ids="i", **fields), {"i": IDS, "l": LOGPROBS, "text": b"Do it."}, place="")
    assert tokens.lacking == lacking
    assert tokens.ids.tolist() == [5, 6, 7]
    assert tokens.mask.all()
    assert (tokens.prompt is None) == any("prompt" in words for words in lacking)
    assert (tokens.logprobs is None) == any("logprobs" in words for words in lacking)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"logprobs": "two"}, "turn x: logprobs has 2 numbers, but token_ids has 3"),
        ({"loss_mask": "one"}, "turn x: loss_mask has 1 numbers, but token_ids has 3"),
        ({"logprobs": "i"}, "turn x, logprobs: no logprobs blob"),
        ({"prompt_hash": "two"}, "turn x, prompt_hash: no ids blob"),
    ],
)
def test_arrays_that_do_not_fit_name_the_turn(fields, said):
    blobs = {"i": IDS, "two": packed("logprobs", [0, 0]), "one": packed("mask", [True])}
    with pytest.raises(InputError, match=said):
        sampled(turn(token_ids="i", **fields), blobs, place="turn x")
