"""One late reward spread over the steps that earned it: differences of a prefix value, potentials, process rewards.

A prefix value predicts the final reward from the start of a trace: a return predictor, a process reward model, or the
share of continuations that succeed (`prefix_labels`). Whether it may be trusted is measured: `brier_score`,
`calibration_error`.

**On a graph** a potential belongs to the state of the whole frontier, in one fixed order of the events. A potential of
each event alone does not telescope over parallel branches: a join would take back one parent's potential, not both.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, bools, floats
from orchestrace.credit.results import ShapedRewards, Shares

Correction = Literal["even", "last", "scale"]
"""Where the predictor's error goes: the same to every step, all to the last one, or by scaling every difference."""
ProcessForm = Literal["progress", "raw"]
"""Reward a step with the rise of the value, or with the value itself."""


class PrefixLabels(NamedTuple):
    """What M continuations from each prefix say about it (Math-Shepherd, arXiv 2312.08935)."""

    hard: Floats
    """[P] 1 where any continuation succeeds, else 0; it can only rise with M."""
    soft: Floats
    """[P] the share that succeeds: an unbiased estimate of the chance."""


def difference_shares(prefix_values: ArrayLike, reward: float, *, correction: Correction = "even") -> Shares:
    """RUDDER (arXiv 1806.07857): each step is given the rise of the predicted return, corrected to sum to the reward.

        c_t = g_t − g_{t−1},     g_0 = 0

    The first step is given all of g_1, the value of the start included. With "even", R − g_T is spread over all steps;
    with "last" it goes to the last; with "scale", c_t R / g_T.

    Args:
      prefix_values: [T] g after each step.
      reward: R, the team's.
      correction: where the predictor's error goes.

    Returns:
      [T] shares, whose sum is R.

    Raises:
      ValueError: no step and a reward, "scale" where the prediction is 0 and the reward is not, or an unknown
        correction.
    """
    g = floats("prefix_values", prefix_values)
    if not np.isfinite(reward):
        raise ValueError(f"reward is {reward}; it must be finite")
    if not len(g):
        if reward:
            raise ValueError(f"prefix_values is empty, but reward is {reward}: there is no step to give it to")
        return Shares(values=np.zeros(0), total=0.0)
    rises = np.diff(g, prepend=0.0)
    missing = reward - g[-1]
    if correction == "even":
        return Shares(values=rises + missing / len(g), total=float(reward))
    if correction == "last":
        rises[-1] += missing
        return Shares(values=rises, total=float(reward))
    if correction != "scale":
        raise ValueError(f"correction is {correction!r}; it must be 'even', 'last' or 'scale'")
    factor = reward / float(g[-1]) if g[-1] else (np.inf if reward else 1.0)
    if not np.isfinite(factor):
        raise ValueError(f"prefix_values ends at {g[-1]}, but reward is {reward}: no factor makes one the other")
    return Shares(values=rises * factor, total=float(reward))


def potential_rewards(
    rewards: ArrayLike, potentials: ArrayLike, *, discount: float = 1.0, last_potential: float = 0.0
) -> ShapedRewards:
    """Potential-based shaping (Ng, Harada, Russell 1999): the best policy stays the best.

        r′_t = r_t + γ Φ(s_{t+1}) − Φ(s_t)

    The discounted sum of what is added is γ^T Φ(s_T) − Φ(s_0), which no action changes if Φ is 0 at the end.

    Args:
      rewards: [T]
      potentials: [T] Φ of the state before each step, frontier states in one fixed order where the trace is a graph.
      discount: γ in [0, 1], the same as that of the returns.
      last_potential: Φ of the state after the last step: 0 where the episode ended there, and only where it was cut
        off, to be bootstrapped, that state's own.

    Raises:
      ValueError: lengths that differ, or a discount outside [0, 1].
    """
    r = floats("rewards", rewards)
    before = floats("potentials", potentials, like=("rewards", len(r)))
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}; it must be in [0, 1]")
    if not np.isfinite(last_potential):
        raise ValueError(f"last_potential is {last_potential}; it must be finite")
    after = np.append(before[1:], last_potential)[: len(r)]
    return ShapedRewards(raw=r, added=discount * after - before, telescopes=True)


