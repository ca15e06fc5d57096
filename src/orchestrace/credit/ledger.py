"""The ledger: one share for every unit at every level, the parts of a unit summing to the unit.

The Winter value of the nesting (`levels`), over the causally closed game. Exact where the coalitions are few enough to
ask for each once; else estimated from shuffled orders, one set of samples for all levels, so that it adds up all the
same. The residual, what rounding left over, is always shown.
"""

from collections.abc import Sequence

import numpy as np

from orchestrace.annotations import Credit, CreditRow, UnitKind
from orchestrace.credit.coalition_games import Game
from orchestrace.credit.levels import LevelShares, Path, coalitions, sampled_winter, winter
from orchestrace.credit.nesting import Nest

EXACT_COALITIONS = 20_000
"""Up to so many distinct coalitions the ledger asks for each once."""
ORDERS = 200
"""Shuffled orders beyond that."""


def ledger(
    nest: Nest,
    game: Game,
    *,
    unit: UnitKind,
    rng: np.random.Generator,
    exact_up_to: int = EXACT_COALITIONS,
    orders: int = ORDERS,
    free: bool = True,
) -> Credit:
    """The shares of every unit of a nesting.

    Args:
      nest: the units.
      game: what a coalition of its leaves is worth.
      unit: the finest level that was asked for.
      rng: shuffles the orders; not used where the shares are exact.
      exact_up_to: distinct coalitions up to which every one is asked for.
      orders: shuffled orders beyond that, at least 2.
      free: whether the game answers without calling a model.
    """
    count = coalitions(nest.tree)
    notes = list(nest.notes)
    if count <= exact_up_to:
        shares = winter(nest.tree, game.value)
    else:
        shares = sampled_winter(nest.tree, game.value, orders=orders, rng=rng, cache=True)
        notes.append(f"estimated from {orders} shuffled orders: {count:,} coalitions are too many to ask for each")
    return Credit(
        unit=unit,
        method="winter",
        kind="share",
        definition=game.definition,
        rows=_rows(nest, shares),
        residual=float(shares.shares[()]) - sum(float(shares.shares[path]) for path in _leaf_paths(nest)),
        model_calls=0 if free else shares.model_calls,
        notes=tuple(notes),
    )


def rows_at(credit: Credit, unit: UnitKind) -> tuple[CreditRow, ...]:
    """The rows of one level of a ledger. The orchestrator's share is the sum of its agent's decisions."""
    if unit != "orchestrator":
        return tuple(row for row in credit.rows if row.unit == unit)
    above = {row.unit_id: row for row in credit.rows if row.unit in ("agent", "turn")}
    decided: dict[str, list[CreditRow]] = {}
    for row in credit.rows:
        if row.unit == "decision":
            decided.setdefault(_agent_of(row, above), []).append(row)
    return tuple(_sum_of(agent, rows) for agent, rows in decided.items())


def _agent_of(row: CreditRow, above: dict[str, CreditRow]) -> str:
    parent = above[row.parent or ""]
    return parent.unit_id if parent.unit == "agent" else parent.parent or ""


def _sum_of(agent: str, rows: Sequence[CreditRow]) -> CreditRow:
    """Where the shares are estimates, a sum's error is not known from theirs: they come from the same orders."""
    exact = all(row.std_error is None for row in rows)
    return CreditRow(
        f"orchestrator:{agent}",
        sum(row.value for row in rows),
        n=None if exact else rows[0].n,
        unit="orchestrator",
        parent=agent,
    )


def _rows(nest: Nest, shares: LevelShares) -> tuple[CreditRow, ...]:
    errors = shares.std_errors or {}
    return tuple(
        CreditRow(
            unit.id,
            float(shares.shares[path]),
            std_error=float(errors[path]) if path in errors else None,
            n=shares.n,
            unit=unit.kind,
            parent=nest.units[path[:-1]].id if path else None,
        )
        for path, unit in nest.units.items()
    )


def _leaf_paths(nest: Nest) -> list[Path]:
    inner = {path[:-1] for path in nest.units if path}
    return [path for path in nest.units if path not in inner]
