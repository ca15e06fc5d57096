"""What the forms of other libraries must keep, as functions that strangers can run on their environments.

Each runs the library's own checks with warnings as errors, then ours: the numbers of the wrapped environment are those
of the tables. Needs the extra `gym`.
"""

import contextlib
import io
import warnings
from typing import Any

import numpy as np

from orchestrace.envs import Env
from orchestrace.envs.wrappers.gymnasium_form import Autoreset, gymnasium_env, gymnasium_vector_env
from orchestrace.envs.wrappers.pettingzoo_form import PettingZooEnv, pettingzoo_env
from orchestrace.testing.simulation import (
    MOST_STEPS,
    Estimate,
    Floats,
    check_agreement,
    drawn_actions,
    estimate,
    random_policy,
)


def check_gymnasium(env: Env, *, rng: np.random.Generator, episodes: int = 2_000) -> None:
    """Check an environment's `gymnasium` forms.

    gymnasium's own check; masks are what is legal; illegal actions are refused, or cost the penalty and change nothing;
    a horizon truncates; returns of the vector form agree with the exact value of a random policy.

    Args:
      env: the environment.
      rng: the die; a fixed seed makes the check repeatable.
      episodes: episodes that run at once, for each way to reset.

    Raises:
      AssertionError: they do not; the message says where.
    """
    from gymnasium.utils.env_checker import check_env as check_by_gymnasium

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for mode in (None, "ansi"):
            check_by_gymnasium(gymnasium_env(env, illegal="penalise", render_mode=mode))
        check_by_gymnasium(gymnasium_env(env, illegal="penalise", observe="features"))
    _check_illegal(env)
    _check_horizon(env)
    policy, seed = random_policy(env, rng), int(rng.integers(2**31))
    modes: tuple[Autoreset, ...] = ("same-step", "next-step")
    for autoreset in modes:
        what = f"{env.name}: gymnasium, {autoreset}"
        found = _vector_returns(env, policy, seed=seed, episodes=episodes, autoreset=autoreset)
        again = _vector_returns(env, policy, seed=seed, episodes=episodes, autoreset=autoreset)
        assert found == again, f"{what}: equal seeds give unequal returns"
        check_agreement(what, found, exact=env.exact_value(policy))


def check_pettingzoo(env: Env, *, rng: np.random.Generator, episodes: int = 300) -> None:
    """Check an environment's `pettingzoo` form.

    pettingzoo's own checks; every agent earns the same; joint actions have the numbers of the environment; returns
    agree with the exact value of a random policy.

    Args:
      env: the environment.
      rng: the die; a fixed seed makes the check repeatable.
      episodes: episodes played one by one.

    Raises:
      AssertionError: it does not; the message says where.
    """
    from pettingzoo.test import parallel_api_test, parallel_seed_test

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):  # it prints that all is well
        warnings.simplefilter("error")
        parallel_api_test(pettingzoo_env(env, illegal="penalise"), num_cycles=100)
        parallel_seed_test(lambda: pettingzoo_env(env, illegal="penalise"), num_cycles=30)
    team, policy = pettingzoo_env(env, horizon=None), random_policy(env, rng)
    assert set(team.possible_agents) == set(env.factors or {"orchestrator"}), f"{env.name}: {team.possible_agents}"
    returns = np.array([_team_return(team, policy, rng) for _ in range(episodes)])
    check_agreement(f"{env.name}: pettingzoo", estimate(returns), exact=env.exact_value(policy))


def _check_illegal(env: Env) -> None:
    legal = env.legal()
    refusing, paying = gymnasium_env(env), gymnasium_env(env, illegal="penalise", penalty=0.25)
    _, info = refusing.reset(seed=0)
    _, same = paying.reset(seed=0)
    assert info["state"] == same["state"], f"{env.name}: gymnasium: equal seeds give unequal starts"
    assert np.array_equal(info["action_mask"], legal[info["state"]]), f"{env.name}: gymnasium: the mask is not `legal`"
    if legal[info["state"]].all():
        return
    wrong = int(np.argmin(legal[info["state"]]))
    try:
        refusing.step(wrong)
    except ValueError:
        pass
    else:
        raise AssertionError(f"{env.name}: gymnasium: {env.actions[wrong]!r} is not legal, but was taken")
    _, reward, ended, _, after = paying.step(wrong)
    assert (reward, ended, after["state"]) == (-0.25, False, info["state"]), f"{env.name}: gymnasium: the penalty"


def _check_horizon(env: Env) -> None:
    short = gymnasium_env(env, horizon=1)
    _, info = short.reset(seed=0)
    _, _, ended, truncated, _ = short.step(int(np.argmax(info["action_mask"])))
    assert ended != truncated, f"{env.name}: gymnasium: after the horizon an episode is truncated, unless it ended"


def _vector_returns(env: Env, policy: Floats, *, seed: int, episodes: int, autoreset: Autoreset) -> Estimate:
    """The mean return of the first episode of each row."""
    envs = gymnasium_vector_env(env, episodes, horizon=None, autoreset=autoreset)
    rng = np.random.default_rng([seed, 1])  # another stream than that of the episodes
    _, info = envs.reset(seed=seed)
    returns, going = np.zeros(episodes), np.ones(episodes, dtype=np.bool_)
    for _ in range(MOST_STEPS):
        actions = drawn_actions(policy, np.maximum(info["state"], 0), rng=rng)
        _, rewards, ended, truncated, info = envs.step(actions)
        assert not truncated.any(), f"{env.name}: gymnasium: truncated without a horizon"
        returns[going] += rewards[going]
        going &= ~ended
        if not going.any():
            return estimate(returns)
    raise AssertionError(f"{env.name}: gymnasium: episodes do not end")


def _team_return(team: PettingZooEnv, policy: Floats, rng: np.random.Generator) -> float:
    """One episode: a joint action is drawn, and each agent plays its part of it."""
    sizes = tuple(len(options) for options in team.factors.values())
    team.reset(seed=int(rng.integers(2**31)))
    total = 0.0
    while team.agents:
        joint = int(rng.choice(policy.shape[1], p=policy[team.state_number]))
        parts: dict[str, Any] = dict(zip(team.possible_agents, np.unravel_index(joint, sizes), strict=True))
        assert team.joint_action(parts) == joint, (
            f"{team.env.name}: pettingzoo: joint action {joint} has another number"
        )
        _, rewards, _, _, _ = team.step(parts)
        assert len(set(rewards.values())) == 1, f"{team.env.name}: pettingzoo: agents earn different rewards {rewards}"
        total += next(iter(rewards.values()))
    return total
