"""Rows of unequal numbers brought together: sub-agents with their planner, rollouts with each other."""

from dataclasses import fields
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, Ints, floats, ints
from orchestrace.credit.columns import Rows
from orchestrace.credit.groups.baselines import Baseline, GroupBaseline, Key, grouped
from orchestrace.credit.results import EXACT, Advantages, Sampling


def picked(rows: Rows, index: ArrayLike, **keys: Ints) -> Rows:
    """Some of the rows, in the order of `index`; their parents are forgotten, since they may not be among them.

    Args:
      rows: D rows.
      index: [m] of rows; one may stand there twice.
      **keys: [m] columns to put in place of their own.
    """
    at = ints("index", index)
    columns = {f.name: getattr(rows, f.name)[at] for f in fields(Rows)}
    return Rows(**{**columns, "parent": np.full(len(at), -1, np.int64), **keys})


def roots(rows: Rows) -> Ints:
    """[D] the row without a parent that each row descends from; itself, where it has none.

    Raises:
      ValueError: a parent that is no row, or rows that are each other's ancestors.
    """
    count = len(rows)
    wrong = np.flatnonzero((rows.parent >= count) | (rows.parent < -1))
    if wrong.size:
        raise ValueError(f"parent[{wrong[0]}] is {rows.parent[wrong[0]]}; it must be a row below {count}, or -1")
    found = np.where(rows.parent < 0, np.arange(count), rows.parent)
    for _ in range(count.bit_length()):  # each round doubles how far a row looks up
        found = found[found]
    endless = np.flatnonzero(rows.parent[found] >= 0)
    if endless.size:
        raise ValueError(f"parent leads from row {endless[0]} back to itself")
    return found


def one_reward_each(rows: Rows) -> Rows:
    """The rows, if those of a rollout agree: one task, one reward.

    Raises:
      ValueError: they do not.
    """
    owner = grouped(rows.rollout)
    for name, column in (("task", rows.task), ("rewards", rows.rewards)):
        of = np.zeros(owner.max(initial=-1) + 1, column.dtype)
        of[owner] = column
        different = np.flatnonzero(of[owner] != column)
        if different.size:
            i = different[0]
            raise ValueError(
                f"{name}[{i}] is {column[i]}, but another row of rollout {rows.rollout[i]} has {of[owner[i]]}"
            )
    return rows


def aligned(owner: ArrayLike, *, target: int, rng: np.random.Generator) -> Ints:
    """[m] indices of items such that everyone who owns any has exactly D of them.

    With fewer than D each stands there ⌊D / d⌋ times, and some once more, by lot; with more, D are drawn; with D, all
    stay as they are. Source: M-GRPO, arXiv 2511.13288, second-hand; even repetition is ours.

    Args:
      owner: [n] whose item each is.
      target: D, at least 1.
      rng: draws what is repeated or dropped.

    Returns:
      Ascending indices.

    Raises:
      ValueError: D is less than 1.
    """
    if target < 1:
        raise ValueError(f"target is {target}; it must be 1 or more")
    home = grouped(ints("owner", owner))
    order = np.lexsort((rng.random(len(home)), home))
    size = np.bincount(home)
    turn = np.empty(len(home), np.int64)
    turn[order] = np.arange(len(home)) - (np.cumsum(size) - size)[home[order]]
    copies = target // size[home] + (turn < target % size[home])
    return np.repeat(np.arange(len(home)), copies)


class Compared(NamedTuple):
    """Shares that became advantages."""

    advantages: Advantages
    to_role: int
    """How many have no namesake in another rollout and were held against their role."""
    to_zero: int
    """How many have no such role either and got 0."""

    @property
    def fallback_rate(self) -> float:
        """Of the values, how many were not held against their namesakes; 0 of none."""
        return (self.to_role + self.to_zero) / max(len(self.advantages.values), 1)


def advantages_from_shares(
    shares: Rows, *, unit: Key = "agent", baseline: Baseline = "loo", sampling: Sampling = EXACT
) -> Compared:
    """Each unit's share against its namesakes' in the other rollouts of the task (ours).

        A = φ_{i,u} − mean over rollouts j ≠ i of φ_{j,u}

    Shares sum to the team's value, advantages do not. Where agents come and go, one without a namesake is held against
    the others of its role, one without those gets 0.

    Args:
      shares: as rewards; a unit with several rows in a rollout has their mean.
      unit: the column that names units across rollouts.
      baseline: loo, or the mean over all rollouts.
      sampling: of the shares, passed on.
    """
    own = GroupBaseline(key=("task", unit), baseline=baseline).standing(shares)
    kin = GroupBaseline(key=("task", "role"), baseline=baseline).standing(shares)
    lost = own.empty & kin.empty
    against = np.where(own.empty, kin.baseline, own.baseline)
    groups = grouped(np.where(own.empty, own.groups.max(initial=-1) + 1 + kin.groups, own.groups))
    values = np.where(lost, 0.0, shares.rewards - against)
    found = Advantages(values=values, groups=groups, degenerate=int(lost.sum()), sampling=sampling)
    return Compared(found, int((own.empty & ~lost).sum()), int(lost.sum()))


def agent_equal_weights(rows: Rows, lengths: ArrayLike) -> Floats:
    """[D] what the mean loss over a row's tokens counts, so that agents of a rollout weigh alike; they sum to 1.

        w = 1/G · 1/n_i · |o_t| / Σ_t |o_t|,     n_i agents in rollout i, the sum over the turns of one of them

    Source: WideSeek-R1, arXiv 2602.04634 (dual reweighting).

    Args:
      rows: G rollouts.
      lengths: [D] tokens of each turn, positive.

    Raises:
      ValueError: lengths that do not fit or are not positive.
    """
    tokens = positive("lengths", lengths, rows)
    rollout, lane = grouped(rows.rollout), grouped(rows.rollout, rows.agent)
    of_lane = np.zeros(lane.max(initial=-1) + 1, np.int64)
    of_lane[lane] = rollout
    agents = np.bincount(of_lane)
    weights: Floats = tokens / np.bincount(lane, tokens)[lane] / agents[rollout] / max(len(agents), 1)
    return weights


def positive(name: str, values: ArrayLike, rows: Rows) -> Floats:
    """[D] numbers above 0, one a row.

    Raises:
      ValueError: they are not.
    """
    given = floats(name, values, like=("rewards", len(rows)))
    wrong = np.flatnonzero(given <= 0)
    if wrong.size:
        raise ValueError(f"{name}[{wrong[0]}] is {given[wrong[0]]}; it must be positive")
    return given
