"""What a policy must keep to be played in an environment, as a function that strangers can run on theirs."""

import numpy as np

from orchestrace.envs import Env
from orchestrace.testing.simulation import EXACT, Floats, check_agreement, simulated


def check_policy(policy: Floats, env: Env, *, rng: np.random.Generator, episodes: int = 2_000) -> None:
    """Check that a table is a policy of an environment: a distribution over legal actions in every state.

    Its exact value is at most the optimum, and simulated episodes agree with it.

    Args:
      policy: [S, A]
      env: the environment.
      rng: the die; a fixed seed makes the check repeatable.
      episodes: simulated episodes.

    Raises:
      AssertionError: it is none; the message says where.
    """
    legal = env.legal()
    assert policy.shape == legal.shape, f"{env.name}: the policy has shape {policy.shape}, not {legal.shape}"
    for state, row in enumerate(np.asarray(policy, dtype=np.float64)):
        where = f"{env.name}: state {env.state_name(state)!r}"
        assert np.isfinite(row).all(), f"{where}: a probability is not finite"
        assert (row >= 0).all(), f"{where}: a probability is negative"
        assert abs(row.sum() - 1) < 1e-4, f"{where}: the probabilities sum to {row.sum():.6g}"
        wrong = np.flatnonzero((row > 0) & ~legal[state])
        assert not len(wrong), f"{where}: {env.actions[int(wrong[0])]!r} has weight, but is not legal there"
    value, best = env.exact_value(policy), env.optimal_value()
    assert value <= best + EXACT, f"{env.name}: the policy is worth {value}, above V* {best}"
    seen = simulated(env, policy, rng=rng, episodes=episodes)
    check_agreement(f"{env.name}: the policy", seen, exact=value)
