"""The surrogate that a method climbs: which ratio, how it is clipped, how tokens are averaged.

    J = Σ_k w_k min(ρ_k A_k, clip(ρ_k, 1 − ε_low, 1 + ε_high) A_k),     Σ over the tokens that train

w are the aggregation's weights; ρ and A are those of the token's unit (itself, its turn, sequence or set), so that a
unit is clipped as one. Here as a reference in numpy, with the gradient's weight on each token: a learner multiplies by
the same numbers. Sources: Schulman et al. 2017 (PPO); DAPO (clip higher); Ye et al. 2020 (dual clip).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, Ints, bools, floats, ints
from orchestrace.credit.groups.baselines import grouped
from orchestrace.credit.losses.ratios import LIMIT, Ratio, Ratios

Aggregation = Literal["token_mean", "seq_mean_token_mean", "seq_mean_token_sum_norm", "per_rollout_mean", "turn_mean"]


class Surrogate(NamedTuple):
    """The objective's value, and what a token's log-probability is pushed by."""

    value: float
    """J, to be climbed."""
    gradient: Floats
    """[K] dJ / d log π of each token, through all terms that its ratio is in; 0 where clipped, held or masked."""
    clipped: float
    """Share of the tokens that train whose ratio is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """How advantages become a loss."""

    ratio: Ratio = field(default_factory=Ratio)
    clip_low: float = 0.2
    clip_high: float = 0.2
    dual_clip: float | None = None
    """c > 1: where A < 0 the term is at least c · A; None: no such bound."""
    aggregation: Aggregation = "token_mean"
    clips: bool = True
    """False: J = Σ w ρ A as it is, whose gradient on policy is that of A log π (MAGRPO)."""

    def __post_init__(self) -> None:
        """Refuse what clips nothing."""
        if self.aggregation not in get_args(Aggregation):
            raise ValueError(f"aggregation={self.aggregation!r} is none of {', '.join(get_args(Aggregation))}")
        if not 0 <= self.clip_low <= 1 or self.clip_high < 0:
            raise ValueError(
                f"clip [{self.clip_low}, {self.clip_high}]: the first lies in [0, 1], the second is not negative"
            )
        if self.dual_clip is not None and self.dual_clip <= 1:
            raise ValueError(f"dual_clip is {self.dual_clip}; it must exceed 1")

    def surrogate(
        self,
        advantages: ArrayLike,
        ratios: Ratios,
        *,
        mask: ArrayLike,
        weights: ArrayLike,
    ) -> Surrogate:
        """The objective on K tokens.

        Args:
          advantages: [K] constants; where they differ within a unit, its mean counts (as in ReMA).
          ratios: of K tokens, from `ratio.ratios`.
          mask: [K] True where a token trains.
          weights: [K] from `token_weights`.

        Raises:
          ValueError: columns that do not fit.
        """
        given = floats("advantages", advantages)
        taken = bools("mask", mask, like=("advantages", len(given)))
        w = np.where(taken, floats("weights", weights, like=("advantages", len(given))), 0.0)
        if len(ratios.values) != len(given):
            raise ValueError(f"ratios has length {len(ratios.values)}, but advantages has {len(given)}")
        rho, a = ratios.values, given if self.ratio.level == "token" else _unit_means(given, taken, ratios.unit)
        terms, cut = self._terms(rho, a)
        push = np.bincount(ratios.unit, np.where(cut, 0.0, w * rho * a))[ratios.unit] if len(a) else a
        share = float((cut & taken).sum() / max(int(taken.sum()), 1))
        return Surrogate(float(w @ terms), ratios.slopes * push, share)

    def _terms(self, rho: Floats, a: Floats) -> tuple[Floats, Bools]:
        """[K] each token's term before its weight, and whether the ratio is cut off there."""
        if not self.clips:
            return rho * a, np.zeros(len(a), np.bool_)
        held = np.clip(rho, 1 - self.clip_low, 1 + self.clip_high) * a
        terms, cut = np.minimum(rho * a, held), held < rho * a
        if self.dual_clip is None:
            return terms, cut
        floor = self.dual_clip * a
        low = (a < 0) & (terms < floor)
        return np.where(low, floor, terms), cut | low


def _unit_means(values: Floats, taken: Bools, unit: Ints) -> Floats:
    """[K] mean over the tokens of a unit that train."""
    size = np.maximum(np.bincount(unit, taken), 1.0)
    mean: Floats = (np.bincount(unit, np.where(taken, values, 0.0)) / size)[unit]
    return mean


