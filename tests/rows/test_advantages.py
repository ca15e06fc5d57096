"""Credit reaches the tokens it is about: the finest level that speaks of them, and no other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Credit, CreditRow
from orchestrace.errors import InputError
from orchestrace.rows import RolloutCredit, rollout_credit
from orchestrace.rows.advantages import placed_credit
from orchestrace.trace import Message, ToolCall
from rows.teams import Team

LEVELS = st.one_of(st.none(), st.floats(-2, 2))


def pair():
    """main.1 samples 4 tokens, and in them a tool call [1, 3) and a message whose place is not known; w.0 samples 2."""
    team = Team()
    team.spawn("main", "w")
    team.turn("main", [1, 2, 3, 4])
    team.builder.append(ToolCall, "main", tool="search", turn="main.1", token_span=(1, 3))
    team.builder.append(Message, "main", to="w", turn="main.1")
    team.turn("w", [5, 6])
    return team.trace()


PAIR, LENGTHS = pair(), {"main.1": 4, "w.0": 2}


def placed(credit, lengths=LENGTHS):
    return placed_credit(PAIR, credit, lengths=lengths)


def one(level, name, value):
    return {} if value is None else {level: value if level == "team" else {name: value}}


@given(LEVELS, LEVELS, LEVELS, LEVELS, LEVELS)
def test_the_finest_level_wins(team, role, agent, turn, call):
    given_ = {
        **one("team", "", team),
        **one("roles", "lead", role),
        **one("agents", "main", agent),
        **one("turns", "main.1", turn),
        **one("events", "main.2", call),
    }
    tokens = placed(RolloutCredit(**given_)).turns["main.1"]
    for at in range(4):
        levels = [call if 1 <= at < 3 else None, turn, agent, role, team]
        finest = next((value for value in levels if value is not None), None)
        assert tokens.known[at] == (finest is not None)
        assert tokens.values[at] == (finest or 0.0)


def test_levels_of_one_agent_leave_the_others_alone():
    found = placed(RolloutCredit(team=1.0, agents={"main": 2.0}, roles={"worker": 3.0})).turns
    assert found["main.1"].values.tolist() == [2.0] * 4
    assert found["w.0"].values.tolist() == [3.0] * 2


def test_a_turn_may_have_one_number_a_token():
    found = placed(RolloutCredit(turns={"main.1": [0.1, 0.2, 0.3, 0.4]}, events={"main.2": 9.0})).turns
    assert found["main.1"].values.tolist() == [0.1, 9.0, 9.0, 0.4]
    assert not found["w.0"].known.any()


def test_credit_without_a_place_is_listed():
    assert placed(RolloutCredit(events={"main.3": 1.0})).unplaced == ("main.3",)
    assert placed(RolloutCredit(events={"main.2": 1.0}), lengths={}).unplaced == ()


@pytest.mark.parametrize(
    ("credit", "said"),
    [
        ({"agents": {"ghost": 1.0}}, "trace 't': there is no agent 'ghost' to give credit to"),
        ({"roles": {"ghost": 1.0}}, "there is no role 'ghost'"),
        ({"turns": {"main.2": 1.0}}, "there is no turn 'main.2'"),
        ({"events": {"main.1": 1.0}}, "there is no event other than a turn 'main.1'"),
        ({"turns": {"w.0": [1.0]}}, r"event 'w.0': its credit has shape \(1,\), but its completion has 2 tokens"),
        ({"turns": {"w.0": [[1.0, 2.0]]}}, r"shape \(1, 2\)"),
        ({"team": float("nan")}, "event 'main.1': its credit is nan, expected finite numbers"),
        ({"events": {"main.2": float("inf")}}, "event 'main.2': its credit is inf"),
    ],
)
def test_credit_that_does_not_fit_is_refused(credit, said):
    with pytest.raises(InputError, match=said):
        placed(RolloutCredit(**credit))


def test_spans_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"main\.2': token_span \[1, 3\) is not within the 2 tokens of turn 'main\.1'"):
        placed(RolloutCredit(events={"main.2": 1.0}), lengths={"main.1": 2})
    team = Team()
    team.turn("main", [1, 2, 3])
    for span in ((0, 2), (1, 3)):
        team.builder.append(ToolCall, "main", tool="x", turn="main.0", token_span=span)
    credit = RolloutCredit(events={"main.1": 1.0, "main.2": 2.0})
    with pytest.raises(InputError, match=r"main\.2': it has credit, and so has 'main\.1'; both hold token 1 of turn"):
        placed_credit(team.trace(), credit, lengths={"main.0": 3})


def record(*rows, unit="turn", kind="advantage"):
    return Credit(unit=unit, method="grpo", kind=kind, definition="", rows=rows)


def test_a_credit_record_becomes_levels():
    rows = (
        CreditRow("t", 1.0, unit="team"),
        CreditRow("worker", 2.0, unit="role"),
        CreditRow("w", 3.0, unit="agent"),
        CreditRow("orchestrator:main", 4.0, unit="orchestrator"),
        CreditRow("w.0", 5.0),
        CreditRow("main.1:rest", 6.0, unit="remainder"),
        CreditRow("main.2", 7.0, unit="tool_call"),
        CreditRow("main.3", 8.0, unit="message"),
        CreditRow("main.4", 9.0, unit="decision"),
        CreditRow("a:b:1", 11.0, unit="token"),
        CreditRow("a:b:0", 10.0, unit="token"),
    )
    assert rollout_credit(record(*rows)) == RolloutCredit(
        team=1.0,
        roles={"worker": 2.0},
        agents={"w": 3.0, "main": 4.0},
        turns={"w.0": 5.0, "main.1": 6.0, "a:b": [10.0, 11.0]},
        events={"main.2": 7.0, "main.3": 8.0, "main.4": 9.0},
    )


@pytest.mark.parametrize("kind", ["share", "shaped"])
def test_only_advantages_become_rows(kind):
    with pytest.raises(InputError, match=f"of kind '{kind}', but rows need advantages; subtract a baseline"):
        rollout_credit(record(CreditRow("main.0", 1.0), kind=kind))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((CreditRow("main.0", 1.0), CreditRow("main.0:rest", 1.0, unit="remainder")), "speaks of 'main.0' twice"),
        ((CreditRow("t", 1.0, unit="team"),) * 2, "speaks of the team twice"),
        ((CreditRow("main.0:1", 1.0, unit="token"),), "the credit of 1 tokens of turn 'main.0' leaves out token 0"),
    ],
)
def test_records_that_contradict_themselves_are_refused(rows, said):
    with pytest.raises(InputError, match=said):
        rollout_credit(record(*rows))


def test_nothing_in_nothing_out():
    found = placed(RolloutCredit())
    assert not any(tokens.known.any() or tokens.values.any() for tokens in found.turns.values())
    assert placed(RolloutCredit(team=1.0), lengths={"main.1": 0}).turns["main.1"].values.tolist() == []
    assert np.array_equal(placed(rollout_credit(record())).turns["w.0"].values, [0.0, 0.0])
