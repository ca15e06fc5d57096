"""Each detector fires on a trace, or a batch, built to game its family, and stays quiet on an honest one."""

import random
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Evidence, Reward, Verdict
from orchestrace.rewards import Term, Unavailable, composed, detect, tool
from orchestrace.rewards.findings import Trend, trend
from orchestrace.testing.strategies import logs, traces
from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Memory,
    Message,
    Return,
    Source,
    Spawn,
    Stop,
    Tokens,
    ToolCall,
    ToolResult,
    Turn,
)
from rewards.hand_made import EMPTY, EVIDENCE, small_team


def rollout(name, *, workers=2, idle=0, turns=1, wave=True, source=None, stop=True):
    """main spawns workers, each does its turns and returns, main takes all of it up; idle agents never act."""
    b = Builder(trace_id=name, task_id="k", **({"source": source} if source else {}))
    b.agent(Agent("main"))
    first = b.append(Turn, "main", t=0, duration_s=1, tokens=Tokens(output=10))
    t, answers = 1.0, []
    for n in range(workers + idle):
        b.agent(Agent(f"w{n}", parent="main"))
        b.append(Spawn, "main", to=f"w{n}", t=1, turn=first.id)
    for n in range(workers):
        start = 1.0 if wave else t
        for k in range(turns):
            turn = b.append(Turn, f"w{n}", t=start + k, duration_s=1, tokens=Tokens(input=90, output=10))
        t = start + turns
        answers.append(b.append(Return, f"w{n}", to="main", t=t, turn=turn.id, content=b.text(f"part {n}")))
    last = b.append(Turn, "main", t=t, duration_s=1, tokens=Tokens(output=10))
    if answers:
        b.append(Aggregate, "main", t=t + 1, turn=last.id, inputs=tuple(a.id for a in answers))
    if stop:
        b.append(Stop, "main", t=t + 1, turn=last.id)
    return b.build()


def found(traces_, evidence=None, rewards=None, *, known=True):
    """detector -> its sentences."""
    report = {}
    for finding in detect(traces_, evidence, rewards=rewards):
        if finding.known == known:
            report.setdefault(finding.detector, []).append(finding.says)
    return report


def without_aggregates(trace):
    gone = {e.id for e in trace.events if isinstance(e, Aggregate)}
    events = tuple(e for e in trace.events if e.id not in gone)
    return msgspec.structs.replace(trace, events=events, edges=tuple(e for e in trace.edges if e.dst not in gone))


def graded(name, grade, **more):
    return Evidence(grades={"team": {name: grade}, **more.pop("grades", {})}, **more)


# One trace


def test_an_honest_team_is_left_alone():
    assert found([rollout("t")]) == {}
    assert found([rollout("t", workers=5, turns=3)]) == {}
    assert found([rollout("t", workers=0)]) == {}


def test_a_free_rider():
    shares = {"main": 0.5, "w0": 0.5, "w1": 0.01}
    assert found([rollout("t")], {"t": Evidence(shares={"agent": shares})}) == {
        "free_riding": ["Agent 'w1' used 100 tokens and brought 0.01 of the team's reward."]
    }
    honest = Evidence(shares={"agent": {"main": 0.5, "w0": 0.3, "w1": 0.2}})
    assert found([rollout("t")], {"t": honest}) == {}
    harmful = Evidence(shares={"agent": {"main": 1.0, "w0": 0.5, "w1": -0.5}})
    assert found([rollout("t")], {"t": harmful}) == {}
    failed = Evidence(shares={"agent": {"main": 0.0, "w0": 0.0, "w1": 0.0}})
    assert found([rollout("t")], {"t": failed}) == {}
    idle = Evidence(shares={"agent": {"main": 1.0, "w0": 1.0, "w1": 1.0, "w2": 0.0}})
    assert "free_riding" not in found([rollout("t", idle=1)], {"t": idle})  # w2 cost nothing


