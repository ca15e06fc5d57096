"""AnchorTB (EvoSteer, arXiv 2609.38661): credit for each orchestration action, STOP among them, from a balance law.

A trajectory has T actions between T + 1 nodes. At the optimum the policy is the reference reweighted by e^u, and then
every span balances:

    d_ij = u_i + Σ_{i≤t<j} l_t − u_j = 0,     l_t = log π(a_t | s_t) − log ρ(a_t | s_t)

The loss is the mean of d_ij² over all T (T + 1) / 2 spans, and the credit of an action is minus its gradient.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, floats

LARGEST_BETA = 700.0
"""e^β is a float up to here."""


class AnchorBalance(NamedTuple):
    """The loss of one trajectory and its gradients."""

    loss: float
    """Mean of the squared residuals; 0 for a trajectory without an action."""
    log_ratio_gradients: Floats
    """[T] ∂L/∂l_t."""
    node_value_gradients: Floats
    """[T + 1] ∂L/∂u_k; they sum to 0."""

    @property
    def credit(self) -> Floats:
        """[T] −∂L/∂l_t: positive where the log-probability should rise, as before an end better than expected."""
        return -self.log_ratio_gradients


def anchor_balance(node_values: ArrayLike, log_ratios: ArrayLike) -> AnchorBalance:
    """Loss and gradients of all spans, in O(T).

        o_k = u_k − Σ_{t<k} l_t                    the sum excludes k: T + 1 nodes, o_0 = u_0
        d_ij = o_i − o_j
        L = (2 / T) Σ_k (o_k − ō)²
        ∂L/∂u_k = (4 / T) (o_k − ō),     ∂L/∂l_t = (4 / T) Σ_{k≤t} (o_k − ō)

    Args:
      node_values: [T + 1] u, the last one of the end.
      log_ratios: [T] l, natural logs summed over the tokens of each action, under policy and reference alike.

    Raises:
      ValueError: node_values is not one longer than log_ratios, or a value is not finite.
    """
    u, l = floats("node_values", node_values), floats("log_ratios", log_ratios)  # noqa: E741
    T = len(l)
    if len(u) != T + 1:
        raise ValueError(f"node_values has length {len(u)}, but log_ratios has {T}: T actions lie between T + 1 nodes")
    if not T:
        return AnchorBalance(0.0, np.zeros(0), np.zeros(1))
    offsets = u - np.concatenate([[0.0], np.cumsum(l)])
    centred = offsets - offsets.mean()
    before: Floats = np.cumsum(centred)[:-1]
    return AnchorBalance(float(2 / T * (centred @ centred)), 4 / T * before, 4 / T * centred)


def anchor_values(success: ArrayLike, *, beta: float = 2.0) -> Floats:
    """u = log(1 + (e^β − 1) p): 0 for failure, β for success.

    For an end p is its reward; for a node on the way, its chance of success. Two things to know: noisy 0/1 rewards fit
    E[u] = β p rather than u(p); and at β = 2 the best of ten arms gets only .45 of the policy, so that control needs a
    larger β (.997 at 8) or the likeliest action.

    Args:
      success: any shape, in [0, 1].
      beta: β in (0, 700]; 2 in the paper's configuration.

    Raises:
      ValueError: a value outside its range.
    """
    p = floats("success", success, ndim=np.ndim(success))
    if ((p < 0) | (p > 1)).any():
        raise ValueError("success must be in [0, 1]")
    if not 0 < beta <= LARGEST_BETA:
        raise ValueError(f"beta is {beta}; it must be in (0, {LARGEST_BETA:g}]")
    values: Floats = np.log1p(np.expm1(beta) * p)
    return values


def other_success(rewards: ArrayLike, *, prior: float) -> Floats:
    """[G] chance of success at the start of each rollout of a task, from the other rollouts alone.

        p_i = (Σ_{j≠i} r_j + ½ m) / (G − 1 + ½)

    Args:
      rewards: [G] in [0, 1], of rollouts of one task.
      prior: m in [0, 1], mean of the task's family.

    Raises:
      ValueError: a value outside [0, 1].
    """
    r = floats("rewards", rewards)
    if ((r < 0) | (r > 1)).any():
        raise ValueError("rewards must be in [0, 1]")
    if not 0 <= prior <= 1:
        raise ValueError(f"prior is {prior}; it must be in [0, 1]")
    found: Floats = (r.sum() - r + prior / 2) / (len(r) - 0.5)
    return np.clip(found, 0.0, 1.0)
