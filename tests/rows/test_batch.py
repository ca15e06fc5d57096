"""Every sampled token trains once, for its own agent, with its own credit; whatever does not train is counted."""

import json
from math import isclose

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Credit, CreditRow
from orchestrace.errors import InputError
from orchestrace.rows import Rollout, RolloutCredit, failure, rollout_credit, row_batch, table, unmerged, unpacked
from orchestrace.trace import Harness, Policy, Return, Source, Spawn, Stop, ToolCall, Trace, Turn, views
from rows.teams import Team, teams

MIXED = {"on_mismatch": "split", "allow": ("policy_version",)}


def one_turn(trace_id="t", ids=(10, 11), *, advantage=1.0, stop="answer", rewarded=None, turn=None, **header):
    team = Team(trace_id, **header)
    team.hears("main", [1, 2])
    team.turn("main", list(ids), **(turn or {}))
    return Rollout(trace=team.trace(stop=stop), credit=RolloutCredit(team=advantage), rewarded=rewarded)


def sampled_by(trace):
    """Agent -> its sampled tokens, in order, with the turn of each and whether the turn's mask lets it train."""
    found = {agent.id: [] for agent in trace.agents}
    for turn in views.turns(trace):
        ids = unpacked("ids", trace.blobs[turn.generation.token_ids]).tolist()
        mask = [True] * len(ids)
        if turn.generation.loss_mask is not None:
            mask = unpacked("mask", trace.blobs[turn.generation.loss_mask]).tolist()
        found[turn.agent] += [(turn.id, *pair) for pair in zip(ids, mask, strict=True)]
    return found


def columns(batch):
    """The batch as rows of plain values, which can be compared."""
    names, values = zip(*table(batch).items(), strict=True)
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


@given(teams())
def test_trained_tokens_are_exactly_those_that_were_sampled(trace):
    batch = row_batch([Rollout(trace=trace, credit=RolloutCredit(team=1.0))], **MIXED)
    for agent, expected in sampled_by(trace).items():
        found = []
        for row in (row for row in batch.rows if row.agent == agent):
            for event, (start, end) in zip(row.event_ids, row.spans, strict=True):
                ids, mask = row.completion_ids[start:end].tolist(), row.loss_mask[start:end].tolist()
                found += [(event, *pair) for pair in zip(ids, mask, strict=True)]
        place = {turn.id: at for at, turn in enumerate(views.turns(trace))}
        found.sort(key=lambda token: place[token[0]])  # side calls stand between a lineage's own turns
        assert [token for token in found if token[2]] == [token for token in expected if token[2]]


@given(teams())
def test_no_row_mixes_agents_policies_or_versions(trace):
    batch = row_batch([Rollout(trace=trace, credit=RolloutCredit(team=1.0))], **MIXED)
    turns = {turn.id: turn for turn in views.turns(trace)}
    role = {agent.id: agent.role for agent in trace.agents}
    seen = [event for row in batch.rows for event in row.event_ids]
    assert len(seen) == len(set(seen))
    assert len(seen) + sum(batch.left_out.values()) == len(turns)
    assert sum(batch.beginnings.values()) == len(batch.rows)
    for row in batch.rows:
        made = [turns[event] for event in row.event_ids]
        assert {turn.agent for turn in made} == {row.agent}
        assert {turn.generation.policy_version for turn in made} == {row.policy_version}
        assert (row.role, row.policy, row.harness_hash) == (role[row.agent], "actor", "h1")
        assert (row.rollout, row.group_key) == ("t", "t")


@given(teams(), st.floats(0.5, 2.0))
def test_what_is_masked_is_zero(trace, advantage):
    batch = row_batch([Rollout(trace=trace, credit=RolloutCredit(team=advantage))], **MIXED)
    for row in batch.rows:
        lengths = {len(row.completion_ids), len(row.loss_mask), len(row.old_logprobs), len(row.advantages)}
        assert len(lengths) == 1
        assert (row.advantages == np.where(row.loss_mask, advantage, 0.0)).all()
        assert row.trained == row.loss_mask.sum() > 0


