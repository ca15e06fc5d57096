"""Group baselines: each row against the other rollouts of its group.

    A_i = (r_i − b(g)) / s(g),     g the group of row i

This one form, with a choice of key, weighting, baseline and scale, is GRPO, Dr. GRPO, RLOO, Dr. MAS, MAGRPO, MATPO and
their kin. Groups of one give 0 and are counted: their reward says nothing about a difference.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, Ints, floats
from orchestrace.credit.columns import Rows
from orchestrace.credit.ranks import average_ranks, normal_quantiles
from orchestrace.credit.results import Advantages

Key = Literal["task", "rollout", "agent", "role", "turn", "context", "parent"]
Weighting = Literal["rollout", "row"]
Baseline = Literal["mean", "loo", "median", "none"]
Scale = Literal["none", "std_group", "std_batch", "rank"]

ROUNDING = 1e-12
"""A group whose deviation is no more than this share of its largest reward has none: what is left is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBaseline:
    """What is compared with what, and how."""

    key: tuple[Key, ...] = ("task",)
    """Rows are in one group where these columns agree."""
    weighting: Weighting = "rollout"
    """rollout: every rollout of a group counts once, with the mean of its rows there, so that long rollouts do not
    weigh more. row: every row counts."""
    baseline: Baseline = "mean"
    """mean; loo, the mean of the other rollouts (or rows); median; none."""
    scale: Scale = "none"
    """none; std_group; std_batch, of the rewards of the whole batch; rank, normal quantiles of the ranks in the group,
    which replaces baseline and reward."""
    ddof: int = 1
    """Of the standard deviation: 1 as in verl, 0 as in the papers' usual reading."""
    eps: float = 1e-6
    """Added to the deviation."""

    def __post_init__(self) -> None:
        """Refuse names that mean nothing, and empty keys."""
        for name, chosen, known in (
            ("weighting", self.weighting, get_args(Weighting)),
            ("baseline", self.baseline, get_args(Baseline)),
            ("scale", self.scale, get_args(Scale)),
        ):
            if chosen not in known:
                raise ValueError(f"{name}={chosen!r} is none of {', '.join(known)}")
        wrong = next((key for key in self.key if key not in get_args(Key)), None)
        if wrong is not None or not self.key:
            raise ValueError(f"key {wrong!r} is no column; the columns are {', '.join(get_args(Key))}")

    @property
    def group_key(self) -> str:
        """The key in words: `task+agent`."""
        return "+".join(self.key)

    def advantages(self, rows: Rows, *, baseline: ArrayLike | None = None) -> Advantages:
        """[D] advantages of the rows.

        Args:
          rows: D rows; none give an empty result.
          baseline: [D] of a critic, in place of the group's own; the scale stays.
        """
        groups = grouped(*(getattr(rows, key) for key in self.key))
        voters = self._voters(rows, groups)
        against = (
            self._baseline(rows, voters)
            if baseline is None
            else floats("baseline", baseline, like=("rewards", len(rows)))
        )
        single = voters.size[groups] < 2
        alone = np.zeros_like(single) if baseline is not None or self.baseline == "none" else single
        values = np.where(alone, 0.0, rows.rewards - against)
        if self.scale == "none":
            return Advantages(values=values, groups=groups, degenerate=int(alone.sum()))
        scaled, flat = self._scaled(values, rows, voters)
        return Advantages(values=scaled, groups=groups, degenerate=int((alone | flat).sum()))

    def _voters(self, rows: Rows, groups: Ints) -> "_Voters":
        if self.weighting == "row":
            return _voters(rows.rewards, groups, np.arange(len(rows), dtype=np.int64))
        owners = _numbered(rows.rollout)
        home = _first_of(owners, groups)
        if not np.array_equal(home[owners], groups):  # a rollout with rows in several groups votes in each
            owners = grouped(groups, rows.rollout)
            home = _first_of(owners, groups)
        count = np.bincount(owners)
        rewards = np.bincount(owners, rows.rewards) / np.maximum(count, 1)
        return _voters(rewards, home, owners)

    def _baseline(self, rows: Rows, voters: "_Voters") -> Floats:
        """[D] what each row's reward is held against."""
        of_row = voters.home[voters.owner]
        if self.baseline == "none":
            return np.zeros(len(rows))
        if self.baseline == "median":
            return _medians(voters)[of_row]
        if self.baseline == "mean":
            return voters.mean[of_row]
        others = np.maximum(voters.size[of_row] - 1, 1)
        found: Floats = (voters.mean[of_row] * voters.size[of_row] - voters.rewards[voters.owner]) / others
        return found

    def _scaled(self, values: Floats, rows: Rows, voters: "_Voters") -> tuple[Floats, Bools]:
        """The values on the chosen scale, and which of them have nothing to be measured by."""
        of_row = voters.home[voters.owner]
        if self.scale == "rank":
            ranked = np.empty(len(voters.rewards))
            for members in _members(voters.home):
                ranked[members] = normal_quantiles(average_ranks(voters.rewards[members]), len(members))
            return ranked[voters.owner], np.zeros(len(values), np.bool_)
        if self.scale == "std_batch":
            spread = voters.rewards.std(ddof=self.ddof) if len(voters.rewards) > self.ddof else 0.0
            flat = np.full(len(values), spread <= ROUNDING * np.abs(rows.rewards).max(initial=0.0))
            return np.where(flat, 0.0, values / (spread + self.eps)), flat
        deviation = voters.deviation(self.ddof)
        flat = deviation <= ROUNDING * voters.largest
        scaled = np.where(flat[of_row], 0.0, values / (deviation[of_row] + self.eps))
        return scaled, flat[of_row]


