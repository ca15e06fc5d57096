"""Policies and simulated episodes, for checks that compare them with exact values."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrace.envs import Env

Floats = npt.NDArray[np.float64]

EXACT = 1e-9
"""Room for rounding where two exact computations must agree."""
STANDARD_ERRORS = 5.0
"""Room for chance where a simulation must agree with an exact value: fails once in two million times by bad luck."""
MOST_STEPS = 100_000
"""An episode that goes on for longer does not end."""


class Estimate(NamedTuple):
    """A mean over simulated episodes."""

    mean: float
    std_error: float


def estimate(returns: Floats) -> Estimate:
    """The mean of some returns [N], N at least 2."""
    return Estimate(float(returns.mean()), float(returns.std(ddof=1)) / math.sqrt(len(returns)))


def random_policy(env: Env, rng: np.random.Generator) -> Floats:
    """[S, A] in every state a distribution over the legal actions, drawn uniformly."""
    weights = rng.exponential(size=env.legal().shape) * env.legal()
    policy: Floats = weights / weights.sum(axis=1, keepdims=True)
    return policy


def drawn_actions(policy: Floats, states: npt.NDArray[np.int64], *, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """[B] an action in each state [B], drawn from its row of the policy."""
    cumulative = np.cumsum(policy[states], axis=1)[:, :-1]
    drawn: npt.NDArray[np.int64] = np.sum(rng.random((len(states), 1)) >= cumulative, axis=1)
    return drawn


def simulated(env: Env, policy: Floats, *, rng: np.random.Generator, episodes: int) -> Estimate:
    """The mean return of `episodes` episodes, each played to its end.

    Raises:
      AssertionError: an episode does not end.
    """
    states, returns = env.reset(episodes, rng), np.zeros(episodes)
    playing = np.arange(episodes)
    for _ in range(MOST_STEPS):
        here = states[playing]
        step = env.step(here, drawn_actions(policy, here, rng=rng), rng)
        returns[playing] += step.rewards
        states[playing] = step.states
        playing = playing[~step.done]
        if not len(playing):
            return estimate(returns)
    raise AssertionError(f"{env.name}: after {MOST_STEPS} steps {len(playing)} of {episodes} episodes had not ended")


def check_agreement(what: str, seen: Estimate, *, exact: float, rare: float = 0.0) -> None:
    """Check that a simulation agrees with an exact value, within `STANDARD_ERRORS`.

    Args:
      what: what was simulated.
      seen: its mean.
      exact: the exact value.
      rare: room for outcomes too rare to be seen in few episodes, which the standard error then knows nothing of.

    Raises:
      AssertionError: it does not.
    """
    room = STANDARD_ERRORS * seen.std_error + rare + EXACT
    message = (
        f"{what} gives {seen.mean:.5f} ± {seen.std_error:.5f} (one standard error), the exact value is {exact:.5f}"
    )
    assert abs(seen.mean - exact) <= room, message
