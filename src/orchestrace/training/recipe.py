"""What a training recipe may say: one frozen struct a component, each with its default.

Reading a file is in `recipe_file`; this module knows no files. A recipe in TOML has these names as keys:

    env = "batch-voting"
    settings = [{cr = 0.02, ct = 0.005}, {cr = 0.05, ct = 0.002}]
    algorithm = "ppo"
    [ppo]
    clip = 0.2
"""

import ast
import inspect
import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, NamedTuple, cast, get_type_hints

import msgspec
from msgspec import Meta

from orchestrace.training.settings import (
    AnchorTb,
    Component,
    Count,
    Dpo,
    Grpo,
    NonNegative,
    Parl,
    Positive,
    Ppo,
    Ratio,
    Reinforce,
    Rlhf,
    Stop,
)


class Policy(Component, frozen=True):
    """What learns: features of a state in, a distribution over actions and a value out."""

    kind: Literal["mlp", "per-action", "tabular"] = "mlp"
    """mlp: sees the state and scores all actions at once. per-action: scores each action by what it sees of it, and so
    also serves environments with more of them. tabular: a number for each state and action, no network."""
    hidden: Annotated[int, Meta(ge=1, le=4096)] = 64
    """Units in each hidden layer."""
    layers: Annotated[int, Meta(ge=1, le=16)] = 2
    """Hidden layers."""


class Rollouts(Component, frozen=True):
    """How much experience an update sees."""

    episodes: Annotated[int, Meta(ge=1, le=1_000_000)] = 1024
    """Episodes of each setting in each update."""
    horizon: Annotated[int, Meta(ge=1, le=10_000)] = 64
    """Most decisions in an episode; a longer one is cut there, and counted."""
    grade: Literal["posterior", "outcome"] = "posterior"
    """What an answer earns in training: its chance of being right (less variance), or 1 if it is right. Evaluation
    always pays the outcome."""


class Optimiser(Component, frozen=True):
    """Adam, its learning rate going linearly from `rate` to `rate_end` over the updates."""

    rate: Positive = 3e-3
    """Learning rate at the first update."""
    rate_end: NonNegative = 0.0
    """Learning rate after the last update."""
    max_norm: Positive = 1.0
    """Gradients are scaled down to this norm; the norm is over all parameters at once."""


class Exploration(Component, frozen=True):
    """What keeps a young policy from settling too soon. Decays linearly, and is over at `until`."""

    entropy: NonNegative = 0.02
    """Weight of the policy's entropy (nats a decision) in the loss, at the first update."""
    entropy_end: NonNegative = 0.0
    """Weight from `until` on."""
    until: Ratio = 0.5
    """When `entropy_end` is reached, as a share of all updates."""


class Range(Component, frozen=True):
    """Evenly spaced values of one parameter."""

    low: float
    """The first."""
    high: float
    """The last."""
    points: Annotated[int, Meta(ge=2, le=1000)]
    """How many."""
    scale: Literal["linear", "log"] = "log"
    """Spaced evenly, or by an even factor (then `low` is positive)."""


class Eval(Component, frozen=True):
    """How the policy is judged."""

    episodes: Annotated[int, Meta(ge=2, le=100_000_000)] = 100_000
    """Simulated episodes of each setting in the final evaluation; the interval comes from these."""
    every: Count = 10
    """Updates between exact evaluations, each a row of the curve and a checkpoint."""
    grid: dict[str, Range] = {}
    """Settings to judge in, in place of those trained on: every combination of these ranges, by parameter."""


