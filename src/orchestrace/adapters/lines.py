r"""The byte layer that every line-wise format shares: bytes in, JSON objects out, every repair counted.

Lines end at b"\n" and nowhere else: U+2028, U+2029, NEL, VT and FF are legal inside JSON strings. A trailing b"\r" and
a byte order mark are dropped. UTF-16, which some editors and shells write, is read as UTF-8. A line that the fast
decoder refuses gets the slow one before it counts as bad.

Counters
  utf8_replaced      lines with bytes that are no UTF-8; each became U+FFFD
  control_chars      lines with raw control characters, read all the same
  surrogates         lines with lone surrogates, which became "?"
  concatenated       lines that hold several objects
  corrupt_middle     lines, or ends of lines, that are no JSON
  truncated_tail     the same for a last line without a newline
  too_deep           lines nested beyond what a JSON reader takes (about a thousand levels)
  not_objects        JSON values that are no objects
  line_over_cap      lines longer than MAX_LINE, not read
"""

import codecs
import gzip
import hashlib
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, BinaryIO, NamedTuple

import msgspec

from orchestrace.adapters.reading import Files
from orchestrace.errors import LogError

MAX_LINE = 512 << 20
"""Bytes of one line. Whole-history lines of 500 MB exist; nobody writes more."""
MAX_UNPACKED = 1 << 33
"""Bytes that one compressed file may unpack to."""
BLOCK = 1 << 20

_BOM = b"\xef\xbb\xbf"
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_LONE = re.compile("[\ud800-\udfff]")
_FAST = msgspec.json.Decoder()
_SLOW = json.JSONDecoder(strict=False)
_REFUSALS = (msgspec.MsgspecError, ValueError, RecursionError)


class Line(NamedTuple):
    """One JSON object of a log."""

    number: int
    """Counted from 1, in the file as unpacked."""
    record: dict[str, Any]


class Fingerprint:
    """sha256 and length of a stream, taken while it is read."""

    def __init__(self) -> None:
        self._sha256 = hashlib.sha256()
        self.bytes = 0

    def update(self, block: memoryview) -> None:
        """Take the next bytes."""
        self._sha256.update(block)
        self.bytes += len(block)

    @property
    def sha256(self) -> str:
        """Lower-case hex, of what was read so far."""
        return self._sha256.hexdigest()


class _Watched(io.RawIOBase):
    """A stream as stored; fingerprinted while it passes."""

    def __init__(self, stream: BinaryIO, fingerprint: Fingerprint | None) -> None:
        self._stream, self._fingerprint = stream, fingerprint

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        try:
            data = self._stream.read(len(view))
        except OSError as error:
            raise LogError(f"cannot be read: {error.strerror or error}", remedy="check the disk") from None
        view[: len(data)] = data
        if self._fingerprint is not None:
            self._fingerprint.update(view[: len(data)])
        return len(data)


class _Unpacked(io.RawIOBase):
    """A stream that a decompressor gives, up to a cap. Damage is an `EOFError`."""

    def __init__(self, stream: BinaryIO) -> None:
        # `read1` gives what there is: a stream that ends early is read up to there.
        self._read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
        self._left = MAX_UNPACKED

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        try:
            data = self._read(len(view))
        except LogError:
            raise
        except Exception as error:  # each decompressor has its own
            raise EOFError(str(error)) from None
        self._left -= len(data)
        if self._left < 0:
            raise LogError(f"unpacks to more than {MAX_UNPACKED} bytes", remedy="unpack it yourself and look at it")
        view[: len(data)] = data
        return len(data)


class _Transcoded(io.RawIOBase):
    """A stream of text as UTF-8, if its first bytes say UTF-16. Lone surrogates stay, each as three bytes."""

    def __init__(self, stream: "io.BufferedReader[Any]") -> None:
        self._stream = stream
        self._decoder: codecs.IncrementalDecoder | None = None
        self._begun = False
        self._waiting = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        if not self._begun:
            self._begin()
        # Each time what there is: a stream that ends early is read up to there. An odd last byte is no character.
        while not self._waiting and (block := self._stream.read1(BLOCK)):
            self._take(block)
        given, self._waiting = self._waiting[: len(view)], self._waiting[len(view) :]
        view[: len(given)] = given
        return len(given)

    def _begin(self) -> None:
        self._begun, head = True, b""
        while len(head) < 4 and (block := self._stream.read1(BLOCK)):
            head += block
        encoding = utf_16(head[:4])
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass") if encoding else None
        self._take(head)

    def _take(self, block: bytes) -> None:
        if self._decoder is not None:
            block = self._decoder.decode(block).encode("utf-8", "surrogatepass")
        self._waiting = memoryview(block)


def utf_16(head: bytes) -> str | None:
    """The name of the encoding, if the first four bytes of a JSON text say UTF-16."""
    if head.startswith(codecs.BOM_UTF16_LE) or (head[:2] == b"{\x00" and head[3:] == b"\x00"):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE) or (head[:2] == b"\x00{" and head[2:3] == b"\x00"):
        return "utf-16-be"
    return None


