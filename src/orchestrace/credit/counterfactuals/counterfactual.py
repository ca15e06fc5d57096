"""What would have been without it: one agent's action replaced, everything else the same, and the rest run again.

    difference    G − G(c_i instead of a_i)               c_i a fixed default, or the agent left out
    policy mean   Q(a_i) − Σ_a π_i(a) Q(a)                Aristocrat utility with replays for Q, COMA with a critic
    branches      mean of replays of one decision − mean of replays of the other

All are advantages: they do not add up to the reward, and adding them counts shared work more than once. On a trace
others react to the action, so that each counterfactual is a replay of everything after it; `replay_budget` says
what that costs. With a fixed default the second term does not depend on the action, so that the difference and the
team's reward rank the agent's actions alike (Wolpert and Tumer 2001).
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, floats, ints
from orchestrace.credit.results import Advantages, Sampling

SampleBaseline = Literal["loo", "mean"]
"""The mean of the other samples, which is unbiased, or of all of them, which shrinks by (K − 1) / K."""


def difference_advantages(reward: float, replaced: ArrayLike, *, definition: str) -> Advantages:
    """D_i = G − G_i, one replay an agent or decision.

    Args:
      reward: G, the team's, as it was.
      replaced: [n] G_i, the team's with the i-th action replaced or left out.
      definition: what took its place: `default policy`, `null message`, `dropped`...

    Raises:
      ValueError: a reward that is not finite.
    """
    counterfactual = floats("replaced", replaced)
    if not math.isfinite(reward):
        raise ValueError(f"reward is {reward}; it must be finite")
    sampling = Sampling(model_calls=len(counterfactual), definition=definition)
    return Advantages(values=reward - counterfactual, sampling=sampling)


def policy_advantages(
    action_values: ArrayLike, chances: ArrayLike, *, actions: ArrayLike, definition: str = "critic"
) -> Advantages:
    """A_i = Q(a_i) − Σ_a π_i(a) Q(a): against the mean over the agent's own policy, others' actions fixed.

    Its mean over the policy is 0, whatever Q is, so that the policy gradient keeps its expectation.

    Args:
      action_values: [n, A] Q of each action of each agent, given what the others did: a critic's, or replays.
      chances: [n, A] π_i; 0 for actions that the agent does not have, whose Q is then any finite number.
      actions: [n] the action taken.
      definition: where Q comes from.

    Raises:
      ValueError: shapes that differ, chances that are no distribution, or an action out of range.
    """
    q = floats("action_values", action_values, ndim=2)
    pi = _distributions(chances, q)
    taken = ints("actions", actions, like=("action_values", len(q)))
    if ((taken < 0) | (taken >= q.shape[1])).any():
        raise ValueError(f"actions must be between 0 and {q.shape[1] - 1}, the columns of action_values")
    values = q[np.arange(len(q)), taken] - np.sum(pi * q, axis=1)
    return Advantages(values=values, sampling=Sampling(definition=definition))


def sampled_advantages(
    action_values: ArrayLike, contexts: ArrayLike, *, baseline: SampleBaseline = "loo", definition: str = "critic"
) -> Advantages:
    """The same with K sampled actions in place of all of them, as for text: each against the others of its context.

    Args:
      action_values: [D] Q of each sample, drawn from the policy; what was really done may be one of them.
      contexts: [D] equal for samples drawn in the identical context, by the same agent.
      baseline: mean of the others, or of all.
      definition: where Q comes from.

    Returns:
      [D]; 0 for a sample that is alone in its context, which is counted as degenerate.

    Raises:
      ValueError: lengths that differ, or an unknown baseline.
    """
    q = floats("action_values", action_values)
    keys = ints("contexts", contexts, like=("action_values", len(q)))
    if baseline not in ("loo", "mean"):
        raise ValueError(f"baseline is {baseline!r}; it must be 'loo' or 'mean'")
    _, group, counts = np.unique(keys, return_inverse=True, return_counts=True)
    size = counts[group]
    means = np.bincount(group, weights=q, minlength=len(counts)) / counts
    scale = np.where(size > 1, size / np.maximum(size - 1, 1), 0.0) if baseline == "loo" else np.where(size > 1, 1, 0)
    return Advantages(
        values=scale * (q - means[group]),
        groups=keys,
        degenerate=int(np.sum(size == 1)),
        sampling=Sampling(definition=definition),
    )


def branch_advantages(chosen: ArrayLike, other: ArrayLike, *, common_draws: bool = False) -> Advantages:
    """What a decision was worth against its alternative, both replayed: spawn or not, delegate to one or another, stop.

        A_d = mean_m R(chosen)_dm − mean_l R(other)_dl

    Args:
      chosen: [n, M] rewards of replays with the decision as it was; the rollout itself may be one.
      other: [n, L] rewards of replays with the alternative.
      common_draws: True where the m-th replay of both shared its random draws (M = L), which narrows the error.

    Returns:
      [n] with its standard error, if there are at least two replays on each side.

    Raises:
      ValueError: another number of decisions or, with common draws, of replays; or a side without a replay.
    """
    left = floats("chosen", chosen, ndim=2)
    right = floats("other", other, like=("chosen", len(left)), ndim=2)
    M, L = left.shape[1], right.shape[1]
    if not (M and L):
        raise ValueError(f"chosen has shape {left.shape} and other {right.shape}; each side needs a replay")
    if common_draws and M != L:
        raise ValueError(f"other has L={L}, but chosen has M={M}: common draws come in pairs")
    error: Floats | None = None
    if min(M, L) > 1 and common_draws:
        error = (left - right).std(axis=1, ddof=1) / math.sqrt(M)
    elif min(M, L) > 1:
        error = np.sqrt(left.var(axis=1, ddof=1) / M + right.var(axis=1, ddof=1) / L)
    sampling = Sampling(model_calls=left.size + right.size, n=min(M, L), std_error=error, definition="replay")
    return Advantages(values=left.mean(axis=1) - right.mean(axis=1), sampling=sampling)


def _distributions(chances: ArrayLike, q: Floats) -> Floats:
    pi = floats("chances", chances, ndim=2)
    if pi.shape != q.shape:
        raise ValueError(f"chances has shape {pi.shape}, but action_values has {q.shape}")
    sums = pi.sum(axis=1)
    if (bad := (pi < 0).any(axis=1) | (np.abs(sums - 1) > 1e-6)).any():
        row = int(np.argmax(bad))
        raise ValueError(f"chances[{row}] is no distribution: it sums to {sums[row]}")
    return pi
