"""Whom to delegate to: optima in closed form, the published figures, what the traces show."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.envs import by_name, optimal_policy
from orchestrace.envs.delegate.assignment import drawn_problems
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


@few
@given(st.integers(1, 4), st.integers(1, 4), seeds)
def test_the_best_joint_action_is_the_best_assignment(agents, jobs, seed):
    env = by_name("assignment", {"agents": agents, "jobs": jobs, "instances": 4, "seed": seed})
    problems = drawn_problems(env.settings)
    for state, problem in enumerate(problems):
        best = best_assignment(problem.values * problem.chances - problem.costs)
        assert env.action_values()[state].max() == pytest.approx(best)
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


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("assignment", {"agents": 1, "jobs": 1, "instances": 1}),
        ("assignment", {"agents": 2, "jobs": 4}),
    ],
)
def test_the_contract_holds_at_the_edges(name, setting):
    check_env(by_name(name, setting), np.random.default_rng(1), episodes=500, traces=20)
