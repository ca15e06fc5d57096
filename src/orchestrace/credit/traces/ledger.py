"""The ledger: one share for every unit at every level, the parts of a unit summing to the unit.

The Winter value of the nesting (`levels`), over the causally closed game. Exact where the coalitions are few enough to
ask for each once; else estimated from shuffled orders, one set of samples for all levels, so that it adds up all the
same. The residual, what rounding left over, is always shown.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np

from orchestrace.annotations import Credit, CreditRow, UnitKind
from orchestrace.credit.coalitions.levels import LevelShares, Path, Tree, coalitions, sampled_winter, winter
from orchestrace.credit.traces.coalition_games import Game
from orchestrace.credit.traces.nesting import Nest, Unit

ShareMethod = Literal["winter", "owen", "shapley"]

EXACT_COALITIONS = 20_000
"""Up to so many distinct coalitions the ledger asks for each once."""
MOST_VISITS = 10**8
"""Events looked at, over all coalitions of all orders: some seconds."""
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
      rng: shuffles; not used where the shares are exact.
      exact_up_to: distinct coalitions up to which each is asked for.
      orders: shuffled orders beyond that.
    """
    agents = _agents(nest)
    nest = _SHAPES[method](nest)
    shares, note = _shares(nest.tree, game, rng=rng, exact_up_to=exact_up_to, orders=orders)
    return Credit(
        unit=unit,
        method=method,
        kind="share",
        definition=game.definition,
        rows=_rows(nest, shares, agents),
        residual=float(shares.shares[()]) - sum(float(shares.shares[path]) for path in _leaf_paths(nest)),
        model_calls=game.model_calls,
        notes=(*nest.notes, *note),
        trace_id=nest.units[()].id,
    )


def affordable_orders(leaves: int, events: int) -> int:
    """Shuffled orders that take about half a minute at most, between 2 and `ORDERS`.

    Args:
      leaves: of the nesting; each order asks for as many coalitions.
      events: of the trace; each coalition looks at all of them.
    """
    return max(2, min(ORDERS, MOST_VISITS // max(leaves * events, 1)))


def _shares(
    tree: Tree, game: Game, *, rng: np.random.Generator, exact_up_to: int, orders: int
) -> tuple[LevelShares[float], tuple[str, ...]]:
    """The shares, and how they were estimated, if they were."""
    count = coalitions(tree)
    if count <= exact_up_to:
        return winter(tree, game.value), ()
    note = f"estimated from {orders} shuffled orders: {_many(count)} are too many to ask for each"
    return sampled_winter(tree, game.value, orders=orders, rng=rng, cache=True), (note,)


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


def rows_at(credit: Credit, unit: UnitKind) -> tuple[CreditRow, ...]:
    """The rows of one level of a ledger. The orchestrator's share is the sum of its agent's decisions."""
    if unit != "orchestrator":
        return tuple(row for row in credit.rows if row.unit == unit)
    decided: dict[str, list[CreditRow]] = {}
    for row in credit.rows:
        if row.unit == "decision" and row.agent is not None:
            decided.setdefault(row.agent, []).append(row)
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
        parent_unit="agent",
        agent=agent,
    )


def _agents(nest: Nest) -> dict[Unit, str]:
    """The agent that each unit is, or is part of."""
    found: dict[Unit, str] = {}
    for path, unit in nest.units.items():
        above = [nest.units[path[:depth]] for depth in range(len(path) + 1)]
        found.update((unit, one.id) for one in above if one.kind == "agent")
    return found


def _rows(nest: Nest, shares: LevelShares[float], agents: Mapping[Unit, str]) -> tuple[CreditRow, ...]:
    errors = shares.std_errors or {}
    return tuple(
        CreditRow(
            unit.id,
            float(shares.shares[path]),
            std_error=float(errors[path]) if path in errors else None,
            n=shares.n,
            unit=unit.kind,
            parent=nest.units[path[:-1]].id if path else None,
            parent_unit=nest.units[path[:-1]].kind if path else None,
            agent=agents.get(unit),
        )
        for path, unit in nest.units.items()
    )


def _leaf_paths(nest: Nest) -> list[Path]:
    inner = {path[:-1] for path in nest.units if path}
    return [path for path in nest.units if path not in inner]
