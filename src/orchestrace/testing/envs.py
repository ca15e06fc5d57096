"""What every environment must keep, as a function that strangers can run on theirs."""

import math

import numpy as np

from orchestrace.envs import Env, optimal_policy
from orchestrace.testing.env_forms import check_factors, check_seen, check_starts, check_text_form
from orchestrace.testing.simulation import (
    EXACT,
    STANDARD_ERRORS,
    Floats,
    check_agreement,
    estimate,
    random_policy,
    simulated,
)
from orchestrace.trace import encode, violations


def check_env(env: Env, rng: np.random.Generator, *, episodes: int = 4_000, traces: int = 100) -> None:
    """Check that an environment keeps the contract of `Env`.

    Tables have the shapes that they promise; steps and traces depend on nothing but their arguments and the die; no
    policy, constant or baseline is worth more than the optimum; the optimal plan is worth the optimum; simulated steps
    and the `team` rewards of traces agree with the exact values; every trace obeys the laws and records its choices;
    episodes start where `starts` says; joint actions are numbered as `factors` says; what a policy sees, and what a
    language model reads, is enough to act well, and every option can be named in a reply.

    Args:
      env: the environment.
      rng: the die; a fixed seed makes the check repeatable.
      episodes: simulated episodes for each of three policies.
      traces: traces of the optimal policy.

    Raises:
      AssertionError: it does not; the message says where.
    """
    _check_tables(env)
    check_factors(env)
    check_seen(env)
    check_starts(env, rng)
    plan = optimal_policy(env)
    policies = [plan, random_policy(env, rng), 0.5 * plan + 0.5 * random_policy(env, rng)]
    _check_values(env, policies)
    _check_steps(env, rng)
    for policy in policies:
        seen = simulated(env, policy, rng=rng, episodes=episodes)
        check_agreement(f"{env.name}: step", seen, exact=env.exact_value(policy))
    _check_traces(env, plan, rng=rng, traces=traces)
    check_text_form(env)


def _check_tables(env: Env) -> None:
    legal, seen = env.legal(), env.features()
    S, A = legal.shape
    assert legal.dtype == np.bool_, f"{env.name}: legal is {legal.dtype}, not bool"
    assert len(set(env.actions)) == A, f"{env.name}: {A} actions, but their names are {env.actions}"
    assert env.starts.shape == (S,), f"{env.name}: starts have shape {env.starts.shape}, not ({S},)"
    assert (env.starts >= 0).all(), f"{env.name}: a start has a negative chance"
    assert abs(env.starts.sum() - 1) < EXACT, f"{env.name}: starts sum to {env.starts.sum()}"
    assert len(env.decides) == A, f"{env.name}: {A} actions, but {len(env.decides)} sub-decisions"
    options = env.action_features()
    assert options.shape[:2] == (S, A), f"{env.name}: action features have shape {options.shape}, not [{S}, {A}, G]"
    assert np.isfinite(options).all(), f"{env.name}: action features are not finite"
    assert all(env.describe(state).strip() for state in range(S)), f"{env.name}: a state has no description"
    assert legal.any(axis=1).all(), f"{env.name}: state {np.argmin(legal.any(axis=1))} has no legal action"
    assert seen.ndim == 2, f"{env.name}: features have shape {seen.shape}, not [S, F]"
    assert len(seen) == S, f"{env.name}: features have {len(seen)} rows, but there are {S} states"
    assert np.isfinite(seen).all(), f"{env.name}: features are not finite"
    assert len({env.state_name(state) for state in range(S)}) == S, f"{env.name}: two states have one name"
    assert all(math.isfinite(value) for value in env.settings.values()), f"{env.name}: settings {env.settings}"


