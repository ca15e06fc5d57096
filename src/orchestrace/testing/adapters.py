"""What every adapter must keep, as a function that strangers can run on theirs.

A log comes from another program, another version, a full disk, a crash, or an enemy. Whatever it holds, an adapter
gives lawful traces and reasons, or a `LogError`; the same bytes always give the same trace; no file is passed over.
"""

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from orchestrace.adapters import Adapter, BytesFiles, Match, Read, Skip
from orchestrace.errors import LogError
from orchestrace.trace import SourceFile, encode, violations

LIMIT_S = 30.0
"""One reading that takes longer does not end."""
MOST_ATTEMPTS = 8
"""Draws of a damage that does not fit the file before another is taken."""

_Rng = np.random.Generator
_Damage = Callable[[bytes, _Rng], bytes | None]
"""Bytes and a die to other bytes; None where the damage does not fit."""


def check_adapter(adapter: Adapter, files: Mapping[str, bytes], *, rng: _Rng, damages: int = 40) -> None:
    """Check that an adapter keeps the contract of `Adapter`, on the files of one or more sessions.

    The same bytes give the same bytes of trace; traces obey the laws, name their sources with the right hashes and
    bring the texts that they name; each matched file is in a trace's source or has a `Skip`. Damaged files (cut,
    flipped bits, shuffled, repeated or joined lines, foreign line ends, fields of wrong types, absurd numbers, deep
    nesting, missing files) give lawful traces, reasons or a `LogError`: no other exception, and an end.

    Args:
      adapter: the adapter.
      files: name -> bytes; at least one file that it knows.
      rng: the die; a fixed seed makes the check repeatable.
      damages: how many damaged copies are tried.

    Raises:
      AssertionError: it does not; the message says where, and the damage that showed it.
    """
    assert adapter.detect(BytesFiles({})) is None, f"{adapter.NAME}: knows files where there are none"
    match = adapter.detect(BytesFiles(files))
    assert match is not None, f"{adapter.NAME}: knows none of {sorted(files)}"
    assert match.adapter == adapter.NAME, f"{adapter.NAME}: its match says {match.adapter!r}"
    assert set(match.names) <= set(files), f"{adapter.NAME}: matched {sorted(set(match.names) - set(files))}"
    first, second = _outcomes(adapter, files, match), _outcomes(adapter, files, match)
    assert _bytes_of(first) == _bytes_of(second), f"{adapter.NAME}: equal files, unequal traces"
    _check_outcomes(adapter, files, first)
    _check_accounted(adapter, match, first)
    for n in range(damages):
        name, damaged = _damaged(files, rng)
        try:
            _check_outcomes(adapter, damaged, _within_limit(partial(_detected, adapter, damaged)))
        except LogError:
            continue
        except Exception as error:
            raise AssertionError(f"{adapter.NAME}: damage {n} ({name}): {type(error).__name__}: {error}") from error


def _detected(adapter: Adapter, files: Mapping[str, bytes]) -> list[Read | Skip]:
    match = adapter.detect(BytesFiles(files))
    return [] if match is None else _outcomes(adapter, files, match)


def _outcomes(adapter: Adapter, files: Mapping[str, bytes], match: Match) -> list[Read | Skip]:
    return list(adapter.read(BytesFiles(files), match))


def _bytes_of(outcomes: list[Read | Skip]) -> list[object]:
    return [(encode(o.trace), sorted(o.blobs.items())) if isinstance(o, Read) else o for o in outcomes]


def _check_outcomes(adapter: Adapter, files: Mapping[str, bytes], outcomes: list[Read | Skip]) -> None:
    for outcome in outcomes:
        if isinstance(outcome, Skip):
            assert outcome.path in files, f"{adapter.NAME}: skips {outcome.path!r}, which is no file"
            assert outcome.reason, f"{adapter.NAME}: skips {outcome.path!r} without a reason"
            continue
        trace = outcome.trace
        place = f"{adapter.NAME}: {trace.trace_id}"
        broken = violations(trace)
        assert not broken, f"{place}: {broken[0]}"
        assert trace.events, f"{place}: a trace without events; that is a Skip"
        assert dict(outcome.diagnostics) == dict(trace.diagnostics), f"{place}: diagnostics differ from the trace's"
        for source in _own_files(adapter, outcome) or ():
            assert hashlib.sha256(files[source.name]).hexdigest() == source.sha256, f"{place}: {source.name}: sha256"
            assert len(files[source.name]) == source.bytes, f"{place}: {source.name}: length"
        for hash_, data in outcome.blobs.items():
            assert hashlib.sha256(data).hexdigest() == hash_, f"{place}: the text {hash_} has another hash"
        for event in trace.events:
            # A native document may have been written without its texts.
            if event.content is not None and not event.content.withheld and trace.source is not None:
                assert event.content.hash in outcome.blobs, f"{place}: the text of {event.id} is missing"


def _own_files(adapter: Adapter, read: Read) -> Sequence[SourceFile] | None:
    """The files that the adapter read the trace from; None for a document of ours, of which nothing says it: a
    recording names no source, and an imported trace the files of its log.
    """
    source = read.trace.source
    if adapter.NAME == "native":
        return None
    said = None if source is None else source.adapter
    assert said == adapter.NAME, f"{adapter.NAME}: {read.trace.trace_id}: its source says {said!r}"
    return () if source is None else source.files