@given(teams())
def test_rows_come_apart_into_turns(trace):
    for row in row_batch([Rollout(trace=trace, credit=RolloutCredit(team=1.0))], **MIXED).rows:
        apart = unmerged(row)
        assert tuple(one.event_ids[0] for one in apart) == row.event_ids
        assert sum(one.trained * one.weight for one in apart) == pytest.approx(row.trained * row.weight)
        for one, (start, end) in zip(apart, row.spans, strict=True):
            assert [*one.prompt_ids, *one.completion_ids] == [*row.prompt_ids, *row.completion_ids[:end]]
            for field in ("loss_mask", "old_logprobs", "advantages"):
                assert getattr(one, field).tolist() == getattr(row, field)[start:end].tolist()


@given(st.tuples(teams(trace_id="a"), teams(trace_id="b"), teams(trace_id="c")), st.permutations(range(3)))
def test_the_order_of_rollouts_only_permutes_rows(traces, order):
    rollouts = [Rollout(trace=trace, credit=RolloutCredit(team=1.0)) for trace in traces]
    straight, other = row_batch(rollouts, **MIXED), row_batch([rollouts[at] for at in order], **MIXED)
    named = {trace.trace_id: [row for row in columns(straight) if row["rollout"] == trace.trace_id] for trace in traces}
    assert columns(other) == [row for at in order for row in named[traces[at].trace_id]]
    assert (straight.left_out, straight.lacking) == (other.left_out, other.lacking)
    assert straight.beginnings == other.beginnings


@given(st.tuples(teams(trace_id="a"), teams(trace_id="b"), teams(trace_id="c")))
def test_each_rollout_has_one_vote_whatever_its_number_of_rows(traces):
    batch = row_batch([Rollout(trace=trace, credit=RolloutCredit(team=1.0)) for trace in traces], **MIXED)
    votes = {}
    for row in batch.rows:
        votes[row.rollout] = votes.get(row.rollout, 0.0) + row.weight * row.trained
    assert all(isclose(vote, 1 / len(votes)) for vote in votes.values())


def test_a_row_of_two_turns():
    team = Team(group_id="g", policies={"actor": Policy(version=9)})
    team.hears("main", [1, 2])
    team.turn("main", [10, 11], mask=[True, False])
    team.hears("main", [3])
    team.turn("main", [12], logprobs=[-0.25])
    (row,) = row_batch([Rollout(trace=team.trace(), credit=RolloutCredit(turns={"main.0": 0.5, "main.1": -1.0}))]).rows
    assert row.prompt_ids.tolist() == [1, 2]
    assert row.completion_ids.tolist() == [10, 11, 3, 12]
    assert row.loss_mask.tolist() == [True, False, False, True]
    assert row.old_logprobs.tolist() == [-1.0, -2.0, 0.0, -0.25]
    assert row.advantages.tolist() == [0.5, 0.0, 0.0, -1.0]
    assert (row.group_key, row.policy_version, row.weight) == ("g", 3, 0.5)
    assert (row.event_ids, row.spans) == (("main.0", "main.1"), ((0, 2), (3, 4)))


@pytest.mark.parametrize(
    ("rollout", "why"),
    [
        (one_turn(stop="error"), "stopped by an error"),
        (one_turn(stop="interrupted"), "interrupted"),
        (one_turn(stop="external"), "stopped from outside"),
        (one_turn(stop=None), "no stop"),
        (one_turn(rewards={}), "no reward"),
        (one_turn(rewarded=False), "no reward"),
        (one_turn(rewards={}, rewarded=True), None),
        (one_turn(stop="budget"), None),
        (one_turn(stop="limit"), None),
        (one_turn(), None),
    ],
)
def test_failed_rollouts_are_excluded_and_counted(rollout, why):
    assert failure(rollout) == why
    good = one_turn("good", rewards={"outcome": 0.0})
    batch = row_batch([rollout, good])
    assert batch.excluded == ({} if why is None else {"t": why})
    assert {row.rollout for row in batch.rows} == ({"good"} if why else {"t", "good"})
    assert (f"1 of 2 rollouts do not train: 1 {why}." in batch.warnings) == (why is not None)
    assert all(row.weight * row.trained * len(batch.rows) == pytest.approx(1.0) for row in batch.rows)
    kept = row_batch([rollout, good], failed="keep")
    assert not kept.excluded
    assert {row.rollout for row in kept.rows} == {"t", "good"}


def test_a_log_that_goes_on_after_its_stop_has_no_outcome():
    team = Team(source=Source("test", "1"))
    team.builder.append(Stop, "main")
    team.turn("main", [10])
    assert failure(Rollout(trace=team.trace(stop=None))) == "no stop"


