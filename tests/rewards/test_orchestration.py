"""R7: what the graph says about spawning, delegating, aggregating and their price."""

from math import isclose, log

import msgspec
import pytest

from orchestrace.annotations import Evidence, Verdict
from orchestrace.rewards import Unavailable, orchestration
from orchestrace.rewards.orchestration import Rates
from orchestrace.trace import Agent, Builder, Delegate, Return, Spawn, Tokens, ToolCall, Turn
from rewards.hand_made import EMPTY, EVIDENCE, NOTHING, one, small_team, values

TRACE = small_team()


def untimed(trace):
    return msgspec.structs.replace(
        trace, events=tuple(msgspec.structs.replace(event, t=None, duration_s=None) for event in trace.events)
    )


def why(given):
    assert isinstance(given, tuple), given
    return given[0].why


def test_parallel_instantiation():
    # two spawns
    assert one(orchestration.parallel_instantiation(TRACE, NOTHING)) == 2 / 10
    assert one(orchestration.parallel_instantiation(TRACE, NOTHING, cap=1)) == 1
    assert one(orchestration.parallel_instantiation(EMPTY, NOTHING)) == 0  # nobody was spawned: a fact, not an absence
    with pytest.raises(ValueError, match="cap is 0"):
        orchestration.parallel_instantiation(TRACE, NOTHING, cap=0)


def test_parallel_speedup_in_seconds():
    # work: main 2 + 2, a 3 + 1 + 2, b 4: 14 s; span: main 2, a 6, main 2: 10 s
    found = orchestration.parallel_speedup(TRACE, NOTHING)
    assert isclose(one(found), 1 - 10 / 14)
    assert why(found) == "1 − 10/14 s"


def test_parallel_speedup_in_turns():
    # five turns; longest branch: main 1 + a 2, then main 1
    found = orchestration.parallel_speedup(untimed(TRACE), NOTHING)
    assert isclose(one(found), 1 - 4 / 5)
    assert why(found) == "1 − 4/5 turns"
    assert isinstance(orchestration.parallel_speedup(EMPTY, NOTHING), Unavailable)


def test_serial_speedup_needs_a_baseline():
    # wall time 10 s
    assert one(orchestration.serial_speedup(small_team(costs={"serial_s": 25.0}), NOTHING)) == 2.5
    missing = orchestration.serial_speedup(TRACE, NOTHING)
    assert isinstance(missing, Unavailable)
    assert missing.why.startswith("no serial baseline is recorded")
    timeless = untimed(small_team(costs={"serial_s": 25.0}))
    assert orchestration.serial_speedup(timeless, NOTHING) == Unavailable(
        "serial_speedup", "no turn and no tool call carries a time"
    )


def orders():
    """a is spawned and sent again, and returns three times; b fails; c never returns."""
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    for child in "abc":
        b.agent(Agent(child, parent="main"))
        b.append(Spawn, "main", to=child)
    b.append(Delegate, "main", to="a")
    b.append(ToolCall, "a", tool="search")
    b.append(Return, "a", to="main", content=b.text("found"))
    b.append(Return, "a", to="main")
    b.append(Return, "a", to="main")
    b.append(Return, "b", to="main", status="failed")
    return b.build()


def test_finish_rate():
    # four orders; a answers two of its two, however often it returns
    assert one(orchestration.finish_rate(orders(), NOTHING)) == 2 / 4
    # strict: only one of a's returns holds a text
    assert one(orchestration.finish_rate(orders(), NOTHING, strict=True)) == 1 / 4
    assert one(orchestration.finish_rate(TRACE, NOTHING)) == 1
    assert orchestration.finish_rate(EMPTY, NOTHING) == Unavailable("finish_rate", "nothing was spawned or delegated")


def test_critical_steps():
    # 4, see above
    assert one(orchestration.critical_steps(TRACE, NOTHING)) == -4
    assert one(orchestration.critical_steps(TRACE, NOTHING, budget=5)) == 0
    assert one(orchestration.critical_steps(TRACE, NOTHING, budget=3)) == -1 / 3
    assert isinstance(orchestration.critical_steps(EMPTY, NOTHING), Unavailable)
    with pytest.raises(ValueError, match="budget is 0"):
        orchestration.critical_steps(TRACE, NOTHING, budget=0)


def test_cost():
    # tokens 120 + 60 + 70 + 35 + 230 = 515; span 10 s; 0.5 USD
    paid = msgspec.structs.replace(TRACE, costs={"usd": 0.5})
    found = orchestration.cost(paid, NOTHING, rates=Rates(per_token=0.001, per_second=0.1, per_usd=2))
    assert isclose(one(found), -(0.515 + 1.0 + 1.0))
    assert why(found) == "0.001/token · 515 + 0.1/s · 10 + 2/USD · 0.5"
    assert one(orchestration.cost(TRACE, NOTHING, rates=Rates())) == 0
    prices = {"": {"input": 1e6, "output": 0.0}}  # 440 input tokens at 1 USD each
    assert isclose(one(orchestration.cost(TRACE, NOTHING, rates=Rates(per_usd=0.01), prices=prices)), -4.4)


def test_cost_in_puppeteers_log_form():
    # u = 1 costs 0.1; u = 3 costs 0.2
    paid = msgspec.structs.replace(TRACE, costs={"usd": 1.0})
    assert isclose(one(orchestration.cost(paid, NOTHING, rates=Rates(per_usd=1), log_form=True)), -0.1)
    assert isclose(
        one(orchestration.cost(paid, NOTHING, rates=Rates(per_usd=3), log_form=True)), -0.1 * log(4) / log(2)
    )


