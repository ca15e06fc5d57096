import gzip
import io
import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.adapters import lines
from orchestrace.errors import LogError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
RECORDS = st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=6)


def parsed(data):
    counts = Counter()
    found = [line.record for line in lines.objects(io.BytesIO(data), counts)]
    return found, +counts


def written(records, *, end=b"\n", ascii_=False):
    return b"".join(json.dumps(r, ensure_ascii=ascii_).encode("utf-8", "replace") + end for r in records)


@given(RECORDS)
def test_what_was_written_is_read_and_nothing_is_counted(records):
    assert parsed(written(records)) == (
        json.loads(json.dumps(records, ensure_ascii=False).encode("utf-8", "replace")),
        {},
    )


@given(RECORDS)
def test_line_ends_marks_and_compression_change_nothing(records):
    data = written(records)
    for other in (b"\xef\xbb\xbf" + written(records, end=b"\r\n"), gzip.compress(data), data.removesuffix(b"\n")):
        assert parsed(other) == parsed(data)


@given(st.text(alphabet="\u2028\u2029\x85\x0b\x0cab"))
def test_only_a_newline_ends_a_line(words):
    data = b'{"a": "' + words.replace("\x0b", "").replace("\x0c", "").encode() + b'"}\n'
    assert len(parsed(data)[0]) == 1


@given(st.binary(max_size=300))
def test_any_bytes_give_objects_and_counts(data):
    try:
        found, counts = parsed(data)
    except LogError:
        return  # it says that it is zstd
    assert all(type(record) is dict for record in found)
    assert all(n > 0 for n in counts.values())


@pytest.mark.parametrize(
    ("data", "n", "counts"),
    [
        (b'{"a":1}\nnope\n{"b":2}\n', 2, {"corrupt_middle": 1}),
        (b'{"a":1}\n{"b":', 1, {"truncated_tail": 1}),
        (b'{"a":1}\n{"b":2}', 2, {}),
        (b'{"a":1}{"b":2} {"c":3}\n', 3, {"concatenated": 1}),
        (b'{"a":1}{"b":\n', 1, {"corrupt_middle": 1}),
        (b'{"a":"\xff"}\n', 1, {"utf8_replaced": 1}),
        (b'{"a":"\x01"}\n', 1, {"control_chars": 1}),
        (b'{"a":"\\ud800"}\n', 1, {"surrogates": 1}),
        (b'{"a":"\\ud83d\\ude00"}\n', 1, {}),
        (b'{"a":NaN}\n', 1, {}),
        (b"[1]\n5\n", 0, {"not_objects": 2}),
        (b"[" * 20_000 + b"\n", 0, {"too_deep": 1}),
        (b'{"a":' + b"9" * 6000 + b"}\n", 0, {"corrupt_middle": 1}),
        (b'{"a":' + b"9" * 60 + b"}\n", 1, {}),
        (b"\n \n\r\n", 0, {}),
    ],
)
def test_each_repair_is_counted(data, n, counts):
    found, counted = parsed(data)
    assert (len(found), counted) == (n, counts)


def test_a_lone_surrogate_becomes_a_question_mark_and_an_astral_pair_stays():
    assert parsed(b'{"a":"x\\ud800\\ud83d\\ude00"}\n')[0] == [{"a": "x?\U0001f600"}]


def test_a_line_over_the_cap_is_counted_and_the_next_one_read(monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE", 50)
    assert parsed(b'{"a":"' + b"x" * 100 + b'"}\n{"b":1}\n') == ([{"b": 1}], {"line_over_cap": 1})


def test_a_compressed_stream_that_ends_early_gives_what_it_has():
    data = gzip.compress(b"".join(b'{"a": %d}\n' % n for n in range(5000)))
    found, counts = parsed(data[: len(data) // 2])
    assert counts["truncated_tail"] == 1
    assert 0 < len(found) < 5000


def test_a_bomb_is_refused(monkeypatch):
    monkeypatch.setattr(lines, "MAX_UNPACKED", 1000)
    with pytest.raises(LogError, match="unpacks to more than"):
        parsed(gzip.compress(b'{"a":1}\n' * 1_000_000))


def test_zstd_without_a_library_names_the_remedy(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(lines, "import_module", absent)
    with pytest.raises(LogError, match="pip install zstandard"):
        parsed(b"\x28\xb5\x2f\xfd\x00\x00")


def test_the_fingerprint_is_of_the_bytes_as_stored():
    data = gzip.compress(b'{"a":1}\n')
    fingerprint = lines.Fingerprint()
    list(lines.objects(io.BytesIO(data), Counter(), fingerprint))
    assert fingerprint.bytes == len(data)
