"""PARL, FoldGRPO and WideSeek-R1, by hand."""

from math import isclose

import msgspec
import pytest

from orchestrace.annotations import Evidence
from orchestrace.rewards import Unavailable
from orchestrace.rewards.fold import fold_penalty, fold_reward
from orchestrace.rewards.parl import parl
from orchestrace.rewards.wideseek import wideseek
from orchestrace.trace import Agent, Builder, Stop, Tokens, ToolCall, Turn
from rewards.hand_made import EVIDENCE, NOTHING, small_team, values

TRACE = small_team()


def weighted(found):
    return {channel.channel: channel.weighted for channel in found.channels}


def test_parl_by_instantiation():
    # .8 + .3·2/10 + .2·2/2
    found = parl(TRACE, EVIDENCE)
    assert weighted(found) == {"outcome": 0.8, "parallel_instantiation": pytest.approx(0.06), "finish_rate": 0.2}
    assert isclose(found.total, 1.06)
    assert parl(TRACE, EVIDENCE, anneal=0.0).total == 0.8


def test_parl_by_speedup():
    # .8 + .3·(1 − 10/14) + .2·1
    assert isclose(parl(TRACE, EVIDENCE, reading="speedup").total, 0.8 + 0.3 * 4 / 14 + 0.2)


def test_parl_of_the_launch_blog():
    # .1·2/100 + .9·1[.8 is success]·.8
    found = parl(TRACE, EVIDENCE, reading="blog", parallel=0.1, cap=100)
    assert isclose(found.total, 0.1 * 0.02 + 0.9 * 0.8)
    failed = Evidence(grades={"team": {"t": 0.4}})
    assert isclose(parl(TRACE, failed, reading="blog", parallel=0.1, cap=100).total, 0.1 * 0.02)
    assert parl(TRACE, EVIDENCE, reading="blog", anneal=0.0).total == 0.8


def alone():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    b.append(Turn, "main", tokens=Tokens(output=4000))
    return b.build()


def test_parl_pays_no_finish_where_nothing_was_delegated():
    found = parl(alone(), EVIDENCE)
    assert weighted(found) == {"outcome": 0.8, "parallel_instantiation": 0.0, "finish_rate": 0.0}
    assert found.rewards[-1].why == "0 by rule: nothing was spawned or delegated"


@pytest.mark.parametrize("reading", ["instantiation", "speedup", "blog"])
def test_parl_without_a_grade_has_no_total(reading):
    assert parl(TRACE, NOTHING, reading=reading).total is None


def test_fold_penalties():
    # main.0 branches; main.3 fills 200 of 300 tokens; a is in scope; b, judged out of scope, is at −.2
    assert values(fold_penalty(TRACE, EVIDENCE, context_limit=300)) == {
        "main.0": 0.0,
        "a.0": 0.0,
        "a.3": 0.0,
        "b.0": -0.2,
        "main.3": -1.0,
    }
    assert values(fold_penalty(TRACE, EVIDENCE, context_limit=400))["main.3"] == 0.0  # half is not more than half


def test_fold_with_a_failed_call():
    events = [msgspec.structs.replace(e, status="error") if e.id == "a.2" else e for e in TRACE.events]
    failed = msgspec.structs.replace(TRACE, events=tuple(events))
    found = values(fold_penalty(failed, NOTHING, context_limit=300))
    # nobody judged the branches, so only the failed turn of a is certain
    assert found == {"main.0": 0.0, "a.0": -1.0, "main.3": -1.0}


def test_fold_reward_is_clipped():
    # R = .8: .8 + 0, .8 − .2, .8 − 1 → 0
    found = values(fold_reward(TRACE, EVIDENCE, context_limit=300))
    assert found["main.0"] == 0.8
    assert isclose(found["b.0"], 0.6)
    assert found["main.3"] == 0.0
    high = Evidence(grades={"team": {"t": 3.0}})
    assert values(fold_reward(TRACE, high, context_limit=300)) == {"main.0": 1.0, "main.3": 1.0}


def test_fold_without_data():
    bare = msgspec.structs.replace(alone(), events=(Turn("main.0", "main"),))
    assert isinstance(fold_penalty(bare, NOTHING, context_limit=9), Unavailable)
    assert isinstance(fold_reward(bare, EVIDENCE, context_limit=9), Unavailable)
    assert fold_reward(TRACE, NOTHING, context_limit=9).why == "the evidence grades no team of this trace"
    assert values(fold_penalty(TRACE, NOTHING, context_limit=1)) == {"main.0": 0.0, "main.3": -1.0}
    with pytest.raises(ValueError, match="context_limit is 0"):
        fold_penalty(TRACE, NOTHING, context_limit=0)


def looked_up(*, reason="answer", output=4000):
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    turn = b.append(Turn, "main", tokens=Tokens(output=output))
    b.append(ToolCall, "main", tool="access", turn=turn.id)
    b.append(Stop, "main", reason=reason)
    return b.build()


def test_wideseek():
    # .8 + .1 + .05 − .1·(4000 − 3000)/2000
    found = wideseek(looked_up(), EVIDENCE, parsed=True)
    assert isclose(found.total, 0.8 + 0.1 + 0.05 - 0.05)
    assert isclose(wideseek(looked_up(output=99999), EVIDENCE, parsed=True).total, 0.8 + 0.15 - 0.1)
    assert isclose(wideseek(TRACE, EVIDENCE, parsed=True).total, 0.8 + 0.1)  # short, and nothing was accessed


@pytest.mark.parametrize(("trace", "parsed"), [(looked_up(), False), (looked_up(reason="limit"), True)])
def test_wideseek_pays_nothing_for_a_failure(trace, parsed):
    found = wideseek(trace, EVIDENCE, parsed=parsed)
    assert found.total == 0
    assert {c.channel: c.raw for c in found.channels}["outcome"] == 0.8  # still logged


def test_wideseek_without_data():
    assert wideseek(looked_up(), NOTHING, parsed=True).total is None
    assert wideseek(looked_up(output=None), EVIDENCE, parsed=True).total is None
