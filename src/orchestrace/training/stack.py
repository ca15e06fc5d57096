"""Several settings of one environment as one: their states, numbered one after another, are **cells**.

One policy acts in all settings; what tells it the setting is in the features. So a policy is one table [C, A] over C
cells, computed once an update and looked up for every decision.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from orchestrace.envs import Env, Grade, by_name
from orchestrace.errors import RecipeError
from orchestrace.training.recipe import Recipe, env_name, parameters

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Stack(NamedTuple):
    """n settings, C cells."""

    envs: tuple[Env, ...]
    """[n]"""
    first: Ints
    """[n] the first cell of each setting; cell = first + state."""
    features: Floats
    """[C, F]"""
    options: Floats
    """[C, A, G] features of the actions; G may be 0."""
    legal: Bools
    """[C, A]"""

    def reset(self, episodes: int, rng: np.random.Generator) -> Ints:
        """[n · episodes] the cells in which so many episodes of each setting start, setting by setting."""
        return np.concatenate(
            [env.reset(episodes, rng) + first for env, first in zip(self.envs, self.first, strict=True)]
        )

    def tables(self, policy: Floats) -> list[Floats]:
        """A policy [C, A] as one table [S, A] for each setting."""
        return np.split(policy, self.first[1:])


def stack(envs: Sequence[Env]) -> Stack:
    """Number the states of all settings through; the settings have the same actions and features."""
    features, legal = [env.features() for env in envs], [env.legal() for env in envs]
    options = np.concatenate([env.action_features() for env in envs])
    first = np.cumsum([0, *(len(rows) for rows in features[:-1])])
    return Stack(tuple(envs), first, np.concatenate(features), options, np.concatenate(legal))


class MakeEnv(Protocol):
    """How an environment is made from its name; `envs.by_name` is one."""

    def __call__(self, name: str, settings: Mapping[str, float], *, grade: Grade) -> Env:
        """The environment of that name under these parameters."""
        ...


def environments(
    recipe: Recipe, *, grade: Grade = "outcome", make_env: MakeEnv = by_name, judged: bool = False
) -> tuple[Env, ...]:
    """The recipe's environment in each of its settings.

    Args:
      recipe: the recipe.
      grade: what an answer earns in them.
      make_env: how to make one.
      judged: in the settings to judge in, not those to train on.

    Raises:
      RecipeError: no such environment or parameter, a value out of range, or settings that one policy cannot serve.
    """
    envs = []
    for i, settings in enumerate(parameters(recipe, judged=judged)):
        try:
            envs.append(make_env(env_name(recipe), settings, grade=grade))
        except RecipeError as error:
            raise RecipeError(
                error.problem, place=_place(recipe, i, error.place, judged=judged), remedy=error.remedy
            ) from None
    for i, env in enumerate(envs):
        if env.actions != envs[0].actions or env.features().shape[1] != envs[0].features().shape[1]:
            raise RecipeError("its actions differ from those of settings[0]", place=f"settings[{i}]")
    return tuple(envs)


def _place(recipe: Recipe, setting: int, key: str | None, *, judged: bool) -> str:
    if key in (None, "env"):
        return "env" if isinstance(recipe.env, str) else "env.name"
    grid, name = (recipe.eval.grid, "eval.grid") if judged and recipe.eval.grid else (recipe.grid, "grid")
    if key in grid:
        return f"{name}.{key}"
    return f"settings[{setting}].{key}" if recipe.settings and key in recipe.settings[setting] else f"env.{key}"
