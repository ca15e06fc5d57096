"""Laws of every reward: finite on any lawful trace, blind to the order of what is independent, no pay for nothing."""

from math import isfinite

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Annotations, Evidence, Verdict, decode, encode
from orchestrace.rewards import (
    Term,
    Unavailable,
    agent,
    composed,
    debate,
    fold,
    orchestration,
    parl,
    process,
    role,
    rows,
    team,
    tool,
    wideseek,
)
from orchestrace.rewards.orchestration import Rates
from orchestrace.testing.strategies import logs, traces
from orchestrace.trace import ToolCall, Trace, Turn
from rewards.hand_made import EMPTY, EVIDENCE, NOTHING, reordered, small_team, with_useless_spawn

RATES = Rates(per_token=0.001, per_second=0.01)
CHANNELS = {
    "outcome": team.outcome,
    "env_return": team.env_return,
    "own_outcome": agent.own_outcome,
    "influence": agent.influence,
    "role_grade": role.role_grade,
    "role_rubric": lambda t, e: role.role_rubric(t, e, rubrics={"solver": {"format": 1.0}, "": {"": 1.0}}),
    "verifiable_role": role.verifiable_role,
    "progress": lambda t, e: process.progress(t, e, start=0.0),
    "tool_status": tool.tool_status,
    "tool_schema": tool.tool_schema,
    "tool_used": tool.tool_used,
    "verdict": debate.verdict,
    "parallel_instantiation": orchestration.parallel_instantiation,
    "parallel_speedup": orchestration.parallel_speedup,
    "serial_speedup": orchestration.serial_speedup,
    "finish_rate": orchestration.finish_rate,
    "critical_steps": orchestration.critical_steps,
    "cost": lambda t, e: orchestration.cost(t, e, rates=RATES),
    "split_correctness": orchestration.split_correctness,
    "aggregation_quality": orchestration.aggregation_quality,
    "aggregation_regret": lambda t, e: orchestration.aggregation_regret(t, e, best=dict.fromkeys(ids(t), 1.0)),
    "fold_penalty": lambda t, e: fold.fold_penalty(t, e, context_limit=8),
    "fold_reward": lambda t, e: fold.fold_reward(t, e, context_limit=8),
}
MIXTURES = [
    parl.parl,
    lambda t, e: parl.parl(t, e, reading="speedup"),
    lambda t, e: parl.parl(t, e, reading="blog"),
    lambda t, e: wideseek.wideseek(t, e, parsed=True),
]
UNORDERED = sorted(set(CHANNELS) - {"progress"})
"""Progress speaks of the prefixes of one order (`test_process`)."""


def ids(trace: Trace) -> list[str]:
    return [event.id for event in trace.events]


def everything(trace, die):
    """Evidence that says something about nearly everything."""
    scores = [0.0, 0.25, 0.5, 1.0]

    def some(names):
        return {name: die.choice(scores) for name in names if die.random() < 0.8}

    events = ids(trace)
    return Evidence(
        grades={
            "team": some([trace.trace_id]),
            "agent": some(agent.id for agent in trace.agents),
            "role": some({agent.role for agent in trace.agents}),
            "turn": some(events),
            "message": some(events),
            "tool_call": some(events),
        },
        verdicts={
            name: tuple(
                Verdict(die.choice(scores), by=die.choice([*events, "schema", "format", ""]), valid=die.random() < 0.8)
                for _ in range(die.randrange(3))
            )
            for name in events
        },
        labels={name: tuple(die.sample("xyz", die.randrange(4))) for name in [trace.trace_id, *events]},
    )


def checked(name, given_):
    """One channel, with rows that are finite or with a reason."""
    if isinstance(given_, Unavailable):
        assert given_.channel == name
        assert given_.why
        return
    assert given_
    for row in given_:
        assert row.channel == name
        assert isfinite(row.value)


