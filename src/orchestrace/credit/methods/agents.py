"""Each agent against itself: Dr. MAS, MAGRPO, SHARP, CCPO, SoftRankPO."""

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import floats
from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.groups.baselines import GroupBaseline, Weighting
from orchestrace.credit.groups.ranks import normal_quantiles, soft_ranks
from orchestrace.credit.results import Advantages, Sampling, ShapedRewards, Shares


def dr_mas(given: Rows, *, weighting: Weighting = "row") -> Advantages:
    """Each agent's rows by that agent's own mean and deviation, so that no agent gets a constant push.

    Source: Dr. MAS, arXiv 2602.08847
    Unit: agent
    Kind: advantage
    Formula: A_i = (R_i − mean_{g,k}) / (std_{g,k} + ε) over the rows of agent k in task g
    Data: rewards; task, rollout, agent
    Evidence: confirmed in code
    Departures: a group of one gives 0; every row counts, as in its code; weighting="rollout": each rollout once
    """
    return GroupBaseline(key=("task", "agent"), weighting=weighting, scale="std_group").advantages(given)


def magrpo(given: Rows) -> Advantages:
    """Joint actions of a node side by side: the same advantage for every agent of a joint action.

    Source: MAGRPO, arXiv 2508.04652 (CoMLRL, aligned)
    Unit: agent, turn
    Kind: advantage
    Formula: A_j = R_j − mean over the joint actions of the node; R_j = r_j + γ · mean of the child nodes' R
    Data: node returns as rewards; task, context (the node), agent
    Evidence: confirmed in code
    Departures: a node of one gives 0; no ratio and no clip, as in its code
    """
    return GroupBaseline(key=("task", "context", "agent")).advantages(given)


def magrpo_cross(joint_rewards: ArrayLike, *, reduction: Literal["mean", "sum"] = "mean") -> tuple[Advantages, ...]:
    """Every combination of the agents' samples: a sample's return is taken over what the others said.

    Source: MAGRPO, arXiv 2508.04652 (CoMLRL, cross)
    Unit: agent, turn
    Kind: advantage
    Formula: R_{a,c} = mean of r over the joint actions in which agent a says c; A = R − mean over c
    Data: [K_1, ..., K_n] rewards, one axis an agent; the result has one entry an agent
    Evidence: confirmed in code
    Departures: the mean; reduction="sum" is its code's, which grows with the number of the others' samples
    """
    table = floats("joint_rewards", joint_rewards, ndim=max(np.ndim(joint_rewards), 1))
    if 0 in table.shape:
        raise ValueError(f"joint_rewards has shape {table.shape}; every agent needs a sample")
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction={reduction!r} is none of mean, sum")
    found = []
    for axis, samples in enumerate(table.shape):
        each = np.moveaxis(table, axis, 0).reshape(samples, -1)
        returns = each.sum(axis=1) if reduction == "sum" else each.mean(axis=1)
        found.append(GroupBaseline().advantages(rows(returns)))
    return tuple(found)


def sharp_loo(given: Rows, marginals: ArrayLike, *, tools: ArrayLike, weights: tuple[float, float]) -> Advantages:
    """Accuracy, a masked marginal and tool use, normalised for each agent. The marginal is no Shapley value.

    Source: SHARP, arXiv 2602.08335
    Unit: agent, tool_call
    Kind: advantage
    Formula: R = R_acc + λ_s Δ + λ_p R_tool, Δ = r − r with the agent's output masked; A = (R − mean_{g,k}) / std_{g,k}
    Data: rewards (R_acc), marginals Δ and tool scores a row; task, rollout, agent
    Evidence: secondary
    Departures: weights and masking are not published; Δ is leave-one-out, so the terms do not add up to the reward
    """
    count = ("rewards", len(given))
    shaped = given.rewards + weights[0] * floats("marginals", marginals, like=count)
    return _sharp(given, shaped + weights[1] * floats("tools", tools, like=count))


