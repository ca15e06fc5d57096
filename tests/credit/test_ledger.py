import math
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.teams import research, vote
from orchestrace.annotations import CoalitionValue, CoalitionValues
from orchestrace.credit import closed_game, ledger, masked_vote, nesting, rows_at, said, table_game
from orchestrace.credit.traces.coalition_games import Coalition, Game
from orchestrace.errors import InputError
from orchestrace.testing.strategies import traces
from orchestrace.trace import Agent, Aggregate, Builder, Spawn, Stop, ToolResult, Turn
from orchestrace.trace.graph import Graph

UNITS = ("team", "role", "agent", "turn", "message", "tool_call", "orchestrator", "token")
RNG = np.random.default_rng(0)


def shares(credit):
    return {(row.unit, row.unit_id): row.value for row in credit.rows}


def assert_adds_up(credit):
    parts = {}
    for row in credit.rows:
        if row.parent is not None:
            parts.setdefault(row.parent, []).append(row.value)
    # ids are unique enough here: a role and an agent of one name would share a parent id
    inner = [row for row in credit.rows if row.unit_id in parts]
    for row in inner:
        assert math.isclose(sum(parts[row.unit_id]), row.value, abs_tol=1e-9), row
    assert abs(credit.residual) < 1e-9


def test_nesting_names_every_level():
    nest = nesting(research(), "message")
    kinds = {}
    for unit in nest.units.values():
        kinds.setdefault(unit.kind, []).append(unit.id)
    assert kinds["team"] == ["research"]
    assert kinds["role"] == ["lead", "worker"]
    assert kinds["agent"] == ["lead", "ann", "bob"]
    assert kinds["turn"] == ["lead.0", "lead.3", "ann.0", "ann.4", "bob.0"]
    assert kinds["tool_call"] == ["ann.1"]
    assert kinds["message"] == ["ann.3", "ann.5", "bob.1"]
    assert kinds["decision"] == ["lead.1", "lead.2", "lead.4", "lead.5"]
    assert kinds["remainder"] == ["lead.0:rest", "lead.3:rest", "ann.0:rest", "ann.4:rest", "bob.0:rest"]
    assert nest.notes == ()


def test_tokens_lie_under_what_they_spell():
    nest = nesting(research(), "token")
    under = {}
    for path, unit in nest.units.items():
        if unit.kind == "token":
            under.setdefault(nest.units[path[:-1]].id, []).append(unit.id)
    assert under["ann.1"] == ["ann.0:0", "ann.0:1"]
    assert under["ann.3"] == ["ann.0:2", "ann.0:3", "ann.0:4"]
    assert under["ann.0:rest"] == ["ann.0:5"]
    assert any("tokens are not known" in note for note in nest.notes)


def test_levels_without_data_are_passed_through():
    nest = nesting(vote("A", "A", roles=False), "turn")
    assert "role" not in {unit.kind for unit in nest.units.values()}
    assert any("without a role" in note for note in nest.notes)


@pytest.mark.parametrize("unit", UNITS)
def test_masked_vote_adds_up_at_every_level(unit):
    trace = vote("A", "B", "A")
    nest = nesting(trace, unit)
    value = masked_vote(trace, said(trace, {}), right="A", nobody=0.5)
    credit = ledger(nest, closed_game(trace, nest, value=value, definition="mask", causes="making"), unit=unit, rng=RNG)
    assert_adds_up(credit)
    assert math.isclose(credit.rows[0].value, 0.5)  # v(N) − v(∅) = 1 − 1/2
    assert credit.model_calls == 0


def test_masked_vote_by_hand():
    """Two voters for A, one for B; a guess is worth 1/2. Without the lead nobody is heard: v = 1/2.

    With the lead: v{} = 1/2; A: 1; B: 0; A+A: 1; A+B: 1/2; A+A+B: 1.
    """
    trace = vote("A", "A", "B", roles=False)
    nest = nesting(trace, "agent")
    value = masked_vote(trace, said(trace, {}), right="A", nobody=0.5)
    game = closed_game(trace, nest, value=value, definition="mask", causes="making")
    lead, a1, a2, b = range(4)
    for members, worth in [
        ((), 0.5), ((a1, a2), 0.5), ((lead,), 0.5), ((lead, a1), 1.0), ((lead, b), 0.0),
        ((lead, a1, b), 0.5), ((lead, a1, a2), 1.0), ((lead, a1, a2, b), 1.0),
    ]:  # fmt: skip
        assert game.value(frozenset(members)) == worth
    found = shares(ledger(nest, game, unit="agent", rng=RNG))
    by_hand = _shapley(4, game.value)
    assert found["agent", "lead"] == pytest.approx(by_hand[lead])
    assert found["agent", "v0"] == pytest.approx(found["agent", "v1"])
    assert found["agent", "v2"] < 0 < found["agent", "v0"]


