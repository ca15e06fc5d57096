"""Traces in the survey's published form, one JSON file each."""

from collections.abc import Iterator

import msgspec

from orchestrace.adapters.lines import document, unpacked
from orchestrace.adapters.reading import Files, Match, Read, Skip
from orchestrace.errors import LogError, TraceError
from orchestrace.trace import survey, violations

NAME = "survey"
_HEAD = 1 << 16


class _Head(msgspec.Struct):
    """What a survey document has at its top level; the key `schema` is ours alone."""

    trace_id: str
    task_id: str
    events: list[msgspec.Raw]
    edges: list[msgspec.Raw]
    schema: msgspec.Raw | None = None


def detect(files: Files) -> Match | None:
    """The survey documents among these files."""
    names = tuple(name for name in files.names if _is_survey(files, name))
    return Match(NAME, names) if names else None


def read(files: Files, match: Match) -> Iterator[Read | Skip]:
    """One trace a document, as it is written. One that breaks a law of ours is a `Skip` that names it."""
    for name in match.names:
        try:
            trace = survey.load(document(files, name))
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
            yield Read(trace, {}, dict(trace.diagnostics))


def _is_survey(files: Files, name: str) -> bool:
    if ".json" not in name and files.chosen != name:
        return False
    try:
        with files.open(name) as stream:
            head = unpacked(stream).read(_HEAD).lstrip()
        if not head.startswith(b"{") or b'"events"' not in head:
            return False
        return msgspec.json.decode(document(files, name), type=_Head).schema is None
    except (LogError, EOFError, msgspec.MsgspecError, ValueError, RecursionError):
        return False
