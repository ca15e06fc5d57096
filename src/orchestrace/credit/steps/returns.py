"""Returns to go and generalised advantage estimates, over padded episodes and over rows in any order.

    G_t = r_t + γ G_{t+1}
    δ_t = r_t + γ V_{t+1} − V_t,     A_t = δ_t + γ λ A_{t+1},     target_t = A_t + V_t

λ = 0 gives the one-step error, λ = 1 with γ = 1 the return to go minus the value. Sources: Schulman et al. 2016 (GAE,
arXiv 1506.02438); the multi-agent order is MARFT's (arXiv 2504.16129).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, Ints, bools, floats, ints
from orchestrace.credit.groups.baselines import grouped
from orchestrace.credit.results import Advantages

BLOCK = 1024
"""Episodes that are worked on at once: enough to outweigh the cost of a numpy call, few enough for a block of them to
stay in the processor's cache."""


class Estimates(NamedTuple):
    """Advantages, and what the value head should have said."""

    values: Floats
    """Advantages; 0 where masked."""
    targets: Floats
    """Advantage + value; 0 where masked."""


def gae(
    rewards: ArrayLike,
    values: ArrayLike,
    *,
    discount: float = 1.0,
    lam: float = 0.95,
    mask: ArrayLike | None = None,
    bootstrap: ArrayLike | None = None,
) -> Estimates:
    """[B, T] estimates of B padded episodes.

    Args:
      rewards: [B, T] r_t; what is masked counts for nothing.
      values: [B, T] V(s_t).
      discount: γ in [0, 1].
      lam: λ in [0, 1].
      mask: [B, T] True where there is a step; others (padding, a tool's tokens) are passed over. None: all.
      bootstrap: [B] V of the state beyond the last step, where an episode was cut off; None: 0, they ended.

    Raises:
      ValueError: shapes that do not fit, values that are not finite, γ or λ outside [0, 1].
    """
    r, v = floats("rewards", rewards, ndim=2), floats("values", values, ndim=2)
    if r.shape != v.shape:
        raise ValueError(f"rewards have shape {r.shape}, but values have {v.shape}")
    _within("discount", discount)
    _within("lam", lam)
    beyond = np.zeros(len(r)) if bootstrap is None else floats("bootstrap", bootstrap, like=("rewards", len(r)))
    taken = None if mask is None else bools("mask", mask, ndim=2)
    if taken is not None and taken.shape != r.shape:
        raise ValueError(f"mask has shape {taken.shape}, but rewards have {r.shape}")
    advantages = np.empty_like(r)
    for rows in (slice(start, start + BLOCK) for start in range(0, len(r), BLOCK)):
        own = None if taken is None else np.ascontiguousarray(taken[rows].T)
        advantages[rows] = _backwards(
            r[rows].T, v[rows].T, taken=own, beyond=beyond[rows], discount=discount, lam=lam
        ).T
    targets = advantages + v
    return Estimates(advantages, targets if taken is None else np.where(taken, targets, 0.0))


def _backwards(r: Floats, v: Floats, *, taken: Bools | None, beyond: Floats, discount: float, lam: float) -> Floats:
    """[T, B] advantages, time first, so that each step is one run through memory."""
    r, v = np.ascontiguousarray(r), np.ascontiguousarray(v)
    if taken is None:
        delta = r - v
        if len(v):
            delta[:-1] += discount * v[1:]
            delta[-1] += discount * beyond
        for t in range(len(delta) - 2, -1, -1):
            delta[t] += discount * lam * delta[t + 1]
        return delta
    advantages = np.zeros_like(r)
    ahead, following = np.zeros(len(beyond)), beyond.copy()
    for t in range(len(r) - 1, -1, -1):
        step = r[t] + discount * following - v[t] + discount * lam * ahead
        ahead, following = np.where(taken[t], step, ahead), np.where(taken[t], v[t], following)
        advantages[t] = np.where(taken[t], step, 0.0)
    return advantages


