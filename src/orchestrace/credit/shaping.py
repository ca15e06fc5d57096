"""Rewards that look at the team: MAPoRL's influence, MARTI's margin and quality, MARS2's tree, CoMAS' pairs.

Each returns what was given and what shaping adds, apart. None is potential-based, so the best policy may change.
"""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, bools, floats, ints
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
      discount: γ.
      mix: which form.

    Raises:
      ValueError: x is no round, or a score up to it is not finite.
    """
    given = np.asarray(scores, np.float64)
    last = int(np.asarray(finished))
    if given.ndim != 2 or not 0 <= last < len(given):
        raise ValueError(f"scores have shape {given.shape}, so finished={last} is no round of theirs")
    s = floats("scores", given[: last + 1], ndim=2)
    if mix == "current":
        shaped = s.copy()
    elif mix == "last":
        shaped = np.repeat(s[-1:], len(s), axis=0)
    elif mix in ("all", "individual"):
        later = s if mix == "individual" else np.repeat(s.mean(axis=1, keepdims=True), s.shape[1], axis=1)
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
    rewards: ArrayLike, *, kind: Literal["margin", "quality"], weight: float = 0.5, outcome_weight: float = 0.0
) -> ShapedRewards:
    """MARTI: an answer against the mean Q_t of the earlier ones, which must be snapshots of the raw rewards.

        margin: D = R − Q;    quality: D = Q R − (1 − Q)(1 − R);    r = R + α D + β R_last

    The first answer has no history and no D. Source: MARTI, TsinghuaC3I/MARTI.

    Args:
      rewards: [T] raw rewards in their order.
      kind: of D.
      weight: α.
      outcome_weight: β; 0: without the outcome.
    """
    r = floats("rewards", rewards)
    if kind not in ("margin", "quality"):
        raise ValueError(f"kind={kind!r} is none of margin, quality")
    before = np.append(0.0, np.cumsum(r)[:-1]) / np.maximum(np.arange(len(r)), 1)
    gap = r - before if kind == "margin" else before * r - (1 - before) * (1 - r)
    gap[:1] = 0.0
    return ShapedRewards(raw=r, added=weight * gap + outcome_weight * (r[-1] if len(r) else 0.0))


def tree_shaped(
    rewards: ArrayLike, parent: ArrayLike, *, weight: float = 0.5, sibling_weight: float = 0.5
) -> ShapedRewards:
    """MARS2: a node against its parent and its siblings, all as they were before shaping.

        r' = r + γ (r − [(1 − λ) r_parent + λ · mean of the other siblings])

    Without siblings the parent alone counts, without a parent the siblings alone; a lone root stays. Source:
    MARTI-MARS2, arXiv 2602.07848. Departure: its code reads parents that were shaped already, so that the result hangs
    on the order.

    Args:
      rewards: [U].
      parent: [U] index of the parent, −1 at a root; roots are siblings of each other.
      weight: γ.
      sibling_weight: λ.
    """
    r = floats("rewards", rewards)
    above = ints("parent", parent, like=("rewards", len(r)))
    if ((above < -1) | (above >= max(len(r), 1))).any():
        raise ValueError("parent holds a number that is no node")
    total = np.bincount(above + 1, r, minlength=len(r) + 1)[above + 1]
    others = np.bincount(above + 1, minlength=len(r) + 1)[above + 1] - 1
    siblings = (total - r) / np.maximum(others, 1)
    up = r[np.maximum(above, 0)] if len(r) else r
    share = np.where(above < 0, 1.0, np.where(others > 0, sibling_weight, 0.0))
    against = (1 - share) * up + share * siblings
    lone = (above < 0) & (others == 0)
    return ShapedRewards(raw=r, added=np.where(lone, 0.0, weight * (r - against)))


def paired(scores: ArrayLike, *, lowest: float, highest: float) -> tuple[Floats, Floats]:
    """CoMAS: a solution has u, the peer who criticised it 1 − u: what one gains the other loses.

        u = (score − lowest) / (highest − lowest)

    Source: CoMAS, arXiv 2510.08529; the mapping is ours. A judge's own reward is for its form alone: see `form_reward`.

    Args:
      scores: [B] the judge's scores of solutions.
      lowest: of the scale.
      highest: of the scale.

    Returns:
      [B] rewards of the solutions, and of the evaluations.
    """
    s = floats("scores", scores)
    if not highest > lowest or ((s < lowest) | (s > highest)).any():
        raise ValueError(f"scores must lie within the scale [{lowest}, {highest}]")
    u = (s - lowest) / (highest - lowest)
    return u, 1 - u


def form_reward(well_formed: ArrayLike, *, penalty: float = -1.0) -> Floats:
    """[B] 0 for a verdict in the asked form, `penalty` for another.

    Source: CoMAS, arXiv 2510.08529.
    """
    right: Bools = bools("well_formed", well_formed)
    return np.where(right, 0.0, penalty)


def implicit_process_rewards(logprobs: ArrayLike, ref_logprobs: ArrayLike, *, action: ArrayLike) -> Floats:
    """[n] AgentPRM: mean log ratio of each action's tokens, the process reward that a model holds implicitly.

        A_t = (1 / |action|) Σ (log π − log π_ref)

    Source: AgentPRM as in TsinghuaC3I/MARTI. Departure: its page writes the formula without logarithms.

    Args:
      logprobs: [K] under the process reward model.
      ref_logprobs: [K] under its reference.
      action: [K] which action each token is in, 0..n-1.
    """
    new = floats("logprobs", logprobs)
    ref = floats("ref_logprobs", ref_logprobs, like=("logprobs", len(new)))
    which = ints("action", action, like=("logprobs", len(new)))
    count = np.bincount(which, minlength=1)
    return np.asarray(np.bincount(which, new - ref, minlength=1) / np.maximum(count, 1))
