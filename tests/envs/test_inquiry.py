"""E6: all five decisions, against the worked model's numbers and a twin that knows nothing of processes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import by_name, optimal_policy
from orchestrace.envs.dynamic_programming import optimum
from orchestrace.envs.joint.inquiry import contexts_of
from orchestrace.envs.joint.inquiry_bounds import bracket, garbling
from orchestrace.envs.joint.inquiry_physics import Context, asks, detailed, informed, informed_given, logistic, seen
from orchestrace.envs.joint.inquiry_process import built
from orchestrace.metrics import critical_steps
from orchestrace.testing.envs import check_env

SMALL = {"contexts": 2, "rounds": 2, "most": 1}
BASE = Context(0, 0.75, 0.005, 0.01, 4, 2, 0.02, 0.01, 0.004, 0.65, 0.5)


def solved(context):
    made = built([context])
    return float(made.starts @ optimum(made.process).values)


# V* of one context with N = 2, T = 4 and the base prices: joint_env.py, `Joint(P).value`
KNOWN = [
    ({"unit": 0.25}, 0.6803518348994261),
    ({"unit": 0.25, "detail_price": 0.04}, 0.6552878383354998),
    ({"unit": 0.25, "round_price": 0.03}, 0.65),
]


@pytest.mark.parametrize(("changed", "value"), KNOWN)
def test_the_optimum_is_that_of_the_worked_model(changed, value):
    assert solved(BASE._replace(**changed)) == pytest.approx(value, abs=1e-9)


@pytest.mark.long
def test_all_sixteen_contexts_give_the_worked_models_table():
    """joint_env.py prints: V* .763717, V_null .661191 and what is lost when one decision is frozen."""
    env = by_name("inquiry", {"contexts": 16, "rounds": 4})
    best, null, found = env.optimal_value(), env.null().value, env.baselines()
    assert best == pytest.approx(0.763717, abs=6e-7)
    assert null == pytest.approx(0.661191, abs=6e-7)
    table = {
        "serial": 0.688807, "one-at-a-time": 0.761345, "one-shot": 0.729934, "must-delegate": 0.761417,
        "never-details": 0.750667, "always-details": 0.757495, "never-abstains": 0.746772, "fixed-rounds": 0.733611,
    }  # fmt: skip
    assert found == pytest.approx(table, abs=6e-7)


def twin(context):
    """Backward induction on log-odds alone, written from the physics: value functions, no states, no numbers."""
    x = np.arange(-context.furthest, context.furthest + 1)
    post = logistic(context.unit * x)
    stop = np.maximum(np.maximum(post, 1 - post), context.abstain)
    teams = [(a, b) for a in range(context.most + 1) for b in range(context.most + 1)]

    def at(V, shift):
        return V[np.clip(np.arange(len(x)) + shift, 0, len(x) - 1)]

    def round_value(V, team):
        values = []
        for ask in asks(team):
            total = -context.round_price - context.job_price * (ask.a + ask.b) - context.own_price * ask.own
            for report, shift, (plus, minus) in seen(context, ask):
                up, down = post * plus, (1 - post) * minus
                told = (
                    sum((up * p + down * m) / (up + down) * at(V, y) for y, p, m in detailed(context, report))
                    - context.detail_price * report.sources
                )
                worth = np.maximum(at(V, shift), told) if report.sources else at(V, shift)
                total = total + (up + down) * worth
            values.append(total)
        return np.max(values, axis=0)

    V = dict.fromkeys(teams, stop)
    for _ in range(context.rounds):
        jobs = {team: round_value(V[team], team) for team in teams}
        V = {
            k: np.maximum(
                stop,
                np.max(
                    [jobs[m] - context.spawn_price * (sum(m) - sum(k)) for m in teams if m[0] >= k[0] and m[1] >= k[1]],
                    axis=0,
                ),
            )
            for k in teams
        }
    return float(V[0, 0][context.furthest])


@settings(max_examples=8, deadline=None)
@given(
    unit=st.floats(0.2, 1.2), price=st.floats(0.0, 0.05), detail=st.floats(0.0, 0.05), copying=st.floats(0.0, 1.0),
    kind=st.integers(0, 1), abstain=st.floats(0.4, 0.8),
)  # fmt: skip
def test_the_process_is_worth_what_its_twin_says(unit, price, detail, copying, kind, abstain):
    context = Context(kind, unit, price, detail, 2, 2, 0.02, 0.01, 0.004, abstain, copying)
    assert solved(context) == pytest.approx(twin(context), abs=1e-9)


@given(st.floats(0.05, 2), st.integers(1, 3))
def test_details_mean_what_bayes_says(unit, g):
    """An informed report is worth ±2g units, an uninformed one nothing, and the sign alone ±g."""
    q = informed(g, unit)
    right = q * logistic(2 * g * unit) + (1 - q) / 2
    assert right == pytest.approx(float(logistic(g * unit)), abs=1e-12)
    p, m = (informed_given(g, unit, right=side) for side in (True, False))
    assert right * p + (1 - right) * m == pytest.approx(q, abs=1e-12)
    assert np.log(right * p / ((1 - right) * m)) == pytest.approx(2 * g * unit, abs=1e-9)


def test_chances_of_every_report_sum_to_one():
    for ask in asks((2, 2)):
        for truth in (0, 1):
            assert sum(s.chances[truth] for s in seen(BASE, ask)) == pytest.approx(1)
        for report, _, _ in seen(BASE, ask):
            laws = detailed(BASE, report)
            assert sum(p for _, p, _ in laws) == pytest.approx(1)
            assert sum(m for _, _, m in laws) == pytest.approx(1)


@given(st.floats(0.001, 0.999), st.floats(0.001, 1.0))
def test_a_better_agents_report_can_be_garbled_into_a_worse_ones(better, share):
    """What makes the bracket a proof: every joint chance of (sign, informed) comes out as the worse agent's."""
    worse = better * share
    g = garbling(better, worse)
    for chance in g:
        assert -1e-9 <= chance <= 1 + 1e-9
    right, wrong, blank = (1 + better) ** 2 / 4, (1 - better) ** 2 / 4, (1 - better**2) / 4
    kept = (1 - g.flip) * (right * g.informed + blank * g.uninformed)
    turned = g.flip * (wrong * g.turned + blank * g.uninformed)
    assert kept + turned == pytest.approx((1 + worse) ** 2 / 4, abs=1e-9)


