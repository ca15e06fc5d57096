"""The files of one training run.

    recipe.toml                 the recipe as used, every key written out
    curve.jsonl                 one row an evaluation
    checkpoint.npz              where the run stands; checkpoint.previous.npz the time before
    result.json                 what it came to, once it is finished

All but `seconds` in `result.json` are the same bytes whenever the recipe is.
"""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrace.envs import by_name
from orchestrace.errors import InputError, RecipeError
from orchestrace.training import checkpoints
from orchestrace.training.recipe import Recipe, canonical, first_difference
from orchestrace.training.recipe_file import load
from orchestrace.training.stack import MakeEnv

RECIPE, CURVE, RESULT = "recipe.toml", "curve.jsonl", "result.json"
FILES = (RECIPE, CURVE, RESULT, checkpoints.NEWEST, checkpoints.PREVIOUS)


def begin(folder: Path, recipe: Recipe) -> None:
    """Make the folder and write the recipe.

    Raises:
      InputError: it holds a run already, or cannot be written.
    """
    try:
        held = [name for name in FILES if (folder / name).exists()]
        if held:
            raise InputError(
                f"holds a run already ({held[0]})",
                path=str(folder),
                remedy=f"go on with: orchestrace train --resume {shlex.quote(str(folder))}, or name another folder",
            )
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be a run's folder: {error.strerror}", path=str(folder)) from None
    _write(folder / RECIPE, canonical(recipe))


def begun_with(folder: Path, overrides: Sequence[str] = (), *, make_env: MakeEnv = by_name) -> Recipe:
    """The recipe of the run in a folder.

    Args:
      folder: the run's.
      overrides: `key=value` words that win over the recipe; see `recipe_file.load`.
      make_env: how to make the environment, which judges its own parameters.

    Raises:
      InputError: there is no run, or its recipe cannot be read.
    """
    if not (folder / RECIPE).exists():
        raise InputError("holds no run", path=str(folder), remedy="give the folder that a training run wrote")
    return load(folder / RECIPE, overrides, make_env=make_env)


def reopen(folder: Path, recipe: Recipe, *, make_env: MakeEnv) -> None:
    """Check that the folder holds a run of this recipe. More updates than it was begun with are written down.

    Raises:
      InputError: there is no run, or its recipe cannot be read.
      RecipeError: its recipe is another; names the first key that differs.
    """
    begun = begun_with(folder, make_env=make_env)
    key = first_difference(begun, recipe, except_for=frozenset({"updates"}))
    if key is None and recipe.updates < begun.updates:
        key = "updates"
    if key:
        raise RecipeError(
            f"the run was begun with {_value(begun, key)}, and this recipe says {_value(recipe, key)}",
            path=str(folder / RECIPE),
            place=key,
            remedy="resume with the recipe it was begun with; only updates may be raised",
        )
    if recipe.updates > begun.updates:
        _write(folder / RECIPE, canonical(recipe))


def write_result(folder: Path, document: Mapping[str, Any]) -> None:
    """Write `result.json`, whole or not at all."""
    _write(folder / RESULT, json.dumps(document, indent=2, allow_nan=False) + "\n")


def seconds(folder: Path) -> float | None:
    """What `result.json` says that training took; None where there is none, or it cannot be read."""
    try:
        taken = json.loads((folder / RESULT).read_bytes())["seconds"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return float(taken) if isinstance(taken, int | float) else None


def append_row(folder: Path, row: Mapping[str, Any]) -> None:
    """Add a row to the curve, on the disk before this returns."""
    path = folder / CURVE
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", path=str(path)) from error


def keep_rows(folder: Path, rows: int) -> None:
    """Cut the curve to its first rows: those that the checkpoint knows of.

    Raises:
      InputError: it has fewer.
    """
    path = folder / CURVE
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    if len(lines) < rows:
        raise InputError(f"has {len(lines)} rows, but the checkpoint knows of {rows}", path=str(path),
                         remedy="restore the file, or train anew")  # fmt: skip
    _write(path, b"".join(lines[:rows]).decode("utf-8", errors="replace"))


def _write(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".part")
    try:
        beside.write_bytes(text.encode("utf-8"))
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(f"cannot be written: {error.strerror}", path=str(path)) from error


def _value(recipe: Recipe, key: str) -> object:
    value: object = recipe
    for part in key.split("."):
        value = getattr(value, part)
    return value
