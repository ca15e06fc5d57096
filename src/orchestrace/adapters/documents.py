"""Files that are one JSON document each: the loop that native and survey documents share."""

import codecs
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from orchestrace.adapters.lines import Fingerprint, document, unpacked
from orchestrace.adapters.reading import Files, Match, Read, Skip
from orchestrace.errors import LogError, TraceError
from orchestrace.trace import SourceFile, Trace, json_document, violations

T = TypeVar("T")
_HEAD = 1 << 16


def read_documents(
    files: Files, match: Match, *, load: Callable[[bytes], Trace], finished: Callable[[Trace, SourceFile], Read]
) -> Iterator[Read | Skip]:
    """One trace a document; one that cannot be read, breaks a law or holds no event is a `Skip` that says so.

    Args:
      files: as an adapter is given them.
      match: which of them to read.
      load: bytes to trace; raises TraceError.
      finished: what to give for a trace that obeys the laws, and the file that it was read from.
    """
    for name in match.names:
        fingerprint = Fingerprint()
        try:
            trace = load(document(files, name, fingerprint))
        except (LogError, TraceError, EOFError) as error:
            yield Skip(name, str(error))
            continue
        broken = violations(trace)
        if broken:
            more = f", and {len(broken) - 1} more" if len(broken) > 1 else ""
            yield Skip(name, f"{broken[0]}{more}; `orchestrace validate` lists them all")
        elif not trace.events:
            yield Skip(name, "holds no event")
        else:
            yield finished(trace, SourceFile(name, fingerprint.sha256, fingerprint.bytes))


def has_head(files: Files, name: str, *, marks: tuple[bytes, ...], form: msgspec.json.Decoder[T]) -> T | None:
    """The top level of a file that is a JSON object with these marks near its beginning; None for any other.

    The marks spare us from reading a long foreign document to its end to find out.
    """
    if ".json" not in name and files.chosen != name:
        return None
    try:
        with files.open(name) as stream:
            head = unpacked(stream).read(_HEAD).removeprefix(codecs.BOM_UTF8).lstrip()
        if not head.startswith(b"{") or not all(mark in head for mark in marks):
            return None
        return json_document(document(files, name), form).value
    except (LogError, EOFError, msgspec.MsgspecError, ValueError, RecursionError):
        return None
