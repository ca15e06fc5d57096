"""The few probabilities that voting needs, without scipy."""

import math

import numpy as np

from orchestrace.envs.protocol import Floats


def binomial_pmf(n: int, p: float) -> Floats:
    """[n + 1] chances of 0..n successes in n trials: C(n, j) pʲ (1 − p)ⁿ⁻ʲ. For n up to about 1,000."""
    return np.array([math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(n + 1)])


def majority_accuracy(p: float, most: int) -> Floats:
    """[most + 1] chance that the majority of n = 0..most voters is right; a tie is right half the time.

        acc(2m + 1) = acc(2m + 2) = ½ + ½ (2p − 1) Σᵢ₌₀ᵐ C(2i, i) (p (1 − p))ⁱ,     acc(0) = ½

    Args:
      p: chance that one voter is right; voters are independent.
      most: the largest n.
    """
    i = np.arange(most // 2)
    growth = 2 * (2 * i + 1) / (i + 1) * p * (1 - p)  # of C(2i, i) (p (1 − p))ⁱ from i to i + 1
    terms = np.cumprod(np.concatenate(([1.0], growth)))
    odd = 0.5 + 0.5 * (2 * p - 1) * np.cumsum(terms)
    return np.concatenate(([0.5], np.repeat(odd, 2)))[: most + 1]


def chance_above_half(a: float, b: float) -> float:
    """P(θ > ½) where θ ~ Beta(a, b), a and b positive: the regularised incomplete beta function I½(b, a).

    For whole a and b this is P(Binomial(a + b − 1, ½) <= a − 1).
    """
    if a == b:
        return 0.5
    return _lower_half(b, a) if b > a else 1 - _lower_half(a, b)


def _lower_half(a: float, b: float) -> float:
    """I½(a, b) for a > b, where its continued fraction converges fast (Numerical Recipes, 3rd edition, 6.4).

        I_x(a, b) = xᵃ (1 − x)ᵇ / (a B(a, b)) · 1 / (1 + d₁ / (1 + d₂ / (1 + ...)))
        d₂ₘ = m (b − m) x / ((a + 2m − 1)(a + 2m)),     d₂ₘ₊₁ = −(a + m)(a + b + m) x / ((a + 2m)(a + 2m + 1))

    Evaluated from the front by Lentz's method.
    """
    x, above, below, fraction = 0.5, 1.0, 0.0, 1.0
    for i in range(1, 1_000):
        m = i // 2
        if i % 2:
            d = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            d = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        below = 1 / (1 + d * below)
        above = 1 + d / above
        fraction *= above * below
        if abs(above * below - 1) < 1e-15:
            break
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) - (a + b) * math.log(2) - math.log(a)
    return math.exp(log_front) / fraction
