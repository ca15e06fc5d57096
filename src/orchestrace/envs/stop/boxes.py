"""Weitzman's boxes: what a box holds, what it is worth to open it, and the exact values of opening several.

A box costs c and holds a value v of known distribution. Its reservation value σ is the sure value for which opening
the box is just worth its price (Weitzman 1979):

    E[(v − σ)⁺] = c
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrace.envs.protocol import Floats


class Box(NamedTuple):
    """One box. Values are distinct and increase; chances are positive and sum to 1."""

    values: Floats
    """[M]"""
    chances: Floats
    """[M]"""
    cost: float
    """Price of opening it, positive."""

    @property
    def mean(self) -> float:
        """E[v]"""
        return float(self.chances @ self.values)


def drawn_boxes(count: int, values: int, *, rng: np.random.Generator) -> tuple[Box, ...]:
    """Random boxes with values in [0, 1]: some safe, some long shots. Ours.

    The highest value has chance p, log-uniform in [r, 0.9], where the instance's own r ~ U(0.1, 0.6) says how risky its
    boxes can be. It is min(1, m / p) with m ~ U(0.2, 0.4), so that long shots pay more when they pay. The others are
    uniform below half of it and share 1 − p uniformly over the simplex. c ~ U(0.03, 0.12).

    Args:
      count: boxes.
      values: values a box may hold, M, at least 2.
      rng: the die.
    """
    riskiest = rng.uniform(0.1, 0.6)
    boxes = []
    for _ in range(count):
        p = math.exp(rng.uniform(math.log(riskiest), math.log(0.9)))
        top = min(1.0, rng.uniform(0.2, 0.4) / p)
        held = np.append(np.sort(rng.uniform(0.0, 0.5 * top, values - 1)), top)
        chances = np.append((1 - p) * rng.dirichlet(np.ones(values - 1)), p)
        boxes.append(Box(held, chances, float(rng.uniform(0.03, 0.12))))
    return tuple(boxes)


def gain(box: Box, best: Floats) -> Floats:
    """E[(v − best)⁺] − c: what it pays to open this box and stop, when `best` (any shape) is at hand."""
    above = np.maximum(box.values - np.asarray(best)[..., None], 0.0)
    paid: Floats = above @ box.chances - box.cost
    return paid


def reservation_value(box: Box) -> float:
    """σ of a box, exactly.

    E[(v − σ)⁺] is the largest, over k, of the sum over the k highest values of p (v − σ), each line falling in σ. So
    σ is the largest of their roots:

        σ = maxₖ (Σ p v − c) / Σ p,     sums over the k highest values
    """
    weights = np.cumsum(box.chances[::-1])
    return float(np.max((np.cumsum((box.chances * box.values)[::-1]) - box.cost) / weights))


def weitzman_value(boxes: Sequence[Box]) -> float:
    """V* = E[max(0, maxᵢ min(vᵢ, σᵢ))]: the value of the best policy, by Weitzman's formula."""
    capped = [np.minimum(box.values, reservation_value(box)) for box in boxes]
    return _mean_of_largest(capped, [box.chances for box in boxes])


def best_fixed_set(boxes: Sequence[Box]) -> float:
    """The largest E[max(0, max of vᵢ over a set)] − Σ cᵢ over all sets of boxes chosen before the first is opened."""
    found = 0.0
    for mask in range(1, 1 << len(boxes)):
        chosen = [box for i, box in enumerate(boxes) if mask >> i & 1]
        held = _mean_of_largest([box.values for box in chosen], [box.chances for box in chosen])
        found = max(found, held - sum(box.cost for box in chosen))
    return found


def _mean_of_largest(values: Sequence[Floats], chances: Sequence[Floats]) -> float:
    """E[max(0, X₁, X₂, ...)] of independent X: the sum of x (F(x) − F(x⁻)) with F the product of their cdfs."""
    points = np.unique(np.concatenate([np.zeros(1), *values]))
    points = points[points >= 0]
    cdf = np.ones(len(points))
    for held, p in zip(values, chances, strict=True):
        cdf *= (held <= points[:, None]) @ p
    return float(points @ np.diff(cdf, prepend=0.0))


def uniform_index(cost: float) -> float:
    """σ of U[0, 1]: 1 − √(2c) where c <= ½; above, the value never pays and σ = ½ − c."""
    return 1 - math.sqrt(2 * cost) if cost <= 0.5 else 0.5 - cost


def exponential_index(cost: float, *, rate: float) -> float:
    """σ of Exp(λ): −ln(λ c) / λ where λ c <= 1, else 1 / λ − c."""
    return -math.log(rate * cost) / rate if rate * cost <= 1 else 1 / rate - cost


def bernoulli_index(cost: float, *, chance: float, value: float) -> float:
    """σ of a box that holds `value` with chance p and else 0: value − c / p where c <= p value, else p value − c."""
    return value - cost / chance if cost <= chance * value else chance * value - cost


def normal_index(cost: float, *, mean: float, std: float) -> float:
    """σ of N(mean, std²): mean + std z with std (φ(z) − z (1 − Φ(z))) = c, by bisection to the last bit.

    The left side falls in z; it is above −std z for z < 0 and below std φ(z) for z > 0, which bounds the root.
    """
    target = cost / std
    low, high = -target - 1.0, max(1.0, math.sqrt(2 * max(0.0, -math.log(target)))) + 1.0
    while low < (middle := 0.5 * (low + high)) < high:
        density = math.exp(-0.5 * middle * middle) / math.sqrt(2 * math.pi)
        above = 0.5 * math.erfc(middle / math.sqrt(2))
        low, high = (middle, high) if density - middle * above > target else (low, middle)
    return mean + std * low
