"""Which of two episodes was better: pairs for learning from preferences."""

from typing import NamedTuple

import numpy as np

from orchestrace.training._torch import torch
from orchestrace.training.policies import Tensor, tensor
from orchestrace.training.rollouts import Batch
from orchestrace.training.stack import Ints


class Pairs(NamedTuple):
    """n pairs of episodes with one start."""

    better: Ints
    """[n] numbers of the episodes that earned more."""
    worse: Ints
    """[n]"""
    ties: int
    """Pairs that earned the same, and were left out."""


def pairs(batch: Batch, rng: np.random.Generator) -> Pairs:
    """Each episode beside one other that began in the same cell; an odd one out in its group has none.

    Args:
      batch: B episodes.
      rng: pairs them.
    """
    order = rng.permutation(len(batch.settings))
    order = order[np.argsort(batch.cells[0][order], kind="stable")]
    starts = batch.cells[0][order]
    first = np.searchsorted(starts, starts)  # where each one's group begins
    place = np.arange(len(order)) - first
    follows = np.flatnonzero((place % 2 == 0)[:-1] & (starts[:-1] == starts[1:]))
    left, right = order[follows], order[follows + 1]
    earned = batch.rewards.sum(axis=0)
    difference = earned[left] - earned[right]
    told = np.abs(difference) > 1e-12
    left, right, first_won = left[told], right[told], difference[told] > 0
    return Pairs(np.where(first_won, left, right), np.where(first_won, right, left), int((~told).sum()))


class Decisions(NamedTuple):
    """The D decisions of a batch, and which episode each is of."""

    cells: Tensor
    actions: Tensor
    episodes: Tensor
    size: int
    """B."""

    def summed(self, values: Tensor) -> Tensor:
        """[B] sum over each episode's decisions of values [D]."""
        return torch.zeros(self.size, dtype=values.dtype).index_add(0, self.episodes, values)


def decisions(batch: Batch) -> Decisions:
    """The decisions of a batch, flat."""
    _, episodes = np.nonzero(batch.taken)
    cells, actions = batch.cells[batch.taken], batch.actions[batch.taken]
    return Decisions(tensor(cells), tensor(actions), tensor(episodes), batch.taken.shape[1])
