"""Our own trace documents, one JSON file each."""

import hashlib
from collections.abc import Iterator

import msgspec

from orchestrace.adapters.lines import document, unpacked
from orchestrace.adapters.reading import Files, Match, Read, Skip
from orchestrace.errors import LogError, TraceError
from orchestrace.trace import Trace, decode, violations

NAME = "native"
_HEAD = 1 << 16


class _Head(msgspec.Struct):
    """What only our documents have together, at their top level."""

    schema: int
    trace_id: str
    task_id: str


def detect(files: Files) -> Match | None:
    """The trace documents among these files."""
    names = tuple(name for name in files.names if _is_trace(files, name))
    return Match(NAME, names) if names else None


def read(files: Files, match: Match) -> Iterator[Read | Skip]:
    """One trace a document; blobs that it carries are given beside it. One that breaks a law is a `Skip`."""
    for name in match.names:
        try:
            trace = decode(document(files, name))
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
            yield _outcome(trace)


def _outcome(trace: Trace) -> Read:
    blobs = {hash_: data for hash_, data in trace.blobs.items() if hashlib.sha256(data).hexdigest() == hash_}
    counted = dict(trace.diagnostics)
    if len(blobs) < len(trace.blobs):
        counted["bad_blobs"] = counted.get("bad_blobs", 0) + len(trace.blobs) - len(blobs)
    bare = msgspec.structs.replace(trace, blobs={}, diagnostics=counted)
    return Read(bare, blobs, counted)


def _is_trace(files: Files, name: str) -> bool:
    if ".json" not in name and files.chosen != name:
        return False
    try:
        with files.open(name) as stream:
            head = unpacked(stream).read(_HEAD).lstrip()
        # `schema` and the ids come first in what we write; a foreign document is not read to its end to find out.
        if not head.startswith(b"{") or b'"trace_id"' not in head or b'"schema"' not in head:
            return False
        msgspec.json.decode(document(files, name), type=_Head)
    except (LogError, EOFError, msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True
