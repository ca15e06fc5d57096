"""Siblings: alternatives from one exact context against each other (C3).

    A_u = r_u − b_u,    b_u = (1 − a) · mean of the other siblings' r + a · mean of the other siblings' Q

A sibling group is every continuation of the same parent node; r_u is the mean terminal reward of the leaves below u.
Two variants have no r or no Q. Source: C3 (arXiv 2603.06859, EIT-EAST-Lab/C3). Unbiased where siblings are independent
draws of the current policy in the identical context and none was chosen by its outcome.
"""

from dataclasses import dataclass
from hashlib import blake2b, sha256
from math import log
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, Ints, floats, ints
from orchestrace.credit.baselines import grouped
from orchestrace.credit.ranks import average_ranks
from orchestrace.credit.results import Advantages

Credit = Literal["reward_only", "value_only", "value_assisted"]
MOST_SYMBOLS = 64
"""Different outputs of the next agent that `influence` tells apart; the rarer ones are one symbol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiblingLOO:
    """Which numbers are compared, and with what."""

    credit: Credit = "value_assisted"
    """reward_only: r against r. value_only: Q against Q. value_assisted: r against a mixture of both."""
    mix: float = 1.0
    """a: how much of the baseline is Q, with value_assisted."""
    full_mean: bool = False
    """True: the baseline is the mean of all siblings, its own number too (the paper's ablation)."""

    def __post_init__(self) -> None:
        """Refuse what is no mixture."""
        if self.credit not in ("reward_only", "value_only", "value_assisted"):
            raise ValueError(f"credit={self.credit!r} is none of reward_only, value_only, value_assisted")
        if not 0 <= self.mix <= 1:
            raise ValueError(f"mix is {self.mix}; it must lie in [0, 1]")

    def advantages(
        self,
        rewards: ArrayLike,
        *,
        context: ArrayLike,
        values: ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> Advantages:
        """[U] advantages of U nodes.

        Args:
          rewards: [U] r_u.
          context: [U] equal for siblings.
          values: [U] Q_u of a critic; reward_only does without.
          weights: [U] positive, replays behind each number; None: equal. With unequal weights a group's advantages do
            not sum to 0.

        Raises:
          ValueError: columns that do not fit, or values are missing.
        """
        r = floats("rewards", rewards)
        groups = grouped(ints("context", context, like=("rewards", len(r))))
        w = np.ones(len(r)) if weights is None else floats("weights", weights, like=("rewards", len(r)))
        if (w <= 0).any():
            raise ValueError("weights must be positive")
        if values is None and self.credit != "reward_only":
            raise ValueError(f"credit={self.credit!r} needs values")
        q = r if values is None else floats("values", values, like=("rewards", len(r)))
        own = q if self.credit == "value_only" else r
        share = {"reward_only": 0.0, "value_only": 1.0, "value_assisted": self.mix}[self.credit]
        baseline = (1 - share) * self._others(r, w, groups) + share * self._others(q, w, groups)
        alone = np.bincount(groups, minlength=1)[groups] < 2
        return Advantages(values=np.where(alone, 0.0, own - baseline), groups=groups, degenerate=int(alone.sum()))

    def _others(self, x: Floats, w: Floats, groups: Ints) -> Floats:
        """(Σ_k w_k x_k − w_j x_j) / (Σ_k w_k − w_j); with `full_mean`, nothing is taken out."""
        total, weight = np.bincount(groups, w * x)[groups], np.bincount(groups, w)[groups]
        if self.full_mean:
            return np.asarray(total / weight)
        rest = np.where(np.bincount(groups, minlength=1)[groups] > 1, weight - w, 1.0)
        return np.asarray((total - w * x) / rest)


def node_rewards(parent: ArrayLike, terminal: ArrayLike) -> Floats:
    """[U] mean terminal reward of the leaves below each node of a prefix tree.

    Args:
      parent: [U] index of each node's parent, −1 at a root; a parent stands before its children.
      terminal: [U] reward of a leaf; NaN at inner nodes.

    Raises:
      ValueError: a parent that does not stand before, a leaf without a reward, an inner node with one.
    """
    above = ints("parent", parent)
    given = np.asarray(terminal, np.float64)
    if given.shape != above.shape:
        raise ValueError(f"terminal has shape {given.shape}, but parent has {above.shape}")
    if (above >= np.arange(len(above))).any() or (above < -1).any():
        raise ValueError("a parent must stand before its children")
    inner = np.zeros(len(above), np.bool_)
    inner[above[above >= 0]] = True
    if not np.isfinite(given[~inner]).all() or not np.isnan(given[inner]).all():
        raise ValueError("leaves have a finite terminal reward, inner nodes NaN")
    total, count = np.where(inner, 0.0, given), np.where(inner, 0, 1)
    for node in range(len(above) - 1, -1, -1):
        if above[node] >= 0:
            total[above[node]] += total[node]
            count[above[node]] += count[node]
    return np.asarray(total / np.maximum(count, 1))


class ContextKey(NamedTuple):
    """A context by name: the number groups by, the fingerprint tells a collision."""

    number: int
    """63 bits of BLAKE2b."""
    fingerprint: str
    """sha256, hex."""


def context_key(context: bytes) -> ContextKey:
    """The key of a context's exact bytes, as C3 has it."""
    number = int.from_bytes(blake2b(context, digest_size=8).digest(), "big") >> 1
    return ContextKey(number, sha256(context).hexdigest())


def fidelity(advantages: ArrayLike, truth: ArrayLike) -> float | None:
    """Spearman's rank correlation of advantages with what replays say, ties averaged; None: one of them is constant.

    Args:
      advantages: [U].
      truth: [U] mean return of many replays minus the context's value.
    """
    a = average_ranks(advantages)
    b = average_ranks(floats("truth", truth, like=("advantages", len(a))))
    if len(a) < 2 or a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def within_context_variance(found: Advantages) -> float:
    """Mean over contexts with several siblings of the variance (ddof 0) of their advantages; 0 where there is none."""
    groups = found.groups
    if groups is None or not len(groups):
        return 0.0
    count = np.bincount(groups)
    mean = np.bincount(groups, found.values) / np.maximum(count, 1)
    variance = np.bincount(groups, np.square(found.values - mean[groups])) / np.maximum(count, 1)
    return float(variance[count > 1].mean()) if (count > 1).any() else 0.0


def influence(context: ArrayLike, candidate: ArrayLike, *, symbols: list[str]) -> float:
    """Conditional mutual information I(candidate; next output | context), in nats: what a message changes.

    Counts have 1 added in every cell (Laplace); the 64 most frequent symbols are told apart; floored at 0.

    Args:
      context: [U].
      candidate: [U] which sibling each is, counted within its context.
      symbols: [U] the next agent's output in a canonical form.
    """
    where = ints("context", context)
    which = ints("candidate", candidate, like=("context", len(where)))
    if len(symbols) != len(where):
        raise ValueError(f"symbols has length {len(symbols)}, but context has {len(where)}")
    known = {s: i for i, s in enumerate(sorted(set(symbols), key=lambda s: (-symbols.count(s), s))[:MOST_SYMBOLS])}
    said = np.array([known.get(s, len(known)) for s in symbols], np.int64)
    total = 0.0
    for place in np.unique(where):
        own = np.flatnonzero(where == place)
        total += len(own) * _information(which[own], said[own])
    return max(0.0, total / len(where)) if len(where) else 0.0


def _information(x: Ints, y: Ints) -> float:
    rows, columns = grouped(x), grouped(y)
    table = np.ones((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1.0)
    joint = table / table.sum()
    outer = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return float(sum(p * log(p / q) for p, q in zip(joint.ravel(), outer.ravel(), strict=True)))
