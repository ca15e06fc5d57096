"""Siblings: alternatives from one exact context against each other (C3).

    A_u = r_u − b_u,    b_u = (1 − a) · mean of the other siblings' r + a · mean of the other siblings' Q

A sibling group is every continuation of the same parent node; r_u is the mean terminal reward of the leaves below u.
Two variants have no r or no Q. Source: C3 (arXiv 2603.06859, EIT-EAST-Lab/C3). Unbiased where siblings are independent
draws of the current policy in the identical context and none was chosen by its outcome.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b, sha256
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, Ints, floats, ints
from orchestrace.credit.groups.baselines import grouped
from orchestrace.credit.groups.ranks import average_ranks
from orchestrace.credit.results import Advantages

Credit = Literal["reward_only", "value_only", "value_assisted"]
MOST_SYMBOLS = 64
"""Different outputs of the next agent that `influence` tells apart; the rarer ones are one symbol."""
WIDEST = 1e9
"""Largest ratio of two weights: beyond it, what the others weigh together would be rounding."""


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
        if (w <= 0).any() or w.max(initial=1.0) > WIDEST * w.min(initial=1.0):
            raise ValueError(f"weights must be positive, the largest at most {WIDEST:g} times the smallest")
        if values is None and self.credit != "reward_only":
            raise ValueError(f"credit={self.credit!r} needs values")
        q = r if values is None else floats("values", values, like=("rewards", len(r)))
        own = q if self.credit == "value_only" else r
        share = {"reward_only": 0.0, "value_only": 1.0, "value_assisted": self.mix}[self.credit]
        baseline = (1 - share) * self._others(r, w, groups) + share * self._others(q, w, groups)
        alone = np.bincount(groups, minlength=1)[groups] < 2
        return Advantages(values=np.where(alone, 0.0, own - baseline), groups=groups, degenerate=int(alone.sum()))

    def _others(self, x: Floats, w: Floats, groups: Ints) -> Floats:
        """(Σ_k w_k x_k − w_j x_j) / (Σ_k w_k − w_j) = m − w_j (x_j − m) / (Σ_k w_k − w_j), m the weighted mean: exact
        where all are equal. With `full_mean`, m.
        """
        weight = np.bincount(groups, w)
        mean = np.bincount(groups, w * x) / weight
        mean = (mean + np.bincount(groups, w * (x - mean[groups])) / weight)[groups]  # once more, against rounding
        if self.full_mean:
            return np.asarray(mean)
        rest = np.where(np.bincount(groups)[groups] > 1, weight[groups] - w, 1.0)
        return np.asarray(mean - w * (x - mean) / rest)


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
    """The lower 63 bits of an 8-byte BLAKE2b, so that it fits an int64."""
    fingerprint: str
    """SHA-256, hex; its first 16 digits are C3's."""


def context_key(context: bytes) -> ContextKey:
    """The key of a context's exact bytes, the number that C3 gives it."""
    number = int.from_bytes(blake2b(context, digest_size=8).digest(), "big") & (2**63 - 1)
    return ContextKey(number, sha256(context).hexdigest())


def context_numbers(keys: Sequence[ContextKey]) -> Ints:
    """[U] the `context` column of these contexts.

    Raises:
      ValueError: two different contexts share a number.
    """
    seen: dict[int, str] = {}
    for key in keys:
        if seen.setdefault(key.number, key.fingerprint) != key.fingerprint:
            raise ValueError(f"contexts {seen[key.number]!r} and {key.fingerprint!r} share the number {key.number}")
    return np.array([key.number for key in keys], np.int64)


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


def influence(context: ArrayLike, candidate: ArrayLike, *, symbols: Sequence[str]) -> float:
    """Mutual information I(candidate; next output | context), in nats: what a message changes.

        I = Σ_j p(j) Σ_y p(y | j) log p(y | j) / p(y),     p(y | j) = (n_jy + 1) / (n_j + S)

    p(j) as counted, p(y) its mixture; the S symbols are the 64 most frequent over all contexts, and one for all others.
    Mean over the contexts, one candidate counting as 0. The 1 pulls it towards 0: compare equal sample sizes only.
    Source: C3 (arXiv 2603.06859).

    Args:
      context: [U].
      candidate: [U] which sibling each is, counted within its context.
      symbols: [U] the next agent's output in a canonical form.

    Raises:
      ValueError: columns that do not fit.
    """
    where = ints("context", context)
    which = ints("candidate", candidate, like=("context", len(where)))
    if len(symbols) != len(where):
        raise ValueError(f"symbols has length {len(symbols)}, but context has {len(where)}")
    said = _common_symbols(symbols)
    contexts, candidates = grouped(where), grouped(where, which)
    home = np.zeros(candidates.max(initial=-1) + 1, np.int64)
    home[candidates] = contexts
    table = np.zeros((len(home), min(len(set(symbols)), MOST_SYMBOLS) + 1), np.int64)
    np.add.at(table, (candidates, said), 1)
    found = [_information(table[home == place]) for place in range(contexts.max(initial=-1) + 1)]
    return float(np.mean(found)) if found else 0.0


def _common_symbols(symbols: Sequence[str]) -> Ints:
    """[U] the rank of each symbol among the most frequent, equal counts by name; the first number beyond for others."""
    counts = Counter(symbols)
    common = sorted(counts, key=lambda symbol: (-counts[symbol], symbol))[:MOST_SYMBOLS]
    known = {symbol: i for i, symbol in enumerate(common)}
    return np.array([known.get(symbol, len(known)) for symbol in symbols], np.int64)


def _information(table: Ints) -> float:
    """Of one context, from its counts [candidates, symbols]."""
    size = table.sum(axis=1, keepdims=True)
    share = size / size.sum()
    given = (table + 1.0) / (size + table.shape[1])
    return max(0.0, float((share * given * np.log(given / (share * given).sum(axis=0))).sum()))
