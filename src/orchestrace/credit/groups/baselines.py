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
from orchestrace.credit.groups.ranks import average_ranks, normal_quantiles
from orchestrace.credit.results import Advantages

Key = Literal["task", "rollout", "agent", "role", "turn", "context", "parent"]
Weighting = Literal["rollout", "row"]
Baseline = Literal["mean", "loo", "median", "none"]
Scale = Literal["none", "std_group", "std_batch", "rank"]

ROUNDING = 1e-12
"""A group whose deviation is no more than this share of its largest reward has none: what is left is rounding."""
DROWNED = 1e-6
"""Nor has one whose deviation is no more than this share of `eps`, which would drown it anyway."""


class Voters(NamedTuple):
    """Who counts in the statistics of groups: V rollouts, each once in every group it has rows in, or all rows."""

    rewards: Floats
    """[V] the mean of its rows."""
    home: Ints
    """[V] its group, 0..n−1."""
    owner: Ints
    """[D] which voter each row belongs to."""
    size: Ints
    """[n] how many vote in each group."""
    mean: Floats
    """[n] of the votes."""
    largest: Floats
    """[n] largest absolute vote."""

    @property
    def groups(self) -> Ints:
        """[D] the group of each row."""
        return self.home[self.owner]

    def deviation(self, ddof: int) -> Floats:
        """[n] standard deviation of the votes; 0 where there are too few."""
        squares = np.bincount(self.home, np.square(self.rewards - self.mean[self.home]))
        found: Floats = np.sqrt(squares / np.maximum(self.size - ddof, 1))
        return np.where(self.size > ddof, found, 0.0)


