"""Traces in the survey's published form, one JSON file each."""

from collections.abc import Iterator

import msgspec

from orchestrace.adapters.documents import has_head, read_documents
from orchestrace.adapters.reading import Files, Match, Read, Skip
from orchestrace.trace import SourceFile, Trace, survey

NAME = "survey"


class _Head(msgspec.Struct):
    """What a survey document has at its top level; the key `schema` is ours alone."""

    trace_id: str
    task_id: str
    events: list[msgspec.Raw]
    edges: list[msgspec.Raw]
    schema: msgspec.Raw | None = None


_HEAD = msgspec.json.Decoder(_Head)


def detect(files: Files) -> Match | None:
    """The survey documents among these files."""
    names = tuple(name for name in files.names if _is_survey(files, name))
    return Match(NAME, names) if names else None


def read(files: Files, match: Match) -> Iterator[Read | Skip]:
    """One trace a document, as it is written. One that breaks a law of ours is a `Skip` that names it."""
    yield from read_documents(files, match, load=survey.load, finished=_finished)


def _finished(trace: Trace, file: SourceFile) -> Read:
    source = trace.source and msgspec.structs.replace(trace.source, files=(file,))
    return Read(msgspec.structs.replace(trace, source=source), {}, dict(trace.diagnostics))


def _is_survey(files: Files, name: str) -> bool:
    """Whichever of the two long lists comes first stands near the beginning: the published example begins with its
    events, what `dump` writes with its edges.
    """
    for mark in (b'"events"', b'"edges"'):
        found = has_head(files, name, marks=(mark,), form=_HEAD)
        if found is not None:
            return found.schema is None
    return False