def test_of_several_stops_the_last_is_the_outcome():
    team = Team(source=Source("test", "1"))
    for reason in ("error", "answer", "interrupted"):
        team.turn("main", [10])
        team.builder.append(Stop, "main", reason=reason)
    assert failure(Rollout(trace=team.trace(stop=None))) == "interrupted"
    assert failure(Rollout(trace=views.prefix(team.trace(stop=None), "main.3"), rewarded=True)) is None


def test_a_rollout_without_credit_is_excluded_and_kept_by_nothing():
    rollout = Rollout(trace=one_turn().trace)
    for failed in ("exclude", "keep"):
        batch = row_batch([rollout], failed=failed)
        assert (batch.rows, batch.excluded) == ((), {"t": "no credit"})
        assert batch.warnings == ("There are no rows: nothing trains.", "1 of 1 rollouts do not train: 1 no credit.")


def test_all_zero_advantages_warn_loudly():
    batch = row_batch([one_turn("a", advantage=0.0), one_turn("b", advantage=0.0)])
    assert batch.all_zero
    assert batch.zero_groups == ("a", "b")
    (warning,) = batch.warnings
    assert warning.startswith("ALL ADVANTAGES ARE ZERO: these 2 rows train nothing.")


def test_groups_of_zeros_among_others_are_counted():
    batch = row_batch([one_turn("a", advantage=0.0), one_turn("b")])
    assert not batch.all_zero
    assert batch.zero_groups == ("a",)
    assert batch.warnings == ("1 of 2 groups train nothing: every advantage in them is 0.",)
    assert not row_batch([one_turn("b")]).warnings


def test_turns_without_tokens_are_counted():
    team = Team()
    for _ in range(3):
        team.builder.append(Turn, "main")
    batch = row_batch([Rollout(trace=team.trace(), credit=RolloutCredit(team=1.0))])
    assert batch.rows == ()
    assert batch.left_out == {"no generation recorded": 3}
    assert not batch.all_zero
    assert batch.warnings == (
        "There are no rows: nothing trains.",
        "3 turns are in no row: 3 no generation recorded.",
    )


def test_blobs_may_lie_beside_the_trace():
    rollout = one_turn()
    bare = msgspec.structs.replace(rollout.trace, blobs={})
    beside = Rollout(trace=bare, credit=rollout.credit, blobs=rollout.trace.blobs)
    assert columns(row_batch([beside])) == columns(row_batch([rollout]))
    assert row_batch([Rollout(trace=bare, credit=rollout.credit)]).left_out == {"token ids not among the blobs": 1}


def test_a_prompt_kept_as_text_is_absent_and_counted():
    rollout = one_turn()
    text = {**rollout.trace.blobs, rollout.trace.events[0].generation.prompt_hash: b"You are the lead."}
    batch = row_batch([Rollout(trace=rollout.trace, credit=rollout.credit, blobs=text)])
    assert batch.rows[0].prompt_ids is None
    assert unmerged(batch.rows[0])[0].prompt_ids is None
    assert batch.beginnings == {"no_prompt": 1}
    assert batch.warnings == ("Turns in rows lack something: 1 prompt recorded as text, not as token ids.",)


def test_turns_without_logprobs_make_their_row_have_none():
    team = Team()
    team.turn("main", [10])
    made = msgspec.structs.replace(team.turn("main", [11]).generation, logprobs=None)
    trace = team.trace()
    event = msgspec.structs.replace(trace.events[1], generation=made)
    trace = msgspec.structs.replace(trace, events=(trace.events[0], event, trace.events[2]))
    batch = row_batch([Rollout(trace=trace, credit=RolloutCredit(team=1.0))])
    assert [row.old_logprobs for row in batch.rows] == [None]
    assert unmerged(batch.rows[0])[0].old_logprobs is None
    assert batch.lacking == {"logprobs not recorded": 1}


def test_what_has_no_credit_does_not_train_but_stays_in_the_context():
    team = Team()
    team.turn("main", [10])
    team.turn("main", [11])
    team.turn("main", [12], prompt=[7])
    batch = row_batch([Rollout(trace=team.trace(), credit=RolloutCredit(turns={"main.1": 1.0}))])
    (row,) = batch.rows
    assert (row.completion_ids.tolist(), row.loss_mask.tolist()) == ([10, 11], [False, True])
    assert batch.left_out == {"no credit": 1}
    assert batch.lacking == {"no credit": 1}


