"""The rows that credit is given to, as columns of equal length: one row for each model call (turn)."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, Ints, floats, ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """D rows. Keys are whole numbers: equal means the same task, rollout, agent...; their size means nothing.

    Make one with `rows(...)`, which checks it.
    """

    rewards: Floats
    """[D] what each row is credited with before any baseline: the team's reward, or the agent's, role's, turn's own."""
    task: Ints
    """[D] rollouts of one task are compared with each other."""
    rollout: Ints
    """[D] unique over all tasks."""
    agent: Ints
    """[D] 0 where there is one agent."""
    role: Ints
    """[D] 0 where there is one role."""
    turn: Ints
    """[D] place of the turn in its agent's lane, from 0."""
    context: Ints
    """[D] equal for equal observations (GiGPO's anchor states, C3's contexts)."""
    parent: Ints
    """[D] index of the row whose turn spawned this row's agent; −1: none."""

    def __len__(self) -> int:
        return len(self.rewards)


_KEYS = tuple(f.name for f in fields(Rows) if f.name != "rewards")


LARGEST = 1e150
"""Larger rewards have no square, so no deviation."""


def rows(rewards: ArrayLike, **keys: ArrayLike) -> Rows:
    """Checked columns.

    Args:
      rewards: [D] finite, no larger than `LARGEST`.
      **keys: any of Rows' other columns, [D]. Where left out: one task; each row a rollout of its own; one agent; one
        role; turn 0; every context its own; no parent.

    Raises:
      ValueError: a name that is no column, or columns that do not fit each other.
    """
    given = floats("rewards", rewards)
    beyond = np.flatnonzero(np.abs(given) > LARGEST)
    if beyond.size:
        raise ValueError(f"rewards[{beyond[0]}] is {given[beyond[0]]:g}; they must not be larger than {LARGEST:g}")
    unknown = sorted(set(keys) - set(_KEYS))
    if unknown:
        raise ValueError(f"no such column {unknown[0]!r}; the columns are {', '.join(_KEYS)}")
    count = len(given)
    zeros, each = np.zeros(count, np.int64), np.arange(count, dtype=np.int64)
    absent = {"rollout": each, "context": each, "parent": zeros - 1}
    columns = {
        name: ints(name, keys[name], like=("rewards", count)) if name in keys else absent.get(name, zeros)
        for name in _KEYS
    }
    return Rows(rewards=given, **columns)
