"""Reading a recipe: TOML in, `Recipe` out, or an error that names the key, its place and the nearest known key."""

import difflib
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import msgspec

from orchestrace.envs import by_name
from orchestrace.errors import InputError, RecipeError
from orchestrace.training.recipe import Recipe
from orchestrace.training.settings import Component
from orchestrace.training.stack import MakeEnv, environments

MOST_SETTINGS = 1_000
_LEAF_AT = re.compile(r" - at `\$\.?(?P<path>.*)`$")


def load(path: Path, overrides: Sequence[str] = (), *, make_env: MakeEnv = by_name) -> Recipe:
    """Read a recipe from a TOML file, with `key=value` overrides that win over the file.

    Args:
      path: the file.
      overrides: dotted keys with values in TOML (`ppo.clip=0.1`, `settings=[{cr=0.1}]`); a bare word is a string.
      make_env: how to make the environment, which judges its own parameters.

    Raises:
      InputError: the file cannot be read.
      RecipeError: it is no TOML, or it holds a wrong key or value; `place` says which and on what line.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise InputError("there is no such recipe", path=str(path), remedy="give the path of a .toml file") from None
    except UnicodeDecodeError as error:
        raise RecipeError(f"not UTF-8 at byte {error.start}", path=str(path), remedy="save it as UTF-8") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
    return parse(text, overrides, path=str(path), make_env=make_env)


def parse(text: str, overrides: Sequence[str] = (), *, path: str | None = None, make_env: MakeEnv = by_name) -> Recipe:
    """Read a recipe from TOML text. See `load`; `path` is named in errors only."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"not valid TOML: {error}", path=path) from None
    except RecursionError:
        raise RecipeError("nested too deeply for a recipe", path=path) from None
    try:
        for override in overrides:
            _apply(override, data)
        recipe = _checked(data)
        environments(recipe, make_env=make_env)
        if recipe.eval.grid:
            environments(recipe, make_env=make_env, judged=True)
        if len({frozenset(setting) for setting in recipe.settings}) > 1:
            raise RecipeError("they differ in their keys", place="settings", remedy="give every setting the same keys")
    except RecipeError as error:
        raise _placed(error, text, overrides=overrides, path=path) from None
    return recipe


def _checked(data: dict[str, Any]) -> Recipe:
    _check_known(data, Recipe, "")
    _check_finite(data, "")
    try:
        recipe = msgspec.convert(data, Recipe)
    except msgspec.ValidationError as error:
        raise _readable(str(error), data) from None
    if "settings" in data and not recipe.settings:
        raise RecipeError(
            "no setting to train on", place="settings", remedy="list one table a setting, or leave it out"
        )
    _check_grids(recipe)
    if isinstance(recipe.env, dict) and not isinstance(recipe.env.get("name"), str):
        raise RecipeError("the table has no name", place="env", remedy='write env = {name = "batch-voting", p = 0.7}')
    if any(setting in recipe.settings[:i] for i, setting in enumerate(recipe.settings)):
        raise RecipeError("two settings are the same", place="settings", remedy="leave one of them out")
    if recipe.rollouts.episodes % recipe.reinforce.group and recipe.algorithm == "reinforce":
        raise RecipeError(
            f"{recipe.reinforce.group} does not divide rollouts.episodes = {recipe.rollouts.episodes}",
            place="reinforce.group",
        )
    return recipe


def _check_grids(recipe: Recipe) -> None:
    if recipe.settings and recipe.grid:
        raise RecipeError("settings are given already", place="grid", remedy="keep one of grid and settings")
    for place, grid in (("grid", recipe.grid), ("eval.grid", recipe.eval.grid)):
        for key, values in grid.items():
            if values.low >= values.high or (values.scale == "log" and values.low <= 0):
                problem = f"from {values.low:g} to {values.high:g} is no range"
                raise RecipeError(problem, place=f"{place}.{key}", remedy='low < high, and low > 0 for scale = "log"')
        if math.prod(values.points for values in grid.values()) > MOST_SETTINGS:
            raise RecipeError(f"has more than {MOST_SETTINGS:,} combinations", place=place)


def _unknown_key(key: str, known: Iterable[str], *, place: str) -> RecipeError:
    """The error for a key that does not exist, with the nearest one that does."""
    known = sorted(known)
    near = difflib.get_close_matches(key, known, n=1)
    remedy = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
    return RecipeError(f"unknown key {key!r}", place=place, remedy=remedy)


def _check_known(data: Mapping[str, Any], component: type[Component], prefix: str) -> None:
    fields = {field.name: field for field in msgspec.structs.fields(component)}
    for key, value in data.items():
        if key not in fields:
            raise _unknown_key(key, fields, place=prefix + key)
        default = fields[key].default
        if isinstance(default, Component) and isinstance(value, Mapping):
            _check_known(value, type(default), f"{prefix}{key}.")


