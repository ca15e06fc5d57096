import numpy as np
import pytest

from credit.teams import research, vote
from orchestrace.credit import closed_game, flat_credit, ledger, masked_vote, nesting, said
from orchestrace.errors import InputError
from orchestrace.trace.graph import Graph


def game_of(trace, unit):
    nest = nesting(trace, unit)
    value = masked_vote(trace, said(trace, {}), right="A", nobody=0.5)
    return nest, closed_game(trace, nest, value=value, definition="mask", causes="making")


def test_leave_one_out_is_what_the_team_loses():
    trace = vote("A", "A", "B")
    nest, game = game_of(trace, "agent")
    found = flat_credit(trace, nest, game=game, method="loo", unit="agent")
    everybody = frozenset(range(4))
    assert [row.value for row in found.rows] == [game.value(everybody) - game.value(everybody - {i}) for i in range(4)]
    assert found.kind == "advantage"
    assert found.residual is None


def test_without_a_hub_voters_cannot_be_heard():
    """Voters speak with the lead alone: Myerson's game is the game itself here, since v without the lead is v(∅)."""
    trace = vote("A", "A", "B")
    nest, game = game_of(trace, "agent")
    hub = flat_credit(trace, nest, game=game, method="myerson", unit="agent")
    shapley = ledger(nest, game, unit="agent", rng=np.random.default_rng(0), method="shapley")
    assert {r.unit_id: r.value for r in hub.rows} == pytest.approx({r.unit_id: r.value for r in shapley.rows})
    assert abs(hub.residual) < 1e-12
    with pytest.raises(InputError, match="cannot credit a turn"):
        flat_credit(trace, game_of(trace, "turn")[0], game=game, method="myerson", unit="turn")


def test_precedence_credits_what_an_event_added():
    """A chain of causes gets the differences of v along it (RUDDER with an exact g)."""
    trace = research()
    nest = nesting(trace, "turn")
    graph = Graph.of(trace)
    game = closed_game(trace, nest, value=lambda c: float(len(c.whole)), definition="events")
    found = flat_credit(trace, nest, game=game, method="precedence", unit="turn")
    own = {leaf.id: sum(place in held for held in nest.holders.values()) for place, leaf in enumerate(nest.leaves)}
    assert {row.unit_id: row.value for row in found.rows[1:]} == pytest.approx(own)
    assert len(graph) == sum(own.values())
    with pytest.raises(InputError, match="in a ring"):
        flat_credit(trace, nesting(trace, "agent"), game=game, method="precedence", unit="agent")


def test_banzhaf_says_what_is_left_over():
    trace = vote("A", "A", "B")
    nest, game = game_of(trace, "agent")
    found = flat_credit(trace, nest, game=game, method="banzhaf", unit="agent")
    top, *rows = found.rows
    assert found.residual == pytest.approx(top.value - sum(row.value for row in rows))
    assert "Banzhaf values do not add up to the team's" in found.notes


def test_too_many_units_are_refused():
    trace = vote(*"A" * 20)
    nest, game = game_of(trace, "agent")
    with pytest.raises(InputError, match="of 21 units; ask for winter"):
        flat_credit(trace, nest, game=game, method="banzhaf", unit="agent")
