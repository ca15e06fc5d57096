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
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, Ints, bools, floats, ints
from orchestrace.credit.groups.baselines import grouped

Level = Literal["token", "turn", "sequence", "set"]
Reduction = Literal["mean", "sum", "sqrt"]

LIMIT = 20.0
"""Log ratios are held within ± this, as in verl: exp(20) is beyond any clip."""


class Ratios(NamedTuple):
    """Ratios of K tokens, and what is needed to go back from them to the tokens."""

    values: Floats
    """[K] ρ of each token's unit; 1 where masked."""
    unit: Ints
    """[K] number of each token's unit, from 0: the tokens that share one ratio."""
    slopes: Floats
    """[K] d log ρ / d log π of each token: 1 of a token's own ratio; 1 / n in a mean over n tokens; 1 / |S| of that in
    a set of |S| members; 0 where the log ratio is held at its limit, or masked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How log ratios of tokens become ratios."""

    level: Level = "token"
    reduction: Reduction = "mean"
    """Of a unit's tokens (in a set: of a member's): mean; sum; sqrt, the sum over the root of their number."""
    cap: float = LIMIT
    """The log ratio is at most this, before the exponential, and at least −20; ReMA's turns have 3."""

    def __post_init__(self) -> None:
        """Refuse names that mean nothing."""
        for name, chosen, known in (("level", self.level, get_args(Level)),
                                    ("reduction", self.reduction, get_args(Reduction))):  # fmt: skip
            if chosen not in known:
                raise ValueError(f"{name}={chosen!r} is none of {', '.join(known)}")
        if not 0 < self.cap <= LIMIT:
            raise ValueError(f"cap is {self.cap}; it must lie in (0, {LIMIT:g}]")

    def ratios(
        self,
        logprobs: ArrayLike,
        old_logprobs: ArrayLike,
        *,
        mask: ArrayLike,
        unit: ArrayLike | None = None,
        members: ArrayLike | None = None,
    ) -> Ratios:
        """The ratio of each token's unit. What is masked may be anything, NaN too: it belongs to no unit.

        Args:
          logprobs: [K] natural log, under the learner.
          old_logprobs: [K] under the policy that sampled.
          mask: [K] True where a token trains; a tool's tokens do not.
          unit: [K] which turn, sequence or set each token is in, by batch-wide numbers; None for tokens.
          members: [K] of a set, which member each token is in: an output that the transition consumed.

        Raises:
          ValueError: columns that do not fit, or one that the level needs is missing.
        """
        taken = bools("mask", mask)
        new, old = _trained("logprobs", logprobs, taken), _trained("old_logprobs", old_logprobs, taken)
        if self.level == "token":
            home = np.arange(len(taken), dtype=np.int64)
            logs, slopes = new - old, np.ones(len(taken))
        else:
            home = grouped(self._column("unit", unit, len(taken)))
            logs, slopes = self._of_units(new - old, taken, home, members)
        free = taken & (logs > -LIMIT) & (logs < self.cap)
        values = np.where(taken, np.exp(np.clip(logs, -LIMIT, self.cap)), 1.0)
        return Ratios(values, home, np.where(free, slopes, 0.0))

    def _of_units(self, logs: Floats, taken: Bools, home: Ints, members: ArrayLike | None) -> tuple[Floats, Floats]:
        """[K] log ratio of each token's unit, and its slope by the token."""
        if self.level != "set":
            return self._reduced(logs, taken, home)
        member = grouped(home, self._column("members", members, len(logs)))
        own, slopes = self._reduced(logs, taken, member)
        rows = np.flatnonzero(taken)
        one_each = rows[np.unique(member[rows], return_index=True)[1]]
        count = np.maximum(np.bincount(home[one_each], minlength=home.max(initial=0) + 1), 1)
        total = np.bincount(home[one_each], own[one_each], minlength=len(count))
        return (total / count)[home], slopes / count[home]

    def _reduced(self, logs: Floats, taken: Bools, groups: Ints) -> tuple[Floats, Floats]:
        size = np.maximum(np.bincount(groups, taken), 1.0)
        by = {"mean": size, "sum": np.ones_like(size), "sqrt": np.sqrt(size)}[self.reduction]
        return (np.bincount(groups, logs) / by)[groups], (1 / by)[groups]

    def _column(self, name: str, given: ArrayLike | None, length: int) -> Ints:
        if given is None:
            raise ValueError(f"level={self.level!r} needs {name}")
        return ints(name, given, like=("mask", length))


def _trained(name: str, given: ArrayLike, taken: Bools) -> Floats:
    """[K] 0 where masked, finite elsewhere."""
    array = np.asarray(given, dtype=np.float64)
    if array.shape != taken.shape:
        raise ValueError(f"{name} has shape {array.shape}, but mask has {taken.shape}")
    return floats(name, np.where(taken, array, 0.0))