def _check_finite(value: object, place: str) -> None:
    # TOML has nan and inf, and no key of a recipe wants them.
    for key, part in _parts(value, place):
        if isinstance(part, float) and not math.isfinite(part):
            raise RecipeError(f"expected a finite number, got {part}", place=key)
        _check_finite(part, key)


def _parts(value: object, place: str) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        yield from ((f"{place}.{key}" if place else str(key), part) for key, part in value.items())
    elif isinstance(value, list):
        yield from ((f"{place}[{i}]", part) for i, part in enumerate(value))


def _readable(message: str, data: Mapping[str, Any]) -> RecipeError:
    found = _LEAF_AT.search(message)
    place = found["path"] if found else ""
    problem = _LEAF_AT.sub("", message).replace("`", "").replace("object", "table").replace("Expected", "expected")
    if missing := re.fullmatch(r"Object missing required field (.*)", problem):
        return RecipeError("missing", place=missing[1], remedy='write for example env = "batch-voting"')
    leaves = dict(_leaves(data, ""))
    if place.endswith("[...]"):  # a parameter of an environment; msgspec does not say which
        table = place.removesuffix("[...]")
        place = next((key for key in leaves if key.startswith(f"{table}.") and not _scalar(leaves[key], key)), table)
    if "enum value" in problem:
        return RecipeError(f"{leaves[place]!r} is not known", place=place, remedy=_nearest(str(leaves[place]), place))
    return RecipeError(problem, place=place or None)


def _nearest(value: str, place: str) -> str:
    """A remedy for a wrong word at a key whose words are a closed list."""
    component: Any = Recipe
    for name in place.split("."):
        component = next(field.type for field in msgspec.structs.fields(component) if field.name == name)
    known = get_args(component)
    near = difflib.get_close_matches(value, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"


def _leaves(value: object, place: str) -> Iterator[tuple[str, object]]:
    for key, part in _parts(value, place):
        yield key, part
        yield from _leaves(part, key)


def _scalar(value: object, place: str) -> bool:
    return isinstance(value, str) if place == "env.name" else type(value) in (int, float)


def _apply(override: str, data: dict[str, Any]) -> None:
    key, sign, text = override.partition("=")
    path = key.strip().split(".")
    if not sign or not all(path):
        raise RecipeError(f"{override!r} is no override", remedy="write key=value, for example ppo.clip=0.1")
    if path[0] == "env" and len(path) > 1 and isinstance(data.get("env"), str):
        data["env"] = {"name": data["env"]}
    table = data
    for i, part in enumerate(path[:-1]):
        inner = table.setdefault(part, {})
        if not isinstance(inner, dict):
            whole = ".".join(path[: i + 1])
            raise RecipeError("is no table, so it has no keys", place=whole, remedy=f"set {whole} whole")
        table = inner
    table[path[-1]] = _value(text.strip(), place=key.strip())


def _value(text: str, *, place: str) -> object:
    if re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", text) and text not in {"true", "false", "nan", "inf"}:
        return text
    try:
        parsed = tomllib.loads(f"value = {text}")
    except (tomllib.TOMLDecodeError, RecursionError):
        parsed = {}
    if list(parsed) != ["value"]:
        raise RecipeError(f"{text!r} is no TOML value", place=place, remedy="quote a string: '\"text\"'")
    return parsed["value"]


def _placed(error: RecipeError, text: str, *, overrides: Sequence[str], path: str | None) -> RecipeError:
    """The error with the line of its key in the file, or with the override that set it."""
    place = error.place or ""
    set_by = (override for override in overrides if _within(place, override.partition("=")[0].strip()))
    if place and next(set_by, None):
        return RecipeError(error.problem, place=f"--set {place}", remedy=error.remedy)
    line = _line(place, text) if place else None
    return RecipeError(
        error.problem, path=path, place=f"line {line}, {place}" if line else error.place, remedy=error.remedy
    )


def _within(place: str, key: str) -> bool:
    return place == key or place.startswith((f"{key}.", f"{key}["))


def _line(place: str, text: str) -> int | None:
    """The line on which a dotted key is set; None if it is not to be found (an override, a multi-line oddity)."""
    table = ""
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if header := re.match(r"\s*(\[\[?)\s*([\w.-]+)\s*\]", line):
            table = header[2]
            if header[1] == "[[":
                table += f"[{counts.get(header[2], 0)}]"
                counts[header[2]] = counts.get(header[2], 0) + 1
            if table == place:
                return number
        elif key := re.match(r"\s*([\w.-]+)\s*=", line):
            dotted = f"{table}.{key[1]}" if table else key[1]
            if _within(place, dotted):
                return _line_of_item(place.removeprefix(dotted), text, number)
    return None


def _line_of_item(rest: str, text: str, first: int) -> int:
    """Within a value that begins on line `first`: the line of `[i].key`, counting the braces of inline tables."""
    item = re.match(r"\[(\d+)\]", rest)
    seen = -1
    for number, line in enumerate(text.splitlines()[first - 1 :], start=first):
        seen += line.count("{")
        if item and seen >= int(item[1]):
            return number
    return first