@dataclass(frozen=True, slots=True, kw_only=True)
class SequentialGAE:
    """GAE over rows that lie in any order: which rows are one sequence, and which comes after which."""

    order: tuple[Literal["rollout", "agent", "role"], ...] = ("rollout", "agent")
    """Rows that agree in these are one sequence. ("rollout",): all agents of a rollout in the order of their acting, so
    that one agent's value is bootstrapped from the next one's (MARFT)."""
    discount: float = 1.0
    lam: float = 0.95

    def __post_init__(self) -> None:
        """Refuse what makes no sequence."""
        known = ("rollout", "agent", "role")
        wrong = next((name for name in self.order if name not in known), None)
        if wrong is not None or "rollout" not in self.order:
            raise ValueError(f"order is {self.order}; it holds rollout, and of {', '.join(known)} what splits it")
        _within("discount", self.discount)
        _within("lam", self.lam)

    def advantages(
        self,
        rewards: ArrayLike,
        values: ArrayLike,
        *,
        position: ArrayLike,
        terminal: ArrayLike | None = None,
        bootstrap: ArrayLike | None = None,
        **keys: ArrayLike,
    ) -> tuple[Advantages, Floats]:
        """[D] advantages and value targets, independent of the order of the rows. All columns are [D].

        Args:
          rewards: r.
          values: V.
          position: place in the sequence, no two alike.
          terminal: True at a row that ended its sequence; None: the last of each.
          bootstrap: V beyond a last row that is not terminal; None: 0.
          **keys: the columns that `order` names.

        Raises:
          ValueError: columns that do not fit, a position that stands twice, a terminal row before the last.
        """
        r = floats("rewards", rewards)
        v = floats("values", values, like=("rewards", len(r)))
        groups = grouped(*(self._column(name, keys, len(r)) for name in self.order))
        place = ints("position", position, like=("rewards", len(r)))
        line = np.lexsort((place, groups))
        ends = None if terminal is None else bools("terminal", terminal, like=("rewards", len(r)))
        last = _last_in_line(groups[line], place[line], None if ends is None else ends[line])
        beyond = np.zeros(len(r)) if bootstrap is None else floats("bootstrap", bootstrap, like=("rewards", len(r)))
        beyond = np.zeros(len(r)) if ends is None else np.where(ends, 0.0, beyond)
        advantages = np.zeros(len(r))
        advantages[line] = self._along(r[line], v[line], beyond=beyond[line], last=last)
        return Advantages(values=advantages, groups=groups), advantages + v

    def _along(self, r: Floats, v: Floats, *, beyond: Floats, last: Bools) -> list[float]:
        """[D] advantages of sequences that lie one after another; plain numbers, since each step waits for the next."""
        decay, ahead, following, backwards = self.discount * self.lam, 0.0, 0.0, []
        columns = (column[::-1].tolist() for column in (r, v, beyond, last))
        for reward, value, after, ends in zip(*columns, strict=True):
            if ends:
                ahead, following = 0.0, after
            ahead = reward + self.discount * following - value + decay * ahead
            backwards.append(ahead)
            following = value
        return backwards[::-1]

    def _column(self, name: str, keys: Mapping[str, ArrayLike], length: int) -> Ints:
        if name not in keys:
            raise ValueError(f"order names {name!r}, which was not given")
        return ints(name, keys[name], like=("rewards", length))


def discounted(rewards: ArrayLike, *, discount: float, rollout: ArrayLike, position: ArrayLike) -> Floats:
    """[D] returns to go G_t = r_t + γ G_{t+1} within each rollout, by position.

    Raises:
      ValueError: as `SequentialGAE.advantages`.
    """
    zeros = np.zeros(len(np.asarray(rewards)))
    estimate = SequentialGAE(order=("rollout",), discount=discount, lam=1.0)
    found, _ = estimate.advantages(rewards, zeros, position=position, rollout=rollout)
    return found.values


def whitened(values: ArrayLike, *, mask: ArrayLike | None = None) -> Floats:
    """(x − mean) / (deviation + 1e-8) over what is not masked out; 0 where it is.

    The deviation has Bessel's correction, as in verl. Whitening after a group baseline breaks the baseline's sum of
    zero and, over tokens, weighs by length: it is a step of its own here, never part of another.

    Args:
      values: any shape.
      mask: the same shape; None: all.
    """
    x = np.asarray(values, np.float64)
    taken = np.ones(x.shape, np.bool_) if mask is None else np.asarray(mask, np.bool_)
    if taken.shape != x.shape:
        raise ValueError(f"mask has shape {taken.shape}, but values have {x.shape}")
    own = x[taken]
    if not np.isfinite(own).all():
        raise ValueError("values must be finite")
    if len(own) < 2:
        return np.zeros_like(x)
    return np.where(taken, (x - own.mean()) / (own.std(ddof=1) + 1e-8), 0.0)


def _last_in_line(groups: Ints, place: Ints, terminal: Bools | None) -> Bools:
    """[D] True at the last row of each sequence; rows come sorted."""
    last = np.ones(len(groups), np.bool_)
    last[:-1] = groups[1:] != groups[:-1]
    repeated = np.flatnonzero(~last[:-1] & (place[1:] == place[:-1]))
    if repeated.size:
        raise ValueError(f"position {place[repeated[0]]} stands twice in one sequence")
    if terminal is not None and (terminal & ~last).any():
        at = int(np.flatnonzero(terminal & ~last)[0])
        raise ValueError(f"the row at position {place[at]} is terminal, but its sequence goes on")
    return last


def _within(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} is {value}; it must lie in [0, 1]")
