"""Whether and how many to spawn: optima in closed form, the published figures, what the traces show."""

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import by_name, optimal_policy
from orchestrace.envs.spawn.makespan import drawn_lists, greedy_makespan
from orchestrace.envs.spawn.spawn_or_not import SERIAL, SPAWN, signals, spawn_advantages
from orchestrace.envs.spawn.split import WORKS, split_cost, split_works
from orchestrace.envs.spawn.stages import drawn_jobs, grouped_cost
from orchestrace.errors import RecipeError
from orchestrace.metrics import critical_steps
from orchestrace.testing.envs import check_env, random_policy
from orchestrace.trace import Aggregate, Delegate, Return, Spawn, Turn

few = settings(max_examples=25, deadline=None)


def told(env, policy=None, seed=0):
    return env.episode(optimal_policy(env) if policy is None else policy, rng=np.random.default_rng(seed), trace_id="t")


def kinds(trace, kind):
    return [event for event in trace.events if isinstance(event, kind)]


def always(env, action):
    return np.eye(len(env.actions))[np.full(len(env.starts), action)]


# split


@pytest.mark.parametrize(
    ("work", "c0", "a", "agents", "cost"),
    [(100, 2, 1, 10, 22), (20, 4, 3, 0, 20), (1000, 2, 2, 20, 92), (12, 4, 3, 0, 12)],
)
def test_split_finds_the_published_numbers_of_agents(work, c0, a, agents, cost):
    costs = [split_cost(work, k, c0=c0, a=a) for k in range(101)]
    assert (int(np.argmin(costs)), min(costs)) == (agents, cost)


def test_the_root_test_of_whether_to_spawn_is_wrong_near_the_boundary():
    assert 6 + 2 * math.sqrt(5 * 31) < 31
    assert min(split_cost(31, k, c0=6, a=5) for k in range(1, 40)) == 32


def test_split_has_the_published_values():
    env = by_name("split")
    assert env.optimal_value() == pytest.approx(-0.576, abs=1e-12)
    assert env.null().action == "4"
    assert env.null().value == pytest.approx(-0.756, abs=1e-12)


