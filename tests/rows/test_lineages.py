"""Lineages never mix agents, merge exactly, and come apart again; what an agent did not say is no continuation."""

import numpy as np
import pytest
from hypothesis import given

from orchestrace.errors import InputError
from orchestrace.rows.lineages import lineages
from orchestrace.rows.merge import Step, merged, mismatch_message, run_after
from orchestrace.rows.tokens import Sampled, sampled
from orchestrace.trace import views
from rows.teams import POLICY, Team, teams


def steps_of(trace):
    found = {}
    for turn in views.turns(trace):
        tokens = sampled(turn, trace.blobs, place=turn.id)
        if isinstance(tokens, Sampled):
            found[turn.id] = Step(
                turn=turn, tokens=tokens, policy=turn.policy or POLICY, version=turn.generation.policy_version
            )
    return found


def lineages_of(team, **settings):
    trace = team.trace() if isinstance(team, Team) else team
    return lineages(trace, steps_of(trace), **settings)


def shape(found):
    """[(why it began, ids of its turns)]"""
    return [(lineage.began, [step.turn.id for step in lineage.steps]) for lineage in found]


def talking(*parts):
    """One agent: lists are what it samples, tuples what it hears."""
    team = Team()
    for part in parts:
        team.hears("main", part) if isinstance(part, tuple) else team.turn("main", part)
    return team


def slow_lineages(trace, steps):
    """The definition, on lists: of the runs that a prompt begins with, the longest; of equal ones the latest."""
    found, folds = [], dict.fromkeys([agent.id for agent in trace.agents], 0)
    for turn in views.turns(trace):
        folds[turn.agent] += bool(turn.labels.get("compaction"))
        step = steps[turn.id]
        weights = (turn.agent, folds[turn.agent], step.policy, step.version)
        prompt = step.tokens.prompt.tolist()
        runs = [run for key, _, run in found if key[:2] == weights[:2] and prompt[: len(run)] == run]
        longest = max(runs, key=len, default=None)
        same = [entry for entry in found if entry[0][:2] == weights[:2] and entry[2] == longest]
        if same and same[-1][0] == weights:
            same[-1][1].append(turn.id)
            same[-1][2][:] = prompt + step.tokens.ids.tolist()
        else:
            found.append((weights, [turn.id], prompt + step.tokens.ids.tolist()))
    return [ids for _, ids, _ in found]


@given(teams())
def test_lineages_are_as_defined(trace):
    steps = steps_of(trace)
    found = lineages(trace, steps, on_mismatch="split")
    assert [ids for _, ids in shape(found)] == slow_lineages(trace, steps)


@given(teams())
def test_every_turn_is_in_one_lineage_of_its_own_agent(trace):
    found = lineages_of(trace, on_mismatch="split")
    assert sorted(step.turn.id for lineage in found for step in lineage.steps) == sorted(
        turn.id for turn in views.turns(trace)
    )
    assert all(step.turn.agent == lineage.agent for lineage in found for step in lineage.steps)


@given(teams())
def test_merging_and_unmerging_is_the_identity(trace):
    for lineage in lineages_of(trace, on_mismatch="split"):
        whole = merged(lineage.steps)
        assert len(whole.spans) == len(lineage.steps)
        sampled_at = np.zeros(len(whole.ids), bool)
        for step, (start, end) in zip(lineage.steps, whole.spans, strict=True):
            assert whole.prompt.tolist() + whole.ids[:start].tolist() == step.tokens.prompt.tolist()
            assert whole.ids[start:end].tolist() == step.tokens.ids.tolist()
            assert whole.mask[start:end].tolist() == step.tokens.mask.tolist()
            assert whole.logprobs[start:end].tolist() == step.tokens.logprobs.tolist()
            sampled_at[start:end] = True
        assert not whole.mask[~sampled_at].any()
        assert not whole.logprobs[~sampled_at].any()
        assert [*whole.prompt, *whole.ids] == run_after(lineage.steps[-1]).tolist()


def test_a_conversation_is_one_lineage_and_what_it_hears_does_not_train():
    (lineage,) = lineages_of(talking((1, 2), [10, 11], (3,), [12], [13]))
    whole = merged(lineage.steps)
    assert whole.prompt.tolist() == [1, 2]
    assert whole.ids.tolist() == [10, 11, 3, 12, 13]
    assert whole.mask.tolist() == [True, True, False, True, True]
    assert whole.logprobs.tolist() == [-1.0, -2.0, 0.0, -1.0, -1.0]
    assert whole.spans == ((0, 2), (3, 4), (4, 5))


def test_a_side_call_does_not_break_the_conversation():
    team = talking((1, 2), [10])
    team.turn("main", [7], prompt=[9, 9])
    team.turn("main", [11], prompt=[1, 2, 10, 3])
    assert shape(lineages_of(team)) == [("start", ["main.0", "main.2"]), ("new_context", ["main.1"])]


def test_of_two_answers_to_one_prompt_the_one_in_the_context_goes_on():
    team = Team()
    for answer in ([10], [11]):
        team.turn("main", answer, prompt=[1, 2])
    team.turn("main", [12], prompt=[1, 2, 10, 3])
    team.turn("main", [13], prompt=[1, 2, 11, 3])
    assert shape(lineages_of(team)) == [("start", ["main.0", "main.2"]), ("resampled", ["main.1", "main.3"])]


