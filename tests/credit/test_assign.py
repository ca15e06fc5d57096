import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credit.teams import research, vote
from orchestrace.annotations import CreditRow
from orchestrace.credit import ADVANTAGE_METHODS, ROW_UNITS, assigned, credits_of
from orchestrace.errors import InputError
from orchestrace.testing.strategies import traces
from orchestrace.trace import Turn
from orchestrace.trace.views import lanes


def test_rows_by_unit():
    team = research()
    assert assigned([team], [1.0], unit="team").owners == ((0, "research"),)
    assert assigned([team], [1.0], unit="role").owners == ((0, "lead"), (0, "worker"))
    assert assigned([team], [1.0], unit="agent").owners == ((0, "lead"), (0, "ann"), (0, "bob"))
    assert assigned([team], [1.0], unit="agent").rows.parent.tolist() == [-1, 0, 0]
    turns = assigned([team], [1.0], unit="turn")
    assert turns.orphans == 0
    assert [unit for _, unit in turns.owners] == ["lead.0", "ann.0", "ann.4", "bob.0", "lead.3"]
    assert turns.rows.turn.tolist() == [0, 0, 1, 0, 1]
    assert turns.rows.parent.tolist() == [-1, 0, 0, 0, -1]
    assert turns.rows.agent.tolist() == [0, 1, 1, 2, 0]
    assert turns.rows.role.tolist() == [0, 1, 1, 1, 0]


def test_rollouts_of_one_task_are_one_group():
    one, two = vote("A", "A"), vote("A", "B")
    other = msgspec.structs.replace(two, task_id="another")
    same = msgspec.structs.replace(other, group_id="q")
    assert assigned([one, two, other, same], [1.0] * 4, unit="team").rows.task.tolist() == [0, 0, 1, 0]


def test_a_trace_without_a_reward_is_left_out_not_trained_as_zero():
    given_ = assigned([vote("A"), vote("B"), vote("A")], [1.0, None, 0.0], unit="team")
    assert [trace for trace, _ in given_.owners] == [0, 2]
    assert given_.rows.rewards.tolist() == [1.0, 0.0]
    assert given_.notes == ("1 of 3 traces have no such reward and were left out",)
    method = ADVANTAGE_METHODS["rloo"]
    found = credits_of(given_, method.of(given_.rows), method="rloo", definition="d", group_key="task")
    assert found[1] is None
    assert found[0].rows == (CreditRow("vote", 1.0, unit="team"),)


def test_equal_rewards_are_called_out():
    given_ = assigned([vote("A"), vote("B")], [1.0, 1.0], unit="team")
    method = ADVANTAGE_METHODS["grpo"]
    (first, _) = credits_of(given_, method.of(given_.rows), method="grpo", definition="d", group_key="task")
    assert any("every advantage is 0" in note for note in first.notes)


def test_nothing_to_credit_is_an_error():
    with pytest.raises(InputError, match="none of the 1 traces"):
        assigned([vote("A")], [None], unit="team")
    with pytest.raises(ValueError, match="no rows of unit 'token'"):
        assigned([vote("A")], [1.0], unit="token")


@given(st.lists(traces(max_events=20), min_size=1, max_size=4), st.sampled_from(ROW_UNITS), st.data())
def test_every_active_unit_has_one_row_and_finite_credit(rollouts, unit, data):
    rewards = data.draw(st.lists(st.floats(-5, 5), min_size=len(rollouts), max_size=len(rollouts)))
    counts = {
        "team": lambda t: 1,
        "role": lambda t: len({a.role for a in t.agents if a.role and lanes(t)[a.id]}),
        "agent": lambda t: sum(bool(events) for events in lanes(t).values()),
        "turn": lambda t: sum(isinstance(event, Turn) for event in t.events),
    }
    expected = sum(map(counts[unit], rollouts))
    if not expected:
        with pytest.raises(InputError):
            assigned(rollouts, rewards, unit=unit)
        return
    given_ = assigned(rollouts, rewards, unit=unit)
    assert len(given_.rows) == len(set(given_.owners)) == expected
    for method in ADVANTAGE_METHODS.values():
        advantages = method.of(given_.rows)
        assert np.isfinite(advantages.values).all()
        assert advantages.values.shape == (expected,)
