"""Whom to delegate to: optima in closed form, the published figures, what the traces show."""

import itertools
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import by_name, optimal_policy
from orchestrace.envs.delegate.assignment import drawn_problems
from orchestrace.envs.delegate.bandit import beliefs_of, first_is_better
from orchestrace.envs.delegate.cascade import Team, drawn_teams, index_order, order_value, parallel_value
from orchestrace.envs.delegate.sequential_assignment import task_values, thresholds
from orchestrace.errors import RecipeError
from orchestrace.testing.envs import check_env, random_policy
from orchestrace.trace import Delegate, Return, Spawn

few = settings(max_examples=25, deadline=None)
seeds = st.integers(0, 10_000)


def told(env, policy=None, seed=0):
    return env.episode(optimal_policy(env) if policy is None else policy, rng=np.random.default_rng(seed), trace_id="t")


def kinds(trace, kind):
    return [event for event in trace.events if isinstance(event, kind)]


def words(trace, event):
    return trace.blobs[event.content.hash].decode()


# assignment


def best_assignment(worths):
    """Every matching of agents and jobs, pairs of negative worth left out."""
    n, m = worths.shape
    square = np.zeros((max(n, m), max(n, m)))
    square[:n, :m] = np.maximum(worths, 0)
    return max(
        sum(square[i, jobs[i]] for i in range(len(square))) for jobs in itertools.permutations(range(len(square)))
    )


def best_pair_first(worths):
    agents, jobs, total = set(), set(), 0.0
    for i, j in sorted(itertools.product(*map(range, worths.shape)), key=lambda pair: -worths[pair]):
        if worths[i, j] > 0 and i not in agents and j not in jobs:
            agents.add(i)
            jobs.add(j)
            total += worths[i, j]
    return total


@few
@given(st.integers(1, 4), st.integers(1, 4), seeds)
def test_the_best_joint_action_is_the_best_assignment(agents, jobs, seed):
    env = by_name("assignment", {"agents": agents, "jobs": jobs, "instances": 4, "seed": seed})
    problems = drawn_problems(env.settings)
    for state, problem in enumerate(problems):
        best = best_assignment(problem.values * problem.chances - problem.costs)
        assert env.action_values()[state].max() == pytest.approx(best)
    worths = [problem.values * problem.chances - problem.costs for problem in problems]
    assert env.baselines()["greedy"] == pytest.approx(np.mean([best_pair_first(table) for table in worths]))
    assert env.baselines()["one-agent"] == pytest.approx(np.mean([max(table.max(), 0) for table in worths]))
    for value in env.baselines().values():
        assert value <= env.optimal_value() + 1e-12


def test_a_job_that_two_take_pays_once_by_the_first():
    env = by_name("assignment", {"agents": 2, "jobs": 1, "instances": 1})
    (problem,) = drawn_problems(env.settings)
    (p1,), (p2,) = problem.chances
    (c1,), (c2,) = problem.costs
    (v,) = problem.values
    assert env.actions == ("a1: none, a2: none", "a1: none, a2: job 1", "a1: job 1, a2: none", "a1: job 1, a2: job 1")
    np.testing.assert_allclose(env.action_values()[0], [0, v * p2 - c2, v * p1 - c1, v * p1 - c1 - c2])


def test_joint_actions_count_through_the_factors_the_last_agent_fastest():
    env = by_name("assignment")
    joint = itertools.product(*env.factors.values())
    names = [", ".join(f"{agent}: {job}" for agent, job in zip(env.factors, jobs, strict=True)) for jobs in joint]
    assert tuple(names) == env.actions


def test_an_assignment_trace_pays_what_its_returns_say():
    env = by_name("assignment")
    policy = random_policy(env, np.random.default_rng(0))
    for seed in range(20):
        trace = told(env, policy, seed=seed)
        assert len(kinds(trace, Spawn)) == len(kinds(trace, Delegate)) == len(kinds(trace, Return))
        done = {d.to: words(trace, d) for d in kinds(trace, Delegate)}
        replies = {r.agent: words(trace, r) for r in kinds(trace, Return)}
        assert any(
            trace.rewards["team"]
            == pytest.approx(
                sum(problem.values[int(done[a][4:]) - 1] for a, reply in replies.items() if reply == "done")
                - sum(problem.costs[int(a[1:]) - 1, int(job[4:]) - 1] for a, job in done.items())
            )
            for problem in drawn_problems(env.settings)
        )


def test_too_many_joint_actions_are_refused():
    with pytest.raises(RecipeError, match="agents, jobs: 5 agents and 5 jobs make"):
        by_name("assignment", {"agents": 5, "jobs": 5})