def test_without_shares_it_says_so_once():
    report = found([rollout("t"), rollout("u")], known=False)
    assert report["free_riding"] == ["Free riding needs each agent's share of the reward."]
    (finding,) = [f for f in detect([rollout("t"), rollout("u")]) if f.detector == "free_riding"]
    assert finding.traces == ("t", "u")


def test_returns_that_were_never_taken_up():
    trace = rollout("t")
    aggregate = next(e for e in trace.events if isinstance(e, Aggregate))
    one_only = tuple(
        msgspec.structs.replace(e, inputs=e.inputs[:1]) if e.id == aggregate.id else e for e in trace.events
    )
    assert found([msgspec.structs.replace(trace, events=one_only)])["unread_returns"] == [
        "1 of 2 returns was never taken up; the agents that nobody listened to used 100 tokens."
    ]
    # Without any aggregate a native recording is read by its return edges: the lead went on with both.
    assert found([without_aggregates(trace)]) == {}
    deaf = without_aggregates(trace)
    deaf = msgspec.structs.replace(deaf, edges=tuple(edge for edge in deaf.edges if edge.type != "return"))
    report = found([deaf])
    assert report["unread_returns"] == [
        "2 of 2 returns were never taken up; the agents that nobody listened to used 200 tokens."
    ]
    assert report["pseudo_parallelism"] == ["2 of 2 spawned agents did nothing, or nothing of theirs was used."]


def test_an_import_that_knows_no_aggregates_says_nothing_about_what_was_taken_up():
    bare = without_aggregates(rollout("t", source=Source("some", "1")))
    assert found([bare]) == {}
    assert found([bare], known=False)["unread_returns"] == ["The log does not record what was taken up."]


def talk(*texts, delivered=True):
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    b.agent(Agent("other"))
    for text in texts:
        b.append(Message, "main", to="other", delivered=delivered, content=b.text(text))
    return b.build(blobs=b.blobs)


def test_messages():
    assert found([talk("one", "two", delivered=False)]) == {"undelivered_messages": ["2 of 2 messages never arrived."]}
    assert found([talk("go on", "go on", "go on", "stop")]) == {
        "repeated_messages": ["50% of 4 messages told their recipient what it had been told before."]
    }
    assert found([talk("one", "two", "three", "four")]) == {}
    assert found([talk("again", "again", "again")]) == {}  # too few to say


def calls(pairs, *, read=True):
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    for argument, answer in pairs:
        call = b.append(ToolCall, "main", tool="search", content=b.text(argument))
        b.append(ToolResult, "main", tool="search", call=call.id, content=b.text(answer))
        if read:
            b.append(Turn, "main")
    return b.build()


def test_tool_spam():
    assert found([calls([("x", "y")] * 6)]) == {
        "tool_spam": ["5 of 6 tool calls led nowhere: 5 repeated a call and got the same answer."]
    }
    assert found([calls([(str(n), "y") for n in range(5)], read=False)]) == {
        "tool_spam": ["5 of 5 tool calls led nowhere: the results of 5 were never read."]
    }
    assert found([calls([("run the tests", f"{9 - n} failures") for n in range(9)])]) == {}
    assert found([calls([("x", "y")] * 4)]) == {}
    assert found([calls([("x", "y")] * 6 + [(str(n), "y") for n in range(14)])]) == {}  # a quarter of them


def test_tool_spam_tells_what_it_earned():
    trace = calls([("x", "y")] * 6)
    paid = composed(trace, [tool.tool_status(trace, Evidence())], terms=[Term("tool_status", 0.5)])
    assert found([trace], rewards={"t": paid})["tool_spam"] == [
        "5 of 6 tool calls led nowhere: 5 repeated a call and got the same answer; they earned 2.5 of tool reward."
    ]


def test_calls_that_wait_are_no_spam():
    trace = calls([("x", "y")] * 6)
    waiting = tuple(
        msgspec.structs.replace(e, tool="TaskOutput") if isinstance(e, ToolCall | ToolResult) else e
        for e in trace.events
    )
    source = Source("claude_code", "1")
    assert "tool_spam" not in found([msgspec.structs.replace(trace, events=waiting, source=source)])