def test_rows_in_which_nothing_trains_are_left_out():
    batch = row_batch([one_turn(turn={"mask": [False, False]})])
    assert (batch.rows, batch.left_out) == ((), {"nothing to train": 1})


def test_credit_without_a_place_is_told():
    team = Team()
    team.turn("main", [10])
    team.builder.append(ToolCall, "main", tool="x", turn="main.0")
    batch = row_batch([Rollout(trace=team.trace(), credit=RolloutCredit(team=1.0, events={"main.1": 2.0}))])
    assert batch.unplaced == 1
    assert batch.warnings == ("The credit of 1 events trains nothing: their turn or their token span is not known.",)


def test_only_the_policies_that_are_asked_for_have_rows():
    team = Team()
    team.spawn("main", "frozen", policy=None)
    team.spawn("main", "judge", policy="critic")
    for agent in ("main", "frozen", "judge"):
        team.turn(agent, [10])
    rollout = Rollout(trace=team.trace(), credit=RolloutCredit(team=1.0))
    batch = row_batch([rollout])
    assert [(row.agent, row.policy, row.weight) for row in batch.rows] == [
        ("main", "actor", 1.0),
        ("judge", "critic", 1.0),
    ]
    assert batch.left_out == {"no policy: nothing trainable": 1}
    assert [row.agent for row in row_batch([rollout], policies=["critic"]).rows] == ["judge"]
    assert row_batch([rollout], policies=[]).left_out == {"no policy: nothing trainable": 1, "another policy": 2}


@pytest.mark.parametrize(
    ("other", "said", "kind"),
    [
        (
            one_turn("u", harness=Harness("h", hash="h2")),
            r"the harness hash is 'h1' in trace 't', but 'h2' in trace 'u'; make a batch of each, or pass allow=\('har",
            "harness",
        ),
        (
            one_turn("u", harness=None),
            "the harness hash is 'h1' in trace 't', but not recorded in trace 'u'",
            "harness",
        ),
        (
            one_turn("u", turn={"version": 4}),
            "the version of policy 'actor' is 3 in trace 't', but 4 in trace 'u'",
            "policy_version",
        ),
        (
            one_turn("u", turn={"version": None}, policies={"actor": Policy(version=7)}),
            "the version of policy 'actor' is 3 in trace 't', but 7 in trace 'u'",
            "policy_version",
        ),
    ],
)
def test_mixed_batches_are_refused_unless_allowed(other, said, kind):
    with pytest.raises(InputError, match=said):
        row_batch([one_turn(), other])
    assert len(row_batch([one_turn(), other], allow=(kind,)).rows) == 2
    failed = Rollout(trace=other.trace, credit=other.credit, rewarded=False)
    assert len(row_batch([one_turn(), failed]).rows) == 1


def test_a_rollout_twice_and_a_group_of_two_tasks_are_refused():
    with pytest.raises(InputError, match="rollout 't' is given twice; each rollout has one vote"):
        row_batch([one_turn(), one_turn()])
    with pytest.raises(InputError, match=r"group 'g' holds task 'x' \(trace 'a'\) and task 'y' \(trace 'b'\)"):
        row_batch([one_turn("a", group_id="g", task_id="x"), one_turn("b", group_id="g", task_id="y")])


def test_a_mismatch_is_an_error_and_a_split_is_told():
    team = Team()
    team.turn("main", [10, 11], prompt=[1])
    team.turn("main", [12], prompt=[1, 10, 99, 2])
    rollout = Rollout(trace=team.trace(), credit=RolloutCredit(team=1.0))
    with pytest.raises(InputError, match=r"sampled: 1 10 \[11\], prompt: 1 10 \[99\] 2"):
        row_batch([rollout])
    batch = row_batch([rollout], on_mismatch="split")
    assert batch.beginnings == {"start": 1, "mismatch": 1}
    assert batch.warnings == ("1 rows begin where a prompt has its agent say other tokens than it sampled.",)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"weighting": "x"}, "weighting is 'x', expected one of per_rollout, per_row, per_token"),
        ({"on_mismatch": "x"}, "on_mismatch is 'x', expected one of error, split"),
        ({"failed": "x"}, "failed is 'x', expected one of exclude, keep"),
        ({"allow": ["x"]}, "allow is 'x', expected one of harness, policy_version"),
        ({"allow": "harness"}, r"allow is the text 'harness', expected a collection of names: \('harness',\)"),
        ({"policies": "actor"}, "policies is the text 'actor'"),
    ],
)
def test_settings_that_are_none_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        row_batch([], **settings)