@few
@given(st.floats(0, 20), st.floats(0, 20), st.integers(1, 60), st.floats(0.2, 5))
def test_split_is_an_argmin_for_each_task(c0, a, most, scale):
    env = by_name("split", {"c0": c0, "a": a, "max_agents": most, "scale": scale})
    best = []
    for state, work in enumerate(split_works(scale).tolist()):
        costs = [work] + [c0 + a * k + -(-work // k) for k in range(1, most + 1)]
        best.append(-min(costs) / work)
        assert costs[env.optimal_action(state)] == pytest.approx(min(costs))
    assert env.optimal_value() == pytest.approx(sum(best) / len(WORKS))


def test_a_split_trace_takes_as_long_as_it_costs():
    env = by_name("split")
    for action in (0, 1, 4, 40):
        trace = told(env, always(env, action), seed=action)
        assert len(kinds(trace, Spawn)) == len(kinds(trace, Delegate)) == len(kinds(trace, Return)) == action
        assert len(kinds(trace, Aggregate)) == (action > 0)
        work = next(work for work in WORKS if trace.rewards["team"] == pytest.approx(-trace.costs["seconds"] / work))
        assert trace.costs["seconds"] == split_cost(work, action, c0=4, a=2)


# spawn-or-not


def test_spawn_or_not_has_the_published_value_as_the_grid_grows():
    env = by_name("spawn-or-not", {"grid": 1000})
    assert env.optimal_value() == pytest.approx(49 / 30, abs=1e-5)
    assert env.null() == ("serial", 0.0)


@few
@given(st.floats(1, 200), st.integers(2, 20), st.floats(0, 20), st.floats(0, 5), st.integers(4, 50))
def test_spawning_pays_where_the_advantage_is_positive(work, agents, c0, a, grid):
    env = by_name("spawn-or-not", {"work": work, "agents": agents, "c0": c0, "a": a, "grid": grid})
    advantages = signals(env.settings) * (work - work / agents) - c0 - a * agents
    np.testing.assert_allclose(spawn_advantages(env), advantages, atol=1e-9)
    assert env.optimal_value() == pytest.approx(np.maximum(advantages, 0).mean())
    for state in np.flatnonzero(np.abs(advantages) > 1e-9):
        assert env.optimal_action(int(state)) == (SPAWN if advantages[state] > 0 else SERIAL)


def test_both_branches_from_one_prefix_give_the_advantage():
    env, rng, state = by_name("spawn-or-not"), np.random.default_rng(0), 70
    paid = [env.step(np.full(20_000, state), np.full(20_000, action), rng).rewards for action in (SERIAL, SPAWN)]
    error = 15 * math.sqrt(0.705 * 0.295 / 20_000)
    assert abs(paid[1].mean() - paid[0].mean() - spawn_advantages(env)[state]) < 4 * error


def test_a_spawn_or_not_trace_takes_the_work_less_what_is_saved():
    env = by_name("spawn-or-not")
    for seed in range(20):
        trace = told(env, always(env, seed % 2), seed=seed)
        assert len(kinds(trace, Spawn)) == 4 * (seed % 2)
        assert trace.costs["seconds"] == pytest.approx(20 - trace.rewards["team"])
        parallel = trace.events[-1].labels["truth"] == "parallel"
        assert trace.rewards["team"] == ([0, 7] if parallel else [0, -8])[seed % 2]


# stages


def stage_brute(turns, before, width):
    """The textbook recursion over sets of done jobs: every legal stage is tried."""
    n = len(turns)

    @lru_cache(None)
    def cost(done):
        if len(done) == n:
            return 0
        ready = [j for j in range(n) if j not in done and before[j] <= done]
        return min(
            1 + max(turns[j] for j in stage) + cost(done | set(stage))
            for size in range(1, min(width, len(ready)) + 1)
            for stage in itertools.combinations(ready, size)
        )

    return cost(frozenset())


def stage_settings(jobs, width, seed, *, precedence=0.0, instances=1):
    return {"jobs": jobs, "width": width, "precedence": precedence, "instances": instances, "seed": seed}


@few
@given(st.integers(2, 7), st.integers(1, 4), st.integers(0, 1000))
def test_sorted_groups_are_the_best_stages_of_independent_jobs(jobs, width, seed):
    env = by_name("stages", stage_settings(jobs, width, seed))
    (drawn,) = drawn_jobs(env.settings)
    serial = sum(drawn.turns) + jobs
    best = grouped_cost(np.array(drawn.turns), width)
    assert best == stage_brute(drawn.turns, [frozenset()] * jobs, width)
    assert env.optimal_value() == pytest.approx(-best / serial)
    assert env.baselines()["longest-first"] == pytest.approx(-best / serial)
    assert env.baselines()["serial"] == pytest.approx(-1)
    assert env.null().value == pytest.approx(env.optimal_value())  # one instance: nothing to see


@few
@given(st.integers(2, 7), st.integers(1, 4), st.integers(0, 1000), st.floats(0, 1))
def test_stages_with_precedence_match_the_slow_twin(jobs, width, seed, precedence):
    env = by_name("stages", stage_settings(jobs, width, seed, precedence=precedence, instances=2))
    worth = []
    for drawn in drawn_jobs(env.settings):
        before = [frozenset(i for i in range(jobs) if bits >> i & 1) for bits in drawn.before]
        worth.append(-stage_brute(drawn.turns, before, width) / (sum(drawn.turns) + jobs))
    assert env.optimal_value() == pytest.approx(sum(worth) / 2)


def test_twelve_jobs_with_precedence_are_solved():
    env = by_name("stages", stage_settings(12, 3, 1, precedence=0.3))
    (drawn,) = drawn_jobs(env.settings)
    before = [frozenset(i for i in range(12) if bits >> i & 1) for bits in drawn.before]
    assert env.optimal_value() == pytest.approx(-stage_brute(drawn.turns, before, 3) / (sum(drawn.turns) + 12))


@few
@given(st.integers(2, 5), st.integers(1, 3), st.integers(0, 1000), st.sampled_from([0.0, 0.4]))
def test_the_null_plan_is_the_best_of_all_fixed_plans(jobs, width, seed, precedence):
    env = by_name("stages", stage_settings(jobs, width, seed, precedence=precedence, instances=3))
    drawn = drawn_jobs(env.settings)
    worth = []
    for labels in itertools.product(range(jobs), repeat=jobs):  # job j is in stage labels[j]
        if max(labels.count(stage) for stage in labels) > width:
            continue
        if any(
            bits >> i & 1 and labels[i] >= labels[j] for d in drawn for j, bits in enumerate(d.before) for i in range(j)
        ):
            continue
        costs = [
            sum(1 + max(d.turns[j] for j in range(jobs) if labels[j] == stage) for stage in set(labels)) for d in drawn
        ]
        worth.append(-np.mean([cost / (sum(d.turns) + jobs) for cost, d in zip(costs, drawn, strict=True)]))
    assert env.null().value == pytest.approx(max(worth))


@pytest.mark.parametrize("precedence", [0.0, 0.4])
def test_the_trace_of_stages_has_the_critical_steps_that_it_cost(precedence):
    env = by_name("stages", {"precedence": precedence})
    policies = optimal_policy(env), random_policy(env, np.random.default_rng(0))
    serial = {sum(drawn.turns) + 6 for drawn in drawn_jobs(env.settings)}
    for seed in range(10):
        trace = told(env, policies[seed % 2], seed=seed)
        assert critical_steps(trace) == trace.costs["critical_steps"]
        assert any(trace.rewards["team"] == pytest.approx(-critical_steps(trace) / steps) for steps in serial)
        assert len(kinds(trace, Aggregate)) == trace.costs["stages"]
        assert trace.events[-1].t == critical_steps(trace)
        for agent in {turn.agent for turn in kinds(trace, Turn)} - {"orchestrator"}:
            turns = [turn for turn in kinds(trace, Turn) if turn.agent == agent]
            assert [turn.t for turn in turns] == [turns[0].t + i for i in range(len(turns))]
            assert {turn.duration_s for turn in turns} == {1.0}
        assert len(kinds(trace, Spawn)) == len(kinds(trace, Return)) == 6


def test_jobs_with_too_many_situations_are_refused():
    with pytest.raises(RecipeError, match="jobs: these jobs have more than 50000 situations; set fewer jobs"):
        by_name("stages", {"jobs": 12})


# makespan


def least_makespan(jobs, agents):
    """Every way to give out the jobs."""
    ways = itertools.product(range(agents), repeat=len(jobs))
    return min(max(sum(job for job, a in zip(jobs, way, strict=True) if a == i) for i in range(agents)) for way in ways)


@few
@given(st.integers(2, 6), st.integers(2, 3), st.integers(0, 1000))
def test_the_least_makespan_matches_the_slow_twin(jobs, agents, seed):
    env = by_name("makespan", {"jobs": jobs, "agents": agents, "instances": 2, "seed": seed})
    lists = drawn_lists(env.settings)
    worth = [-least_makespan(jobs, agents) / sum(jobs) for jobs in lists]
    assert env.optimal_value() == pytest.approx(sum(worth) / 2)
    assert env.null() == ("agent 1", pytest.approx(-1))
    assert env.baselines()["list"] == pytest.approx(
        -np.mean([greedy_makespan(jobs, agents) / sum(jobs) for jobs in lists])
    )


def test_list_scheduling_keeps_grahams_bounds():
    """The published means over other lists: 1.0064 longest first, 1.0953 in the order of the list."""
    env = by_name("makespan", {"jobs": 8, "agents": 3, "instances": 64})
    lists = drawn_lists(env.settings)
    best = -env.solution.values[env.starts > 0] * [sum(jobs) for jobs in lists]
    bound = [max(max(jobs), math.ceil(sum(jobs) / 3)) for jobs in lists]
    in_order = np.array([greedy_makespan(jobs, 3) for jobs in lists]) / best
    longest_first = np.array([greedy_makespan(tuple(sorted(jobs, reverse=True)), 3) for jobs in lists]) / best
    assert (best >= np.array(bound) - 1e-9).all()
    assert in_order.max() <= 2 - 1 / 3 + 1e-9
    assert longest_first.max() <= 4 / 3 - 1 / 9 + 1e-9
    assert 1 < longest_first.mean() < 1.03 < in_order.mean() < 1.2


def test_a_makespan_trace_takes_the_makespan():
    env = by_name("makespan")
    for seed in range(10):
        trace = told(env, random_policy(env, np.random.default_rng(seed)), seed=seed)
        assert max(r.t for r in kinds(trace, Return)) == trace.costs["makespan"]
        assert any(
            trace.rewards["team"] == pytest.approx(-trace.costs["makespan"] / sum(jobs))
            for jobs in drawn_lists(env.settings)
        )
        assert len(kinds(trace, Spawn)) == trace.costs["agents"]
        assert len(kinds(trace, Delegate)) == 7


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("makespan", {"jobs": 2, "agents": 2, "instances": 1}),
        ("makespan", {"jobs": 5, "agents": 4, "instances": 2}),
        ("stages", {"jobs": 2, "width": 1, "instances": 1}),
        ("stages", {"jobs": 5, "width": 6, "precedence": 1.0}),
        ("split", {"max_agents": 1, "scale": 0.125}),
        ("split", {"c0": 0, "a": 0}),
        ("spawn-or-not", {"work": 1, "agents": 2, "grid": 4}),
        ("spawn-or-not", {"c0": 0, "a": 0}),
    ],
)
def test_the_contract_holds_at_the_edges(name, setting):
    check_env(by_name(name, setting), np.random.default_rng(1), episodes=500, traces=20)