def unpacked(stream: BinaryIO, fingerprint: Fingerprint | None = None) -> BinaryIO:
    """The stream, decompressed if its first bytes say gzip or zstd, and in UTF-8 if they say UTF-16.

    The fingerprint is of the bytes as stored.

    Reading it raises `EOFError` where a compressed stream is damaged or ends early, `LogError` beyond MAX_UNPACKED.

    Raises:
      LogError: zstd, and no library for it is installed.
    """
    stored: io.BufferedReader[Any] = io.BufferedReader(_Watched(stream, fingerprint), BLOCK)
    magic = stored.peek(4)[:4]
    if magic[:2] == _GZIP:
        stored = io.BufferedReader(_Unpacked(gzip.GzipFile(fileobj=stored)), BLOCK)  # type: ignore[arg-type]
    elif magic == _ZSTD:
        stored = io.BufferedReader(_Unpacked(_zstd(stored)), BLOCK)
    elif not utf_16(magic):
        return stored
    return io.BufferedReader(_Transcoded(stored), BLOCK)


def _zstd(stored: BinaryIO) -> BinaryIO:
    for module in ("compression.zstd", "zstandard", "pyzstd"):
        try:
            library = import_module(module)
        except ImportError:
            continue
        if module == "zstandard":
            stream: BinaryIO = library.ZstdDecompressor().stream_reader(stored, read_across_frames=True)
        else:
            stream = library.ZstdFile(stored, "rb")
        return stream
    raise LogError(
        "compressed with zstd, which needs a library", remedy="pip install zstandard, or unpack with zstd -d"
    )


def objects(stream: BinaryIO, counts: Counter[str], fingerprint: Fingerprint | None = None) -> Iterator[Line]:
    """Every JSON object of a log, in file order. Bad lines are skipped and counted; see the module.

    Raises:
      LogError: it cannot be read, needs a library that is not installed, or unpacks beyond the cap.
    """
    lines = unpacked(stream, fingerprint)
    number = 0
    while raw := _next_line(lines, counts):
        number += 1
        ended = raw.endswith(b"\n")
        text = raw[3:] if number == 1 and raw.startswith(_BOM) else raw
        if not text.strip():
            continue
        try:
            record = _FAST.decode(text)
        except _REFUSALS:
            for record in _slow(text.strip(), counts, ended=ended):
                yield Line(number, record)
            continue
        if type(record) is dict:
            yield Line(number, record)
        else:
            counts["not_objects"] += 1


def _next_line(lines: BinaryIO, counts: Counter[str]) -> bytes:
    """The next line with its newline; empty at the end, and where a damaged compressed stream ends early."""
    try:
        raw = lines.readline(MAX_LINE)
        if len(raw) < MAX_LINE or raw.endswith(b"\n"):
            return raw
        counts["line_over_cap"] += 1
        while raw and not raw.endswith(b"\n"):
            raw = lines.readline(BLOCK)
    except EOFError:
        counts["truncated_tail"] += 1
        return b""
    return b"\n" if raw else b""


def _slow(raw: bytes, counts: Counter[str], *, ended: bool) -> Iterator[dict[str, Any]]:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        counts["utf8_replaced"] += 1
        text = raw.decode("utf-8", "replace")
    found, at = 0, 0
    try:
        while at < len(text):
            value, at = _SLOW.raw_decode(text, at)
            at = _skip_blank(text, at)
            if type(value) is dict:
                yield _without_surrogates(value, raw, counts)
            else:
                counts["not_objects"] += 1
            found += 1
    except RecursionError:
        counts["too_deep"] += 1
    except ValueError:
        counts["corrupt_middle" if ended else "truncated_tail"] += 1
    if found > 1:
        counts["concatenated"] += 1
    if found and _CONTROL.search(raw):
        counts["control_chars"] += 1


def _skip_blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _without_surrogates(record: dict[str, Any], raw: bytes, counts: Counter[str]) -> dict[str, Any]:
    r"""The record with "?" for each lone surrogate: they come from `\ud800` escapes, and cannot be encoded again."""
    if b"\\u" not in raw:
        return record
    text = json.dumps(record, ensure_ascii=False)
    if not _LONE.search(text):
        return record
    counts["surrogates"] += 1
    clean: dict[str, Any] = json.loads(_LONE.sub("?", text))
    return clean


def document(files: Files, name: str, fingerprint: Fingerprint | None = None) -> bytes:
    """The whole of a file that is one JSON document, unpacked, in UTF-8 and without a byte order mark.

    Raises:
      LogError: it cannot be read, or is longer than a line may be.
      EOFError: it is compressed, and damaged.
    """
    with files.open(name) as stream:
        data = unpacked(stream, fingerprint).read(MAX_LINE + 1)
    if len(data) > MAX_LINE:
        raise LogError(f"longer than {MAX_LINE} bytes", path=name)
    return data.removeprefix(_BOM)