class Recipe(Component, frozen=True):
    """All that a training run depends on: same recipe, same bytes."""

    env: str | dict[str, str | int | float]
    """The environment: a name, or a table `{name = "...", ...}` with parameters for every setting."""
    settings: tuple[dict[str, int | float], ...] = ()
    """Parameters of the environment, one table a setting; one policy learns them all. Absent: one, `env` alone."""
    grid: dict[str, Range] = {}
    """More settings: every combination of these ranges, by parameter; not beside `settings`."""
    algorithm: Literal["anchor-tb", "dpo", "grpo", "parl", "ppo", "reinforce", "rlhf", "stop"] = "ppo"
    """Which learner."""
    seed: Annotated[int, Meta(ge=0, le=2**32 - 1)] = 0
    """Starts every die of the run."""
    updates: Count = 400
    """Batches of experience to learn from. A resumed run may raise it."""
    policy: Policy = Policy()
    """The network."""
    rollouts: Rollouts = Rollouts()
    """Experience an update sees."""
    optimiser: Optimiser = Optimiser()
    """Adam and its learning rate."""
    exploration: Exploration = Exploration()
    """Entropy bonus."""
    ppo: Ppo = Ppo()
    """Proximal policy optimisation."""
    reinforce: Reinforce = Reinforce()
    """REINFORCE with a leave-one-out baseline."""
    grpo: Grpo = Grpo()
    """The GRPO family."""
    anchor_tb: AnchorTb = AnchorTb()
    """EvoSteer's balance of all spans."""
    dpo: Dpo = Dpo()
    """Direct preference optimisation."""
    rlhf: Rlhf = Rlhf()
    """A reward model from preferences, then PPO."""
    parl: Parl = Parl()
    """PARL's auxiliary rewards."""
    stop: Stop = Stop()
    """When to stop, from exact stop credit."""
    eval: Eval = Eval()
    """Judging."""


def env_name(recipe: Recipe) -> str:
    """The name of the recipe's environment."""
    return recipe.env if isinstance(recipe.env, str) else str(recipe.env["name"])


def grid_values(values: Range) -> tuple[float, ...]:
    """The values of a range, low to high, both ends exact; rounded to six significant digits in between."""
    steps = [i / (values.points - 1) for i in range(1, values.points - 1)]
    if values.scale == "log":
        inner = [values.low * (values.high / values.low) ** step for step in steps]
    else:
        inner = [values.low + (values.high - values.low) * step for step in steps]
    return (values.low, *(float(f"{value:.6g}") for value in inner), values.high)


def combinations(grid: Mapping[str, Range]) -> tuple[dict[str, float], ...]:
    """Every combination of the ranges' values, the last parameter fastest; one empty setting for no range."""
    columns = [[(key, value) for value in grid_values(values)] for key, values in grid.items()]
    return tuple(dict(chosen) for chosen in itertools.product(*columns))


def settings_of(recipe: Recipe, *, judged: bool = False) -> tuple[dict[str, float], ...]:
    """What each setting changes: trained on, or judged in; one empty table where nothing is changed."""
    if judged and recipe.eval.grid:
        return combinations(recipe.eval.grid)
    # A text where a number belongs is passed on: the environment knows what its parameter may be, and says so.
    return cast("tuple[dict[str, float], ...]", recipe.settings) or combinations(recipe.grid)


def parameters(recipe: Recipe, *, judged: bool = False) -> tuple[dict[str, float], ...]:
    """The environment's parameters in each setting: those of `env`, then those of the setting, which win."""
    table = {} if isinstance(recipe.env, str) else recipe.env
    shared = {key: cast(float, value) for key, value in table.items() if key != "name"}
    return tuple({**shared, **setting} for setting in settings_of(recipe, judged=judged))


def labels(recipe: Recipe, *, judged: bool = True) -> tuple[str, ...]:
    """Each setting as written: `cr=0.02,ct=0.005`; the environment's name for one that changes nothing."""
    settings = settings_of(recipe, judged=judged)
    written = (",".join(f"{key}={value}" for key, value in setting.items()) for setting in settings)
    return tuple(label or env_name(recipe) for label in written)


