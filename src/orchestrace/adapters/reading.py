"""What an adapter is given, and what it gives back.

An adapter is a module (or any object) with a `NAME`, `detect(files)` and `read(files, match)`. It opens no path: it
sees `Files`, a lazy mapping of relative names to readers, which may be a folder, a zip archive or a dict of bytes.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO, Protocol

import msgspec

from orchestrace.trace import Trace


class Files(Protocol):
    """Files by relative name (`/` between parts), opened only when asked for."""

    @property
    def names(self) -> Sequence[str]:
        """Every name, sorted."""

    @property
    def chosen(self) -> str | None:
        """The one file that was given; the other names then only belong to it. None: a folder was given."""

    def open(self, name: str) -> BinaryIO:
        """The bytes of one file as they are stored; the caller closes it.

        Raises:
          LogError: it cannot be read.
        """

    def size(self, name: str) -> int:
        """Length in bytes as stored."""


class Match(msgspec.Struct, frozen=True):
    """An adapter knows these files by their content."""

    adapter: str
    names: tuple[str, ...]


class Read(msgspec.Struct, frozen=True):
    """One session, read."""

    trace: Trace
    blobs: Mapping[str, bytes]
    """Texts by hash: every `content` of the trace that is not withheld."""
    diagnostics: Mapping[str, int]
    """What was skipped, repaired or guessed, counted by kind; the trace carries the same."""


class Skip(msgspec.Struct, frozen=True):
    """One file that gave no trace."""

    path: str
    reason: str


class Adapter(Protocol):
    """A foreign log format."""

    @property
    def NAME(self) -> str:  # noqa: N802 (adapters are modules, and there it is a constant)
        """The word for `format=`, and in `source.adapter`."""

    def detect(self, files: Files) -> Match | None:
        """The files of this format, judged by their content; None where there are none."""

    def read(self, files: Files, match: Match) -> Iterator[Read | Skip]:
        """Every session in the matched files, and a `Skip` for each matched file that holds no event."""
