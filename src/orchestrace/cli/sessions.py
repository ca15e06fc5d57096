"""From the paths on the command line to sessions."""

import contextlib
import glob
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from orchestrace.adapters import ADAPTERS, Read, Skip, read_path
from orchestrace.cli.environment import claude_projects
from orchestrace.errors import InputError, LogError
from orchestrace.trace import Content, Trace

_ID = re.compile(r"\w[\w/-]{1,99}…?")
"""What may be the beginning of a session's id: a path with a dot, or from the root, is a path."""


class Found(NamedTuple):
    """What lay at the paths."""

    reads: tuple[Read, ...]
    skipped: tuple[Skip, ...]


def found(paths: Sequence[Path], *, format: str | None = None) -> Found:  # noqa: A002
    """Every session at the paths, under a note of progress where there are many files.

    A word that is no path chooses, by the beginning of its id, one session of those at the paths; where there is no
    path, one of Claude Code's.

    Raises:
      InputError: a word is no path and no session's id, or the id of several.
      LogError: nothing there is a session; it names the reason that the first file gives.
    """
    if format is not None and format not in ADAPTERS:
        raise InputError(f"there is no format {format!r}", place="--format", remedy=f"known: {', '.join(ADAPTERS)}")
    there = [path for path in paths if path.exists()]
    ids = [str(path) for path in paths if path not in there]
    for name in ids:
        if not _ID.fullmatch(name) or not (there or claude_projects().is_dir()):
            raise InputError("there is no such file or folder", path=name, remedy="check the path")
    if not ids:
        return _all_at(there, format=format)
    chosen = [_named(name, there or [claude_projects()], format=format) for name in ids]
    return Found(tuple(read for one in chosen for read in one.reads), ())


def short_id(trace_id: str) -> str:
    """What a session is chosen by: its trace id without the name of its adapter."""
    return trace_id.rpartition(":")[2]


def _named(name: str, places: Sequence[Path], *, format: str | None) -> Found:  # noqa: A002
    """The one session whose id begins with a word: by the name of its file where that decides, else by reading all."""
    begins = name.rstrip("…")
    for place in places:
        files = [] if "/" in begins or not place.is_dir() else [*place.rglob(f"{glob.escape(begins)}*.jsonl")]
        if len(files) == 1 and not files[0].name.startswith("agent-"):
            with contextlib.suppress(LogError):
                alone = _chosen(begins, _all_at(files, format=format).reads)
                if len(alone) == 1:
                    return Found(alone, ())
    chosen: tuple[Read, ...] = ()
    with contextlib.suppress(LogError):
        chosen = _chosen(begins, _all_at(places, format=format).reads)
    if not chosen:
        where = ", ".join(map(str, places))
        raise InputError("there is no such file or folder, and no session whose id begins so", path=name,
                         remedy=f"orchestrace report {where} lists the sessions there")  # fmt: skip
    if len(chosen) > 1:
        ids = ", ".join(short_id(read.trace.trace_id) for read in chosen[:4])
        raise InputError(f"is the beginning of {len(chosen)} ids: {ids}", path=name, remedy="write more of it")
    return Found(chosen, ())


def _chosen(begins: str, reads: Iterable[Read]) -> tuple[Read, ...]:
    """Those whose id a word is; where there are none, those whose id begins with it."""
    by_id = [(short_id(read.trace.trace_id), read) for read in reads]
    whole = tuple(read for own, read in by_id if own == begins)
    return whole or tuple(read for own, read in by_id if own.startswith(begins))


