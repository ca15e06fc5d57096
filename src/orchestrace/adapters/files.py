"""Where the bytes are: a folder, one file with what belongs to it, a zip archive, or a dict in memory."""

import io
import os
import stat
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from orchestrace.adapters.lines import MAX_UNPACKED
from orchestrace.adapters.reading import Files
from orchestrace.errors import LogError

MAX_FILES = 200_000
"""Files in one folder or archive; more is a mistake in the path."""


class BytesFiles:
    """Files in memory, for tests and uploads.

    Args:
      data: name -> bytes.
      chosen: the one file that counts as given; absent: a folder was given.
    """

    def __init__(self, data: Mapping[str, bytes], *, chosen: str | None = None) -> None:
        self._data = dict(sorted(data.items()))
        self.chosen = chosen

    @property
    def names(self) -> Sequence[str]:
        """Every name, sorted."""
        return tuple(self._data)

    def open(self, name: str) -> BinaryIO:
        """The bytes of one file."""
        return io.BytesIO(self._data[name])

    def size(self, name: str) -> int:
        """Length in bytes."""
        return len(self._data[name])


class PathFiles:
    """Regular files under a folder. Symbolic links to folders are not followed.

    Args:
      root: the folder; names are relative to it.
      names: which files.
      chosen: the one file that was given; absent: the folder was.
    """

    def __init__(self, root: Path, names: Iterable[str], *, chosen: str | None = None) -> None:
        self._root = root
        self.names: Sequence[str] = tuple(sorted(names))
        """Every name, sorted."""
        self.chosen = chosen

    def open(self, name: str) -> BinaryIO:
        """The bytes of one file.

        Raises:
          LogError: it cannot be read.
        """
        try:
            return (self._root / name).open("rb", buffering=0)
        except OSError as error:
            raise _unreadable(str(self._root / name), error) from None

    def size(self, name: str) -> int:
        """Length in bytes."""
        try:
            return (self._root / name).stat().st_size
        except OSError as error:
            raise _unreadable(str(self._root / name), error) from None


class ZipFiles:
    """The members of a zip archive."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise LogError(f"no zip archive that can be read: {error}", path=str(path)) from None
        members = [member for member in self._archive.infolist() if not member.is_dir()]
        self._sizes = {member.filename: member.file_size for member in members}
        if len(members) > MAX_FILES:
            raise _too_many(str(path))
        self.chosen = None

    @property
    def names(self) -> Sequence[str]:
        """Every name, sorted."""
        return tuple(sorted(self._sizes))

    def open(self, name: str) -> BinaryIO:
        """The bytes of one member, unpacked.

        Raises:
          LogError: it is encrypted, damaged, too large, or packed by a method that this Python lacks.
        """
        place = f"{self._path}/{name}"
        if self._sizes[name] > MAX_UNPACKED:
            raise LogError(
                f"unpacks to more than {MAX_UNPACKED} bytes", path=place, remedy="unpack the archive yourself"
            )
        try:
            return _Member(self._archive.open(name), place)  # type: ignore[return-value]
        except (OSError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
            raise LogError(f"cannot be unpacked: {error}", path=place, remedy="unpack the archive yourself") from None

    def size(self, name: str) -> int:
        """Length in bytes, unpacked."""
        return self._sizes[name]


class _Member(io.RawIOBase):
    """A member of an archive; what is wrong with it is a `LogError`."""

    def __init__(self, stream: object, place: str) -> None:
        self._stream, self._place = stream, place

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        try:
            data: bytes = self._stream.read(len(view))  # type: ignore[attr-defined]
        except Exception as error:  # zlib, lzma and bz2 each have their own
            raise LogError(f"damaged: {error}", path=self._place, remedy="get the archive again") from None
        view[: len(data)] = data
        return len(data)


def files_at(path: str | os.PathLike[str]) -> Files:
    """The files at a path: a folder with all below it; a zip archive; or one file and what belongs to it.

    What belongs to `x.jsonl` is the folder `x` beside it, and the files `agent-*` beside it.

    Raises:
      LogError: there is nothing at the path, or it cannot be read.
    """
    place = Path(path)
    try:
        mode = place.stat().st_mode
        if stat.S_ISDIR(mode):
            return PathFiles(place, _below(place))
        if not stat.S_ISREG(mode):
            raise LogError("neither a file nor a folder", path=str(path))
        with place.open("rb") as stream:
            packed = stream.read(4) == b"PK\x03\x04"
    except OSError as error:
        raise _unreadable(str(path), error) from None
    if packed:
        return ZipFiles(place)
    return PathFiles(place.parent, _with_companions(place), chosen=place.name)


def stem(name: str) -> str:
    """The last part of a name without `.jsonl`, `.json` and what compression adds."""
    last = name.rpartition("/")[2]
    for suffix in (".gz", ".zst", ".jsonl", ".json"):
        last = last.removesuffix(suffix)
    return last


def _with_companions(place: Path) -> Iterator[str]:
    yield place.name
    folder = place.parent / stem(place.name)
    if folder.is_dir():
        for name in _below(folder):
            yield f"{folder.name}/{name}"
    if not place.name.startswith("agent-"):
        for entry in os.scandir(place.parent):
            if entry.name.startswith("agent-") and entry.is_file():
                yield entry.name


def _below(root: Path) -> Iterator[str]:
    found = 0
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in names:
            file = Path(folder) / name
            if not file.is_file():
                continue
            found += 1
            if found > MAX_FILES:
                raise _too_many(str(root))
            yield file.relative_to(root).as_posix()


def _too_many(path: str) -> LogError:
    return LogError(f"more than {MAX_FILES} files", path=path, remedy="give a smaller folder, or one file")


def _unreadable(path: str, error: OSError) -> LogError:
    reason = error.strerror or str(error)
    if isinstance(error, FileNotFoundError):
        return LogError("no such file or folder", path=path, remedy="check the path")
    return LogError(f"cannot be read: {reason}", path=path, remedy="check its permissions")
