"""A team's value mixed from its agents' values, and how much each agent's value moves it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, floats


class Mixer(NamedTuple):
    """QMIX's weights in B states, as its hypernetworks gave them; signs are dropped where they are used."""

    inner: ArrayLike
    """[B, n, H] W₁."""
    inner_bias: ArrayLike
    """[B, H] b₁."""
    outer: ArrayLike
    """[B, H] W₂."""
    state_values: ArrayLike
    """[B] V(s)."""


class Mixed(NamedTuple):
    """A team's value and its slopes."""

    totals: Floats
    """[B] Q_tot."""
    slopes: Floats
    """[B, n] ∂Q_tot/∂Q_i ≥ 0 at the actions taken: the weight of each agent's credit. They are no shares: their
    products with Q do not sum to Q_tot."""


def mixed_values(action_values: ArrayLike, mixer: Mixer) -> Mixed:
    """QMIX (arXiv 1803.11485): monotone in every agent's value, so that each may choose for itself.

        Q_tot = |W₂| · ELU(Q |W₁| + b₁) + V(s),     ∂Q_tot/∂Q_i = Σ_h |W₂|_h ELU′(·)_h |W₁|_ih

    Since no slope is negative, the best joint action is each agent's best (IGM). Using the slope as a weight of
    credit is ours.

    Args:
      action_values: [B, n] Q_i of the actions taken.
      mixer: weights of the same B states and n agents.

    Raises:
      ValueError: shapes that differ, or a value that is not finite.
    """
    q = floats("action_values", action_values, ndim=2)
    inner = floats("inner", mixer.inner, like=("action_values", len(q)), ndim=3)
    bias = floats("inner_bias", mixer.inner_bias, like=("action_values", len(q)), ndim=2)
    outer = floats("outer", mixer.outer, like=("action_values", len(q)), ndim=2)
    state = floats("state_values", mixer.state_values, like=("action_values", len(q)))
    if inner.shape[1] != q.shape[1]:
        raise ValueError(f"inner has shape {inner.shape}, but action_values has {q.shape}: one row of weights an agent")
    if bias.shape[1] != inner.shape[2] or outer.shape[1] != inner.shape[2]:
        raise ValueError(f"inner_bias has shape {bias.shape} and outer {outer.shape}, but inner has {inner.shape}")
    hidden = np.einsum("bn,bnh->bh", q, np.abs(inner)) + bias
    falling = np.exp(np.minimum(hidden, 0.0))
    elu = np.where(hidden > 0, hidden, falling - 1)
    onward = np.abs(outer) * np.where(hidden > 0, 1.0, falling)
    totals: Floats = np.einsum("bh,bh->b", np.abs(outer), elu) + state
    slopes: Floats = np.einsum("bh,bnh->bn", onward, np.abs(inner))
    return Mixed(totals, slopes)