def test_agents_that_were_spawned_for_nothing():
    assert found([rollout("t", workers=2, idle=3)]) == {
        "pseudo_parallelism": ["3 of 5 spawned agents did nothing, or nothing of theirs was used."]
    }
    assert found([rollout("t", workers=3, idle=1)]) == {}
    open_ = rollout("t", workers=1, idle=3, stop=False)
    assert found([open_]) == {}
    assert found([open_], known=False)["pseudo_parallelism"][0] == "The team has not answered yet."


def test_a_word_left_in_memory_is_heard():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    for name in ("a", "b"):
        b.agent(Agent(name, parent="main"))
        b.append(Spawn, "main", to=name)
        b.append(Turn, name)
        b.append(Memory, name, op="write", key=name)
    for name in ("a", "b"):
        b.append(Memory, "main", op="read", key=name)
    b.append(Turn, "main")
    b.append(Stop, "main")
    assert found([b.build()]) == {}


def test_side_by_side_for_no_gain_in_time():
    # main 1 s, three workers one after the other for 2 s each, main 1 s: work 8 s, span 8 s
    assert found([rollout("t", workers=3, turns=2, wave=False)]) == {
        "pseudo_parallelism": ["3 agents were set to work side by side, yet that saved only 0% of the work."]
    }


# A batch, in the order of training


def batch(n, make):
    """n traces with their evidence."""
    made = [make(k, f"t{k}") for k in range(n)]
    return [trace for trace, _ in made], {trace.trace_id: evidence for trace, evidence in made}