def test_of_equal_runs_the_latest_goes_on_and_a_whole_run_comes_before_a_longer_part_of_one():
    team = Team()
    for _ in range(2):
        team.turn("main", [10], prompt=[1])
    team.turn("main", [11], prompt=[1, 10, 3])
    team.turn("main", [12], prompt=[1, 10, 3, 99])
    assert shape(lineages_of(team)) == [("start", ["main.0", "main.3"]), ("resampled", ["main.1", "main.2"])]


def test_a_folded_context_begins_anew_even_where_tokens_agree():
    team = talking((1,), [10])
    team.turn("main", [11], compaction=True)
    team.turn("main", [12])
    assert shape(lineages_of(team)) == [("start", ["main.0"]), ("compaction", ["main.1", "main.2"])]


def test_a_fold_counts_where_its_own_turn_has_no_tokens():
    team = talking((1,), [10])
    team.turn("main", [11], compaction=True)
    team.turn("main", [12])
    trace = team.trace()
    steps = steps_of(trace)
    del steps["main.1"]
    assert shape(lineages(trace, steps)) == [("start", ["main.0"]), ("compaction", ["main.2"])]


def test_other_weights_are_another_lineage():
    team = talking((1,), [10])
    team.turn("main", [11], version=4)
    team.turn("main", [12], version=4)
    team.turn("main", [13], version=4, policy="other")
    assert shape(lineages_of(team)) == [
        ("start", ["main.0"]),
        ("policy", ["main.1", "main.2"]),
        ("policy", ["main.3"]),
    ]


def test_others_words_may_change_without_an_error():
    team = talking((1, 2), [10], (3,), [11])
    team.turn("main", [12], prompt=[1, 2, 10, 4, 11])
    assert shape(lineages_of(team)) == [("start", ["main.0", "main.1"]), ("new_context", ["main.2"])]


def test_a_mismatch_shows_both_token_runs():
    team = talking((1, 2, 3), [10, 11, 12], (4, 5), [13, 14, 15, 16, 17])
    team.turn("main", [18], prompt=[1, 2, 3, 10, 11, 12, 4, 5, 13, 99, 16, 17, 6, 7, 8, 9])
    trace = team.trace()
    with pytest.raises(InputError) as refused:
        lineages_of(trace)
    assert refused.value.problem == (
        "its prompt shows turn 'main.1' with other tokens than were sampled: they differ from token 1 of that "
        "completion on, which is token 9 of this prompt (sampled: ... 10 11 12 4 5 13 [14] 15 16 17, "
        "prompt: ... 10 11 12 4 5 13 [99] 16 17 6 7 8 9)"
    )
    assert refused.value.place == "trace 't', event 'main.2'"
    assert 'on_mismatch="split"' in refused.value.remedy
    found = lineages_of(trace, on_mismatch="split")
    assert shape(found) == [("start", ["main.0", "main.1"]), ("mismatch", ["main.2"])]


def test_dropped_reasoning_is_found_turns_later():
    """A chat template that keeps reasoning within a tool loop and drops it once the user speaks again."""
    team = talking((1,), [50, 51, 10], (2,), [52, 11])
    team.turn("main", [12], prompt=[1, 10, 2, 11, 3])
    with pytest.raises(InputError, match=r"shows turn 'main\.0' .* from token 0 of that completion"):
        lineages_of(team)


def test_what_is_no_mismatch_has_no_message():
    (lineage,) = lineages_of(talking((1, 2), [10]))
    with pytest.raises(ValueError, match="token 1 was not sampled"):
        mismatch_message(lineage.steps, lineage.steps[0], shared=1)


def test_a_turn_without_prompt_ids_stands_alone():
    team = talking((1,), [10], [11], [12])
    trace = team.trace()
    steps = steps_of(trace)
    known = steps["main.1"].tokens
    unknown = Sampled(prompt=None, ids=known.ids, logprobs=None, mask=known.mask, lacking=("prompt not recorded",))
    steps["main.1"] = Step(turn=steps["main.1"].turn, tokens=unknown, policy=POLICY, version=3)
    found = lineages(trace, steps)
    assert shape(found) == [("start", ["main.0", "main.2"]), ("no_prompt", ["main.1"])]
    assert merged(found[0].steps).mask.tolist() == [True, False, True]
    alone = merged(found[1].steps)
    assert (alone.prompt, alone.ids.tolist(), alone.logprobs, alone.spans) == (None, [11], None, ((0, 1),))
    with pytest.raises(ValueError, match=r"'main\.1' has no prompt ids"):
        run_after(steps["main.1"])


def test_a_trace_without_turns_has_none():
    assert lineages_of(Team()) == ()


def test_a_prompt_with_nothing_in_common_is_another_context_even_after_an_empty_prompt():
    assert shape(lineages_of(talking([10]))) == [("start", ["main.0"])]
    team = talking([10])
    team.turn("main", [11], prompt=[7])
    assert shape(lineages_of(team)) == [("start", ["main.0"]), ("new_context", ["main.1"])]


@given(teams())
def test_it_is_an_error_exactly_where_a_split_would_be_a_mismatch(trace):
    began = [lineage.began for lineage in lineages_of(trace, on_mismatch="split")]
    try:
        assert shape(lineages_of(trace)) == shape(lineages_of(trace, on_mismatch="split"))
        assert "mismatch" not in began
    except InputError:
        assert "mismatch" in began
