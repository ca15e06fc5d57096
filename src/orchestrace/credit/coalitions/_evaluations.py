"""Asking for the values of many coalitions at once, within a budget."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Bools, Floats
from orchestrace.credit.results import Sampling, Shares

Evaluate: TypeAlias = Callable[[Bools], ArrayLike]
"""v of many coalitions: [k, n] True where player i takes part → [k] values. It may be noisy."""


class Evaluations:
    """An `Evaluate` that is checked and counted."""

    def __init__(self, evaluate: Evaluate, n: int) -> None:
        self.spent = 0
        """Coalitions asked for."""
        self.n = n
        self._evaluate = evaluate

    def __call__(self, coalitions: Bools) -> Floats:
        if not len(coalitions):
            return np.zeros(0)
        found = np.asarray(self._evaluate(coalitions), dtype=np.float64)
        if found.shape != (len(coalitions),):
            raise ValueError(
                f"evaluate returned shape {found.shape} for {len(coalitions)} coalitions; it must be one each"
            )
        for row in np.flatnonzero(~np.isfinite(found))[:1].tolist():
            raise ValueError(f"v({np.flatnonzero(coalitions[row]).tolist()}) is {found[row]}; it must be finite")
        self.spent += len(coalitions)
        return found


@dataclass(frozen=True, slots=True)
class Ends:
    """v(∅) and v(N)."""

    empty: float
    full: float

    @property
    def total(self) -> float:
        """v(N) − v(∅)."""
        return self.full - self.empty


def ends_of(ask: Evaluations, ends: tuple[float, float] | None) -> Ends:
    """The end points as given, or asked for once each."""
    if ends is None:
        empty, full = ask(np.repeat([[False], [True]], ask.n, axis=1)).tolist() if ask.n else (0.0, 0.0)
    else:
        empty, full = map(float, ends)
        if not np.isfinite([empty, full]).all():
            raise ValueError(f"ends is ({empty}, {full}); v(∅) and v(N) must be finite")
    return Ends(empty, full)


def affordable(what: str, price: int, ask: Evaluations, *, budget: int) -> int:
    """How many times `price` evaluations the rest of the budget pays for.

    Raises:
      ValueError: not once.
    """
    left = budget - ask.spent
    if left < price:
        before = f" after {ask.spent} for v(∅) and v(N)" if ask.spent else ""
        raise ValueError(f"budget is {budget}{before}; {what} of {ask.n} players takes {price} evaluations")
    return left // price


def sampled_shares(samples: Floats, ends: Ends, ask: Evaluations, *, n: int, definition: str) -> Shares:
    """Means over independent samples [m, players], with their standard errors where there are two or more."""
    error = samples.std(axis=0, ddof=1) / np.sqrt(len(samples)) if len(samples) > 1 else None
    sampling = Sampling(model_calls=ask.spent, n=n, std_error=error, definition=definition)
    return Shares(values=samples.mean(axis=0), total=ends.total, sampling=sampling)


def shares_of_few(ask: Evaluations, ends: Ends, definition: str) -> Shares:
    """Nobody shares nothing, and one player has all."""
    sampling = Sampling(model_calls=ask.spent, definition=definition)
    return Shares(values=np.full(ask.n, ends.total), total=ends.total if ask.n else 0.0, sampling=sampling)
