"""Each role against itself: ReMA, SPIRAL, MARSHAL, MarsRL, MATPO."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Ints, bools, ints
from orchestrace.credit.columns import Rows
from orchestrace.credit.groups.alignment import picked, roots
from orchestrace.credit.groups.anchors import step_returns, turns_left
from orchestrace.credit.groups.baselines import GroupBaseline, grouped
from orchestrace.credit.groups.running import FRESH, running_baselines
from orchestrace.credit.results import Advantages


def matpo(rows: Rows) -> Advantages:
    """Planners are compared; each worker has its planner's advantage.

    Source: MATPO, arXiv 2510.04678
    Unit: role
    Kind: advantage
    Formula: A_i = (R_i − mean_g) / (std_g + ε) over the rollouts' planners; a worker's A = its parent's
    Data: rewards of the planners; task, rollout, parent
    Evidence: confirmed in code
    Departures: a group of one gives 0; workers' own rewards are not read (its code folds them into the planner's)
    """
    above = roots(rows)
    planners, place = np.unique(above, return_inverse=True)
    standing = GroupBaseline(scale="std_group").standing(picked(rows, planners))
    found = standing.of(rows.rewards[planners])
    of = place.reshape(-1)
    degenerate = int(standing.empty[of].sum())
    return Advantages(values=found.values[of], groups=standing.groups[of], degenerate=degenerate)


def rema(rows: Rows, *, finished: ArrayLike | None = None, discount: float = 1.0) -> Advantages:
    """Meta-thinker and reasoner both earn the final score at their last turn, each compared with its own kind.

    Source: ReMA, arXiv 2503.09501 (the advantage; its ratio is `Ratio(level="turn", limit=3)`)
    Unit: role, turn
    Kind: advantage
    Formula: G_t = γ^{turns of the role left} · R, 0 if unfinished; A = (G − mean_{g,role}) / (std_{g,role} + ε)
    Data: rewards, one a rollout; task, rollout, role, turn; [D] finished
    Evidence: confirmed in code
    Departures: a group of one gives 0; each role has its own statistics, which differ if one is missing or γ < 1
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}; it must lie in [0, 1]")
    paid = (
        np.ones(len(rows), np.bool_) if finished is None else bools("finished", finished, like=("rewards", len(rows)))
    )
    returns = np.where(paid, rows.rewards * np.power(discount, turns_left(rows), dtype=np.float64), 0.0)
    return GroupBaseline(key=("task", "role"), scale="std_group").advantages(replace(rows, rewards=returns))


class SelfPlay(NamedTuple):
    """Advantages, and what the next batch starts from."""

    advantages: Advantages
    after: Mapping[int, float]
    """Role -> its baseline."""


def spiral(
    rows: Rows, *, order: ArrayLike, decay: float = 0.95, discount: float = 1.0, before: Mapping[int, float] = FRESH
) -> SelfPlay:
    """Self-play: each role against a running mean of its own earlier returns.

    Source: SPIRAL, arXiv 2506.24119
    Unit: role
    Kind: advantage
    Formula: A = γ^{turns of the role left} (R_p − b_p), b_p read before b_p ← α b_p + (1 − α) R_p
    Data: rewards, each role's own; rollout, role, turn; [D] order of processing, one number a rollout
    Evidence: confirmed in code
    Departures: turns with advantage 0 are kept; for (game, role) as in the paper, number the roles of games apart
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}; it must lie in [0, 1]")
    place = _one_to_one(ints("order", order, like=("rewards", len(rows))), rows.rollout)
    entry = grouped(place, rows.role)
    count = np.bincount(entry)
    rewards = np.bincount(entry, rows.rewards) / np.maximum(count, 1)
    role = np.zeros(len(count), np.int64)
    role[entry] = rows.role
    past = running_baselines(rewards, role, decay=decay, before=before)
    values = (rewards - past.baselines)[entry] * np.power(discount, turns_left(rows), dtype=np.float64)
    return SelfPlay(Advantages(values=values, groups=grouped(rows.role)), past.after)


def marshal(rows: Rows, *, centre_rewards: bool = False) -> Advantages:
    """Turns of a game between players: returns to go, each player's against their own mean.

    Source: MARSHAL, arXiv 2510.15414
    Unit: turn
    Kind: advantage
    Formula: G_t = Σ_{k ≥ t} r_k of the player's own turns in the rollout; A = G − mean over that player's turns
    Data: rewards of the turns; task (the game), rollout, role (the player), turn
    Evidence: confirmed in code
    Departures: mean over turns, not over distinct numbers and padding; its first centring, which pays length, on demand
    """
    rule = GroupBaseline(key=("task", "role"), weighting="row")
    scores = rule.advantages(rows).values if centre_rewards else rows.rewards
    lane = grouped(rows.task, rows.rollout, rows.role)
    return rule.advantages(replace(rows, rewards=step_returns(scores, lane=lane, step=rows.turn)))


def mars_rl(rows: Rows) -> Advantages:
    """Solver, verifier and corrector, each among its own samples of the very same input.

    Source: MarsRL, arXiv 2511.11373
    Unit: role, turn
    Kind: advantage
    Formula: A = (r − mean) / (std + ε) over rows of one task, role and context; r the role's own verifiable reward
    Data: rewards of the turns (`rewards` R3); task, role, context (the input)
    Evidence: secondary
    Departures: a group of one gives 0; every sample counts
    """
    rule = GroupBaseline(key=("task", "role", "context"), weighting="row", scale="std_group")
    return rule.advantages(rows)


def _one_to_one(order: Ints, rollout: Ints) -> Ints:
    """`order`, if it gives each rollout one number of its own."""
    pairs = len(np.unique(grouped(order, rollout)))
    if not pairs == len(np.unique(order)) == len(np.unique(rollout)):
        raise ValueError(f"order has {len(np.unique(order))} numbers for {len(np.unique(rollout))} rollouts: one each")
    return order
