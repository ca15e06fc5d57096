"""Files as commands take, read and write them: named, and written whole or not at all."""

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click

from orchestrace.errors import InputError

T = TypeVar("T")


class GivenPath(click.Path):
    """A path on the command line. An empty word, as of an unset variable, is no path: it would mean this folder."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path.

        Raises:
          click.BadParameter: the word is empty.
        """
        if value == "":
            self.fail("it is empty, and names no file or folder; write . for this folder", param, ctx)
        return super().convert(value, param, ctx)


def read_document(path: Path, decode: Callable[[bytes], T], *, remedy: str | None = None) -> T:
    """A file as what `decode` makes of it.

    Args:
      path: the file.
      decode: raises an InputError where the bytes are something else; it is raised again with the path.
      remedy: where that error has none.

    Raises:
      InputError: it cannot be read, or holds something else.
    """
    try:
        return decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path), remedy="check the path") from None
    except InputError as error:
        raise InputError(error.problem, path=str(path), place=error.place, remedy=error.remedy or remedy) from None


def spare(out: Path | None, given: Iterable[Path | None]) -> None:
    """Refuse to write over what is read; None stands for no file.

    Raises:
      InputError: `out` is one of the files given.
    """
    read_from = {os.path.realpath(path) for path in given if path is not None}
    if out is not None and os.path.realpath(out) in read_from:
        raise InputError("is the file that is read", path=str(out), remedy="write to another")


def write(path: Path, data: bytes) -> Path:
    """Write a file beside its place, then put it there; its folder is made if missing. Links are followed.

    Raises:
      InputError: it cannot be written, or something that is no regular file (a folder, a device) has its name.
    """
    place = Path(os.path.realpath(path))
    beside = place.with_name(f".{place.name}.{os.getpid()}.part")
    try:
        if place.exists() and not place.is_file():
            what = "is a folder" if place.is_dir() else "is no regular file"
            raise InputError(what, path=str(path), remedy="name a file")
        place.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(place)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=str(path), remedy="name another file") from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
    return path