def test_spawns_that_are_farmed():
    gamed = batch(16, lambda k, name: (rollout(name, workers=2 + k // 2), graded(name, 0.8 - 0.02 * k)))
    assert found(*gamed) == {
        "pseudo_parallelism": [
            "Spawns rose from 3.5 to 7.5 a trace, while critical steps went from 3 to 3 "
            "and the outcome from 0.73 to 0.57."
        ]
    }
    better = batch(16, lambda k, name: (rollout(name, workers=2 + k // 2), graded(name, 0.5 + 0.02 * k)))
    assert found(*better) == {}
    faster = batch(16, lambda k, name: (rollout(name, workers=2 + k // 2, turns=16 - k), graded(name, 0.8)))
    assert found(*faster) == {}
    steady = batch(16, lambda k, name: (rollout(name, workers=2 + k % 2), graded(name, 0.8 - 0.02 * k)))
    assert found(*steady) == {}


def test_delegation_that_dies_out():
    def make(k, name):
        return rollout(name, workers=2 if k < 9 else 0), graded(name, 0.5)

    assert found(*batch(16, make)) == {
        "delegation_collapse": [
            "The share of traces that delegate fell from 100% to 12%, while the outcome went from 0.5 to 0.5."
        ]
    }
    ungraded = batch(16, lambda k, name: (make(k, name)[0], Evidence()))
    assert found(*ungraded) == {"delegation_collapse": ["The share of traces that delegate fell from 100% to 12%."]}
    rightly = batch(16, lambda k, name: (make(k, name)[0], graded(name, 0.5 + 0.02 * k)))
    assert found(*rightly) == {}


def judged(name, approval, grade, *, by="w1.0"):
    return graded(name, grade, verdicts={"w0.0": (Verdict(approval, by=by),)})


def test_verifiers_that_agree_with_whatever_they_see():
    gamed = batch(16, lambda k, name: (rollout(name), judged(name, 0.5 + 0.03 * k, 0.5)))
    assert found(*gamed) == {
        "verifier_collusion": [
            "The team's verifiers approve more, from 0.605 to 0.845, while the grade went from 0.5 to 0.5."
        ]
    }
    honest = batch(16, lambda k, name: (rollout(name), judged(name, 0.5 + 0.03 * k, 0.4 + 0.03 * k)))
    assert found(*honest) == {}
    outside = batch(16, lambda k, name: (rollout(name), judged(name, 0.5 + 0.03 * k, 0.5, by="human")))
    assert found(*outside) == {}
    assert "verifier_collusion" in found(*outside, known=False)


def test_a_rubric_that_asks_for_something_else():
    def make(k, name, team):
        return rollout(name), graded(name, 0.5 + team * k, grades={"role": {"critic": 0.5 + 0.02 * k}})

    assert found(*batch(16, lambda k, name: make(k, name, -0.02))) == {
        "rubric_mismatch": ["Role 'critic' is graded better, from 0.57 to 0.73, while the team fell from 0.43 to 0.27."]
    }
    assert found(*batch(16, lambda k, name: make(k, name, 0.02))) == {}
    assert found(*batch(16, lambda k, name: make(k, name, 0.0))) == {}


def padded(reward):
    """Sixteen traces of 3 to 6 turns, half of them right, with a process reward by length and outcome."""
    traces_, evidence = batch(
        16, lambda k, name: (rollout(name, workers=1, turns=1 + k % 4), graded(name, float(k % 8 > 3)))
    )
    paid = {}
    for trace in traces_:
        length = sum(isinstance(e, Turn) for e in trace.events)
        value = reward(length, evidence[trace.trace_id].grade("team", trace.trace_id))
        rows = (Reward("value", "R4", "team", trace.trace_id, value),)
        paid[trace.trace_id] = composed(trace, [rows], terms=[Term("value")])
    return traces_, evidence, paid


def test_step_padding():
    # raw values, .5 a turn: grows with the length
    assert found(*padded(lambda length, right: 0.5 * length + right)) == {
        "step_padding": ["At equal outcome 'value' pays 0.5 for every turn more (correlation 1.00)."]
    }
    assert found(*padded(lambda length, right: right)) == {}  # progress: V_last − V_first
    assert found(*padded(lambda length, right: 3 * right + 1e-15 * length)) == {}  # rounding
    assert found(*padded(lambda length, right: 5 - length)) == {}


def test_step_padding_lacks_rewards_or_lengths():
    traces_, evidence, paid = padded(lambda length, right: length)
    assert "step_padding" in found(traces_, evidence, known=False)
    assert "step_padding" in found(traces_[:4], evidence, paid, known=False)
    assert "step_padding" not in found(traces_, evidence, paid, known=False)


def mixed(weights, outcomes, extras):
    """Composed rewards of two channels; `weights` of the extra one by trace."""
    traces_ = [rollout(f"t{k}") for k in range(len(outcomes))]
    paid = {}
    for trace, weight, outcome, extra in zip(traces_, weights, outcomes, extras, strict=True):
        rows = [(Reward("outcome", "R1", "team", "", outcome),), (Reward("extra", "R7", "team", "", extra),)]
        paid[trace.trace_id] = composed(trace, rows, terms=[Term("outcome"), Term("extra", weight)])
    return traces_, None, paid


FLIPS = [float(k % 2) for k in range(16)]
SLOW_FLIPS = [float(k // 2 % 2) for k in range(16)]


def test_a_channel_that_drowns_the_rest():
    report = found(*mixed([10.0] * 16, FLIPS, SLOW_FLIPS))
    assert report == {
        "drowned_channels": ["Channel 'extra' makes 99% of the variance of the reward and drowns the others."]
    }
    assert found(*mixed([0.3] * 16, FLIPS, SLOW_FLIPS)) == {}
    assert found(*mixed([0.01] * 16, FLIPS, SLOW_FLIPS)) == {}  # the outcome leads, as it should
    assert found(*mixed([10.0] * 16, [1.0] * 16, SLOW_FLIPS)) == {}  # there is nothing to be drowned


def test_a_channel_that_grows():
    report = found(*mixed([0.1] * 8 + [2.0] * 8, FLIPS, SLOW_FLIPS))
    assert report == {"weight_drift": ["Channel 'extra' grew from 1% to 80% of the variance of the reward."]}
    assert found(*mixed([2.0] * 8 + [0.1] * 8, FLIPS, SLOW_FLIPS)) == {}  # annealed, as it should be


# The report


def test_nothing_to_look_at():
    assert found([]) == {}
    assert found([EMPTY]) == {}
    needs = {"free_riding", "pseudo_parallelism", "delegation_collapse", "verifier_collusion", "rubric_mismatch"}
    assert set(found([EMPTY], known=False)) == needs | {"step_padding", "drowned_channels", "weight_drift"}


def test_ids_are_unique():
    with pytest.raises(ValueError, match="two traces have the id 't'"):
        detect([rollout("t"), rollout("t")])


def test_findings_are_data():
    gamed = detect([rollout("t", workers=2, idle=3)])
    assert msgspec.json.decode(msgspec.json.encode(gamed), type=tuple[type(gamed[0]), ...]) == gamed
    assert (gamed[0].units, gamed[0].value, gamed[0].limit) == (("w2", "w3", "w4"), 0.6, 0.5)


@given(st.lists(traces() | logs(), max_size=3), st.booleans())
def test_any_lawful_traces_can_be_looked_at(given_, told):
    named = [msgspec.structs.replace(trace, trace_id=f"t{n}") for n, trace in enumerate(given_)]
    evidence = {trace.trace_id: EVIDENCE for trace in named} if told else None
    report = detect(named, evidence)
    assert all(finding.says.endswith(".") and bool(finding.traces) == bool(named) for finding in report)
    flags = [finding.known for finding in report]
    assert all(earlier or not later for earlier, later in pairwise(flags))
    merged = [(finding.detector, finding.says) for finding in report if not finding.known]
    assert len(merged) == len(set(merged))


@given(st.lists(st.floats(-5, 5), min_size=8, max_size=30), st.randoms(use_true_random=False))
def test_a_trend_is_one_thing_or_the_other(values_, die):
    change = trend(values_)
    assert not (change.rises(0.1) and change.falls(0.1))
    backwards = trend(values_[::-1])
    assert change.rises(0.1) == backwards.falls(0.1)
    assert trend(values_[:7]) is None


def test_noise_is_no_trend():
    """Of 300 series without a trend at most one in ten is taken for one (two standard errors, eight values a half)."""
    die = random.Random(0)
    wrong = 0
    for _ in range(300):
        change = trend([die.gauss(0, 1) for _ in range(16)])
        wrong += change.rises(0.0) or change.falls(0.0)
    assert wrong <= 30
    assert trend([0.0] * 4 + [1.0] * 4) == Trend(0.0, 1.0, 0.0)


def only(*arguments, **more):
    (finding,) = (f for f in detect(*arguments, **more) if f.known)
    return finding


def test_what_was_measured_is_in_the_finding():
    def farmed(k, name):
        return rollout(name, workers=2 + k // 2), graded(name, 0.5)

    assert only(*batch(16, farmed)).value == 7.5 - 3.5
    colluding = only(*batch(16, lambda k, name: (rollout(name), judged(name, 0.5 + 0.03 * k, 0.5))))
    assert colluding.value == pytest.approx(0.845 - 0.605)
    traces_, _, paid = mixed([0.1] * 8 + [2.0] * 8, FLIPS, SLOW_FLIPS)
    grown = only(traces_, rewards=paid)
    assert (grown.units, grown.value) == (("extra",), pytest.approx(4 / 5 - 1 / 101))


def test_eight_traces_are_the_least():
    traces_, _, paid = mixed([10.0] * 8, FLIPS[:8], SLOW_FLIPS[:8])
    assert "drowned_channels" in found(traces_, None, paid)
    assert "weight_drift" not in found(traces_, None, paid, known=False)
    assert {"drowned_channels", "weight_drift"} <= set(found(traces_[:7], None, paid, known=False))


def test_the_small_team_has_one_flaw():
    assert isinstance(tool.tool_status(EMPTY, Evidence()), Unavailable)
    assert found([small_team()]) == {"undelivered_messages": ["1 of 1 messages never arrived."]}