class _Voters(NamedTuple):
    """Who counts in the statistics: V rollouts within groups, or rows."""

    rewards: Floats
    """[V]"""
    home: Ints
    """[V] their group."""
    owner: Ints
    """[D] which voter each row belongs to."""
    size: Ints
    """[groups] how many are in each."""
    mean: Floats
    """[groups]"""
    largest: Floats
    """[groups] largest absolute reward."""

    def deviation(self, ddof: int) -> Floats:
        """[groups] standard deviation; 0 where there are too few."""
        squares = np.bincount(self.home, np.square(self.rewards - self.mean[self.home]))
        found: Floats = np.sqrt(squares / np.maximum(self.size - ddof, 1))
        return np.where(self.size > ddof, found, 0.0)


def _voters(rewards: Floats, home: Ints, owner: Ints) -> _Voters:
    count = np.bincount(home)
    mean = np.bincount(home, rewards) / np.maximum(count, 1)
    # once more around the first mean: large equal rewards then have their own value as mean, to the last bit
    mean = mean + np.bincount(home, rewards - mean[home]) / np.maximum(count, 1)
    largest = np.zeros(len(count))
    np.maximum.at(largest, home, np.abs(rewards))
    return _Voters(rewards, home, owner, count, mean, largest)


def grouped(*keys: Ints) -> Ints:
    """[D] one number 0..n-1 for each different combination of the keys.

    Args:
      *keys: [D] each, whole numbers of any size.
    """
    found = _numbered(keys[0])
    for key in keys[1:]:
        other = _numbered(key)
        found = _numbered(found * (other.max(initial=0) + 1) + other)
    return found


def _numbered(key: Ints) -> Ints:
    """[D] the rank of each value among the different ones. Values in a narrow range need no sort."""
    low, high = int(key.min(initial=0)), int(key.max(initial=0))
    if high - low <= 4 * len(key) + 1024:
        present = np.zeros(high - low + 1, np.int64)
        present[key - low] = 1
        ranks: Ints = (present.cumsum() - 1)[key - low]
        return ranks
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def _first_of(owners: Ints, groups: Ints) -> Ints:
    """[owners] a group that each of them has a row in."""
    home = np.zeros(owners.max(initial=-1) + 1, np.int64)
    home[owners] = groups
    return home


def _members(home: Ints) -> list[Ints]:
    """The voters of each group."""
    order = np.argsort(home, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(home[order])) + 1) if len(home) else []


def _medians(voters: _Voters) -> Floats:
    found = np.zeros(len(voters.size))
    for members in _members(voters.home):
        found[voters.home[members[0]]] = np.median(voters.rewards[members])
    return found
