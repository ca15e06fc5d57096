"""Several settings of one environment as one: their states, numbered one after another, are **cells**.

One policy acts in all settings; what tells it the setting is in the features. So a policy is one table [C, A] over C
cells, computed once an update and looked up for every decision.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from orchestrace.envs import END, Env, Grade, Process, by_name
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
    process: Process
    """All settings as one process over the cells."""
    mean_rewards: bool
    """True: actions pay their mean; False: what came of them."""
    stops: Ints
    """[C] the action that stops: an O5 action after which an episode always ends; -1 where there is none."""
    stop_values: Floats
    """[C] what it pays on average; minus infinity where there is none."""

    def reset(self, episodes: int, rng: np.random.Generator) -> Ints:
        """[n · episodes] the cells in which so many episodes of each setting start, setting by setting."""
        return np.concatenate(
            [env.reset(episodes, rng) + first for env, first in zip(self.envs, self.first, strict=True)]
        )

    def tables(self, policy: Floats) -> list[Floats]:
        """A policy [C, A] as one table [S, A] for each setting."""
        return np.split(policy, self.first[1:])


def stack(envs: Sequence[Env], *, grade: Grade = "outcome") -> Stack:
    """Number the states of all settings through; the settings have the same actions and features.

    Args:
      envs: the settings.
      grade: what actions pay in episodes.
    """
    legal = np.concatenate([env.legal() for env in envs])
    process = joined([env.process for env in envs])
    stops, values = stop_arms(process, np.array(envs[0].decides))
    return Stack(
        envs=tuple(envs),
        first=np.cumsum([0, *(len(env.legal()) for env in envs[:-1])]),
        features=np.concatenate([env.features() for env in envs]),
        options=np.concatenate([env.action_features() for env in envs]),
        legal=legal,
        process=process,
        mean_rewards=grade == "posterior",
        stops=stops,
        stop_values=values,
    )


def joined(processes: Sequence[Process]) -> Process:
    """Processes side by side as one: the states, pairs and outcomes of each after those of the ones before."""
    if len(processes) == 1:
        return processes[0]
    states, pairs, outcomes = (
        np.cumsum([0, *sizes[:-1]])
        for sizes in zip(*((len(p.pairs), len(p.means), len(p.targets)) for p in processes), strict=True)
    )
    last = sum(len(p.targets) for p in processes)
    return Process(
        np.concatenate([np.where(p.pairs >= 0, p.pairs + k, -1) for p, k in zip(processes, pairs, strict=True)]),
        np.append(np.concatenate([p.first[:-1] + k for p, k in zip(processes, outcomes, strict=True)]), last),
        np.concatenate([_moved(p.targets, int(k)) for p, k in zip(processes, states, strict=True)]),
        np.concatenate([p.chances for p in processes]),
        np.concatenate([p.rewards for p in processes]),
    )


def _moved(targets: Ints, by: int) -> Ints:
    return np.where(targets == END, END, targets + by)


def stop_arms(process: Process, decides: npt.NDArray[np.str_]) -> tuple[Ints, Floats]:
    """The stopping action of each state and what it pays on average; see `Stack.stops` and `Stack.stop_values`.

    Args:
      process: S states.
      decides: [A] the sub-decision of each action.
    """
    states, actions = np.nonzero(process.legal)
    ends = np.logical_and.reduceat(process.targets == END, process.first[:-1]) & (decides == "O5")[actions]
    stops, values = np.full(len(process.pairs), -1), np.full(len(process.pairs), -np.inf)
    # Where several end the episode, the best of them is the stop.
    order = np.argsort(process.means[ends], kind="stable")
    stops[states[ends][order]], values[states[ends][order]] = actions[ends][order], process.means[ends][order]
    return stops, values


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
