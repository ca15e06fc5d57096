"""One reward for a rollout, compared within its task: GRPO and its kin, RLOO, REINFORCE++, GiGPO."""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import floats
from orchestrace.credit.columns import Rows
from orchestrace.credit.groups.alignment import one_reward_each, positive
from orchestrace.credit.groups.anchors import anchored, step_returns
from orchestrace.credit.groups.baselines import ROUNDING, GroupBaseline, grouped
from orchestrace.credit.results import Advantages, ShapedRewards


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
    """REINFORCE++ with a group baseline, in deviations of the whole batch.

    Source: REINFORCE++, arXiv 2501.03262
    Unit: team
    Kind: advantage
    Formula: A_i = B_i / (std of B + ε), B_i = R_i − mean_g, whose mean is 0
    Data: rewards; task, rollout
    Evidence: confirmed in code
    Departures: B's deviation is over rollouts, not tokens, so that length does not weigh; groups of one give 0, not R
    """
    voters = GroupBaseline().voters(rows)
    several = voters.size > 1
    centred = (voters.rewards - voters.mean[voters.home])[several[voters.home]]
    spread = float(centred.std(ddof=1)) if len(centred) else 0.0
    flat = spread <= ROUNDING * voters.largest.max(initial=0.0)
    empty = ~several[voters.groups] | flat
    values = np.where(empty, 0.0, (rows.rewards - voters.mean[voters.groups]) / (spread + 1e-8))
    return Advantages(values=values, groups=voters.groups, degenerate=int(empty.sum()))


def opo(rows: Rows, lengths: ArrayLike) -> Advantages:
    """On-policy optimum: a baseline weighted by length, which minimises the gradient's variance.

    Source: OPO, arXiv 2505.23585
    Unit: team
    Kind: advantage
    Formula: A_i = R_i − Σ_j len_j R_j / Σ_j len_j over the group
    Data: rewards, completion lengths; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0; a rollout with several rows weighs by the sum of their lengths
    """
    tokens = positive("lengths", lengths, rows)
    standing = GroupBaseline().standing(rows)
    weight = np.bincount(standing.groups, tokens)[standing.groups]
    mean = (np.bincount(standing.groups, tokens * rows.rewards))[standing.groups] / weight
    left = rows.rewards - mean
    again = np.bincount(standing.groups, tokens * left)[standing.groups] / weight
    return standing._replace(baseline=mean + again).of(rows.rewards)


def pass_at_k(rows: Rows) -> Advantages:
    """Only the best of a group is taught, by how far it is ahead.

    Source: Pass@k training, arXiv 2503.19595, as in verl's `grpo_passk`
    Unit: team
    Kind: advantage
    Formula: A of the best rollout = R_1st − R_2nd; of the others 0
    Data: rewards, one a rollout; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0; not divided by the group's deviation, as verl's default is
    """
    voters = GroupBaseline().voters(rows)
    order = np.lexsort((-voters.rewards, voters.home))
    start = (np.cumsum(voters.size) - voters.size)[voters.size > 1]
    best, second = order[start], order[start + 1]
    ahead = np.zeros(len(voters.rewards))
    ahead[best] = voters.rewards[best] - voters.rewards[second]
    alone = int((voters.size[voters.groups] < 2).sum())
    return Advantages(values=ahead[voters.owner], groups=voters.groups, degenerate=alone)


def agent_lightning(rows: Rows) -> Advantages:
    """The rollout's reward to every call of it, compared once for each rollout.

    Source: Agent Lightning (LightningRL), arXiv 2508.03680
    Unit: turn
    Kind: advantage
    Formula: A_i = (R_i − mean_g) / (std_g + ε) over rollouts, the same for all rows of rollout i
    Data: rewards, one a rollout; task, rollout
    Evidence: confirmed in code
    Departures: a group of one gives 0; its default of older versions, every row counting, leans to long rollouts
    """
    return GroupBaseline(scale="std_group").advantages(one_reward_each(rows))


def gigpo(
    rows: Rows,
    step_rewards: ArrayLike,
    *,
    discount: float,
    weight: float = 1.0,
    scale: Literal["none", "std_group"] = "none",
    steps: ArrayLike | None = None,
) -> Advantages:
    """Group in group: the rollout among those of its task, and each turn among those that met the same state.

    Source: GiGPO, arXiv 2505.10978
    Unit: turn
    Kind: advantage
    Formula: A = A^E + w · A^S; A^E of R among the task, A^S of Σ γ^{k−t} r_k among task and context
    Data: rewards R, step rewards r; task, rollout, context, turn (or the step of the environment)
    Evidence: confirmed in code
    Departures: one vote a rollout in A^E; states are the same or not, never similar; rows of a step must agree on r
    """
    place = rows.turn if steps is None else steps
    returns = step_returns(step_rewards, lane=grouped(rows.task, rows.rollout), step=place, discount=discount)
    rule = GroupBaseline(scale=scale)
    episode, anchor = rule.standing(rows), anchored(replace(rows, rewards=returns), rule)
    values = episode.of(rows.rewards).values + weight * anchor.of(returns).values
    empty = episode.empty & anchor.empty if weight else episode.empty
    return Advantages(values=values, groups=episode.groups, degenerate=int(empty.sum()))


def overlong_penalty(rewards: ArrayLike, lengths: ArrayLike, *, longest: int, cache: int) -> ShapedRewards:
    """DAPO's soft punishment of answers that run into their limit.

    Source: DAPO, arXiv 2503.14476
    Unit: team
    Kind: shaped
    Formula: r + 0 up to L_max − L_c tokens, then falling in a line, −1 from L_max on
    Data: [B] rewards, [B] lengths in tokens
    Evidence: secondary
    Departures: none known
    """
    if not 0 < cache <= longest:
        raise ValueError(f"cache is {cache}; it must lie in 1..{longest} (longest)")
    given = floats("rewards", rewards)
    tokens = floats("lengths", lengths, like=("rewards", len(given)))
    return ShapedRewards(raw=given, added=-np.clip((tokens - (longest - cache)) / cache, 0.0, 1.0))