# sequential-assignment


def test_sequential_assignment_has_the_published_value_as_the_grid_grows():
    fine = thresholds(task_values(10_000), 5)
    exact = np.array([8463, 13809, 18959, 24305]) / 32768
    np.testing.assert_allclose(fine[4][1:-1], exact, atol=1e-7)
    assert exact @ [0.3, 0.5, 0.7, 0.95] == pytest.approx(916089 / 655360)
    assert by_name("sequential-assignment", {"grid": 100}).optimal_value() == pytest.approx(1.39784, abs=2e-5)


def test_any_order_that_is_blind_to_values_is_worth_the_mean_value_of_each_chance():
    env = by_name("sequential-assignment")
    at_random = env.legal() / env.legal().sum(axis=1, keepdims=True)
    assert env.null().value == pytest.approx(1.225)
    assert env.exact_value(at_random) == pytest.approx(1.225)
    assert env.baselines()["best-first"] == pytest.approx(1.225)
    for order in itertools.permutations(range(4)):
        plan = np.zeros(env.legal().shape)
        for state in range(len(plan)):
            plan[state, next(i for i in order if env.legal()[state, i])] = 1
        assert env.exact_value(plan) == pytest.approx(1.225)


@few
@given(st.tuples(*[st.floats(0, 1)] * 4), st.integers(1, 30))
def test_the_thresholds_are_the_optimum(p, grid):
    env = by_name("sequential-assignment", {**{f"p{i + 1}": p[i] for i in range(4)}, "grid": grid})
    values = task_values(grid)
    ladders = thresholds(values, 5)
    assert env.optimal_value() == pytest.approx(np.sort(p) @ ladders[4][1:-1])
    q, best = env.action_values(), env.solution.values
    for state in range(len(q)):
        free = sorted(np.flatnonzero(env.legal()[state]).tolist(), key=lambda i: p[i])
        place = np.searchsorted(ladders[len(free) - 1], values[state % grid]) - 1
        assert q[state, free[min(place, len(free) - 1)]] == pytest.approx(best[state], abs=1e-9)


def test_a_sequential_assignment_trace_pays_the_tasks_that_are_done():
    env = by_name("sequential-assignment", {"p1": 0.0, "p4": 1.0})
    for seed in range(20):
        trace = told(env, random_policy(env, np.random.default_rng(seed)), seed=seed)
        worth = {d.to: float(words(trace, d).split("worth ")[1]) for d in kinds(trace, Delegate)}
        replies = {r.agent: words(trace, r) for r in kinds(trace, Return)}
        assert set(replies) == set(worth) == {"a1", "a2", "a3", "a4"}
        assert (replies["a1"], replies["a4"]) == ("failed", "done")
        assert trace.rewards["team"] == pytest.approx(sum(worth[a] for a, reply in replies.items() if reply == "done"))


# cascade


def test_the_published_cascade():
    team = Team(np.array([0.3, 0.5, 0.7, 0.95]), np.array([0.05, 0.1, 0.2, 0.4]))
    assert index_order(team, 1.0) == (0, 1, 2, 3)
    assert order_value(team, index_order(team, 1.0), v=1.0) == pytest.approx(0.76275)
    assert parallel_value(team, 1.0) == pytest.approx(0.55)


def test_the_index_order_has_no_gap_to_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(200):
        team = Team(rng.uniform(0.05, 0.9, 4), rng.uniform(0.01, 0.5, 4))
        orders = [order for size in range(5) for order in itertools.permutations(range(4), size)]
        best = max(order_value(team, order, v=1.0) for order in orders)
        assert order_value(team, index_order(team, 1.0), v=1.0) == pytest.approx(best, abs=1e-12)


@few
@given(st.integers(1, 6), st.floats(0.05, 5), seeds)
def test_the_index_order_is_the_optimum_of_every_team(agents, v, seed):
    env = by_name("cascade", {"agents": agents, "v": v, "instances": 4, "seed": seed})
    teams = drawn_teams(env.settings)
    best = [order_value(team, index_order(team, v), v=v) for team in teams]
    np.testing.assert_allclose(env.solution.values[:4], best, atol=1e-10)
    assert env.null() == ("stop", 0.0)
    assert env.baselines()["best-parallel-set"] <= env.optimal_value() + 1e-12


def test_a_cascade_trace_pays_once_and_for_each_try():
    env = by_name("cascade")
    policy = random_policy(env, np.random.default_rng(0))
    for seed in range(20):
        trace = told(env, policy, seed=seed)
        replies = [words(trace, r) for r in kinds(trace, Return)]
        assert replies.count("solved") <= 1
        assert "solved" not in replies[:-1]
        assert trace.rewards["team"] == pytest.approx(("solved" in replies) - trace.costs.get("price", 0.0))
        assert len(kinds(trace, Spawn)) == len(replies)