def _check_values(env: Env, policies: list[Floats]) -> None:
    legal, best = env.legal(), env.optimal_value()
    for state in range(len(legal)):
        assert legal[state, env.optimal_action(state)], f"{env.name}: the optimum is illegal in state {state}"
    q = env.action_values()
    assert q.shape == legal.shape, f"{env.name}: action values have shape {q.shape}, not {legal.shape}"
    assert (np.isfinite(q) == legal).all(), f"{env.name}: action values are finite where actions are not legal, or not"
    chosen = np.array([q[state, env.optimal_action(state)] for state in range(len(legal))])
    assert (chosen >= q.max(axis=1) - EXACT).all(), f"{env.name}: the optimal action is not the best in some state"
    reached = env.exact_value(policies[0])
    assert abs(reached - best) < EXACT, f"{env.name}: the optimal plan is worth {reached}, but V* is {best}"
    for policy in policies:
        value = env.exact_value(policy)
        assert value <= best + EXACT, f"{env.name}: a policy is worth {value}, above V* {best}"
    null = env.null()
    constants = {
        name: env.exact_value(np.eye(len(env.actions))[np.full(len(legal), a)])
        for a, name in enumerate(env.actions)
        if legal[:, a].all()
    }
    assert null.value <= best + EXACT, f"{env.name}: V_null {null.value} is above V* {best}"
    if constants:
        assert null.action in constants, f"{env.name}: null action {null.action!r} is not legal in every state"
        strongest = max(constants.values())
        assert abs(null.value - strongest) < EXACT, (
            f"{env.name}: V_null is {null.value}, but a constant has {strongest}"
        )
    for name, value in env.baselines().items():
        assert value <= best + EXACT, f"{env.name}: baseline {name!r} is worth {value}, above V* {best}"


def _check_steps(env: Env, rng: np.random.Generator) -> None:
    legal = env.legal()
    states, actions = np.nonzero(legal)
    kept = states.copy(), actions.copy()
    seed = int(rng.integers(2**32))
    one, two = (env.step(states, actions, np.random.default_rng(seed)) for _ in range(2))
    for name, left, right in zip(one._fields, one, two, strict=True):
        assert left.shape == states.shape, f"{env.name}: step gives {name} of shape {left.shape}, not {states.shape}"
        assert np.array_equal(left, right), f"{env.name}: equal seeds give unequal {name}"
    assert np.array_equal(kept, (states, actions)), f"{env.name}: step changes its arguments"
    again = one.states[one.done]
    assert (env.starts[again] > 0).all(), f"{env.name}: after an end step leads to a state where no episode starts"
    onward = one.states[~one.done]
    assert ((onward >= 0) & (onward < len(legal))).all(), f"{env.name}: step leads to a state that does not exist"
    assert np.isfinite(one.rewards).all(), f"{env.name}: rewards are not finite"


def _check_traces(env: Env, policy: Floats, *, rng: np.random.Generator, traces: int) -> None:
    rewards = []
    for seed in rng.integers(2**32, size=traces).tolist():
        trace = env.episode(policy, rng=np.random.default_rng(seed), trace_id=f"{env.name}-{seed}")
        again = env.episode(policy, rng=np.random.default_rng(seed), trace_id=f"{env.name}-{seed}")
        assert encode(trace) == encode(again), f"{env.name}: seed {seed} gives unequal bytes"
        assert trace.native, f"{env.name}: a trace of ours has no source"
        broken = violations(trace)
        assert not broken, f"{env.name}: seed {seed}: {broken[0]}"
        choices = [event.choice for event in trace.events if event.choice is not None]
        assert choices, f"{env.name}: seed {seed}: no event records a choice"
        assert any(choice.options == env.actions for choice in choices), f"{env.name}: seed {seed}: other options"
        assert "team" in trace.rewards, f"{env.name}: seed {seed}: no reward on the channel `team`"
        rewards.append(trace.rewards["team"])
    # Bernstein's second term: a hundred right answers in a row have no spread, yet one in thirty may be wrong
    rare = STANDARD_ERRORS**2 / (3 * traces) * float(np.ptp(env.process.rewards))
    check_agreement(f"{env.name}: episode", estimate(np.array(rewards)), exact=env.exact_value(policy), rare=rare)
