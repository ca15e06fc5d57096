"""One reward for a rollout, compared within its task: GRPO and its kin, RLOO, REINFORCE++."""

import numpy as np

from orchestrace.credit.baselines import GroupBaseline, grouped
from orchestrace.credit.columns import Rows
from orchestrace.credit.results import Advantages


def grpo(rows: Rows) -> Advantages:
    """Group relative policy optimisation: the reward in standard deviations of its group.

    Source: DeepSeekMath, arXiv 2402.03300
    Unit: team
    Kind: advantage
    Formula: A_i = (R_i − mean_g) / (std_g + ε)
    Data: rewards; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0, not its raw reward as in verl; ddof 1 as in verl
    """
    return GroupBaseline(scale="std_group").advantages(rows)


def dr_grpo(rows: Rows) -> Advantages:
    """GRPO done right: without the deviation, which weighs easy and hard tasks up.

    Source: Dr. GRPO, arXiv 2503.20783
    Unit: team
    Kind: advantage
    Formula: A_i = R_i − mean_g; its loss sums tokens and divides by G · L_max
    Data: rewards; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0
    """
    return GroupBaseline().advantages(rows)


def dapo(rows: Rows) -> Advantages:
    """Dynamic sampling: GRPO over the groups that teach something; the others get 0 and are counted.

    Source: DAPO, arXiv 2503.14476
    Unit: team
    Kind: advantage
    Formula: GRPO where rewards of the group differ, else 0; clip .2 / .28, token mean over the group, no KL
    Data: rewards (with `overlong_penalty` added); task, rollout
    Evidence: confirmed in code
    Departures: groups without spread are kept with advantage 0 and counted, not sampled again
    """
    return GroupBaseline(scale="std_group").advantages(rows)


def gspo(rows: Rows) -> Advantages:
    """GRPO's advantage under a ratio of whole sequences.

    Source: GSPO, arXiv 2507.18071
    Unit: team
    Kind: advantage
    Formula: A_i = (R_i − mean_g) / (std_g + ε); ratio exp(mean over tokens of the log ratio), clipped once
    Data: rewards; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0; the ratio is `Ratio(level="sequence")`
    """
    return GroupBaseline(scale="std_group").advantages(rows)


def rloo(rows: Rows) -> Advantages:
    """REINFORCE leave-one-out: the others' mean as baseline, which leaves the gradient exactly unbiased.

    Source: Ahmadian et al., arXiv 2402.14740; Kool et al. 2019
    Unit: team
    Kind: advantage
    Formula: A_i = R_i − mean of the others = G / (G − 1) · (R_i − mean_g)
    Data: rewards; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0; a penalty on the divergence, where wanted, is part of the reward
    """
    return GroupBaseline(baseline="loo").advantages(rows)


def lite_ppo(rows: Rows) -> Advantages:
    """The group's mean, the batch's deviation.

    Source: Lite PPO, arXiv 2508.08221
    Unit: team
    Kind: advantage
    Formula: A_i = (R_i − mean_g) / (std of the batch + ε)
    Data: rewards; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0
    """
    return GroupBaseline(scale="std_batch").advantages(rows)


def reinforce_pp_baseline(rows: Rows) -> Advantages:
    """REINFORCE++ with a group baseline, whitened over the batch.

    Source: REINFORCE++, arXiv 2501.03262
    Unit: team
    Kind: advantage
    Formula: A_i = (B_i − mean of B) / (std of B + ε), B_i = R_i − mean_g
    Data: rewards; task, rollout
    Evidence: confirmed in code
    Departures: whitened over rows, not tokens, so that length does not weigh; groups of one stay 0
    """
    centred = GroupBaseline().advantages(rows)
    values, groups = centred.values, grouped(rows.task)
    alone = np.bincount(groups, minlength=1)[groups] < 2
    spread = values.std(ddof=1) if len(values) > 1 else 0.0
    whitened = (values - values.sum() / max(len(values), 1)) / (spread + 1e-8)
    return Advantages(values=np.where(alone, 0.0, whitened), groups=groups, degenerate=centred.degenerate)


def opo(rows: Rows, lengths: np.ndarray) -> Advantages:
    """On-policy optimum: a baseline weighted by length, which minimises the gradient's variance.

    Source: OPO, arXiv 2505.23585
    Unit: team
    Kind: advantage
    Formula: A_i = R_i − Σ_j len_j R_j / Σ_j len_j over the group
    Data: rewards, completion lengths; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0
    """
    lengths = np.asarray(lengths, np.float64)
    if lengths.shape != rows.rewards.shape or (lengths <= 0).any():
        raise ValueError(f"lengths must be {len(rows)} positive numbers, one a row")
    groups = grouped(rows.task)
    baseline = np.bincount(groups, lengths * rows.rewards) / np.maximum(np.bincount(groups, lengths), 1e-300)
    alone = np.bincount(groups, minlength=1)[groups] < 2
    values = np.where(alone, 0.0, rows.rewards - baseline[groups])
    return Advantages(values=values, groups=groups, degenerate=int(alone.sum()))


def pass_at_k(rows: Rows) -> Advantages:
    """Only the best of a group is taught, by how far it is ahead.

    Source: Pass@k training, as in verl's `grpo_passk`; arXiv 2503.19595
    Unit: team
    Kind: advantage
    Formula: A of the best = R_1st − R_2nd; of the others 0
    Data: rewards; task, rollout
    Evidence: confirmed in code
    Departures: of equal best ones the first has it (and it is 0); not divided by a deviation
    """
    groups = grouped(rows.task)
    order = np.lexsort((np.arange(len(rows)), -rows.rewards, groups))
    first = np.ones(len(order), np.bool_)
    first[1:] = groups[order][1:] != groups[order][:-1]
    starts = np.flatnonzero(first)
    values = np.zeros(len(rows))
    ends = np.append(starts[1:], len(order))
    several = ends - starts > 1
    best, second = order[starts[several]], order[starts[several] + 1]
    values[best] = rows.rewards[best] - rows.rewards[second]
    return Advantages(values=values, groups=groups, degenerate=int((~several).sum()))