def test_nothing_gives_an_empty_batch_with_all_columns():
    batch = row_batch([])
    assert (batch.rows, batch.rollouts, batch.excluded, batch.all_zero) == ((), 0, {}, False)
    assert batch.warnings == ("There are no rows: nothing trains.",)
    columns_ = table(batch)
    assert all(column == [] for column in columns_.values())
    assert {"prompt_ids", "completion_ids", "loss_mask", "old_logprobs", "advantages", "weight"} <= set(columns_)
    empty = Trace(schema=1, trace_id="e", task_id="e")
    assert row_batch([Rollout(trace=empty, credit=RolloutCredit(team=1.0))]).excluded == {"e": "no stop"}


def test_a_table_is_plain_json():
    said = json.loads(json.dumps(table(row_batch([one_turn()]))))
    assert said["completion_ids"] == [[10, 11]]
    assert said["spans"] == [[[0, 2]]]
    assert said["event_ids"] == [["main.0"]]
    assert said["loss_mask"] == [[True, True]]


def team_rollout(trace_id, *, answers):
    """A lead with two workers, in parallel: it asks, each works in two turns around a tool, the lead hears both."""
    team = Team(trace_id, group_id="g")
    team.hears("main", [1, 2])
    team.turn("main", [10, 11])
    for number, worker in enumerate(("w0", "w1")):
        team.spawn("main", worker, turn="main.0", token_span=(number, number + 1))
        team.hears(worker, [3, number])
    for worker in ("w0", "w1"):
        team.turn(worker, [20])
        team.hears(worker, [4])
    for worker in ("w1", "w0"):
        team.turn(worker, answers[worker])
        team.builder.append(Return, worker, to="main")
    team.hears("main", [5, 6])
    team.turn("main", [12])
    return team.trace()


def test_credit_of_another_rollout_is_refused():
    """Turns and agents have the same ids in both: nothing else would tell."""
    good = team_rollout("good", answers={"w0": [21], "w1": [23]})
    record = Credit(unit="team", method="rloo", kind="advantage", definition="d", rows=(CreditRow("bad", -1.0),),
                    trace_id="bad")  # fmt: skip
    with pytest.raises(InputError, match="'good' is given the credit of 'bad'"):
        row_batch([Rollout(trace=good, credit=rollout_credit(record))])


def test_two_rollouts_of_a_team_end_to_end():
    """GRPO-like advantages by hand: rewards 1 and 0, so +1 and -1; the lead's second spawn was worth more."""
    good = team_rollout("good", answers={"w0": [21, 22], "w1": [23]})
    bad = team_rollout("bad", answers={"w0": [24], "w1": []})
    spawns = [event.id for event in good.events if isinstance(event, Spawn)]
    batch = row_batch(
        [
            Rollout(trace=good, credit=RolloutCredit(team=1.0, agents={"w1": 2.0}, events={spawns[1]: 1.5})),
            Rollout(trace=bad, credit=RolloutCredit(team=-1.0)),
        ]
    )
    shown = [
        (row.rollout, row.agent, row.prompt_ids.tolist(), row.completion_ids.tolist(), row.advantages.tolist())
        for row in batch.rows
    ]
    assert shown == [
        ("good", "main", [1, 2], [10, 11, 5, 6, 12], [1.0, 1.5, 0.0, 0.0, 1.0]),
        ("good", "w0", [3, 0], [20, 4, 21, 22], [1.0, 0.0, 1.0, 1.0]),
        ("good", "w1", [3, 1], [20, 4, 23], [2.0, 0.0, 2.0]),
        ("bad", "main", [1, 2], [10, 11, 5, 6, 12], [-1.0, -1.0, 0.0, 0.0, -1.0]),
        ("bad", "w0", [3, 0], [20, 4, 24], [-1.0, 0.0, -1.0]),
        ("bad", "w1", [3, 1], [20, 4], [-1.0, 0.0]),
    ]
    assert {row.group_key for row in batch.rows} == {"g"}
    assert [row.weight for row in batch.rows] == [1 / 16] * 3 + [1 / 12] * 3
    assert batch.beginnings == {"start": 6}
    assert batch.warnings == ()
