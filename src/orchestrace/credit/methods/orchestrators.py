"""Orchestrators and those they call: M-GRPO, Kimi's PARL, WideSeek-R1, FoldGRPO."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, Ints, bools, floats
from orchestrace.credit.columns import Rows
from orchestrace.credit.groups.alignment import aligned, one_reward_each, picked
from orchestrace.credit.groups.baselines import GroupBaseline, grouped
from orchestrace.credit.results import Advantages


class AlignedRows(NamedTuple):
    """Rows that are trained on, some perhaps twice, and their advantages."""

    rows: Ints
    """[m] indices of the rows given: those of the main agent, then those of sub-agents."""
    advantages: Advantages
    """[m]"""


def m_grpo(rows: Rows, *, target: int, rng: np.random.Generator) -> AlignedRows:
    """Main agent and sub-agents compared apart, each rollout with the same number of sub-agents.

    Source: M-GRPO, arXiv 2511.13288
    Unit: orchestrator, agent
    Kind: advantage
    Formula: A = (R − mean) / (std + ε); main: over the rollouts of the task; sub: over its pool, D calls a rollout
    Data: rewards, each level's own; task, rollout, agent (one a call), parent (−1: main); D, a random generator
    Evidence: secondary
    Departures: a group of one gives 0; D is not published; a call with several rows counts once
    """
    main = np.flatnonzero(rows.parent < 0)
    sub = np.flatnonzero(rows.parent >= 0)
    rule = GroupBaseline(scale="std_group")
    above = rule.advantages(picked(rows, main))
    index, copy = _copies(grouped(rows.rollout, rows.agent)[sub], rows.rollout[sub], target, rng)
    below = rule.advantages(picked(rows, sub[index], rollout=copy))
    apart = _groups(above).max(initial=-1) + 1
    return AlignedRows(
        np.concatenate([main, sub[index]]),
        Advantages(
            values=np.concatenate([above.values, below.values]),
            groups=np.concatenate([_groups(above), _groups(below) + apart]),
            degenerate=above.degenerate + below.degenerate,
        ),
    )


def kimi_parl(rows: Rows, *, temperature: float = 1.0) -> Advantages:
    """Only the orchestrator learns: its reward against the mean of its task; frozen sub-agents get 0.

    Source: Kimi K2.5, arXiv 2602.02276 (the reward is `rewards.parl`)
    Unit: orchestrator
    Kind: advantage
    Formula: A_i = (r_i − mean_g) / τ on the orchestrator's rows, 0 on the others
    Data: rewards; task, rollout, parent (−1: orchestrator)
    Evidence: secondary
    Departures: a group of one gives 0; τ is not published, 1 here
    """
    if not 0 < temperature < np.inf:
        raise ValueError(f"temperature is {temperature}; it must be positive")
    return _orchestrators(rows, GroupBaseline(), temperature)


def open_parl(rows: Rows, *, final: ArrayLike) -> Advantages:
    """Two pools for each task: what turns on the way were paid, and what last turns were paid.

    Source: OpenPARL (code of GuanxingLu), a third party's reading of arXiv 2602.02276
    Unit: orchestrator, turn
    Kind: advantage
    Formula: A = (r − mean) / (std + ε) over the task's turns that are not final; over its final turns
    Data: rewards of the turns; task, parent (−1: orchestrator); [D] final
    Evidence: confirmed in code
    Departures: a pool of one gives 0; every turn counts, so that rollouts with more turns weigh more, as in its code
    """
    last = bools("final", final, like=("rewards", len(rows)))
    pools = replace(rows, context=last.astype(np.int64))
    return _orchestrators(pools, GroupBaseline(key=("task", "context"), weighting="row", scale="std_group"), 1.0)


def wideseek_r1(rows: Rows) -> Advantages:
    """The rollout's reward to every turn of everyone in it.

    Source: WideSeek-R1, arXiv 2602.04634 (its loss weighs agents alike: `alignment.agent_equal_weights`)
    Unit: orchestrator, agent
    Kind: advantage
    Formula: A_i = (R_i − mean_g) / (std_g + ε), the same for all agents and turns of rollout i
    Data: rewards, one a rollout; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0
    """
    return GroupBaseline(scale="std_group").advantages(one_reward_each(rows))


def fold_grpo(rows: Rows, penalties: ArrayLike) -> Advantages:
    """Context folding: outcomes make the statistics, penalties of a turn lower that turn alone.

    Source: Context-Folding (FoldGRPO), arXiv 2510.11967 (penalties: `rewards.fold_penalty`)
    Unit: orchestrator, turn
    Kind: advantage
    Formula: A_{i,t} = (clip(R_i + Q_{i,t}, 0, 1) − mean_g R) / (std_g R + ε)
    Data: rewards R, one a rollout, in [0, 1]; [D] penalties Q; task, rollout
    Evidence: secondary
    Departures: where all outcomes agree all turns get 0, penalised or not: there is no deviation to divide by
    """
    outside = np.flatnonzero((rows.rewards < 0) | (rows.rewards > 1))
    if outside.size:
        raise ValueError(
            f"rewards[{outside[0]}] is {rows.rewards[outside[0]]}; what is clipped to [0, 1] must start there"
        )
    paid = np.clip(rows.rewards + floats("penalties", penalties, like=("rewards", len(rows))), 0.0, 1.0)
    return GroupBaseline(scale="std_group").standing(one_reward_each(rows)).of(paid)


def _orchestrators(rows: Rows, rule: GroupBaseline, temperature: float) -> Advantages:
    """Advantages over the rows without a parent; 0 for the others, which nobody compares."""
    own: Bools = rows.parent < 0
    found = rule.advantages(picked(rows, np.flatnonzero(own)))
    values: Floats = np.zeros(len(rows))
    values[own] = found.values / temperature
    return Advantages(values=values, groups=grouped(rows.task), degenerate=found.degenerate)


def _copies(call: Ints, rollout: Ints, target: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """[m] rows of the calls that were kept, each as often as its call, and which copy of a call each row is in."""
    lane = grouped(call)
    owner = np.zeros(lane.max(initial=-1) + 1, np.int64)
    owner[lane] = rollout
    kept = aligned(owner, target=target, rng=rng)
    order = np.argsort(lane, kind="stable")
    size = np.bincount(lane)[kept] if len(lane) else np.zeros(0, np.int64)
    start = np.searchsorted(lane[order], kept)
    copy = np.repeat(np.arange(len(kept)), size)
    within = np.arange(len(copy)) - (np.cumsum(size) - size)[copy]
    return order[start[copy] + within], copy


def _groups(found: Advantages) -> Ints:
    return np.zeros(0, np.int64) if found.groups is None else found.groups
