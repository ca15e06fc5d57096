"""From the paths on the command line to sessions."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import msgspec

from orchestrace.adapters import ADAPTERS, Read, Skip, read_path
from orchestrace.cli.environment import claude_projects
from orchestrace.errors import InputError, LogError
from orchestrace.trace import Content, Trace


class Found(NamedTuple):
    """What lay at the paths."""

    reads: tuple[Read, ...]
    skipped: tuple[Skip, ...]


def found(paths: Sequence[Path], *, format: str | None = None) -> Found:  # noqa: A002
    """Every session at the paths, under a note of progress where there are many files.

    Raises:
      LogError: nothing there is a session; it names the reason that the first file gives.
    """
    if format is not None and format not in ADAPTERS:
        raise InputError(f"there is no format {format!r}", place="--format", remedy=f"known: {', '.join(ADAPTERS)}")
    reads: list[Read] = []
    skipped: list[Skip] = []
    for path in paths:
        if not path.exists():
            raise InputError("there is no such file or folder", path=str(path), remedy="check the path")
        for item in _noted(read_path(path, format=format), path):
            (reads if isinstance(item, Read) else skipped).append(item)  # type: ignore[arg-type]
    if not reads:
        reason = f": {skipped[0].path}: {skipped[0].reason}" if skipped else ""
        many = f" ({len(skipped)} files were looked at)" if len(skipped) > 1 else ""
        where = ", ".join(map(str, paths))
        raise LogError(f"holds no session{reason}{many}", path=where, remedy="give a log, a folder of logs or a trace")
    return Found(tuple(reads), tuple(skipped))


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
