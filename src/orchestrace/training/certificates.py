"""How good a learned stop is where nobody knows the optimum: two bounds from fresh episodes.

Episodes are forced to go on to their end. With r_t what stopping at prefix t brings in all, costs so far included:

    M_t = Σ_{k<t} (c_k + V(s_{k+1}) − E[c_k + V(s_{k+1}) | s_k])
    low    mean of r_τ − M_τ, τ the greedy policy's stop:  V(policy) ≤ V*
    high   mean of max_t (r_t − M_t) ≥ V*

M is a martingale: at a stop its mean is 0, so that it only takes variance from the low bound; within the maximum it
takes away what only foresight earns. Any V gives a bound; the nearer to V*, the tighter. The policy's own value is the
natural choice (Andersen and Broadie 2004), and a fitted one works where the policy cannot be evaluated.

Sources: Longstaff and Schwartz 2001 (low, out of sample; M as its control variate is ours); Rogers 2002, Haugh and
Kogan 2004 (high). The arithmetic is that of `credit.stops.stop_bounds`.
"""

from typing import NamedTuple

import numpy as np

from orchestrace.credit import Bound, high_value, low_value
from orchestrace.envs import Env, Process, action_values, policy_values
from orchestrace.training.evaluation import Z_95
from orchestrace.training.stack import Bools, Floats, Ints, stop_arms


class Certificate(NamedTuple):
    """What fresh episodes say of a policy and of the optimum."""

    low: Bound
    """Value of the greedy policy: a lower bound of V*."""
    high: Bound
    """An upper bound of V*."""

    @property
    def at_least(self) -> float:
        """The share of V* that the greedy policy surely earns, where values are positive.

        The low end of the one over the high end of the other, each of a 95% interval.
        """
        low = self.low.value - Z_95 * self.low.std_error
        return low / (self.high.value + Z_95 * self.high.std_error)


def certificate(
    env: Env,
    policy: Floats,
    *,
    episodes: int,
    rng: np.random.Generator,
    values: Floats | None = None,
    draws: int = 0,
    horizon: int = 10_000,
) -> Certificate:
    """Bounds of V* from a policy that stops, and from nothing that knows the optimum.

    Args:
      env: in every state one can stop, and in every state that is not the last go on in one way.
      policy: [S, A] table; its likelier action counts.
      episodes: fresh ones, at least two.
      rng: the die.
      values: [S] V of the martingale; None: the policy's own, evaluated in the environment.
      draws: next states drawn afresh at each prefix for the expectation, all that a simulator allows that does not tell
        its chances; 0: the exact expectation. With draws it is still a bound, but a looser one.
      horizon: most prefixes of an episode.

    Raises:
      ValueError: the environment is not of this kind, or an episode did not end within the horizon.
    """
    paths = _forced(env, _rule(env, policy, values), episodes=episodes, draws=draws, horizon=horizon, rng=rng)
    so_far = np.cumsum(paths.values[:, 1:] - paths.expected_values, axis=1)
    payoffs = paths.stop_values - np.column_stack([np.zeros(episodes), so_far])
    return Certificate(
        low_value(paths.stop_values, paths.go_on_values, payoffs=payoffs),
        high_value(paths.stop_values, paths.values, expected_values=paths.expected_values),
    )


class _Paths(NamedTuple):
    """B forced episodes of P prefixes; those that end sooner stand still from there on."""

    stop_values: Floats
    """[B, P] r"""
    go_on_values: Floats
    """[B, P] above r where the greedy policy goes on, below it where it stops; minus infinity at the end."""
    values: Floats
    """[B, P] V, costs so far included."""
    expected_values: Floats
    """[B, P - 1] E[c + V(s′) | s], costs so far included."""


class _Rule(NamedTuple):
    """A stopping problem and a policy in it, by state; one entry more, the last, for what END = -1 picks."""

    stop_values: Floats
    """[S + 1]"""
    last: Bools
    """[S + 1] True where one cannot go on."""
    goes_on: Bools
    """[S + 1] what the policy does."""
    values: Floats
    """[S + 1] V"""
    pairs: Ints
    """[S + 1] the process's pair of going on."""
    means: Floats
    """[S + 1] E[c + V(s′) | s] of going on."""


def _rule(env: Env, policy: Floats, values: Floats | None) -> _Rule:
    process, states = env.process, np.arange(len(policy))
    stops, stop_values = stop_arms(process, np.array(env.decides))
    onward = process.legal.copy()
    onward[states, stops] = False
    if (stops < 0).any() or (onward.sum(axis=1) > 1).any():
        raise ValueError(f"{env.name} is no stopping problem: some state cannot be stopped, or goes on in two ways")
    v = policy_values(process, policy) if values is None else values
    action, last = onward.argmax(axis=1), ~onward.any(axis=1)
    goes_on = ~last & (policy[states, action] > policy[states, stops])
    means = np.where(last, 0.0, action_values(process, v)[states, action])
    return _Rule(
        np.append(stop_values, 0.0), np.append(last, True), np.append(goes_on, False), np.append(v, 0.0),
        np.append(process.pairs[states, action], -1), np.append(means, 0.0),
    )  # fmt: skip


def _forced(env: Env, rule: _Rule, *, episodes: int, draws: int, horizon: int, rng: np.random.Generator) -> _Paths:
    process, here, so_far = env.process, env.reset(episodes, rng), np.zeros(episodes)
    stop_values: list[Floats] = []
    go_on_values: list[Floats] = []
    values: list[Floats] = []
    expected: list[Floats] = [np.zeros((episodes, 0))]
    while len(stop_values) < horizon:
        stop_values.append(so_far + rule.stop_values[here])
        go_on_values.append(np.where(rule.last[here], -np.inf, stop_values[-1] + np.where(rule.goes_on[here], 1, -1)))
        values.append(so_far + rule.values[here])
        moving = np.flatnonzero(~rule.last[here])
        if not len(moving):
            r, c, v = (np.stack(part, axis=1) for part in (stop_values, go_on_values, values))
            return _Paths(r, c, v, np.column_stack(expected))
        ahead = values[-1].copy()
        ahead[moving] = so_far[moving] + _means(process, rule, here[moving], draws=draws, rng=rng)
        expected.append(ahead)
        outcomes = process.drawn(rule.pairs[here[moving]], rng)
        so_far[moving] += process.rewards[outcomes]
        here[moving] = process.targets[outcomes]
    raise ValueError(f"{len(moving)} episodes did not end within horizon={horizon} prefixes")


def _means(process: Process, rule: _Rule, states: Ints, *, draws: int, rng: np.random.Generator) -> Floats:
    """[n] E[c + V(s′)] of going on in each state, exact or as the mean of so many fresh draws."""
    if not draws:
        return rule.means[states]
    outcomes = process.drawn(np.repeat(rule.pairs[states], draws), rng)
    drawn: Floats = (process.rewards[outcomes] + rule.values[process.targets[outcomes]]).reshape(-1, draws)
    means: Floats = drawn.mean(axis=1)
    return means


__all__ = ["Certificate", "certificate"]
