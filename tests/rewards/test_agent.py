"""R2: what an agent did, and its influence on what came after."""

from math import fsum, isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.annotations import Evidence
from orchestrace.rewards import Unavailable, agent
from orchestrace.trace import Agent, Builder, Turn
from rewards.hand_made import EVIDENCE, NOTHING, small_team, values


def debate(rounds, agents=2):
    b = Builder(trace_id="t", task_id="k")
    for a in range(agents):
        b.agent(Agent(f"a{a}"))
    for _ in range(rounds):
        for a in range(agents):
            b.append(Turn, f"a{a}")
    return b.build()


def scored(table):
    return Evidence(grades={"turn": {f"a{a}.{t}": s for t, row in enumerate(table) for a, s in enumerate(row)}})


def test_each_agent_that_was_graded():
    assert values(agent.own_outcome(small_team(), EVIDENCE)) == {"a": 1.0, "b": 0.5}
    assert isinstance(agent.own_outcome(small_team(), NOTHING), Unavailable)


def test_maporl_by_hand():
    # s(0) = [.4, .8], s(1) = [.9, .7], γ = .3: r(0, 0) = (.4 + .3·.8)/1.3, r(0, 1) = (.8 + .3·.8)/1.3 = .8
    found = values(agent.influence(debate(2), scored([[0.4, 0.8], [0.9, 0.7]])))
    assert isclose(found["a0.0"], 0.64 / 1.3)
    assert isclose(found["a1.0"], 0.8)
    assert (found["a0.1"], found["a1.1"]) == (0.9, 0.7)


def test_the_other_mixes():
    trace, evidence = debate(2), scored([[0.4, 0.8], [0.9, 0.7]])
    own = values(agent.influence(trace, evidence, mix="individual"))
    assert isclose(own["a0.0"], (0.4 + 0.3 * 0.9) / 1.3)
    assert values(agent.influence(trace, evidence, mix="current"))["a0.0"] == 0.4
    assert values(agent.influence(trace, evidence, mix="last"))["a0.0"] == 0.9
    assert values(agent.influence(trace, evidence, discount=0.0))["a0.0"] == 0.4


def test_rounds_may_be_told():
    # a1 speaks in round 1 only: r(0, a0) = (1 + .5·0)/1.5
    trace, evidence = debate(1), scored([[1.0, 0.0]])
    found = values(agent.influence(trace, evidence, discount=0.5, rounds={"a0.0": 0, "a1.0": 1}))
    assert isclose(found["a0.0"], 1 / 1.5)
    with pytest.raises(ValueError, match=r"turn 'a1\.0' is graded, but has no round"):
        agent.influence(trace, evidence, rounds={"a0.0": 0})
    with pytest.raises(ValueError, match=r"discount is 2; it must lie in \[0, 1\]"):
        agent.influence(trace, evidence, discount=2)


def slow(table, discount):
    """The formula as it stands in the paper."""
    last = len(table) - 1
    found = {}
    for t, row in enumerate(table):
        for a, own in enumerate(row):
            total, norm = own, 1.0
            for later in range(t + 1, last + 1):
                total += discount ** (later - t) * sum(table[later]) / len(table[later])
                norm += discount ** (later - t)
            found[f"a{a}.{t}"] = total / norm
    return found


scores = st.floats(0, 1)


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(scores, min_size=n, max_size=n), min_size=1, max_size=4)),
       st.floats(0, 1))  # fmt: skip
def test_influence_is_the_formula_and_lies_between_the_scores(table, discount):
    found = values(agent.influence(debate(len(table), len(table[0])), scored(table), discount=discount))
    expected = slow(table, discount)
    low, high = min(map(min, table)), max(map(max, table))
    for name, value in found.items():
        assert isclose(value, expected[name], abs_tol=1e-12)
        assert low - 1e-12 <= value <= high + 1e-12
    assert fsum(found.values()) == fsum(found[name] for name in expected)
