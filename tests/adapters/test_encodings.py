"""What other programs do to a file's text: byte order marks, UTF-16, halves of characters."""

import codecs
import gzip
import hashlib
import io
import json
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.logs import SESSION, Log, meta, task
from adapters.test_conformance import own_document, own_session
from adapters.test_survey import EXAMPLE
from orchestrace.adapters import BytesFiles, Read, detected, lines, read_files
from orchestrace.trace import encode

FILES = {
    "claude_code": own_session(),
    "native": own_document(),
    "survey": {"a.json": EXAMPLE},
}
ENCODED = {
    "mark": lambda data: codecs.BOM_UTF8 + data,
    "utf-16-le with a mark": lambda data: data.decode().encode("utf-16"),
    "utf-16-be with a mark": lambda data: codecs.BOM_UTF16_BE + data.decode().encode("utf-16-be"),
    "utf-16-le": lambda data: data.decode().encode("utf-16-le"),
    "utf-16-be": lambda data: data.decode().encode("utf-16-be"),
    "packed utf-16": lambda data: gzip.compress(data.decode().encode("utf-16")),
    "packed with a mark": lambda data: gzip.compress(codecs.BOM_UTF8 + data),
}


def traces(files):
    """The traces in these files without their sources, as bytes; the sources must be right."""
    found = []
    for outcome in read_files(BytesFiles(files)):
        assert isinstance(outcome, Read), outcome
        for source in outcome.trace.source.files if outcome.trace.source else ():
            assert (source.sha256, source.bytes) == (
                hashlib.sha256(files[source.name]).hexdigest(), len(files[source.name]),
            )  # fmt: skip
        found.append(encode(msgspec.structs.replace(outcome.trace, source=None)))
    return found


@pytest.mark.parametrize("encoded", ENCODED)
@pytest.mark.parametrize("adapter", FILES)
def test_a_text_is_the_same_in_any_encoding(adapter, encoded):
    files = {name: ENCODED[encoded](data) for name, data in FILES[adapter].items()}
    assert [match.adapter for match in detected(BytesFiles(files))] == [adapter]
    assert traces(files) == traces(FILES[adapter])


@pytest.mark.parametrize("adapter", FILES)
@pytest.mark.parametrize("half", ["\\ud800", "\\udc00 \\udbff"])
def test_half_a_character_is_replaced_and_counted(adapter, half):
    texts = {"claude_code": b'"go"', "native": b'"preview":"go"', "survey": b'"illustrative"'}
    files = {
        name: data.replace(texts[adapter], texts[adapter][:-1] + half.encode() + b'"', 1)
        for name, data in FILES[adapter].items()
    }
    (read,) = read_files(BytesFiles(files))
    whole = json.loads(f'"{half}"').encode("utf-8", "replace")
    (plain,) = read_files(BytesFiles({name: data.replace(half.encode(), whole) for name, data in files.items()}))
    assert read.diagnostics["surrogates"] == (1 if adapter == "claude_code" else half.count("\\"))
    assert read.diagnostics == read.trace.diagnostics
    assert msgspec.structs.replace(read.trace, source=None, diagnostics={}) == msgspec.structs.replace(
        plain.trace, source=None, diagnostics={}
    )


@pytest.mark.parametrize("adapter", ["native", "survey"])
def test_half_a_character_in_three_bytes_is_replaced_too(adapter):
    texts = {"native": b"go", "survey": b"illustrative"}
    files = {name: data.replace(texts[adapter], b"\xed\xa0\x80", 1) for name, data in FILES[adapter].items()}
    (read,) = read_files(BytesFiles(files))
    assert read.diagnostics["surrogates"] == 1


def test_a_sidecar_is_read_whatever_its_encoding():
    log = Log()
    log.user(0.0, "go")
    log.says(1.0, task("T1", "p"), stop="tool_use")
    child = Log("k1")
    child.user(2.0, "p")
    names = [f"{SESSION}.jsonl", f"{SESSION}/subagents/agent-k1.jsonl", f"{SESSION}/subagents/agent-k1.meta.json"]
    for data in (
        meta(agentType="critic"), codecs.BOM_UTF8 + meta(agentType="critic"),
        meta(agentType="critic").decode().encode("utf-16"), meta(agentType="critic", description="\ud800"),
    ):  # fmt: skip
        files = dict(zip(names, (log.bytes(), child.bytes(), data), strict=True))
        (read,) = read_files(BytesFiles(files))
        assert [agent.role for agent in read.trace.agents if agent.id == "k1"] == ["critic"]
        assert "bad_meta" not in read.diagnostics
        assert len(read.trace.source.files) == 3


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), max_size=8), st.integers(4, 9))
def test_a_stream_in_utf_16_gives_the_same_lines_however_it_is_read(words, size):
    class Slow(io.BytesIO):
        def read(self, n=-1):
            return super().read(min(n, size))

    records = [{"a": word} for word in words]
    data = "\ufeff" + "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    for encoding in ("utf-8", "utf-16-le", "utf-16-be"):
        counts = Counter()
        found = [line.record for line in lines.objects(Slow(data.encode(encoding)), counts)]
        assert (found, counts) == (records, Counter())


def test_a_packed_stream_may_begin_with_a_single_byte():
    data = '{"a": 1}\n'.encode("utf-16")
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        for n in range(len(data)):
            file.write(data[n : n + 1])
            file.flush()
    assert [line.record for line in lines.objects(io.BytesIO(packed.getvalue()), Counter())] == [{"a": 1}]


def test_half_a_character_in_utf_16_costs_its_line_alone():
    data = '{"a": 1}\n{"a": "\ud800"}\n{"a": 3}\n'.encode("utf-16", "surrogatepass")
    counts = Counter()
    found = [line.record["a"] for line in lines.objects(io.BytesIO(data), counts)]
    assert (found[0], found[-1], counts) == (1, 3, {"utf8_replaced": 1})


def test_a_utf_16_stream_that_ends_inside_a_character_ends_there():
    data = '{"a": 1}\n{"a": 2}'.encode("utf-16")[:-1]
    counts = Counter()
    assert [line.record for line in lines.objects(io.BytesIO(data), counts)] == [{"a": 1}]
    assert counts == {"truncated_tail": 1}
