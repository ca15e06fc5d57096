"""Methods over counterfactuals, values, stopping and words: each on an example that can be followed by hand."""

import ast
from pathlib import Path

import numpy as np
import pytest

from orchestrace.credit.counterfactuals.mixing import Mixer
from orchestrace.credit.counterfactuals.text import TextCredit
from orchestrace.credit.methods import counterfactuals, stopping, texts, values

FILES = (counterfactuals, stopping, texts, values)
LABELS = ("Source", "Unit", "Kind", "Formula", "Data", "Evidence", "Departures")
UNITS = {"team", "orchestrator", "role", "agent", "turn", "message", "tool_call", "token"}
KINDS = {"share", "advantage", "shaped", "value", "text"}
EVIDENCE = {"confirmed in code", "secondary", "ours", "textbook"}


def presets():
    for module in FILES:
        for node in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield node


@pytest.mark.parametrize("node", list(presets()), ids=lambda node: node.name)
def test_every_method_says_where_it_comes_from(node):
    lines = dict(
        line.strip().split(": ", 1)
        for line in ast.get_docstring(node).splitlines()
        if line.strip().partition(":")[0] in LABELS
    )
    assert tuple(lines) == LABELS
    assert set(lines["Unit"].split(", ")) <= UNITS
    assert lines["Kind"] in KINDS
    assert lines["Evidence"] in EVIDENCE
    kind_of = {"Shares": "share", "Advantages": "advantage", "StopCredit": "advantage", "ShapedRewards": "shaped"}
    assert kind_of.get(ast.unparse(node.returns), lines["Kind"]) == lines["Kind"]


def test_replaced_actions():
    assert counterfactuals.difference_rewards(1.0, [0.25, 1]).values.tolist() == [0.75, 0]
    assert counterfactuals.leave_one_out(1.0, [0.25, 1]).sampling.definition == "dropped"
    q, pi = np.tile([1, 0.4, -0.2], (3, 1)), np.tile([0.2, 0.5, 0.3], (3, 1))
    np.testing.assert_allclose(counterfactuals.coma(q, pi, actions=[0, 1, 2]).values, [0.66, 0.06, -0.54])
    utility = counterfactuals.aristocrat_utility(q, pi, actions=[0, 1, 2])
    np.testing.assert_allclose(utility.values, [0.66, 0.06, -0.54])
    assert utility.sampling.definition == "replay"
    np.testing.assert_allclose(counterfactuals.coma_sampled([1, 0, 5], [7, 7, 8]).values, [1, -1, 0])
    assert counterfactuals.branches([[1, 0]], [[0, 0]]).values.tolist() == [0.5]


def test_team_values():
    found = values.vdn([0.2, -0.1, 0.4])
    assert found.total == pytest.approx(0.5)
    assert found.residual == pytest.approx(0)
    mixer = Mixer(np.array([[[-2.0], [1.0]]]), [[0.0]], [[-0.5]], [1.0])
    mixed = values.qmix([[1.0, 2.0]], mixer)
    assert (mixed.totals.tolist(), mixed.slopes.tolist()) == ([3.0], [[1.0, 0.5]])
    assert values.maddpg([1.0, 2.0]).values.tolist() == [1, 2]
    assert values.maddpg([1.0, 2.0], baselines=[0.5, 2]).values.tolist() == [0.5, 0]
    np.testing.assert_allclose(values.agent_q_mix([1], [5000]).values, [0.95])


def test_prefix_values():
    np.testing.assert_allclose(values.rudder([0.1, 0.1, 0.6, 0.5, 1], 1).values, [0.1, 0, 0.5, -0.1, 0.5], atol=1e-12)
    np.testing.assert_allclose(
        values.pbrs(np.zeros(4), [0, 0.3, 0.2, 0.8], discount=0.9).added, [0.27, -0.12, 0.52, -0.8]
    )
    np.testing.assert_allclose(values.prm_progress([0, 1], [0.2, 0.7, 0.6]).values, [0.5, 0.9])


def test_stop_methods():
    r, C = [0.5, 0.7, 0.9], [0.6, 0.65, -np.inf]
    np.testing.assert_allclose(stopping.snell(r, C, stopped=[True, True, True]).values, [-0.1, 0, 0], atol=1e-15)
    found = stopping.q_lambda([r], [C], lam=0.5)
    np.testing.assert_allclose(found.go_on[0], [0.7, 0.9, np.nan])
    ones = np.ones((2, 2, 1))
    credit = stopping.longstaff_schwartz(
        [[0.4, 1.0]], ones[:1], fit_stop_values=[[0.4, 0.2], [0.4, 0.8]], fit_features=ones
    )
    np.testing.assert_allclose(credit.stop, [[-0.1, 0]], atol=1e-12)
    np.testing.assert_allclose(credit.go_on, [[0, -np.inf]], atol=1e-12)


def test_an_orchestrator_that_did_better_than_expected_is_credited_in_every_action():
    good, bad = (stopping.evosteer(R, [0.5, 0.5], log_ratios=[0, 0]).values for R in (1.0, 0.0))
    assert (good > 0).all()
    assert (bad < 0).all()
    u = np.log1p(np.expm1(2) * np.array([0.5, 0.5, 1]))
    spans = [(0, 1), (0, 2), (1, 2)]
    slow = [-sum(2 * (u[i] - u[j]) / 3 for i, j in spans if i <= t < j) for t in range(2)]
    np.testing.assert_allclose(good, slow)


def test_puppeteer_returns():
    c = [0.1 * np.log2(1 + (s + 1) / 6) for s in range(2)]
    end = 1 + 0.5 * c[1]
    found = stopping.puppeteer(1.0, [100_000, 0], most_steps=5).values
    np.testing.assert_allclose(found, [-c[0] + 0.99 * end, end])
    with pytest.raises(ValueError, match=r"discount is 1\.5"):
        stopping.puppeteer(1.0, [1], most_steps=5, discount=1.5)


def test_words_reach_everyone_who_was_there():
    def critic(trace, agents):
        return [TextCredit(agent, trace, f"{agent} helped") for agent in reversed(agents)]

    found = texts.langmarl(critic, {"t1": ("a", "b"), "t2": ("a",)})
    assert [(credit.trace_id, credit.agent) for credit in found] == [("t1", "a"), ("t1", "b"), ("t2", "a")]
    with pytest.raises(ValueError, match="agent 'b' has no credit"):
        texts.langmarl(lambda trace, agents: critic(trace, agents[:1]), {"t1": ("a", "b")})
