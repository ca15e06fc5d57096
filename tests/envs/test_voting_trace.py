"""Episodes as traces: lawful, repeatable, and saying what happened."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import NAMES, by_name
from orchestrace.testing.envs import optimal_policy, random_policy
from orchestrace.trace import Aggregate, OrchestratorDecision, Return, Spawn, Stop, Turn, decode, encode, violations


def episode(env, policy, seed):
    return env.episode(policy, rng=np.random.default_rng(seed), trace_id=f"t{seed}")


def of(trace, kind):
    return [event for event in trace.events if isinstance(event, kind)]


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(NAMES), st.integers(0, 2**32 - 1))
def test_every_trace_is_lawful_and_repeatable(name, seed):
    env = by_name(name)
    policy = 0.7 * random_policy(env, np.random.default_rng(seed)) + 0.3 * optimal_policy(env)
    trace = episode(env, policy, seed)
    assert violations(trace) == []
    assert encode(trace) == encode(episode(env, policy, seed))
    assert decode(encode(trace)) == trace
    times = [event.t for event in trace.events if event.t is not None]
    assert len(times) == len(trace.events)


@pytest.mark.parametrize("seed", range(8))
def test_a_round_of_batch_voting(seed):
    env = by_name("batch-voting")
    trace = episode(env, optimal_policy(env), seed)
    decisions, aggregates = of(trace, OrchestratorDecision), of(trace, Aggregate)
    assert len(decisions) == len(aggregates) == trace.costs["rounds"]
    assert len(of(trace, Spawn)) == len(of(trace, Return)) == trace.costs["voters"]
    spawned = {}
    for decision, aggregate in zip(decisions, aggregates, strict=True):
        size = int(decision.choice.options[decision.choice.chosen])
        assert decision.choice.sub_decision == "O1"
        assert decision.choice.logprob == 0.0
        spawned[decision.t] = size
        returns = [event for event in of(trace, Return) if event.id in aggregate.inputs]
        assert len(returns) == size
        assert aggregate.t == max(event.t for event in returns)
        assert aggregate.method == "weighted_vote"
        a = sum(event.content.preview == "A" for event in returns)
        assert aggregate.content.preview.startswith(f"{a} for A, {size - a} for B in this round; A is right with")
    assert {t: sum(spawn.t == t for spawn in of(trace, Spawn)) for t in spawned} == spawned
    (stop,) = of(trace, Stop)
    assert trace.events[-1] is stop
    assert (stop.reason, stop.choice.sub_decision, stop.choice.options[stop.choice.chosen]) == ("answer", "O5", "stop")
    correct = stop.content.preview == stop.labels["truth"]
    cost = 0.02 * trace.costs["rounds"] + 0.005 * trace.costs["voters"]
    assert trace.rewards["team"] == pytest.approx(correct - cost)
    assert trace.metrics["correct"] == correct
    assert trace.metrics["confidence"] > 0.9


def test_voters_run_side_by_side():
    env = by_name("batch-voting")
    trace = episode(env, optimal_policy(env), 0)
    first = [turn for turn in of(trace, Turn) if turn.t == 0]
    assert len(first) == 10
    assert all(0.5 <= turn.duration_s <= 1.5 for turn in first)


def test_asking_one_voter_is_a_choice_on_its_spawn():
    env = by_name("sequential-voting")
    trace = episode(env, optimal_policy(env), 3)
    assert not of(trace, OrchestratorDecision)
    assert {spawn.choice.sub_decision for spawn in of(trace, Spawn)} == {"O5"}
    alone = by_name("batch-voting", {"cr": 0.0, "ct": 0.01})  # the first among ties asks one at a time
    trace = episode(alone, optimal_policy(alone), 3)
    assert {spawn.choice.sub_decision for spawn in of(trace, Spawn)} == {"O1"}


def test_unknown_voters_stop_where_only_stop_is_legal():
    env = by_name("unknown-voters", {"max_votes": 3})
    asks = env.legal()[:, 1]
    trace = episode(env, np.column_stack([~asks, asks]).astype(float), 0)
    (stop,) = of(trace, Stop)
    assert trace.costs["voters"] == 3
    assert stop.choice.legal == (True, False)
    assert {aggregate.method for aggregate in of(trace, Aggregate)} == {"vote"}


def test_an_episode_that_is_cut_off_says_so():
    env = by_name("batch-voting")
    policy = np.zeros(env.legal().shape)
    policy[:, -1] = 1.0
    trace = episode(env, policy, 0)
    (stop,) = of(trace, Stop)
    assert (stop.reason, stop.choice, stop.content) == ("limit", None, None)
    assert trace.metrics == {"correct": 0.0}
    assert trace.rewards["team"] == pytest.approx(-trace.costs["price"])