def _check_accounted(adapter: Adapter, match: Match, outcomes: list[Read | Skip]) -> None:
    named = {outcome.path for outcome in outcomes if isinstance(outcome, Skip)}
    reads = [outcome for outcome in outcomes if isinstance(outcome, Read)]
    for read in reads:
        files = _own_files(adapter, read)
        if files is None:
            return
        named |= {source.name for source in files}
    missing = set(match.names) - named
    assert not missing, f"{adapter.NAME}: passes over {sorted(missing)}"


def _within_limit(work: Callable[[], list[Read | Skip]]) -> list[Read | Skip]:
    """What the work gives, or raises; an `AssertionError` where it does not end in time."""
    found: list[list[Read | Skip]] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            raised.append(error)

    # A daemon: an endless loop cannot be stopped from outside, but need not keep the process alive.
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    if raised:
        raise raised[0]
    assert found, f"no end after {LIMIT_S} s"
    return found[0]


def _damaged(files: Mapping[str, bytes], rng: _Rng) -> tuple[str, dict[str, bytes]]:
    """A damage by name, and the files with one of them damaged."""
    names = sorted(files)
    copy = dict(files)
    for _ in range(MOST_ATTEMPTS):
        name = names[int(rng.integers(len(names)))]
        damage = list(DAMAGES)[int(rng.integers(len(DAMAGES)))]
        data = DAMAGES[damage](files[name], rng)
        if data is not None:
            copy[name] = data
            return f"{damage} in {name}", copy
    del copy[names[int(rng.integers(len(names)))]]
    return "a missing file", copy


def _cut(data: bytes, rng: _Rng) -> bytes:
    return data[: int(rng.integers(len(data) + 1))]


def _headless(data: bytes, rng: _Rng) -> bytes:
    return data[int(rng.integers(len(data) + 1)) :]


def _flipped(data: bytes, rng: _Rng) -> bytes | None:
    if not data:
        return None
    changed = bytearray(data)
    for place in rng.integers(len(data), size=int(rng.integers(1, 9))):
        changed[place] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _shuffled(data: bytes, rng: _Rng) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join(lines[place] for place in rng.permutation(len(lines)))


def _repeated(data: bytes, rng: _Rng) -> bytes:
    lines = data.split(b"\n")
    return b"\n".join(line for line in lines for _ in range(int(rng.integers(1, 4))))


def _thinned(data: bytes, rng: _Rng) -> bytes:
    return b"\n".join(line for line in data.split(b"\n") if rng.random() < 0.7)


def _joined(data: bytes, rng: _Rng) -> bytes:
    return b"".join(line + (b"" if rng.random() < 0.3 else b"\n") for line in data.split(b"\n"))


def _foreign_ends(data: bytes, rng: _Rng) -> bytes:
    del rng
    return b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")


def _noisy(data: bytes, rng: _Rng) -> bytes:
    lines = data.split(b"\n")
    junk = (rng.bytes(40), b"[" * 10_000, b'{"a":' * 10_000, b"NaN", b"[1,2]", b'"text"', b"\x00" * 50, b"{}")
    lines.insert(int(rng.integers(len(lines) + 1)), junk[int(rng.integers(len(junk)))])
    return b"\n".join(lines)


def _confused(data: bytes, rng: _Rng) -> bytes | None:
    """One to five fields of one record get values that they cannot have."""
    lines = data.split(b"\n")
    place = int(rng.integers(len(lines)))
    try:
        record = msgspec.json.decode(lines[place])
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    slots = list(_slots(record))
    if not slots:
        return None
    for slot in rng.integers(len(slots), size=int(rng.integers(1, 6))):
        holder, key = slots[slot]
        holder[key] = ABSURD[int(rng.integers(len(ABSURD)))]
    lines[place] = _written(record)
    return b"\n".join(lines)


def _slots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value that holds another."""
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        inside = holder.items() if isinstance(holder, dict) else enumerate(holder) if isinstance(holder, list) else ()
        for key, part in inside:
            yield holder, key
            waiting.append(part)


def _written(record: Any) -> bytes:
    """JSON in which the marks of ABSURD stand for what no encoder writes."""
    text: bytes = msgspec.json.encode(record)
    for mark, written in _MARKS.items():
        text = text.replace(b'"' + mark + b'"', written)
    return text


_MARKS: Mapping[bytes, bytes] = {
    b"@nan": b"NaN",
    b"@infinity": b"-Infinity",
    b"@huge": b"9" * 400,
    b"@endless": b"9" * 5000,
    b"@overflow": b"1e999",
    b"@deep": b"[" * 500 + b"]" * 500,
    b"@deeper": b'{"a":' * 20_000 + b"1" + b"}" * 20_000,
    b"@surrogate": b'"\\ud800 \\udfff"',
    b"@control": b'"\x01\x1b[31m\x7f"',
    b"@bidi": '"\u202e\u2066\u0085\u2028"'.encode(),
}
ABSURD: tuple[Any, ...] = (
    None, True, False, 0, -1, -2.5, 1 << 63, 1e300, "", " ", "x" * 5000, "main", "null", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999+23:59", "2026-13-45", [], [[]], [None], [0, "a", {}], {}, {"type": "text"}, {"text": 5},
    *(mark.decode() for mark in _MARKS),
)  # fmt: skip
"""Values of every type, in places where they make no sense; those with an @ are written as what JSON can hardly say."""

DAMAGES: Mapping[str, _Damage] = {
    "cut": _cut,
    "headless": _headless,
    "flipped bits": _flipped,
    "shuffled lines": _shuffled,
    "repeated lines": _repeated,
    "thinned lines": _thinned,
    "joined lines": _joined,
    "foreign line ends": _foreign_ends,
    "noise": _noisy,
    "wrong types": _confused,
    "wrong types again": _confused,
    "and again": _confused,
}
"""What happens to files, by name."""