@given(traces() | logs(), st.randoms(use_true_random=False), st.booleans())
def test_every_channel_is_finite_or_says_why_not(trace, die, told):
    evidence = everything(trace, die) if told else NOTHING
    given_ = {name: channel(trace, evidence) for name, channel in CHANNELS.items()}
    for name, rewards in given_.items():
        checked(name, rewards)
    found = composed(trace, given_.values(), terms=[Term(name, 0.5, optional=True) for name in given_])
    assert isfinite(found.total)
    assert len(found.channels) + len(found.unavailable) == len(CHANNELS)
    kept = Annotations(trace_id=trace.trace_id, trace_digest="", rewards=found.rewards)
    assert decode(encode(kept)) == kept
    for mixture in MIXTURES:
        total = mixture(trace, evidence).total
        assert total is None or isfinite(total)


@pytest.mark.parametrize("name", sorted(CHANNELS))
def test_an_empty_trace_is_no_special_case(name):
    checked(name, CHANNELS[name](EMPTY, NOTHING))


def as_set(given_):
    return {(row.channel, row.unit, row.id): round(row.value, 9) for row in rows(given_)}


def distinctly_dated(trace):
    """No two events end together: of two that do, the critical path takes the one that stands later in the trace."""
    events = [
        msgspec.structs.replace(
            event, t=float(n), duration_s=0.5 + n / 1024 if isinstance(event, Turn | ToolCall) else None
        )
        for n, event in enumerate(trace.events)
    ]
    return msgspec.structs.replace(trace, events=tuple(events))


# An unlinked agent is counted to the stage in which it first acts, so its place among the others is part of the log.
linked = traces(max_events=30).filter(lambda trace: not any(agent.unlinked for agent in trace.agents))


@given(linked.map(distinctly_dated), st.randoms(use_true_random=False))
def test_the_order_of_independent_events_changes_nothing(trace, die):
    evidence, other = everything(trace, die), reordered(trace, die)
    for name in UNORDERED:
        channel = CHANNELS[name]
        assert as_set(channel(trace, evidence)) == as_set(channel(other, evidence)), name


@given(st.randoms(use_true_random=False))
def test_the_order_of_a_teams_independent_events_changes_nothing(die):
    trace = small_team()
    other = reordered(trace, die)
    for name in UNORDERED:
        assert as_set(CHANNELS[name](trace, EVIDENCE)) == as_set(CHANNELS[name](other, EVIDENCE)), name
    for mixture in MIXTURES:
        assert mixture(trace, EVIDENCE).total == mixture(other, EVIDENCE).total


def without_lambdas(trace, evidence):
    """The outcome, all of R7 with weight 0, and the cost."""
    names = ["outcome", "parallel_instantiation", "parallel_speedup", "finish_rate", "critical_steps", "cost"]
    weights = {"outcome": 1.0, "cost": 1.0}
    terms = [Term(name, weights.get(name, 0.0), optional=True) for name in names]
    return composed(trace, [CHANNELS[name](trace, evidence) for name in names], terms=terms).total


@given(traces(), st.randoms(use_true_random=False))
def test_a_useless_spawn_never_pays_where_the_lambdas_are_0(trace, die):
    evidence, padded = everything(trace, die), with_useless_spawn(trace)
    assert without_lambdas(padded, evidence) <= without_lambdas(trace, evidence)
    for reading in ("instantiation", "speedup", "blog"):
        before = parl.parl(trace, evidence, reading=reading, anneal=0.0).total
        assert parl.parl(padded, evidence, reading=reading, anneal=0.0).total == before


def test_it_does_pay_where_they_are_not():
    trace = msgspec.structs.replace(small_team())
    padded = with_useless_spawn(trace)
    # + .3·1/10 for the spawn, − .2·1/3 for the order that nobody answers
    assert parl.parl(padded, EVIDENCE, finish=0.0).total > parl.parl(trace, EVIDENCE, finish=0.0).total
    assert parl.parl(padded, EVIDENCE).total < parl.parl(trace, EVIDENCE).total
