"""Batches of episodes: a policy in, decisions out. The die is passed in."""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from orchestrace.envs import END, Env
from orchestrace.training.stack import Bools, Floats, Ints, Stack

N = TypeVar("N", bound=np.generic)
Actor = Callable[[Ints], Floats]
"""A policy to play by: cells [n] in, probabilities [n, A] out."""


class Batch(NamedTuple):
    """B episodes, time first, padded to T decisions; the entries beyond an episode's end are 0 and not `taken`."""

    cells: Ints
    """[T, B] where each decision was taken."""
    actions: Ints
    """[T, B]"""
    rewards: Floats
    """[T, B] of each action, prices included."""
    taken: Bools
    """[T, B] True where there was a decision."""
    settings: Ints
    """[B] the setting of each episode; the episodes of a setting stand together."""
    beyond: Ints
    """[B] the cell in which an episode was cut off at the horizon; -1 where it ended by itself."""


def collected(stack: Stack, actor: Actor, *, episodes: int, horizon: int, rng: np.random.Generator) -> Batch:
    """Play episodes of every setting under a policy.

    Args:
      stack: the settings.
      actor: the policy.
      episodes: of each setting.
      horizon: most decisions in an episode.
      rng: numpy's die.
    """
    settings = np.repeat(np.arange(len(stack.envs)), episodes)
    here, going = stack.reset(episodes, rng), np.arange(len(settings))
    cells: list[Ints] = []
    actions: list[Ints] = []
    rewards: list[Floats] = []
    taken: list[Bools] = []
    while len(going) and len(cells) < horizon:
        chosen = drawn(actor(here[going]), rng)
        reached, earned, done = _stepped(stack, here[going], chosen, rng)
        cells.append(_spread(here[going], going, len(settings)))
        actions.append(_spread(chosen, going, len(settings)))
        rewards.append(_spread(earned, going, len(settings)))
        taken.append(_spread(np.ones(len(going), dtype=np.bool_), going, len(settings)))
        here[going] = reached
        going = going[~done]
    beyond = np.full(len(settings), -1)
    beyond[going] = here[going]
    return Batch(np.stack(cells), np.stack(actions), np.stack(rewards), np.stack(taken), settings, beyond)


def _spread(values: npt.NDArray[N], at: Ints, length: int) -> npt.NDArray[N]:
    """[length] the values at their places, 0 elsewhere."""
    row = np.zeros(length, dtype=values.dtype)
    row[at] = values
    return row


def returns(env: Env, policy: Floats, *, episodes: int, rng: np.random.Generator) -> Floats:
    """[episodes] the sum of rewards of each of so many episodes under a policy [S, A], each played to its end."""
    states, totals, going = env.reset(episodes, rng), np.zeros(episodes), np.arange(episodes)
    cumulative = _cumulative(policy)
    while len(going):
        step = env.step(states, _drawn(cumulative[states], rng), rng)
        totals[going] += step.rewards
        states, going = step.states[~step.done], going[~step.done]
    return totals


def _stepped(stack: Stack, cells: Ints, actions: Ints, rng: np.random.Generator) -> tuple[Ints, Floats, Bools]:
    """Cells reached (END where the episode is over), rewards, done."""
    process = stack.process
    pairs = process.pairs[cells, actions]
    outcomes = process.drawn(pairs, rng)
    reached = process.targets[outcomes]
    return reached, process.means[pairs] if stack.mean_rewards else process.rewards[outcomes], reached == END


def drawn(chances: Floats, rng: np.random.Generator) -> Ints:
    """[n] one action from each row of probabilities [n, A]."""
    return _drawn(_cumulative(chances), rng)


def _cumulative(policy: Floats) -> Floats:
    sums = np.cumsum(policy, axis=1)
    # The last is 1 exactly, so that rounding can never lead past it to an action of probability 0.
    normalised: Floats = sums / sums[:, -1:]
    return normalised


def _drawn(cumulative: Floats, rng: np.random.Generator) -> Ints:
    """[B] one action from each row of cumulative probabilities [B, A]."""
    drawn: Ints = np.sum(cumulative <= rng.random(len(cumulative))[:, None], axis=1)
    return drawn