class Standing(NamedTuple):
    """What each row is held against, and what it is measured by."""

    groups: Ints
    """[D]"""
    baseline: Floats
    """[D] b"""
    divisor: Floats
    """[D] s; 1 where nothing is divided by."""
    empty: Bools
    """[D] True: nothing to compare with, or no spread to divide by."""

    def of(self, rewards: Floats) -> Advantages:
        """(reward − b) / s of each row, 0 where there was nothing to compare with.

        Args:
          rewards: [D].
        """
        values = np.where(self.empty, 0.0, (rewards - self.baseline) / self.divisor)
        return Advantages(values=values, groups=self.groups, degenerate=int(self.empty.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBaseline:
    """What is compared with what, and how."""

    key: tuple[Key, ...] = ("task",)
    """Rows are in one group where these columns agree."""
    weighting: Weighting = "rollout"
    """rollout: every rollout of a group counts once, with the mean of its rows there, so that long rollouts do not
    weigh more. row: every row counts."""
    baseline: Baseline = "mean"
    """mean; loo, the mean of the other rollouts (or rows); median; none, and the reward stays as it is."""
    scale: Scale = "none"
    """none; std_group; std_batch, of the votes of the whole batch; rank, normal quantiles of the ranks in the group,
    which replaces baseline and reward."""
    ddof: int = 1
    """Of the standard deviation: 1 as in verl, 0 as in the papers' usual reading."""
    eps: float = 1e-6
    """Added to the deviation."""

    def __post_init__(self) -> None:
        """Refuse names that mean nothing, empty keys, and numbers that make no deviation."""
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
        if self.ddof < 0 or not 0 <= self.eps < np.inf:
            raise ValueError(f"ddof={self.ddof}, eps={self.eps}; neither may be negative, and eps must be finite")

    @property
    def group_key(self) -> str:
        """The key in words: `task+agent`."""
        return "+".join(self.key)

    def advantages(self, rows: Rows, *, values: ArrayLike | None = None) -> Advantages:
        """[D] advantages of the rows.

        Args:
          rows: D rows; none give an empty result.
          values: [D] a critic's, in place of the group's own baseline; the scale stays.

        Raises:
          ValueError: values that do not fit, or that a scale of ranks has no use for.
        """
        if self.scale == "rank":
            return self._ranked(rows, values)
        return self.standing(rows, values=values).of(rows.rewards)

    def standing(self, rows: Rows, *, values: ArrayLike | None = None) -> Standing:
        """What the rows are compared with, so that other numbers than their rewards can be compared with it too.

        Args:
          rows: D rows.
          values: as in `advantages`.

        Raises:
          ValueError: as `advantages`; the scale is rank, which has no baseline.
        """
        if self.scale == "rank":
            raise ValueError("scale='rank' has neither baseline nor divisor")
        voters = self.voters(rows)
        groups = voters.groups
        critic = None if values is None else floats("values", values, like=("rewards", len(rows)))
        against = self._baseline(voters) if critic is None else critic
        if critic is None and self.baseline != "none":
            empty = voters.size[groups] < 2
        else:
            empty = np.zeros(len(rows), np.bool_)
        if self.scale == "none":
            return Standing(groups, against, np.ones(len(rows)), empty)
        if self.scale == "std_group":
            spread = voters.deviation(self.ddof)
            flat = self._flat(spread, voters.largest)
        else:
            whole = voters.rewards.std(ddof=self.ddof) if len(voters.rewards) > self.ddof else 0.0
            spread = np.full(len(voters.size), whole)
            flat = self._flat(spread, voters.largest.max(initial=0.0))
        return Standing(groups, against, np.where(flat, 1.0, spread + self.eps)[groups], empty | flat[groups])

    def voters(self, rows: Rows) -> Voters:
        """Who counts in the statistics, and in which group.

        Args:
          rows: D rows.
        """
        groups = grouped(*(getattr(rows, key) for key in self.key))
        if self.weighting == "row":
            return _voters(rows.rewards, groups, np.arange(len(rows), dtype=np.int64))
        owners = _numbered(rows.rollout)
        home = _first_of(owners, groups)
        if not np.array_equal(home[owners], groups):  # a rollout with rows in several groups votes in each
            owners = grouped(groups, rows.rollout)
            home = _first_of(owners, groups)
        return _voters(_means(owners, rows.rewards), home, owners)

    def _baseline(self, voters: Voters) -> Floats:
        """[D] what each row's reward is held against."""
        groups = voters.groups
        if self.baseline == "none":
            return np.zeros(len(groups))
        if self.baseline == "median":
            return _medians(voters)[groups]
        mean = voters.mean[groups]
        if self.baseline == "mean":
            return mean
        others = np.maximum(voters.size[groups] - 1, 1)
        found: Floats = mean + (mean - voters.rewards[voters.owner]) / others  # equal rewards leave exactly theirs
        return found

    def _flat(self, spread: Floats, largest: Floats | float) -> Bools:
        """Which deviations are rounding, or nothing beside `eps`."""
        return spread <= np.maximum(ROUNDING * largest, DROWNED * self.eps)

    def _ranked(self, rows: Rows, values: ArrayLike | None) -> Advantages:
        if values is not None:
            raise ValueError("scale='rank' compares rewards by their order; it has no use for values")
        voters = self.voters(rows)
        flat = (voters.size < 2) | (voters.deviation(0) <= ROUNDING * voters.largest)
        ranks = average_ranks(voters.rewards, groups=voters.home)
        ranked = normal_quantiles(ranks, voters.size[voters.home])
        empty = flat[voters.groups]
        found = np.where(empty, 0.0, ranked[voters.owner])
        return Advantages(values=found, groups=voters.groups, degenerate=int(empty.sum()))


def grouped(*keys: Ints) -> Ints:
    """[D] one number 0..n−1 for each different combination of the keys, in the order of the first, then the second...

    Args:
      *keys: [D] each, whole numbers of any size.
    """
    found = _numbered(keys[0])
    for key in keys[1:]:
        other = _numbered(key)  # both are below D, so that their product fits
        found = _numbered(found * (other.max(initial=0) + 1) + other)
    return found


def _numbered(key: Ints) -> Ints:
    """[D] the rank of each value among the different ones. Values in a narrow range need no sort."""
    if not len(key):
        return key
    low, high = int(key.min()), int(key.max())
    if high - low <= 4 * len(key) + 1024:
        present = np.zeros(high - low + 1, np.int64)
        present[key - low] = 1
        ranks: Ints = (present.cumsum() - 1)[key - low]
        return ranks
    return np.unique(key, return_inverse=True)[1].astype(np.int64).reshape(-1)


def _first_of(owners: Ints, groups: Ints) -> Ints:
    """[owners] a group that each of them has a row in."""
    home = np.zeros(owners.max(initial=-1) + 1, np.int64)
    home[owners] = groups
    return home


def _voters(rewards: Floats, home: Ints, owner: Ints) -> Voters:
    largest = np.zeros(home.max(initial=-1) + 1)
    np.maximum.at(largest, home, np.abs(rewards))
    return Voters(rewards, home, owner, np.bincount(home), _means(home, rewards), largest)


def _means(groups: Ints, values: Floats) -> Floats:
    """[n] of each group; taken once more around itself, so that equal values have their own as mean, to the bit."""
    count = np.maximum(np.bincount(groups), 1)
    mean = np.bincount(groups, values) / count
    again: Floats = mean + np.bincount(groups, values - mean[groups]) / count
    return again


def _medians(voters: Voters) -> Floats:
    """[n] the middle vote, or the mean of the two in the middle."""
    in_order = voters.rewards[np.lexsort((voters.rewards, voters.home))]
    start = np.cumsum(voters.size) - voters.size
    lower, upper = in_order[start + (voters.size - 1) // 2], in_order[start + voters.size // 2]
    found: Floats = lower + (upper - lower) / 2
    return found