def _shapley(n, value):
    players = range(n)
    found = []
    for i in players:
        rest = [j for j in players if j != i]
        total = 0.0
        for members in chain.from_iterable(combinations(rest, k) for k in range(n)):
            weight = math.factorial(len(members)) * math.factorial(n - len(members) - 1) / math.factorial(n)
            total += weight * (value(frozenset((*members, i))) - value(frozenset(members)))
        found.append(total)
    return found


def test_a_useless_voter_earns_nothing_and_the_orchestrator_its_decisions():
    trace = vote("A")
    nest = nesting(trace, "orchestrator")
    value = masked_vote(trace, said(trace, {}), right="A")
    game = closed_game(trace, nest, value=value, definition="mask", causes="making")
    credit = ledger(nest, game, unit="orchestrator", rng=RNG)
    (row,) = rows_at(credit, "orchestrator")
    decisions = [r for r in credit.rows if r.unit == "decision"]
    assert row.unit_id == "orchestrator:lead"
    assert row.value == pytest.approx(sum(r.value for r in decisions))
    earned = {r.unit_id: r.value for r in decisions}  # spawn, aggregate and stop; the stop changes no count
    assert earned == {"lead.1": pytest.approx(0.25), "lead.3": pytest.approx(0.25), "lead.4": 0}


@given(traces(max_events=25), st.sampled_from(UNITS), st.randoms(use_true_random=False))
def test_the_ledger_adds_up_on_any_lawful_trace(trace, unit, die):
    if not any(not e.__class__.__name__.startswith(("Human", "Safety")) for e in trace.events):
        with pytest.raises(InputError, match="nobody to credit"):
            nesting(trace, unit)
        return
    nest = nesting(trace, unit)
    assert sorted(chain.from_iterable([nest.holders[e] for e in nest.holders])) or nest.leaves
    worth = {event.id: die.random() for event in trace.events}

    def value(coalition: Coalition) -> float:
        return sum(worth[name] for name in coalition.whole) + 0.3 * len(coalition.there) ** 0.5

    game = closed_game(trace, nest, value=value, definition="test")
    credit = ledger(nest, game, unit=unit, rng=np.random.default_rng(0), exact_up_to=500, orders=5)
    team = credit.rows[0]
    everybody = game.value(frozenset(range(len(nest.leaves))))
    assert team.value == pytest.approx(everybody - game.value(frozenset()), abs=1e-9)
    assert abs(credit.residual) < 1e-9 * max(1, len(nest.leaves))
    totals = {}
    for path in nest.units:
        if path:
            totals[path[:-1]] = totals.get(path[:-1], 0.0) + credit.rows[list(nest.units).index(path)].value
    for place, path in enumerate(nest.units):
        if path in totals:
            assert credit.rows[place].value == pytest.approx(totals[path], abs=1e-9)


@given(traces(max_events=25), st.data())
def test_what_was_merely_read_may_be_missing(trace, data):
    """Slow twin: under a mask an event is gone only where its turn, an earlier turn, its spawn or its call is."""
    if not any(isinstance(event, Turn) for event in trace.events):
        return
    nest = nesting(trace, "message")
    leaves = frozenset(data.draw(st.sets(st.integers(0, len(nest.leaves) - 1))))
    seen = []
    game = closed_game(trace, nest, value=lambda c: seen.append(c) or 0.0, definition="", causes="making")
    game.value(leaves)
    there = set()
    for place, event in enumerate(trace.events):
        held = nest.holders.get(event.id, frozenset())
        turns = [e.id for e in trace.events[:place] if isinstance(e, Turn) and e.agent == event.agent]
        needs = {event.turn} - {None}
        needs |= set(turns) if isinstance(event, Turn) else set()
        needs |= {event.call} if isinstance(event, ToolResult) else set()
        needs |= {e.id for e in trace.events if isinstance(e, Spawn) and e.to == event.agent}
        needs |= {edge.src for edge in trace.edges if edge.dst == event.id and edge.type == "delegate"}
        if (not held or held & leaves) and needs <= there:
            there.add(event.id)
    assert seen[0].there == there


@given(traces(max_events=25), st.data())
def test_a_closed_coalition_is_a_down_set(trace, data):
    if not any(isinstance(event, Turn) for event in trace.events):
        return
    nest = nesting(trace, "message")
    graph = Graph.of(trace)
    leaves = data.draw(st.sets(st.integers(0, len(nest.leaves) - 1)))
    seen = []
    closed_game(trace, nest, value=lambda c: seen.append(c) or 0.0, definition="").value(frozenset(leaves))
    (coalition,) = seen
    assert graph.is_down_set([graph.index[name] for name in coalition.there])
    assert coalition.whole <= coalition.there