def process_rewards(
    rewards: ArrayLike, values: ArrayLike, *, form: ProcessForm = "progress", weight: float = 1.0
) -> ShapedRewards:
    """Rewards from a process reward model: its progress w (V_{t+1} − V_t), or the raw w V_{t+1}.

    Raw values pay for length: a step that changes nothing still earns V. Progress pays nothing for it, and sums to
    w (V_T − V_0). Neither leaves the best policy alone unless V_T is 0, so neither counts as potential-based here.

    Args:
      rewards: [T]
      values: [T + 1] V before the first step and after each.
      form: progress or raw.
      weight: w.

    Raises:
      ValueError: values is not one longer than rewards, a weight that is not finite, or an unknown form.
    """
    r, v = floats("rewards", rewards), floats("values", values)
    if len(v) != len(r) + 1:
        raise ValueError(f"values has length {len(v)}, but rewards has {len(r)}: T steps lie between T + 1 values")
    if not np.isfinite(weight):
        raise ValueError(f"weight is {weight}; it must be finite")
    if form not in ("progress", "raw"):
        raise ValueError(f"form is {form!r}; it must be 'progress' or 'raw'")
    return ShapedRewards(raw=r, added=weight * (np.diff(v) if form == "progress" else v[1:]))


def prefix_labels(successes: ArrayLike) -> PrefixLabels:
    """Monte-Carlo labels of prefixes.

    Args:
      successes: [P, M] whether each of M continuations from each prefix succeeds.

    Raises:
      ValueError: prefixes without a continuation.
    """
    found = bools("successes", successes, ndim=2)
    if found.shape[0] and not found.shape[1]:
        raise ValueError(f"successes has shape {found.shape}; a prefix without a continuation has no label")
    share: Floats = np.zeros(0) if not len(found) else found.sum(axis=1) / found.shape[1]
    return PrefixLabels(np.where(share > 0, 1.0, 0.0), share)


def brier_score(values: ArrayLike, outcomes: ArrayLike) -> float:
    """Mean (V − y)²: 0 is perfect, ¼ is what ½ everywhere gets (Brier 1950).

    Args:
      values: [n] predicted chances in [0, 1].
      outcomes: [n] y, what happened: 0, 1 or a share of continuations.

    Raises:
      ValueError: lengths that differ, nothing to average, or a number outside [0, 1].
    """
    v, y = _predictions(values, outcomes)
    return float(np.mean((v - y) ** 2))


def calibration_error(values: ArrayLike, outcomes: ArrayLike, *, bins: int = 10) -> float:
    """Expected calibration error Σ_b n_b/n |mean V − mean y| over bins of equal width (Naeini et al. 2015).

    0 says that chances are right on average, not that they tell cases apart: the base rate everywhere gets 0.

    Args:
      values: [n] predicted chances in [0, 1]; a value on a border belongs to the bin above, 1 to the last.
      outcomes: [n] y, what happened: 0, 1 or a share of continuations.
      bins: at least 1.

    Raises:
      ValueError: as `brier_score`, or no bin.
    """
    v, y = _predictions(values, outcomes)
    if bins < 1:
        raise ValueError(f"bins is {bins}; at least one is needed")
    at = np.minimum((v * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(at, weights=v - y, minlength=bins)
    return float(np.abs(gaps).sum() / len(v))


def _predictions(values: ArrayLike, outcomes: ArrayLike) -> tuple[Floats, Floats]:
    v = floats("values", values)
    y = floats("outcomes", outcomes, like=("values", len(v)))
    if not len(v):
        raise ValueError("values is empty; there is nothing to average")
    for name, array in (("values", v), ("outcomes", y)):
        if ((array < 0) | (array > 1)).any():
            raise ValueError(f"{name} must be in [0, 1]")
    return v, y
