"""A path to its traces: which adapter, and what it gives."""

import os
from collections.abc import Iterator, Mapping, Sequence

from orchestrace.adapters import claude_code, native, survey
from orchestrace.adapters.files import files_at
from orchestrace.adapters.reading import Adapter, Files, Match, Read, Skip
from orchestrace.errors import LogError

ADAPTERS: Mapping[str, Adapter] = {adapter.NAME: adapter for adapter in (claude_code, native, survey)}
"""Every adapter by name."""


def read_path(path: str | os.PathLike[str], *, format: str | None = None) -> Iterator[Read | Skip]:  # noqa: A002
    """Every session at a path, one `Read` each, and one `Skip` for each file that gave none.

    Args:
      path: a folder, a file, or a zip archive.
      format: the name of an adapter; absent: each file's content says it.

    Raises:
      LogError: nothing can be read there, or two adapters know the same file.
      ValueError: there is no adapter of that name.
    """
    files = files_at(path)
    try:
        yield from read_files(files, format=format)
    except LogError as error:
        if error.path is not None:
            raise
        raise LogError(error.problem, path=str(path), place=error.place, remedy=error.remedy) from None


def read_files(files: Files, *, format: str | None = None) -> Iterator[Read | Skip]:  # noqa: A002
    """`read_path` of files that are open already."""
    matches = detected(files, format=format)
    claimed = {name for match in matches for name in match.names}
    for match in matches:
        yield from ADAPTERS[match.adapter].read(files, match)
    for name in files.names:
        if name not in claimed and (files.chosen in (None, name) or "/" in name):
            yield Skip(name, "empty" if files.size(name) == 0 else "no adapter knows its content")


def detected(files: Files, *, format: str | None = None) -> Sequence[Match]:  # noqa: A002
    """Which adapter knows which files.

    Raises:
      LogError: two adapters know the same file.
      ValueError: there is no adapter of that name.
    """
    if format is not None and format not in ADAPTERS:
        raise ValueError(f"format={format!r} is none of {', '.join(sorted(ADAPTERS))}")
    chosen = ADAPTERS.values() if format is None else (ADAPTERS[format],)
    matches = [match for adapter in chosen if (match := adapter.detect(files)) is not None]
    owners: dict[str, str] = {}
    for match in matches:
        for name in match.names:
            other = owners.setdefault(name, match.adapter)
            if other != match.adapter:
                choice = f"say which: --format {other} or --format {match.adapter}"
                raise LogError(f"could be {other} or {match.adapter}", path=name, remedy=choice)
    return matches