# bandit


def bayes_value(agents, tasks, a0, b0):
    """The textbook recursion on the posteriors."""

    @lru_cache(None)
    def value(posteriors, left):
        if not left:
            return Fraction(0)
        options = []
        for i, (a, b) in enumerate(posteriors):
            won = (*posteriors[:i], (a + 1, b), *posteriors[i + 1 :])
            lost = (*posteriors[:i], (a, b + 1), *posteriors[i + 1 :])
            p = Fraction(a, a + b)
            options.append(p * (1 + value(won, left - 1)) + (1 - p) * value(lost, left - 1))
        return max(options)

    return value(((a0, b0),) * agents, tasks)


@few
@given(st.integers(2, 3), st.integers(1, 6), st.integers(1, 5), st.integers(1, 5))
def test_the_bandit_is_solved_exactly(agents, tasks, a0, b0):
    env = by_name("bandit", {"agents": agents, "tasks": tasks, "a0": a0, "b0": b0})
    assert env.optimal_value() == pytest.approx(float(bayes_value(agents, tasks, a0, b0)))
    assert env.null() == ("agent 1", pytest.approx(tasks * a0 / (a0 + b0)))
    assert env.baselines()["uniform"] == pytest.approx(env.null().value)  # the agents are alike a priori


def test_two_tasks_for_two_unknown_agents():
    """Stay after a success, switch after a failure: ½ + ½ · ⅔ + ½ · ½."""
    env = by_name("bandit", {"tasks": 2})
    assert env.optimal_value() == pytest.approx(13 / 12)
    assert [env.optimal_action(state) for state in range(5) if env.state_name(state).startswith("1 of 1")] == [0]
    assert [env.optimal_action(state) for state in range(5) if env.state_name(state).startswith("0 of 1")] == [1]


def test_greedy_choice_explores_too_little():
    env = by_name("bandit")
    values = env.baselines()
    assert env.null().value == 10
    assert env.optimal_value() == pytest.approx(12.431265, abs=1e-6)
    assert env.null().value < values["ucb1"] < values["thompson"] < values["greedy"] < env.optimal_value()


@few
@given(st.floats(0.3, 4), st.floats(0.3, 4))
def test_thompson_samples_the_chance_of_being_the_better(a0, b0):
    env = by_name("bandit", {"tasks": 5, "a0": a0, "b0": b0})
    counts = beliefs_of(env.settings).counts
    first = first_is_better(counts, a0=a0, b0=b0)
    np.testing.assert_allclose(first + first_is_better(counts[:, ::-1], a0=a0, b0=b0), 1, atol=1e-9)
    rng, state = np.random.default_rng(0), len(counts) // 2
    (s1, f1), (s2, f2) = counts[state]
    won = rng.beta(s1 + a0, f1 + b0, 20_000) > rng.beta(s2 + a0, f2 + b0, 20_000)
    assert abs(won.mean() - first[state]) < 5 * math.sqrt(0.25 / 20_000)


def test_a_bandit_trace_pays_each_success():
    env = by_name("bandit", {"agents": 3, "tasks": 6})
    policy = random_policy(env, np.random.default_rng(0))
    for seed in range(20):
        trace = told(env, policy, seed=seed)
        replies = [words(trace, r) for r in kinds(trace, Return)]
        assert trace.rewards["team"] == replies.count("done")
        assert len(replies) == len(kinds(trace, Delegate)) == 6
        assert len(kinds(trace, Spawn)) == len({d.to for d in kinds(trace, Delegate)})


def test_too_many_beliefs_are_refused():
    with pytest.raises(RecipeError, match="agents, tasks: 4 agents and 30 tasks make"):
        by_name("bandit", {"agents": 4, "tasks": 30})


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("bandit", {"agents": 4, "tasks": 1, "a0": 0.05}),
        ("bandit", {"tasks": 4, "a0": 3.0, "b0": 0.5}),
        ("sequential-assignment", {"grid": 1, "p1": 0.0, "p2": 1.0}),
        ("cascade", {"agents": 1, "instances": 1, "v": 0.01}),
        ("assignment", {"agents": 1, "jobs": 1, "instances": 1}),
        ("assignment", {"agents": 2, "jobs": 4}),
    ],
)
def test_the_contract_holds_at_the_edges(name, setting):
    check_env(by_name(name, setting), np.random.default_rng(1), episodes=500, traces=20)