def test_cost_of_what_is_not_known():
    assert orchestration.cost(TRACE, NOTHING, rates=Rates(per_usd=1)) == Unavailable(
        "cost", "the log has no costs; give prices"
    )
    some = msgspec.structs.replace(TRACE.events[0], tokens=None)
    half = msgspec.structs.replace(TRACE, events=(some, *TRACE.events[1:]))
    assert orchestration.cost(half, NOTHING, rates=Rates(per_token=1)) == Unavailable(
        "cost", "not every turn carries tokens"
    )
    assert isinstance(orchestration.cost(untimed(TRACE), NOTHING, rates=Rates(per_second=1)), Unavailable)
    assert one(orchestration.cost(untimed(TRACE), NOTHING, rates=Rates(per_token=1))) == -515
    huge = msgspec.structs.replace(TRACE, costs={"usd": 1e308})
    assert isinstance(orchestration.cost(huge, NOTHING, rates=Rates(per_usd=100)), Unavailable)
    for price in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="per_token is"):
            orchestration.cost(TRACE, NOTHING, rates=Rates(per_token=price))


def split(task, a, b):
    return one(orchestration.split_correctness(TRACE, Evidence(labels={"t": task, "main.1": a, "main.2": b})))


def test_split_correctness_with_labels():
    # task xyz, orders xy and y: coverage 2/3, handed out twice 1 − 2/3
    assert isclose(one(orchestration.split_correctness(TRACE, EVIDENCE)), 2 / 3 - 1 / 3)
    assert split("xyz", "xy", "z") == 1  # an exact partition
    assert split("xy", "xy", "xy") == 0.5  # two copies of the whole
    assert isclose(split("xy", "xyu", "v"), 2 / 4)  # more than was asked
    assert split("xy", "u", "u") == -0.5  # nothing of the task, twice
    empty = Evidence(labels={"t": ("x",), "main.1": (), "main.2": ()})
    assert isinstance(orchestration.split_correctness(TRACE, empty), Unavailable)


def test_split_correctness_without_labels():
    assert one(orchestration.split_correctness(TRACE, NOTHING)) == 1
    # returned items y, x, y: one of three came twice
    items = Evidence(labels={"a.4": ("x", "y"), "b.2": ("y",)})
    found = orchestration.split_correctness(TRACE, items)
    assert isclose(one(found), 2 / 3)
    assert why(found) == "1 of 3 returned labelled items came twice"
    assert isinstance(orchestration.split_correctness(EMPTY, NOTHING), Unavailable)
    texts = msgspec.structs.replace(orders().events[5], content=None)
    silent = msgspec.structs.replace(orders(), events=(*orders().events[:5], texts, *orders().events[6:]))
    assert isinstance(orchestration.split_correctness(silent, NOTHING), Unavailable)


def test_labels_that_leave_out_an_order_or_the_task_do_not_count():
    for some in ({"t": ("x",), "main.1": ("x",)}, {"main.1": ("x",), "main.2": ("x",)}):
        assert why(orchestration.split_correctness(TRACE, Evidence(labels=some))).endswith("returned texts came twice")


def test_aggregation_quality():
    # verdicts: aggregate .9, inputs .7 and .4
    assert values(orchestration.aggregation_quality(TRACE, EVIDENCE)) == {"main.4": 0.9 - 0.7}
    assert isinstance(orchestration.aggregation_quality(TRACE, NOTHING), Unavailable)


def test_scores_of_an_aggregate_may_be_grades_of_turns():
    # aggregate in turn main.3, a's return in turn a.3, b's in b.0
    grades = Evidence(grades={"turn": {"main.3": 0.5, "a.3": 0.75, "b.0": 0.25}})
    assert values(orchestration.aggregation_quality(TRACE, grades)) == {"main.4": -0.25}
    one_missing = Evidence(grades={"turn": {"main.3": 0.5, "a.3": 0.75}})
    assert isinstance(orchestration.aggregation_quality(TRACE, one_missing), Unavailable)


def test_aggregation_regret():
    assert isclose(values(orchestration.aggregation_regret(TRACE, EVIDENCE, best={"main.4": 1.0}))["main.4"], -0.1)
    assert isinstance(orchestration.aggregation_regret(TRACE, EVIDENCE, best={}), Unavailable)
    assert isinstance(orchestration.aggregation_regret(TRACE, NOTHING, best={"main.4": 1.0}), Unavailable)
    malformed = Evidence(verdicts={"main.4": (Verdict(0.5, valid=False),)})
    assert isinstance(orchestration.aggregation_regret(TRACE, malformed, best={"main.4": 1.0}), Unavailable)


def test_a_chain_saves_nothing():
    b = Builder(trace_id="t", task_id="k")
    b.agent(Agent("main"))
    b.agent(Agent("a", parent="main"))
    b.append(Turn, "main", t=0, duration_s=0.1, tokens=Tokens())
    b.append(Spawn, "main", to="a", t=0.1)
    b.append(Turn, "a", t=0.1, duration_s=0.2)
    b.append(Return, "a", to="main", t=0.3)
    b.append(Turn, "main", t=0.3, duration_s=0.1)
    assert one(orchestration.parallel_speedup(b.build(), NOTHING)) == pytest.approx(0, abs=1e-9)
