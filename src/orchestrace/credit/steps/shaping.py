"""Rewards that look at the team: MAPoRL's influence, MARTI's margin and quality, MARS2's tree, CoMAS' pairs.

Each returns what was given and what shaping adds, apart. None is potential-based, so the best policy may change.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, Ints, bools, floats, ints
from orchestrace.credit.groups.baselines import grouped
from orchestrace.credit.results import ShapedRewards

Mix = Literal["all", "individual", "last", "current"]


def influence_aware(
    scores: ArrayLike, finished: ArrayLike, *, discount: float = 0.3, mix: Mix = "all"
) -> ShapedRewards:
    """MAPoRL: an answer's own score, and what the team's later answers were worth.

        all:        r(t, a) = [s(t, a) + Σ_{t' > t} γ^{t' − t} mean over a' of s(t', a')] / Σ_{t' ≥ t} γ^{t' − t}
        individual: the same with the agent's own later scores;   last: its score in the last round;   current: s(t, a)

    Sums run to the round x in which the question was finished. Source: MAPoRL, arXiv 2502.18439.

    Args:
      scores: [T, N] verifier's score of agent a's answer in round t; what follows x is ignored.
      finished: x, the last round, from 0.
      discount: γ in [0, 1].
      mix: which form.

    Returns:
      [x + 1, N] rewards.

    Raises:
      ValueError: x is no round, γ is outside [0, 1], or a score up to x is not finite.
    """
    given = np.asarray(scores, np.float64)
    last = int(ints("finished", finished, ndim=0))
    if given.ndim != 2 or not 0 <= last < len(given):
        raise ValueError(f"scores have shape {given.shape}, so finished={last} is no round of theirs")
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}; it must lie in [0, 1]")
    s = floats("scores", given[: last + 1], ndim=2)
    if mix == "current":
        shaped = s.copy()
    elif mix == "last":
        shaped = np.repeat(s[-1:], len(s), axis=0)
    elif mix in ("all", "individual"):
        later = s if mix == "individual" or not s.size else np.repeat(s.mean(axis=1, keepdims=True), s.shape[1], axis=1)
        shaped = _discounted_mean(s, later, discount)
    else:
        raise ValueError(f"mix={mix!r} is none of all, individual, last, current")
    return ShapedRewards(raw=s, added=shaped - s)


def _discounted_mean(own: Floats, later: Floats, discount: float) -> Floats:
    """[T, N] own score and the discounted later ones, over the sum of the discounts."""
    shaped = np.empty_like(own)
    for t in range(len(own)):
        powers = discount ** np.arange(len(own) - t)
        shaped[t] = (own[t] + powers[1:] @ later[t + 1 :]) / powers.sum()
    return shaped


def history_shaped(
    rewards: ArrayLike,
    *,
    kind: Literal["margin", "quality"],
    weight: float = 0.5,
    outcome_weight: float = 0.0,
    earlier: Literal["all", "own"] = "all",
    first: int = 1,
) -> ShapedRewards:
    """MARTI: an answer against the mean Q of the earlier ones, as they were before shaping.

        margin: D = R − Q;    quality: D = Q R − (1 − Q)(1 − R);    r = R + α D + β R_last

    Answers of one round see none of each other. Source: MARTI, TsinghuaC3I/MARTI.

    Args:
      rewards: [T] of a chain, or [N, T] of N agents who answer side by side for T rounds.
      kind: of D.
      weight: α.
      outcome_weight: β, of the agent's own last reward; 0: without the outcome.
      earlier: Q is over all agents' earlier answers (its debates), or over one's own.
      first: the round, or place in the chain, from which there is a history; its mixtures begin after the first layer.

    Returns:
      Rewards in the shape that was given.

    Raises:
      ValueError: a name that means nothing, first below 1, or rewards of another shape.
    """
    given = np.asarray(rewards, np.float64)
    r = floats("rewards", np.atleast_2d(given), ndim=2)
    if kind not in ("margin", "quality") or earlier not in ("all", "own"):
        raise ValueError(f"kind={kind!r} is none of margin, quality, or earlier={earlier!r} none of all, own")
    if first < 1:
        raise ValueError(f"first is {first}; the first answer has no history")
    before = _past_means(r if earlier == "own" or not len(r) else r.mean(axis=0, keepdims=True))
    gap = r - before if kind == "margin" else before * r - (1 - before) * (1 - r)
    gap[:, :first] = 0.0
    added = weight * gap + outcome_weight * r[:, -1:]
    return ShapedRewards(raw=r.reshape(given.shape), added=added.reshape(given.shape))


def _past_means(spoken: Floats) -> Floats:
    """[N, T] mean of each row before each place; 0 at the first."""
    before = np.zeros_like(spoken)
    before[:, 1:] = spoken.cumsum(axis=1)[:, :-1] / np.arange(1, max(spoken.shape[1], 1))
    return before


def tree_shaped(
    rewards: ArrayLike,
    parent: ArrayLike,
    *,
    tree: ArrayLike | None = None,
    weight: float = 0.5,
    sibling_weight: float = 0.5,
) -> ShapedRewards:
    """MARS2: a node against its parent and its siblings, all as they were before shaping.

        r' = r + γ (r − [(1 − λ) r_parent + λ · mean of the other siblings])

    Without siblings the parent alone counts, without a parent the siblings alone; a lone root stays. Source:
    MARTI-MARS2, arXiv 2602.07848. Departure: its code reads parents that were shaped already, so that the result hangs
    on the order.

    Args:
      rewards: [U].
      parent: [U] index of the parent, −1 at a root; the roots of one tree are siblings of each other.
      tree: [U] which tree each node is in; None: one.
      weight: γ.
      sibling_weight: λ.

    Raises:
      ValueError: columns that do not fit, a parent that is no node, the node itself, or a node of another tree.
    """
    r = floats("rewards", rewards)
    above = ints("parent", parent, like=("rewards", len(r)))
    home = np.zeros(len(r), np.int64) if tree is None else ints("tree", tree, like=("rewards", len(r)))
    _check_parents(above, home)
    family = grouped(home, above)
    others = np.bincount(family, minlength=1)[family] - 1
    siblings = (np.bincount(family, r, minlength=1)[family] - r) / np.maximum(others, 1)
    up = r[np.maximum(above, 0)] if len(r) else r
    share = np.where(above < 0, 1.0, np.where(others > 0, sibling_weight, 0.0))
    against = (1 - share) * up + share * siblings
    lone = (above < 0) & (others == 0)
    return ShapedRewards(raw=r, added=np.where(lone, 0.0, weight * (r - against)))


def _check_parents(above: Ints, home: Ints) -> None:
    nodes = np.arange(len(above))
    wrong = np.flatnonzero((above < -1) | (above >= len(above)) | (above == nodes))
    if wrong.size:
        raise ValueError(f"parent[{wrong[0]}] is {above[wrong[0]]}, which is no other node")
    below = np.flatnonzero(above >= 0)
    strangers = below[home[below] != home[above[below]]]
    if strangers.size:
        raise ValueError(f"node {strangers[0]} and its parent {above[strangers[0]]} are in two trees")


class PairedRewards(NamedTuple):
    """What a solution, the evaluation of it, and the judge of both earn."""

    solution: Floats
    """[B] u; NaN where the verdict is malformed: no reward is known, which is not a reward of 0."""
    evaluation: Floats
    """[B] 1 − u; NaN likewise."""
    judge: Floats
    """[B] for the form of the verdict alone: 0, or the penalty."""


def paired(
    scores: ArrayLike,
    *,
    lowest: float,
    highest: float,
    well_formed: ArrayLike | None = None,
    penalty: float = -1.0,
) -> PairedRewards:
    """CoMAS: a solution has u, the peer who criticised it 1 − u: what one gains the other loses.

        u = (score − lowest) / (highest − lowest)

    Source: CoMAS, arXiv 2510.08529; the mapping is ours.

    Args:
      scores: [B] the judge's scores of solutions; anything, NaN too, where malformed.
      lowest: of the scale.
      highest: of the scale.
      well_formed: [B] False where the judge did not keep to the form; None: it always did.
      penalty: what a malformed verdict costs the judge.

    Raises:
      ValueError: no scale, or a score outside it.
    """
    given = np.asarray(scores, np.float64)
    right = np.ones(given.shape, np.bool_) if well_formed is None else bools("well_formed", well_formed)
    if given.shape != right.shape:
        raise ValueError(f"well_formed has shape {right.shape}, but scores have {given.shape}")
    s = floats("scores", np.where(right, given, lowest))
    if not highest > lowest or ((s < lowest) | (s > highest)).any():
        raise ValueError(f"scores must lie within the scale [{lowest}, {highest}]")
    u = np.where(right, (s - lowest) / (highest - lowest), np.nan)
    return PairedRewards(u, 1 - u, np.where(right, 0.0, penalty))


def implicit_process_rewards(
    logprobs: ArrayLike, ref_logprobs: ArrayLike, *, action: ArrayLike, mask: ArrayLike | None = None
) -> Floats:
    """[n] AgentPRM: mean log ratio of each action's tokens, the process reward that a model holds implicitly.

        A_t = (1 / |action|) Σ (log π − log π_ref)

    Source: AgentPRM as in TsinghuaC3I/MARTI. Departure: its page writes the formula without logarithms.

    Args:
      logprobs: [K] under the process reward model.
      ref_logprobs: [K] under its reference.
      action: [K] which action each token is in, 0..n-1.
      mask: [K] True for the tokens that the policy wrote; None: all.

    Raises:
      ValueError: columns that do not fit, or an action below 0.
    """
    new = floats("logprobs", logprobs)
    ref = floats("ref_logprobs", ref_logprobs, like=("logprobs", len(new)))
    which = ints("action", action, like=("logprobs", len(new)))
    if (which < 0).any():
        raise ValueError("actions are numbered from 0")
    own = np.ones(len(new), np.bool_) if mask is None else bools("mask", mask, like=("logprobs", len(new)))
    total = np.bincount(which, np.where(own, new - ref, 0.0))
    return np.asarray(total / np.maximum(np.bincount(which, own), 1))


def implicit_reward_loss(process_rewards: ArrayLike, outcome: ArrayLike, *, rollout: ArrayLike, beta: float) -> Floats:
    """[R] what an implicit process reward model is fitted by: cross-entropy of the outcome and its summed rewards.

        L = −y log σ(β Σ_t A_t) − (1 − y) log(1 − σ(β Σ_t A_t))

    Source: AgentPRM as in TsinghuaC3I/MARTI.

    Args:
      process_rewards: [n] A of each action.
      outcome: [R] y in [0, 1].
      rollout: [n] which rollout each action is in, 0..R-1.
      beta: β.

    Raises:
      ValueError: columns that do not fit, an outcome outside [0, 1], or a rollout without one.
    """
    a, y = floats("process_rewards", process_rewards), floats("outcome", outcome)
    which = ints("rollout", rollout, like=("process_rewards", len(a)))
    if ((y < 0) | (y > 1)).any():
        raise ValueError("outcomes lie in [0, 1]")
    if ((which < 0) | (which >= len(y))).any():
        raise ValueError(f"rollouts are numbered 0..{len(y) - 1}, as outcome has them")
    logit = beta * np.bincount(which, a, minlength=len(y))
    return np.asarray(np.logaddexp(0.0, logit) - y * logit)