def test_skills_off_the_lattice_are_bracketed_and_the_bracket_narrows():
    context = BASE._replace(rounds=2, most=1)
    wide, narrow = (bracket(context, (2.3, 0.8, 1.1), parts=k) for k in (2, 4))
    assert wide.low <= narrow.low <= narrow.high <= wide.high
    exact = bracket(context, (2.0, 1.0, 1.0), parts=1)
    assert exact.low == exact.high == solved(context)
    with pytest.raises(ValueError, match="too few"):
        bracket(context, (2.3, 0.8, 1.1), parts=1)


def test_kinds_are_mirror_images():
    assert solved(BASE._replace(rounds=2)) == pytest.approx(solved(BASE._replace(rounds=2, kind=1)), abs=1e-12)


def test_the_contract_holds():
    check_env(by_name("inquiry", SMALL), np.random.default_rng(0), episodes=3_000, traces=60)
    check_env(by_name("inquiry", {**SMALL, "most": 2, "contexts": 4}), np.random.default_rng(1), traces=20)


def test_mirror_states_look_alike_and_are_worth_the_same():
    env = by_name("inquiry", {**SMALL, "contexts": 1})
    seen_, values = env.features(), env.solution.values
    by_look = {}
    for look, value in zip(map(tuple, np.round(seen_, 9)), values, strict=True):
        by_look.setdefault(look, []).append(value)
    assert max(len(v) for v in by_look.values()) >= 2
    for same in by_look.values():
        assert max(same) - min(same) < 1e-9


def test_an_episode_shows_all_five_decisions():
    env = by_name("inquiry", {"contexts": 1, "rounds": 3})
    policy = 0.7 * optimal_policy(env) + 0.3 * env.legal() / env.legal().sum(axis=1, keepdims=True)
    decided, steps = set(), []
    for seed in range(20):
        trace = env.episode(policy, rng=np.random.default_rng(seed), trace_id=str(seed))
        decided |= {event.choice.sub_decision for event in trace.events if event.choice is not None}
        steps.append(critical_steps(trace))
    assert decided == {"O1", "O2", "O3", "O4", "O5"}


def test_contexts_are_halved_from_the_last_factor():
    every = contexts_of({**by_name("inquiry", SMALL).settings, "contexts": 16})
    assert len({c[:4] for c in every}) == 16
    assert {c.round_price for c in contexts_of({**by_name("inquiry", SMALL).settings, "contexts": 8})} == {0.005}
