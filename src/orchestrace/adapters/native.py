"""Our own trace documents, one JSON file each."""

import hashlib
from collections.abc import Iterator

import msgspec

from orchestrace.adapters.documents import has_head, read_documents
from orchestrace.adapters.reading import Files, Match, Read, Skip
from orchestrace.trace import Trace, decode

NAME = "native"


class _Head(msgspec.Struct):
    """What only our documents have together, at their top level."""

    schema: int
    trace_id: str
    task_id: str


def detect(files: Files) -> Match | None:
    """The trace documents among these files."""
    marks = (b'"trace_id"', b'"schema"')  # they come first in what we write
    names = tuple(name for name in files.names if has_head(files, name, marks=marks, form=_Head) is not None)
    return Match(NAME, names) if names else None


def read(files: Files, match: Match) -> Iterator[Read | Skip]:
    """One trace a document; blobs that it carries are given beside it. One that breaks a law is a `Skip`."""
    yield from read_documents(files, match, load=decode, finished=_finished)


def _finished(trace: Trace) -> Read:
    blobs = {hash_: data for hash_, data in trace.blobs.items() if hashlib.sha256(data).hexdigest() == hash_}
    counted = dict(trace.diagnostics)
    if len(blobs) < len(trace.blobs):
        counted["bad_blobs"] = counted.get("bad_blobs", 0) + len(trace.blobs) - len(blobs)
    bare = msgspec.structs.replace(trace, blobs={}, diagnostics=counted)
    return Read(bare, blobs, counted)
