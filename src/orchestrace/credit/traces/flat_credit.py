"""Values of a flat game on a trace, without levels: Banzhaf, leave-one-out, Myerson, precedence-constrained."""

from collections.abc import Mapping
from typing import Literal

from orchestrace.annotations import Credit, CreditRow, LedgerKind, UnitKind
from orchestrace.credit.coalitions.games import (
    banzhaf_value,
    leave_one_out_value,
    sets_without_one,
    value_vector,
)
from orchestrace.credit.coalitions.restricted import connected_sets, down_sets, myerson_value, precedence_value
from orchestrace.credit.results import Shares
from orchestrace.credit.traces.coalition_games import Game
from orchestrace.credit.traces.nesting import Nest
from orchestrace.errors import InputError
from orchestrace.trace import Delegate, Message, Return, Spawn, Trace
from orchestrace.trace.graph import Graph

FlatMethod = Literal["banzhaf", "loo", "myerson", "precedence"]
MOST_UNITS = 14
"""Beyond so many units 2^n coalitions are too many to ask for."""


def flat_credit(trace: Trace, nest: Nest, *, game: Game, method: FlatMethod, unit: UnitKind) -> Credit:
    """The value of each leaf of a nesting, whatever the levels above it.

    Args:
      trace: gives who spoke with whom, and what precedes what.
      nest: its leaves are the players.
      game: what a coalition of them is worth.
      method: myerson takes agents alone.
      unit: asked for.

    Raises:
      InputError: too many players, another unit than agents for myerson, or players that precede each other in a ring.
    """
    n = len(nest.leaves)
    if n > MOST_UNITS:
        raise InputError(
            f"{method} asks for up to 2^{n} coalitions of {n} units",
            remedy="ask for winter, owen or shapley, which are estimated where there are so many",
        )
    shares = _values(trace, nest, game=game, method=method, unit=unit)
    # leave-one-out is relative to the team without the unit: it divides nothing
    adds_up = method != "loo"
    parent, above = _above(trace, adds_up)
    rows = tuple(
        CreditRow(leaf.id, float(value), unit=leaf.kind, parent=parent, parent_unit=above)
        for leaf, value in zip(nest.leaves, shares.values, strict=True)
    )
    top = (CreditRow(trace.trace_id, shares.total, unit="team"),) if adds_up and unit != "team" else ()
    notes = (*nest.notes, "Banzhaf values do not add up to the team's") if method == "banzhaf" else nest.notes
    return Credit(
        unit=unit,
        method=method,
        kind="share" if adds_up else "advantage",
        definition=game.definition,
        rows=(*top, *rows),
        residual=shares.residual if adds_up else None,
        model_calls=game.model_calls,
        notes=notes,
        trace_id=trace.trace_id,
    )


def _above(trace: Trace, adds_up: bool) -> tuple[str | None, LedgerKind | None]:
    return (trace.trace_id, "team") if adds_up else (None, None)


def _values(trace: Trace, nest: Nest, *, game: Game, method: FlatMethod, unit: UnitKind) -> Shares:
    n = len(nest.leaves)
    if method == "banzhaf":
        return banzhaf_value(value_vector(n, game.value))
    if method == "loo":
        return leave_one_out_value(value_vector(n, game.value, needed=sets_without_one(n)))
    if method == "myerson":
        if unit != "agent":
            raise InputError(f"myerson credits agents, by who spoke with whom; it cannot credit a {unit}")
        edges = _spoke(trace, {leaf.id: place for place, leaf in enumerate(nest.leaves)})
        return myerson_value(value_vector(n, game.value, needed=connected_sets(n, edges)), edges)
    ancestors = _precedence(trace, nest)
    try:
        allowed = down_sets(n, ancestors)
    except ValueError as fault:
        raise InputError(
            f"some {unit}s precede each other in a ring, so that no order of them is possible ({fault})",
            remedy="ask for a finer unit, or for winter",
        ) from None
    return precedence_value(value_vector(n, game.value, needed=allowed), ancestors)


def _spoke(trace: Trace, place: Mapping[str, int]) -> list[tuple[int, int]]:
    """Pairs of agents of which one gave the other a task, a message that may have arrived, or an answer."""
    pairs = {
        (place[event.agent], place[event.to])
        for event in trace.events
        if isinstance(event, Spawn | Delegate | Message | Return)
        if not (isinstance(event, Message) and event.delivered is False)
        if event.agent in place and event.to in place and event.agent != event.to
    }
    return sorted(pairs)


def _precedence(trace: Trace, nest: Nest) -> dict[int, set[int]]:
    """Leaf -> the leaves that something of it came after."""
    graph = Graph.of(trace)
    needs: dict[int, set[int]] = {leaf: set() for leaf in range(len(nest.leaves))}
    for place, name in enumerate(graph.ids):
        for leaf in nest.holders.get(name, ()):
            for cause in graph.predecessors.of(place).tolist():
                needs[leaf] |= nest.holders.get(graph.ids[cause], frozenset()) - {leaf}
    return needs