def test_sampled_shares_add_up_and_come_near_the_exact_ones():
    trace = vote("A", "A", "B", "A", "B")
    nest = nesting(trace, "turn")
    value = masked_vote(trace, said(trace, {}), right="A", nobody=0.5)
    game = closed_game(trace, nest, value=value, definition="mask", causes="making")
    exact = ledger(nest, game, unit="turn", rng=RNG)
    sampled = ledger(nest, game, unit="turn", rng=np.random.default_rng(1), exact_up_to=0, orders=400)
    assert_adds_up(sampled)
    assert any("estimated from 400" in note for note in sampled.notes)
    for one, other in zip(exact.rows, sampled.rows, strict=True):
        assert abs(one.value - other.value) <= 4 * (other.std_error or 0) + 1e-9


def test_a_table_of_values_needs_every_coalition():
    trace = vote("A", "B")
    nest = nesting(trace, "agent")
    full = [
        CoalitionValue(units, 0.1 * len(units)) for k in range(4) for units in combinations(("lead", "v0", "v1"), k)
    ]
    table = CoalitionValues(unit="agent", definition="replay", values=tuple(full), model_calls=6)
    credit = ledger(nest, table_game(table, nest), unit="agent", rng=RNG)
    assert [row.value for row in rows_at(credit, "agent")] == pytest.approx([0.1, 0.1, 0.1])
    lacking = CoalitionValues(unit="agent", definition="replay", values=tuple(full[:-1]))
    with pytest.raises(InputError, match=r"lack the coalition \{lead, v0, v1\}"):
        ledger(nest, table_game(lacking, nest), unit="agent", rng=RNG)
    strange = CoalitionValues(unit="agent", definition="replay", values=(CoalitionValue(("nobody",), 1.0),))
    with pytest.raises(InputError, match="'nobody'"):
        table_game(strange, nest)


def test_masking_needs_a_vote_and_its_texts():
    with pytest.raises(InputError, match="no aggregate by vote"):
        masked_vote(research(), {}, right="x")
    with pytest.raises(InputError, match="text of vote"):
        masked_vote(vote("A"), {}, right="A")


def test_events_of_the_world_are_nobodys():
    trace = vote("A")
    nest = nesting(trace, "turn")
    mine = {event.id for event in trace.events if isinstance(event, Turn | Aggregate | Stop)}
    assert mine <= set(nest.holders)
    assert isinstance(closed_game(trace, nest, value=lambda c: 0.0, definition="d"), Game)


@pytest.mark.parametrize("unit", ["agent", "turn", "message"])
def test_three_values_of_one_game(unit):
    """Winter keeps every level, Owen the one above the leaves, Shapley none; with two levels Winter is Owen."""
    trace = vote("A", "A", "B")
    nest = nesting(trace, unit)
    game = closed_game(trace, nest, value=masked_vote(trace, said(trace, {}), right="A"), definition="mask",
                       causes="making")  # fmt: skip
    found = {m: ledger(nest, game, unit=unit, rng=RNG, method=m) for m in ("winter", "owen", "shapley")}
    leaves = set(nest.leaves)
    by_leaf = {}
    for name, credit in found.items():
        assert_adds_up(credit)
        by_leaf[name] = {(r.unit, r.unit_id): r.value for r in credit.rows if (r.unit, r.unit_id) in leaves}
        assert set(by_leaf[name]) == leaves
    flat = dict(zip(nest.leaves, _shapley(len(nest.leaves), game.value), strict=True))
    assert by_leaf["shapley"] == pytest.approx(flat)
    assert (by_leaf["winter"] == pytest.approx(by_leaf["owen"])) == (unit == "agent")


@pytest.mark.parametrize("method", ["winter", "owen", "shapley"])
@pytest.mark.parametrize(("unit", "roles"), [("team", True), ("agent", False)])
def test_whoever_stands_alone_earns_everything(method, unit, roles):
    b = Builder(trace_id="alone", task_id="q", clock="simulated")
    b.agent(Agent("ann", role="worker" if roles else ""))
    b.append(Turn, "ann", t=0.0)
    trace = b.build()
    nest = nesting(trace, unit)
    game = closed_game(trace, nest, value=lambda coalition: 3.0 * len(coalition.whole), definition="count")
    credit = ledger(nest, game, unit=unit, rng=RNG, method=method)
    assert [row.value for row in credit.rows] == [3.0] * (1 if unit == "team" else 2)
    assert_adds_up(credit)


@pytest.mark.parametrize("method", ["winter", "owen", "shapley"])
def test_a_decision_is_its_agents_in_every_value(method):
    trace = research()
    nest = nesting(trace, "orchestrator")
    game = closed_game(trace, nest, value=lambda coalition: float(len(coalition.whole)), definition="count")
    credit = ledger(nest, game, unit="orchestrator", rng=RNG, method=method, exact_up_to=100, orders=4)
    (row,) = rows_at(credit, "orchestrator")
    assert row.unit_id == "orchestrator:lead"
    assert row.value == pytest.approx(sum(r.value for r in credit.rows if r.unit == "decision"))