def _all_at(paths: Sequence[Path], *, format: str | None) -> Found:  # noqa: A002
    """Every session at paths that exist."""
    reads: list[Read] = []
    skipped: list[Skip] = []
    for path in paths:
        for item in _noted(read_path(path, format=format), path):
            (reads if isinstance(item, Read) else skipped).append(item)  # type: ignore[arg-type]
    if not reads:
        reason = f": {skipped[0].path}: {skipped[0].reason}" if skipped else ""
        many = f" ({len(skipped)} files were looked at)" if len(skipped) > 1 else ""
        where = ", ".join(map(str, paths))
        raise LogError(f"holds no session{reason}{many}", path=where, remedy="give a log, a folder of logs or a trace")
    known = {short_id(read.trace.trace_id) for read in reads}
    return Found(tuple(reads), tuple(_told(skip, known) for skip in skipped))


def _told(skip: Skip, known: Set[str]) -> Skip:
    """The reason, said so that it is true of an empty log beside those of the session's agents."""
    if skip.reason != "empty" or Path(skip.path).stem not in known:
        return skip
    return msgspec.structs.replace(skip, reason="empty; the session is told by its agents' logs alone")


def newest_found(*, format: str | None = None) -> Found:  # noqa: A002
    """The session of Claude Code that was written last. Newer files in which nothing happened yet are skipped.

    Raises:
      LogError: there is none.
    """
    folder = claude_projects()
    sessions = [path for path in folder.glob("*/*.jsonl") if not path.name.startswith("agent-") and path.is_file()]
    skipped: list[Skip] = []
    for path in sorted(sessions, key=lambda path: (path.stat().st_mtime, path.name), reverse=True):
        try:
            newest = found([path], format=format)
        except LogError as error:
            skipped.append(Skip(str(path), error.problem))
        else:
            return Found(newest.reads, (*skipped, *newest.skipped))
    raise LogError("holds no session", path=str(folder), remedy="give a path: orchestrace report PATH")


def since(reads: Iterable[Read], written: str, *, now: datetime) -> tuple[Read, ...]:
    """The sessions that began at or after a date (2026-07-01) or within a time (7d, 12h, 30m) before now.

    Raises:
      InputError: it is neither.
    """
    ago = re.fullmatch(r"(\d{1,5})([dhm])", written)
    if ago:
        unit = {"d": "days", "h": "hours", "m": "minutes"}[ago[2]]
        start = now - timedelta(**{unit: int(ago[1])})
    else:
        begun = _moment(written)
        if begun is None:
            raise InputError(f"{written!r} is no date", place="--since", remedy="say 2026-07-01, or 7d, 12h, 30m")
        start = begun
    return tuple(read for read in reads if (begun := began(read.trace)) is not None and begun >= start)


def began(trace: Trace) -> datetime | None:
    """When a trace began; None where its log does not say."""
    return _moment(trace.started_at) if trace.started_at else None


def withheld(read: Read) -> Read:
    """The session without its texts: hashes and lengths stay, previews, names and blobs go."""
    free = {"name", "description", "summary"}

    def bare(content: Content | None) -> Content | None:
        return None if content is None else msgspec.structs.replace(content, preview="", withheld=True)

    events = tuple(
        msgspec.structs.replace(
            event,
            content=bare(event.content),
            labels={name: value for name, value in event.labels.items() if name not in free},
        )
        for event in read.trace.events
    )
    return Read(msgspec.structs.replace(read.trace, events=events, blobs={}), {}, read.diagnostics)


def _moment(written: str) -> datetime | None:
    """A date or a moment in ISO 8601, in UTC where it names no zone; None where it is neither."""
    try:
        moment = datetime.fromisoformat(written)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _noted(items: Iterator[Read | Skip], path: Path) -> Iterator[Read | Skip]:
    """The items; on a terminal, a line on stderr counts them while a folder is read."""
    if not path.is_dir():
        yield from items
        return
    from orchestrace.cli.screen import notes, said

    console = notes()
    if not console.is_terminal:
        yield from items
        return
    sessions = 0
    with console.status(said(f"reading {path.name or path}")) as status:
        for item in items:
            sessions += isinstance(item, Read)
            status.update(said(f"reading {path.name or path}: {sessions} sessions"))
            yield item
