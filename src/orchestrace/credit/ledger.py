"""The ledger: one share for every unit at every level, the parts of a unit summing to the unit.

The Winter value of the nesting (`levels`), over the causally closed game. Exact where the coalitions are few enough to
ask for each once; else estimated from shuffled orders, one set of samples for all levels, so that it adds up all the
same. The residual, what rounding left over, is always shown.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from orchestrace.annotations import Credit, CreditRow, UnitKind
from orchestrace.credit.coalition_games import Game
from orchestrace.credit.levels import LevelShares, Path, Tree, coalitions, sampled_winter, winter
from orchestrace.credit.nesting import Nest, Unit

ShareMethod = Literal["winter", "owen", "shapley"]

EXACT_COALITIONS = 20_000
"""Up to so many distinct coalitions the ledger asks for each once."""
ORDERS = 200
"""Shuffled orders beyond that."""
MOST_WRITTEN = 10**9
"""From so many coalitions on their number is told as a power of 2: it can have thousands of digits."""


def ledger(
    nest: Nest,
    game: Game,
    *,
    unit: UnitKind,
    rng: np.random.Generator,
    method: ShareMethod = "winter",
    exact_up_to: int = EXACT_COALITIONS,
    orders: int = ORDERS,
) -> Credit:
    """The shares of every unit of a nesting.

    Args:
      nest: the units.
      game: what a coalition of its leaves is worth.
      unit: the finest level that was asked for.
      method: winter: every level. owen: only the level above the leaves, as unions (roles of agents, agents of turns).
        shapley: no level at all. Three different values of one game, never to be mixed.
      rng: shuffles the orders; not used where the shares are exact.
      exact_up_to: distinct coalitions up to which every one is asked for.
      orders: shuffled orders beyond that, at least 2.
    """
    nest = _SHAPES[method](nest)
    count = coalitions(nest.tree)
    notes = list(nest.notes)
    if count <= exact_up_to:
        shares = winter(nest.tree, game.value)
    else:
        shares = sampled_winter(nest.tree, game.value, orders=orders, rng=rng, cache=True)
        notes.append(f"estimated from {orders} shuffled orders: {_many(count)} are too many to ask for each")
    return Credit(
        unit=unit,
        method=method,
        kind="share",
        definition=game.definition,
        rows=_rows(nest, shares),
        residual=float(shares.shares[()]) - sum(float(shares.shares[path]) for path in _leaf_paths(nest)),
        model_calls=game.model_calls,
        notes=tuple(notes),
    )


def _many(count: int) -> str:
    return f"{count:,} coalitions" if count < MOST_WRITTEN else f"2^{count.bit_length() - 1} coalitions or more"


def _unions(nest: Nest) -> Nest:
    """Only the units right above the leaves are left of the levels."""
    if isinstance(nest.tree, int):
        return nest
    above: dict[Path, list[int]] = {}
    for path in _leaf_paths(nest):
        above.setdefault(path[:-1], []).append(_at(nest.tree, path))
    units: dict[Path, Unit] = {(): nest.units[()]}
    trees: list[Tree] = []
    for path, leaves in above.items():
        if path:
            units[len(trees),] = nest.units[path]
            units |= {(len(trees), i): nest.leaves[leaf] for i, leaf in enumerate(leaves)}
            trees.append(tuple(leaves))
        else:
            units |= {(len(trees) + i,): nest.leaves[leaf] for i, leaf in enumerate(leaves)}
            trees += leaves
    return nest._replace(tree=tuple(trees), units=units)


def _flat(nest: Nest) -> Nest:
    """No level is left between the team and the leaves."""
    if isinstance(nest.tree, int):
        return nest
    units: dict[Path, Unit] = {(): nest.units[()]}
    units |= {(leaf,): unit for leaf, unit in enumerate(nest.leaves)}
    return nest._replace(tree=tuple(range(len(nest.leaves))), units=units)


def _as_it_is(nest: Nest) -> Nest:
    return nest


_SHAPES: Mapping[ShareMethod, Callable[[Nest], Nest]] = {"winter": _as_it_is, "owen": _unions, "shapley": _flat}


def _at(tree: Tree, path: Path) -> int:
    """The leaf at the end of a path."""
    for place in path:
        if isinstance(tree, tuple):
            tree = tree[place]
    return tree if isinstance(tree, int) else -1


def rows_at(credit: Credit, unit: UnitKind, *, agents: Mapping[str, str] | None = None) -> tuple[CreditRow, ...]:
    """The rows of one level of a ledger. The orchestrator's share is the sum of its agent's decisions.

    Args:
      credit: a ledger.
      unit: the level.
      agents: event id -> who made it. Needed for `orchestrator`: without levels (Owen, Shapley) a ledger does not say
        whose a decision was.

    Raises:
      ValueError: `orchestrator` is asked for, and no agent is known for a decision.
    """
    if unit != "orchestrator":
        return tuple(row for row in credit.rows if row.unit == unit)
    known = agents or {}
    decided: dict[str, list[CreditRow]] = {}
    for row in credit.rows:
        if row.unit == "decision":
            if row.unit_id not in known:
                raise ValueError(f"agents does not say who made the decision {row.unit_id!r}")
            decided.setdefault(known[row.unit_id], []).append(row)
    return tuple(_sum_of(agent, rows) for agent, rows in decided.items())


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


def _rows(nest: Nest, shares: LevelShares[float]) -> tuple[CreditRow, ...]:
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