def sharp_shapley(given: Rows, shares: ArrayLike, *, tools: ArrayLike, weights: tuple[float, float]) -> Advantages:
    """The same with true Shapley values, which do add up.

    Source: ours, after SHARP, arXiv 2602.08335
    Unit: agent, tool_call
    Kind: advantage
    Formula: R = R_acc + λ_s φ + λ_p R_tool, φ the agent's Shapley value; A = (R − mean_{g,k}) / std_{g,k}
    Data: rewards (R_acc), Shapley values φ and tool scores a row; task, rollout, agent
    Evidence: ours
    Departures: the paper calls a leave-one-out marginal Shapley; this one asks for the value itself
    """
    count = ("rewards", len(given))
    shaped = given.rewards + weights[0] * floats("shares", shares, like=count)
    return _sharp(given, shaped + weights[1] * floats("tools", tools, like=count))


def ccpo_shapley(solo: ArrayLike, joint: ArrayLike) -> tuple[Shares, ...]:
    """A thinker and a solver as a game of two: v(T) = 0, v(S) = solo, v(TS) = joint.

    Source: CCPO, arXiv 2603.21563 (first version of its code)
    Unit: agent
    Kind: share
    Formula: φ_thinker = ½ (joint − solo), φ_solver = ½ (joint + solo)
    Data: [B] reward of the solver alone and of both
    Evidence: confirmed in code
    Departures: without a solo run there is no result; its code then credits the thinker with the whole joint reward
    """
    alone = floats("solo", solo)
    both = floats("joint", joint, like=("solo", len(alone)))
    sampling = Sampling(model_calls=1, definition="replay: the solver alone")
    return tuple(
        Shares(values=np.array([(j - s) / 2, (j + s) / 2]), total=float(j), sampling=sampling)
        for s, j in zip(alone, both, strict=True)
    )


class ThinkerSolver(NamedTuple):
    """What each of the two is paid, [B] games."""

    thinker: ShapedRewards
    solver: ShapedRewards


def ccpo(joint: ArrayLike, solo_mean: ArrayLike, *, weight: float = 0.2) -> ThinkerSolver:
    """Current recipe: the thinker is paid for turning a failure into a success, and fined for the reverse.

    Source: CCPO / SEPO, arXiv 2603.21563 (current code)
    Unit: agent
    Kind: shaped
    Formula: r_T = R + λ (helped − hurt), helped = [R > 0 > solo], hurt = [R < 0 < solo]; r_S = R; rewards in {−1, +1}
    Data: [B] joint reward, [B] group mean of the solver alone
    Evidence: confirmed in code
    Departures: none known
    """
    both = floats("joint", joint)
    alone = floats("solo_mean", solo_mean, like=("joint", len(both)))
    helped, hurt = (both > 0) & (alone < 0), (both < 0) & (alone > 0)
    added = weight * (helped.astype(np.float64) - hurt)
    return ThinkerSolver(ShapedRewards(raw=both, added=added), ShapedRewards(raw=both, added=np.zeros(len(both))))


def soft_rank_po(given: Rows, *, temperature: float = 0.1) -> Advantages:
    """Normal quantiles of soft ranks within the group, centred.

    Source: SoftRankPO in Learning to Deliberate, arXiv 2509.03817
    Unit: turn
    Kind: advantage
    Formula: rank_i = 1 + Σ σ((r_i − r_j) / τ); A_i = Φ⁻¹((rank_i − ½) / G), less their mean
    Data: rewards, one a rollout; task, rollout
    Evidence: secondary
    Departures: the smoothing is ours; centred, since the quantiles of soft ranks do not sum to 0
    """
    voters = GroupBaseline().voters(given)
    ranks = soft_ranks(voters.rewards, temperature=temperature, groups=voters.home)
    scores = normal_quantiles(ranks, voters.size[voters.home])
    mean = np.bincount(voters.home, scores) / voters.size
    alone = voters.size[voters.groups] < 2
    values = np.where(alone, 0.0, (scores - mean[voters.home])[voters.owner])
    return Advantages(values=values, groups=voters.groups, degenerate=int(alone.sum()))


def _sharp(given: Rows, shaped: ArrayLike) -> Advantages:
    return dr_mas(replace(given, rewards=floats("shaped rewards", shaped)), weighting="rollout")
