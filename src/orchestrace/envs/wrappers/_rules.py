"""What all forms share: the rules of an episode beyond the tables, and what is seen of a state."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrace.envs.protocol import Bools, Env, Floats, Ints

Singles = npt.NDArray[np.float32]
Marks = npt.NDArray[np.int8]

Illegal = Literal["refuse", "penalise"]
"""What an action that is not legal brings. refuse: a ValueError. penalise: nothing happens and it costs `penalty`."""

HORIZON = 1000
"""Steps after which a form of another library truncates an episode, unless told otherwise. The tables have no horizon
but their own; every episode ends by itself, so that this only cuts off very long ones and those of illegal actions."""
ENDED = "The episode has ended."


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What a wrapped environment adds to its tables."""

    seed: int = 0
    """Of the die, until `reset(seed=...)` names another."""
    horizon: int | None = HORIZON
    """An episode is truncated after so many steps; None: never."""
    illegal: Illegal = "refuse"
    penalty: float = 1.0
    """What an illegal action costs under `penalise`."""

    def __post_init__(self) -> None:
        """Refuse rules that cannot be.

        Raises:
          ValueError: an unknown `illegal`, a horizon below 1, or neither a horizon nor a refusal, so that an episode
            of illegal actions would never end.
        """
        if self.illegal not in ("refuse", "penalise"):
            raise ValueError(f"illegal: {self.illegal!r} is neither 'refuse' nor 'penalise'")
        if self.horizon is not None and self.horizon < 1:
            raise ValueError(f"horizon: {self.horizon} is not 1 or more, nor None")
        if self.horizon is None and self.illegal == "penalise":
            raise ValueError("horizon: with illegal='penalise' an episode needs one, or it may never end")


class Move(NamedTuple):
    """What one action brought, for a batch of B episodes."""

    states: Ints
    """[B] states reached; where `ended`, a start of a new episode."""
    rewards: Floats
    """[B]"""
    ended: Bools
    """[B]"""
    illegal: Bools
    """[B] True where the action was not legal and nothing happened."""


@dataclass(frozen=True, eq=False)
class Tables:
    """An environment as its observers see it, in the number formats of other libraries."""

    env: Env

    @cached_property
    def features(self) -> Singles:
        """[S, F]"""
        return self.env.features().astype(np.float32)

    @cached_property
    def action_features(self) -> Singles:
        """[S, A, G]"""
        return self.env.action_features().astype(np.float32)

    @cached_property
    def mask(self) -> Marks:
        """[S, A] one where an action is legal."""
        return self.env.legal().astype(np.int8)

    def moved(self, states: Ints, actions: Ints, *, rules: Rules, rng: np.random.Generator) -> Move:
        """One action in each of B episodes.

        Raises:
          ValueError: an action does not exist, or is not legal and illegal actions are refused.
        """
        A = self.mask.shape[1]
        strange = (actions < 0) | (actions >= A)
        if strange.any():
            row = int(np.argmax(strange))
            raise ValueError(f"actions[{row}] = {actions[row]} is no action: there are 0 to {A - 1}")
        illegal = self.mask[states, actions] == 0
        if illegal.any() and rules.illegal == "refuse":
            row = int(np.argmax(illegal))
            raise ValueError(
                f"actions[{row}]: {self.env.actions[int(actions[row])]!r} is not legal in state "
                f"{self.env.state_name(int(states[row]))!r}; see action_mask, or set illegal='penalise'"
            )
        reached, rewards = states.copy(), np.full(len(states), -rules.penalty)
        ended = np.zeros(len(states), dtype=np.bool_)
        legal = np.flatnonzero(~illegal)
        reached[legal], rewards[legal], ended[legal] = self.env.step(states[legal], actions[legal], rng)
        return Move(reached, rewards, ended, illegal)


def bound(seen: Singles) -> float:
    """The largest size of any entry, 1 at least: the bounds of a box around all that is ever seen."""
    return max(1.0, float(np.abs(seen).max(initial=0.0)))
