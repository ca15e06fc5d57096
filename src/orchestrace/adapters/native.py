"""Our own trace documents, one JSON file each."""

import hashlib
from collections.abc import Iterator

import msgspec

from orchestrace.adapters.documents import has_head, read_documents
from orchestrace.adapters.reading import Files, Match, Read, Skip
from orchestrace.errors import TraceError
from orchestrace.trace import SourceFile, Trace, decode, json_document

NAME = "native"


class _Head(msgspec.Struct):
    """What only our documents have together, at their top level."""

    schema: int
    trace_id: str
    task_id: str


_HEAD, _ANY = msgspec.json.Decoder(_Head), msgspec.json.Decoder()


def detect(files: Files) -> Match | None:
    """The trace documents among these files."""
    marks = (b'"trace_id"', b'"schema"')  # they come first in what we write
    names = tuple(name for name in files.names if has_head(files, name, marks=marks, form=_HEAD) is not None)
    return Match(NAME, names) if names else None


def read(files: Files, match: Match) -> Iterator[Read | Skip]:
    """One trace a document; blobs that it carries are given beside it. One that breaks a law is a `Skip`."""
    yield from read_documents(files, match, load=_load, finished=_finished)


def _load(data: bytes) -> Trace:
    """The trace, lone surrogates replaced and counted."""
    try:
        return decode(data)
    except TraceError:
        try:
            _, mended, replaced = json_document(data, _ANY)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            replaced = 0
        if not replaced:
            raise
    trace = decode(mended)
    counted = trace.diagnostics.get("surrogates", 0) + replaced
    return msgspec.structs.replace(trace, diagnostics={**trace.diagnostics, "surrogates": counted})


def _finished(trace: Trace, file: SourceFile) -> Read:
    del file  # a recording names no source, and an imported trace the files of its log
    blobs = {hash_: data for hash_, data in trace.blobs.items() if hashlib.sha256(data).hexdigest() == hash_}
    counted = dict(trace.diagnostics)
    if len(blobs) < len(trace.blobs):
        counted["bad_blobs"] = counted.get("bad_blobs", 0) + len(trace.blobs) - len(blobs)
    bare = msgspec.structs.replace(trace, blobs={}, diagnostics=counted)
    return Read(bare, blobs, counted)
