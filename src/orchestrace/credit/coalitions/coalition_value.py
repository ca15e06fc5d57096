"""Which value, estimated how: names for configurations, resolved to the functions of this folder."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from orchestrace.credit._arrays import Bools, Floats
from orchestrace.credit.coalitions import games, restricted
from orchestrace.credit.coalitions._evaluations import Evaluate
from orchestrace.credit.coalitions.estimators import banzhaf_msr, permutation_shapley, replicated, stratified_shapley
from orchestrace.credit.coalitions.kernel import kernel_shapley
from orchestrace.credit.results import Shares

Structure: TypeAlias = Sequence[tuple[int, int]] | Sequence[Collection[int]] | Mapping[int, Collection[int]]
"""Edges (Myerson), unions (Owen), or ancestors (precedence)."""

_Sampled: TypeAlias = Callable[..., Shares]

_PLAIN: dict[str, Callable[[Floats], Shares]] = {
    "shapley": games.shapley_value,
    "banzhaf": games.banzhaf_value,
    "leave_one_out": games.leave_one_out_value,
}
_STRUCTURED: dict[str, Callable[[Floats, Any], Shares]] = {
    "myerson": restricted.myerson_value,
    "owen": games.owen_value,
    "precedence": restricted.precedence_value,
}
_SAID = {"myerson": "edges", "owen": "unions", "precedence": "ancestors"}
_NEEDED: dict[str, Callable[[int, Any], Bools]] = {
    "leave_one_out": lambda n, _: games.sets_without_one(n),
    "myerson": restricted.connected_sets,
    "owen": games.union_sets,
    "precedence": restricted.down_sets,
}
_SAMPLED: dict[str, tuple[str, _Sampled]] = {
    "permutation": ("shapley", permutation_shapley),
    "antithetic": ("shapley", partial(permutation_shapley, antithetic=True)),
    "stratified": ("shapley", stratified_shapley),
    "kernel": ("shapley", kernel_shapley),
    "noisy_kernel": ("shapley", partial(kernel_shapley, noisy=True)),
    "msr": ("banzhaf", banzhaf_msr),
}

VALUE_KINDS = (*_PLAIN, *_STRUCTURED)
"""Values by name."""

VALUE_ESTIMATORS = ("exact", "replicated", *_SAMPLED)
"""Estimators by name. `exact` asks once for each coalition that the value needs, `replicated` as often as the budget
allows; both serve every kind. `msr` estimates Banzhaf values, the others Shapley values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CoalitionValue:
    """A kind of value with an estimator: `CoalitionValue(kind="owen", structure=[[0], [1, 2]])(evaluate, n)`.

    Raises:
      ValueError: a name that is no kind or estimator, an estimator of another kind, or a structure where there must be
        none, or none where there must be one.
    """

    kind: str = "shapley"
    """One of VALUE_KINDS."""
    estimator: str = "exact"
    """One of VALUE_ESTIMATORS."""
    structure: Structure | None = None
    """Edges (myerson), unions (owen) or ancestors (precedence); None: the other kinds, which have none."""
    definition: str = ""
    """How v is defined (mask, replay, default policy, critic...), for the result's `sampling`."""

    def __post_init__(self) -> None:
        for name, known in (("kind", VALUE_KINDS), ("estimator", VALUE_ESTIMATORS)):
            if getattr(self, name) not in known:
                raise ValueError(f"no such {name} {getattr(self, name)!r}; there are {', '.join(known)}")
        if self.estimator in _SAMPLED and _SAMPLED[self.estimator][0] != self.kind:
            fit = [name for name, (kind, _) in _SAMPLED.items() if kind == self.kind]
            estimated = _SAMPLED[self.estimator][0]
            others = ", ".join(["exact", "replicated", *fit])
            raise ValueError(f"{self.estimator} estimates {estimated} values, not {self.kind}; for those: {others}")
        if self.structure is None and self.kind in _STRUCTURED:
            raise ValueError(f"{self.kind} needs a structure: {_SAID[self.kind]}")
        if self.structure is not None and self.kind not in _STRUCTURED:
            raise ValueError(f"{self.kind} has no structure; only {', '.join(_SAID)} have one")

    def __call__(
        self,
        evaluate: Evaluate,
        n: int,
        *,
        budget: int | None = None,
        rng: np.random.Generator | None = None,
        ends: tuple[float, float] | None = None,
    ) -> Shares:
        """The value of each of n players.

        Args:
          evaluate: v of many coalitions at once: [k, n] True where a player takes part → [k].
          n: players.
          budget: evaluations; needed by all estimators but `exact`.
          rng: needed by those that draw coalitions.
          ends: (v(∅), v(N)); None: they are asked for. `msr` has no use for them.

        Raises:
          ValueError: no budget or generator where one is needed, or as the estimator.
        """
        if self.estimator != "exact" and budget is None:
            raise ValueError(f"{self.estimator} needs a budget of evaluations")
        if self.estimator in ("exact", "replicated"):
            times = None if self.estimator == "exact" else budget
            needed = self._needed(n)
            return replicated(
                evaluate, n, value=self._value, budget=times, needed=needed, ends=ends, definition=self.definition
            )
        if rng is None:
            raise ValueError(f"{self.estimator} draws coalitions: it needs a generator, rng")
        known = {} if self.estimator == "msr" else {"ends": ends}
        _, estimate = _SAMPLED[self.estimator]
        return estimate(evaluate, n, budget=budget, rng=rng, definition=self.definition, **known)

    def _value(self, values: Floats) -> Shares:
        if self.kind in _PLAIN:
            return _PLAIN[self.kind](values)
        return _STRUCTURED[self.kind](values, self.structure)

    def _needed(self, n: int) -> Bools | None:
        return _NEEDED[self.kind](n, self.structure) if self.kind in _NEEDED else None
