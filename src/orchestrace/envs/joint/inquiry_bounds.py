"""Inquiries whose skills are not multiples of a unit: the optimum between two that are exactly solved.

A more skilled agent is more informative, for its sign and for the detail bought after it: from what it reports one can
draw what a less skilled one would have reported, first the sign, then the detail (`garbling`). So rounding every weight
down gives an optimum that is not above the true one, and rounding up one that is not below. With weights in multiples
of 1/k of the unit the two come together as k grows. Source: the worked model; the proof is the garbling, which is
checked in the tests for any two skills.
"""

import math
from typing import NamedTuple

from orchestrace.envs.dynamic_programming import optimum
from orchestrace.envs.joint.inquiry_physics import Context
from orchestrace.envs.joint.inquiry_process import built


class Bracket(NamedTuple):
    """Two values between which the optimum lies."""

    low: float
    high: float


def bracket(context: Context, weights: tuple[float, float, float], *, parts: int) -> Bracket:
    """The optimum of one context whose weights are any positive numbers, from both sides.

    Args:
      context: everything but the weights.
      weights: strong, weak, own, in units.
      parts: k; weights are rounded to multiples of 1/k. The work grows with k².

    Raises:
      ValueError: a weight is not above 0, or k too small for the smallest one.
    """
    scaled = [weight * parts for weight in weights]
    down = [math.floor(weight + 1e-9) for weight in scaled]
    if min(down) < 1:
        raise ValueError(
            f"parts is {parts}, too few for a weight of {min(weights)}: it would be rounded down to nothing"
        )
    up = [math.ceil(weight - 1e-9) for weight in scaled]
    unit = context.unit / parts
    low, high = (
        _value(context._replace(unit=unit, weights=(rounded[0], rounded[1], rounded[2]))) for rounded in (down, up)
    )
    return Bracket(low, high)


class Garbling(NamedTuple):
    """How to draw a less skilled agent's report from a more skilled one's."""

    flip: float
    """Chance that the sign is turned."""
    informed: float
    """Chance of saying `informed` where the better agent was informed and the sign was not turned."""
    turned: float
    """The same where it was turned."""
    uninformed: float
    """The same where the better agent was not informed."""


def garbling(better: float, worse: float) -> Garbling:
    """The garbling that turns an agent of accuracy (1 + better) / 2 into one of accuracy (1 + worse) / 2.

    Args:
      better: 2 · chance that the sign is right − 1; in (0, 1).
      worse: the same of the less skilled agent; in (0, better].
    """
    ratio = worse / better
    flip = (1 - ratio) / 2
    q, q_worse = (1 + better**2) / 2, (1 + worse**2) / 2
    turned = max(0.0, (q_worse - q * ratio - (1 - q)) / (q * (1 - ratio))) if ratio < 1 else 0.0
    uninformed = (q_worse - q * (ratio + (1 - ratio) * turned)) / (1 - q)
    return Garbling(flip, (ratio + flip * turned) / (1 - flip), turned, uninformed)


def _value(context: Context) -> float:
    made = built([context])
    return float(made.starts @ optimum(made.process).values)