def token_weights(
    aggregation: Aggregation,
    mask: ArrayLike,
    *,
    sequence: ArrayLike,
    turn: ArrayLike | None = None,
    rollout: ArrayLike | None = None,
    longest: int | None = None,
) -> Floats:
    """[K] what each token counts, 0 where masked.

        token_mean                  1 / all tokens
        seq_mean_token_mean         1 / (sequences · tokens of the sequence)
        seq_mean_token_sum_norm     1 / (sequences · L_max)                        Dr. GRPO
        per_rollout_mean            1 / (rollouts · tokens of the rollout)         Agent Lightning
        turn_mean                   1 / (sequences · turns of it · tokens of the turn)   ReMA

    Args:
      aggregation: one of the names above; what has no token that trains is not counted.
      mask: [K] True where a token trains.
      sequence: [K] which row each token is in.
      turn: [K] which turn, for turn_mean.
      rollout: [K] which rollout, for per_rollout_mean.
      longest: L_max.

    Raises:
      ValueError: what it needs is missing.
    """
    taken = bools("mask", mask)
    rows = ints("sequence", sequence, like=("mask", len(taken)))
    if aggregation in ("token_mean", "seq_mean_token_mean"):
        return _even(taken, grouped(rows) if aggregation == "seq_mean_token_mean" else np.zeros_like(rows))
    if aggregation == "per_rollout_mean":
        return _even(taken, grouped(_needed("rollout", rollout, aggregation, len(taken))))
    if aggregation == "turn_mean":
        return _turn_mean(taken, grouped(rows), grouped(rows, _needed("turn", turn, aggregation, len(taken))))
    if aggregation != "seq_mean_token_sum_norm":
        raise ValueError(f"aggregation={aggregation!r} is none of {', '.join(get_args(Aggregation))}")
    return _constant(taken, rows, longest)


def _constant(taken: Bools, sequence: Ints, longest: int | None) -> Floats:
    if longest is None or longest < 1:
        raise ValueError(f"seq_mean_token_sum_norm needs longest, a number of tokens; it is {longest}")
    return np.where(taken, 1.0 / (max(len(np.unique(sequence[taken])), 1) * longest), 0.0)


def _even(taken: Bools, groups: Ints) -> Floats:
    """Every group with a token weighs the same, and its tokens share that."""
    size = np.bincount(groups, taken, minlength=1)
    share = 1.0 / np.maximum(size, 1.0) / max(int((size > 0).sum()), 1)
    return np.where(taken, share[groups] if len(groups) else 0.0, 0.0)


def _turn_mean(taken: Bools, sequence: Ints, turn: Ints) -> Floats:
    tokens = np.maximum(np.bincount(turn, taken, minlength=1), 1.0)
    _, one_each = np.unique(turn[taken], return_index=True)
    turns = np.bincount(sequence[taken][one_each], minlength=sequence.max(initial=0) + 1)
    weights = np.zeros(len(taken))
    weights[taken] = 1.0 / (np.count_nonzero(turns) * turns[sequence[taken]] * tokens[turn[taken]])
    return weights


def _needed(name: str, given: ArrayLike | None, aggregation: str, length: int) -> Ints:
    if given is None:
        raise ValueError(f"{aggregation} needs {name}")
    return ints(name, given, like=("mask", length))


def divergence(logprobs: ArrayLike, ref_logprobs: ArrayLike, *, estimator: Literal["k1", "k2", "k3"]) -> Floats:
    """[K] estimates of KL(π ‖ π_ref) from samples of π, u = log π_ref − log π.

        k1 = −u (unbiased, may be negative),   k2 = u² / 2,   k3 = eᵘ − u − 1 (unbiased, never negative)

    k3 holds u within ± 20, as verl does. Source: Schulman 2020, as used by GRPO (k3).

    Raises:
      ValueError: another estimator.
    """
    new = floats("logprobs", logprobs)
    u = floats("ref_logprobs", ref_logprobs, like=("logprobs", len(new))) - new
    if estimator == "k1":
        return -u
    if estimator == "k2":
        return np.square(u) / 2
    if estimator == "k3":
        held = np.clip(u, -LIMIT, LIMIT)
        return np.asarray(np.expm1(held) - held)
    raise ValueError(f"estimator={estimator!r} is none of k1, k2, k3")


_WHOLE = Ratio(level="sequence", reduction="sum")
OBJECTIVES: Mapping[str, Objective] = {
    "ppo": Objective(dual_clip=3.0),
    "grpo": Objective(aggregation="seq_mean_token_mean"),
    "dr_grpo": Objective(aggregation="seq_mean_token_sum_norm"),
    "dapo": Objective(clip_high=0.28),
    "gspo": Objective(ratio=Ratio(level="sequence"), aggregation="seq_mean_token_mean", clip_low=3e-4, clip_high=4e-4),
    "lite_ppo": Objective(),
    "rloo": Objective(ratio=_WHOLE, aggregation="seq_mean_token_mean"),
    "magrpo": Objective(ratio=_WHOLE, clips=False, aggregation="seq_mean_token_mean"),
    "rema": Objective(ratio=Ratio(level="turn", cap=3.0), dual_clip=3.0, aggregation="turn_mean"),
    "turn_ppo": Objective(ratio=Ratio(level="turn"), aggregation="turn_mean"),
    "srpo": Objective(ratio=Ratio(level="set"), aggregation="seq_mean_token_mean"),
    "agent_lightning": Objective(dual_clip=3.0, aggregation="per_rollout_mean"),
}
"""The objective of each published method by name; the advantages come from `methods`. For srpo, a set is the sequence
of `token_weights`: one term and one clip a set. agent_lightning divides by rollouts, its code by rows, a factor common
to all tokens of a batch."""
