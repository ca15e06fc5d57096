"""Importance ratios of what was sampled, at the level at which a method clips.

    token       ρ = exp(l_k)                                                     PPO, GRPO
    turn        ρ = exp(mean of l over the turn's tokens)                        ReMA
    sequence    ρ = exp(mean of l over the sequence's tokens)                    GSPO
    set         ρ = exp(mean over the members of one transition of their l)      SRPO

with l_k = log π(k) − log π_old(k) of a token. All tokens of a unit share its ratio. A set's outer mean is over its
members, so that parallel members weigh alike and doubling one changes nothing; how a member's tokens make its l (sum,
mean, or sum over the root of their number) is a choice that its paper leaves open.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, Ints, bools, floats, ints
from orchestrace.credit.baselines import grouped

Level = Literal["token", "turn", "sequence", "set"]
Reduction = Literal["mean", "sum", "sqrt"]

LIMIT = 20.0
"""Log ratios are held within ± this, as in verl: exp(20) is beyond any clip."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How log ratios of tokens become ratios."""

    level: Level = "token"
    reduction: Reduction = "mean"
    """Of a unit's tokens (in a set: of a member's): mean; sum; sqrt, the sum over the root of their number."""
    limit: float = LIMIT
    """Of the log ratio, before the exponential; ReMA's turns have 3."""

    def __post_init__(self) -> None:
        """Refuse names that mean nothing."""
        for name, chosen, known in (("level", self.level, get_args(Level)),
                                    ("reduction", self.reduction, get_args(Reduction))):  # fmt: skip
            if chosen not in known:
                raise ValueError(f"{name}={chosen!r} is none of {', '.join(known)}")
        if not self.limit > 0:
            raise ValueError(f"limit is {self.limit}; it must be positive")

    def ratios(
        self,
        logprobs: ArrayLike,
        old_logprobs: ArrayLike,
        *,
        mask: ArrayLike,
        unit: ArrayLike | None = None,
        members: ArrayLike | None = None,
    ) -> Floats:
        """[K] the ratio of each token's unit; 1 where masked.

        Args:
          logprobs: [K] natural log, under the learner.
          old_logprobs: [K] under the policy that sampled.
          mask: [K] True where a token trains; a tool's tokens are none of a unit's.
          unit: [K] which turn, sequence or set each token is in; None only for tokens.
          members: [K] of a set, which member each token is in: an output that the transition consumed.

        Raises:
          ValueError: columns that do not fit, or one that the level needs is missing.
        """
        new = floats("logprobs", logprobs)
        old = floats("old_logprobs", old_logprobs, like=("logprobs", len(new)))
        taken = bools("mask", mask, like=("logprobs", len(new)))
        logs = np.where(taken, new - old, 0.0)
        if self.level != "token":
            logs = self._of_units(logs, taken, self._column("unit", unit, new), members)
        ratios: Floats = np.where(taken, np.exp(np.clip(logs, -self.limit, self.limit)), 1.0)
        return ratios

    def _of_units(self, logs: Floats, taken: Bools, unit: Ints, members: ArrayLike | None) -> Floats:
        home = grouped(unit)
        if self.level != "set":
            return self._reduced(logs, taken, home)
        member = grouped(unit, self._column("members", members, logs))
        own = self._reduced(logs, taken, member)
        rows = np.flatnonzero(taken)
        one_each = rows[np.unique(member[rows], return_index=True)[1]]
        count = np.bincount(home[one_each], minlength=home.max(initial=0) + 1)
        total = np.bincount(home[one_each], own[one_each], minlength=len(count))
        mean: Floats = (total / np.maximum(count, 1))[home]
        return mean

    def _reduced(self, logs: Floats, taken: Bools, groups: Ints) -> Floats:
        size = np.maximum(np.bincount(groups, taken), 1.0)
        by = {"mean": size, "sum": np.ones_like(size), "sqrt": np.sqrt(size)}[self.reduction]
        found: Floats = (np.bincount(groups, logs) / by)[groups]
        return found

    def _column(self, name: str, given: ArrayLike | None, like: Floats) -> Ints:
        if given is None:
            raise ValueError(f"level={self.level!r} needs {name}")
        return ints(name, given, like=("logprobs", len(like)))
