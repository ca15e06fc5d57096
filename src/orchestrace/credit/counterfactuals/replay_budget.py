"""What counterfactual credit costs before it is bought: replays on a graph, prefix trees, and how much noise is left.

Parallel siblings are no descendants of each other: their outputs are kept, as common random numbers, and cost nothing.
"""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats, bools, floats, ints


class TreeCost(NamedTuple):
    """What a prefix tree takes."""

    generations: int
    """Model calls: the nodes of the tree."""
    evaluations: int
    """Leaves, each graded once."""


def replay_costs(costs: ArrayLike, descendants: ArrayLike) -> Floats:
    """[E] cost of one replay with another output at each event: c(u) + Σ over what descends from u of c(e).

    Args:
      costs: [E] of each event, ≥ 0: tokens, or 1 a model call.
      descendants: [E, E] True where the column's event depends on the row's, at any distance.

    Raises:
      ValueError: shapes that differ, a negative cost, or a relation that is no strict order.
    """
    c, below = _graph(costs, descendants)
    total: Floats = c + below @ c
    return total


def replay_plan_cost(
    costs: ArrayLike,
    descendants: ArrayLike,
    *,
    alternatives: int,
    continuations: int = 1,
    units: ArrayLike | None = None,
) -> float:
    """Cost of crediting events by replay, beyond the rollout itself.

        Σ_u (K − 1) (c(u) + M c(descendants of u)) + (M − 1) c(descendants of u)

    A chain of T = 8 equal turns with K = 4, M = 1 takes (K − 1) T (T + 1) / 2 = 108 model calls on top of 8.

    Args:
      costs: [E] of each event, ≥ 0; an alternative is taken to cost what the real one did.
      descendants: [E, E] True where the column's event depends on the row's, at any distance.
      alternatives: K ≥ 1 outputs at each unit, the real one among them.
      continuations: M ≥ 1 of each output; the rollout is the real one's first.
      units: indices of the events to credit, each once; None: all.

    Raises:
      ValueError: as `replay_costs`, a count below 1, or a unit that is not there.
    """
    c, below = _graph(costs, descendants)
    if alternatives < 1 or continuations < 1:
        raise ValueError(f"alternatives is {alternatives} and continuations {continuations}; both must be at least 1")
    chosen = np.arange(len(c)) if units is None else ints("units", units)
    if ((chosen < 0) | (chosen >= len(c))).any() or len(np.unique(chosen)) < len(chosen):
        raise ValueError(f"units must be different events between 0 and {len(c) - 1}")
    after = (below @ c)[chosen]
    each = (alternatives - 1) * (c[chosen] + continuations * after) + (continuations - 1) * after
    return float(each.sum())


def nested_tree_cost(fanouts: ArrayLike) -> TreeCost:
    """Σ_d Π_{j≤d} f_j generations for Π f_j evaluations; [2, 4] takes 10 for 8, against 16 for 8 separate rollouts.

    Cheaper in generation, but the root has f_1 samples only: its credit is as noisy as a group of that size.

    Args:
      fanouts: [D] f ≥ 1, branches at each depth.

    Raises:
      ValueError: a fanout below 1.
    """
    f = ints("fanouts", fanouts)
    if (f < 1).any():
        raise ValueError(f"fanouts[{int(np.argmax(f < 1))}] is {f[f < 1][0]}; it must be at least 1")
    levels = [math.prod(f.tolist()[: d + 1]) for d in range(len(f))]
    return TreeCost(sum(levels), levels[-1] if levels else 1)


def loo_std_error(chance: float, *, group_size: int, continuations: int = 1) -> float:
    """Noise of one leave-one-out advantage when no output is better than another: √(p (1 − p) / M · G / (G − 1)).

    At p = ½: .58 for G = 4 and M = 1, .53 for G = 8, .27 for G = 8 and M = 4.

    Args:
      chance: p, of success.
      group_size: G ≥ 2.
      continuations: M ≥ 1 behind each value.

    Raises:
      ValueError: a number outside its range.
    """
    if not 0 <= chance <= 1:
        raise ValueError(f"chance is {chance}; it must be in [0, 1]")
    if group_size < 2 or continuations < 1:
        raise ValueError(f"group_size is {group_size} and continuations {continuations}; at least 2 and 1 are needed")
    return math.sqrt(chance * (1 - chance) / continuations * group_size / (group_size - 1))


def evaluations_to_resolve(effect: float, *, std: float, level: float = 0.05, power: float = 0.8) -> float:
    """Evaluations, on both sides of a contrast together, to see an effect: 2 ((z_{1−α/2} + z_{power}) s / d)².

    An effect of .2 on a 0/1 outcome at p = ½ takes 98. Round up.

    Args:
      effect: d > 0, the difference of means to be seen.
      std: s ≥ 0, of one outcome.
      level: α in (0, 1), two-sided.
      power: chance to see it, in (0, 1).

    Raises:
      ValueError: a number outside its range.
    """
    if not (0 < effect < math.inf and 0 <= std < math.inf):
        raise ValueError(f"effect is {effect} and std {std}; they must be positive and not negative")
    if not (0 < level < 1 and 0 < power < 1):
        raise ValueError(f"level is {level} and power {power}; both must be in (0, 1)")
    z = NormalDist().inv_cdf
    return 2 * ((z(1 - level / 2) + z(power)) * std / effect) ** 2


def _graph(costs: ArrayLike, descendants: ArrayLike) -> tuple[Floats, Bools]:
    c = floats("costs", costs)
    below = bools("descendants", descendants, like=("costs", len(c)), ndim=2)
    if below.shape[1] != len(c):
        raise ValueError(f"descendants has shape {below.shape}, but costs has length {len(c)}")
    if (c < 0).any():
        raise ValueError(f"costs[{int(np.argmax(c < 0))}] is negative")
    if below.diagonal().any():
        raise ValueError(f"event {int(np.argmax(below.diagonal()))} is its own descendant")
    further = below.astype(np.float64) @ below > 0
    if (further & ~below).any():
        u, e = (int(i) for i in np.argwhere(further & ~below)[0])
        raise ValueError(f"descendants[{u}, {e}] is False, but {e} descends from a descendant of {u}")
    return c, below
