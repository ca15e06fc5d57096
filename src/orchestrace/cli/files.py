"""Files as commands write them: whole or not at all."""

import os
from pathlib import Path

from orchestrace.errors import InputError


def write(path: Path, data: bytes) -> Path:
    """Write a file beside its place, then put it there; its folder is made if missing.

    Raises:
      InputError: it cannot be written, or a folder has its name.
    """
    if path.is_dir():
        raise InputError("is a folder", path=str(path), remedy="name a file")
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(path)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=str(path)) from None
    finally:
        beside.unlink(missing_ok=True)
    return path
