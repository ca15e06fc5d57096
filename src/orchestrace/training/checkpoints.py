"""Where a run stands, as one file: arrays and a JSON note in `.npz`, never a pickle.

Written beside and renamed, with the file before kept, so a crash at any moment leaves one that can be read. Equal
states give equal bytes.
"""

import io
import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrace.errors import InputError

NEWEST, PREVIOUS = "checkpoint.npz", "checkpoint.previous.npz"
FORMAT = 1
"""Raised when what a checkpoint holds changes its meaning."""

Arrays = Mapping[str, npt.NDArray[Any]]


class Checkpoint(NamedTuple):
    """A run between two updates."""

    arrays: Arrays
    """Weights and optimiser state, by name."""
    note: Mapping[str, Any]
    """Counters and the state of the die; JSON."""


class Found(NamedTuple):
    """What a folder holds."""

    checkpoint: Checkpoint
    corrupt: int
    """Newer checkpoints that could not be read and were passed over: 0 or 1."""


def save(checkpoint: Checkpoint, folder: Path) -> None:
    """Make this the folder's newest checkpoint; the newest so far becomes the previous.

    Raises:
      InputError: the folder cannot be written, or the disk is full.
    """
    newest = folder / NEWEST
    beside = newest.with_suffix(".npz.part")
    try:
        with beside.open("wb") as file:
            file.write(_encoded(checkpoint))
            file.flush()
            os.fsync(file.fileno())
        if newest.exists():
            newest.replace(folder / PREVIOUS)
        beside.replace(newest)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", path=str(newest)) from error


def find(folder: Path) -> Found:
    """The newest checkpoint that can be read; a corrupt newest gives way to the previous one.

    Raises:
      InputError: there is none, or none can be read.
    """
    corrupt: list[InputError] = []
    for name in (NEWEST, PREVIOUS):
        path = folder / name
        if path.exists():
            try:
                return Found(read(path), len(corrupt))
            except InputError as error:
                corrupt.append(error)
    if corrupt:
        raise corrupt[0]
    raise InputError(
        "holds no checkpoint", path=str(folder), remedy="give the folder of a run, or start without resume"
    )


def discard_corrupt(folder: Path) -> None:
    """Put the previous checkpoint in the place of a newest that cannot be read."""
    (folder / PREVIOUS).replace(folder / NEWEST)


def read(path: Path) -> Checkpoint:
    """Read one checkpoint file.

    Raises:
      InputError: it cannot be read, is truncated or corrupt, or was written in another format.
    """
    try:
        data = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # Every byte is checked against its sum first: numpy trusts the sizes that it reads.
            if archive.testzip() is not None:
                raise zipfile.BadZipFile
        with np.load(io.BytesIO(data), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        note = json.loads(arrays.pop("note").tobytes())
        version = note.pop("format")
        # A damaged directory may simply list fewer arrays.
        if version == FORMAT and note.pop("arrays") != sorted(arrays):
            raise zipfile.BadZipFile
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    except Exception:  # what zipfile and numpy raise on damage is no closed list
        raise InputError(
            "is truncated or corrupt", path=str(path), remedy="resume from a copy, or train anew"
        ) from None
    if version != FORMAT:
        raise InputError(f"has format {version!r}, not {FORMAT}", path=str(path), remedy="train anew")
    return Checkpoint(arrays, note)


def _encoded(checkpoint: Checkpoint) -> bytes:
    held = {**checkpoint.note, "format": FORMAT, "arrays": sorted(checkpoint.arrays)}
    note = json.dumps(held, sort_keys=True, allow_nan=False).encode()
    buffer = io.BytesIO()
    # numpy's archives carry no time of day: equal arrays, equal bytes.
    np.savez(buffer, note=np.frombuffer(note, dtype=np.uint8), **checkpoint.arrays)  # type: ignore[arg-type]  # no array is called allow_pickle
    return buffer.getvalue()