def changed(recipe: Recipe, overrides: Mapping[str, float]) -> Recipe:
    """The recipe with parameters of its environment replaced, in whatever place each was set, for judging elsewhere.

    A parameter that settings or a grid vary takes the one value, and settings that thereby become equal become one.
    """
    if not overrides:
        return recipe
    table = {"name": recipe.env} if isinstance(recipe.env, str) else recipe.env
    kept = [{key: value for key, value in s.items() if key not in overrides} for s in settings_of(recipe, judged=True)]
    different = [setting for i, setting in enumerate(kept) if setting and setting not in kept[:i]]
    judging = msgspec.structs.replace(recipe.eval, grid={})
    return msgspec.structs.replace(recipe, env={**table, **overrides}, settings=tuple(different), grid={}, eval=judging)


def canonical(recipe: Recipe) -> str:
    """The recipe as TOML with every key written out: reading it gives an equal recipe. No settings, no such key."""
    plain = [(name, value) for name, value in _fields(recipe) if not isinstance(value, Component)]
    tables = [f"{name} = {_toml(value)}" for name, value in plain if name not in ("settings", "grid") or value]
    for name, component in _fields(recipe):
        if isinstance(component, Component):
            tables += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in _fields(component))]
    return "\n".join(tables) + "\n"


def first_difference(ours: Recipe, theirs: Recipe, *, except_for: frozenset[str] = frozenset()) -> str | None:
    """The first key, dotted, in which two recipes differ; None if in none but those excepted."""
    for name, value in _fields(ours):
        other = getattr(theirs, name)
        if name in except_for or value == other:
            continue
        if not isinstance(value, Component):
            return name
        return f"{name}." + next(key for key, part in _fields(value) if part != getattr(other, key))
    return None


class Key(NamedTuple):
    """A key that a recipe may hold."""

    name: str
    """Dotted: `ppo.clip`."""
    type: str
    """As annotated, range included: `float > 0`."""
    default: str
    """In TOML; empty where the key is required."""
    meaning: str
    """The docstring under the field."""


def keys(component: type[Component] = Recipe, prefix: str = "") -> tuple[Key, ...]:
    """Every key of a recipe, in the order of the structs, those of a table after the keys beside it.

    Needs the source of this module, as docs builds and tests have.
    """
    plain: list[Key] = []
    tables: list[Key] = []
    hints = get_type_hints(component, include_extras=True)
    meanings = _field_docstrings(component)
    for field in msgspec.structs.fields(component):
        if isinstance(field.default, Component):
            tables += keys(type(field.default), f"{prefix}{field.name}.")
            continue
        default = "" if field.required else _toml(field.default)
        plain.append(Key(prefix + field.name, _type_text(hints[field.name]), default, meanings.get(field.name, "")))
    return (*plain, *tables)


def _fields(component: Component) -> Iterator[tuple[str, Any]]:
    return ((name, getattr(component, name)) for name in component.__struct_fields__)


def _toml(value: object) -> str:
    if isinstance(value, Component):
        return _toml(dict(_fields(value)))
    if isinstance(value, str):
        return json.dumps(value).replace("\x7f", "\\u007f")
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml_key(key)} = {_toml(part)}" for key, part in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(value)


def _toml_key(key: str) -> str:
    return key if key.isascii() and key.replace("-", "").replace("_", "").isalnum() else _toml(key)


def _type_text(hint: Any) -> str:
    symbols = {"gt": ">", "ge": ">=", "le": "<="}
    if hasattr(hint, "__metadata__"):
        limits = [f"{sign} {limit}" for meta in hint.__metadata__ for key, sign in symbols.items()
                  if (limit := getattr(meta, key)) is not None]  # fmt: skip
        return " ".join([_type_text(hint.__origin__), " and ".join(limits)])
    text = hint.__name__ if isinstance(hint, type) and not hasattr(hint, "__origin__") else str(hint)
    return text.replace("typing.", "")


def _field_docstrings(component: type[Component]) -> dict[str, str]:
    body = ast.parse(inspect.getsource(component)).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            assert isinstance(below.value, ast.Constant)
            found[field.target.id] = str(below.value.value)
    return found
