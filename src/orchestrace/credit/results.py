"""Three kinds of result that must never be mixed: shares, advantages, shaped rewards.

    share       adds up: the shares of a value sum to it             Shapley, Owen, Winter, RUDDER, VDN
    advantage   is relative to a baseline, and does not add up       GRPO, RLOO, C3, COMA, difference rewards, GAE
    shaped      is a reward; it telescopes if potential-based        PBRS, PARL, FoldGRPO

They are three types; a function that turns one into another says so in its name.
"""

from dataclasses import dataclass, field

from orchestrace.credit._arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sampling:
    """What a result cost, and how sure it is."""

    model_calls: int = 0
    """Calls of a model that it took beyond the rollouts themselves: evaluations of v(S), replays, critics asked."""
    n: int | None = None
    """Samples behind each value; None: it is exact in what it was given."""
    std_error: Floats | None = None
    """Shape of the values; None: exact, or not known."""
    definition: str = ""
    """How the value of a coalition, or the baseline, was defined: mask, replay, default policy, critic...; empty: from
    the rewards alone."""


EXACT = Sampling()
"""Nothing was sampled and no model was called."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """A partition of a value among units."""

    values: Floats
    """[n] one for each unit."""
    total: float
    """v(N) − v(∅), which the shares of an efficient method sum to."""
    sampling: Sampling = EXACT

    @property
    def residual(self) -> float:
        """`total` minus the sum of the values; rounding alone for an efficient method."""
        return float(self.total - self.values.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Advantages:
    """How much better each unit did than a baseline."""

    values: Floats
    """[n] one for each row, turn, agent... as the method says."""
    groups: Ints | None = None
    """[n] which group each was compared within; None: no group."""
    degenerate: int = 0
    """Values that are 0 because there was nothing to compare with: groups of one, groups without any spread where
    the method divides by it."""
    sampling: Sampling = EXACT


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ShapedRewards:
    """Rewards after shaping; what was given and what was added stay apart."""

    raw: Floats
    """[n] as they were."""
    added: Floats
    """[n] what shaping adds."""
    telescopes: bool = False
    """True: potential-based, so that the best policy is the same."""
    sampling: Sampling = field(default=EXACT)

    @property
    def values(self) -> Floats:
        """[n] raw + added."""
        return self.raw + self.added
