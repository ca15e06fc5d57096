"""Finite decision processes solved exactly: the value of a policy, and the optimum.

    Q(s, a) = r(s, a) + Σⱼ P(s, a, j) V(target(s, a, j)),     V(END) = 0,     V*(s) = max over legal a of Q(s, a)

No discount: episodes must end with probability one under every policy, which is what makes the linear systems here
regular and policy iteration finite.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from orchestrace.envs.protocol import Bools, Floats, Ints

END = -1
"""As a target: the episode ends."""
TIE = 1e-12
"""Actions whose values differ by no more are equally good."""


@dataclass(frozen=True, eq=False)
class Process:
    """A finite decision process. Under every policy its episodes end with probability one."""

    targets: Ints
    """[S, A, M] states reached, or END. Outcomes beyond an action's own repeat a target with chance 0."""
    chances: Floats
    """[S, A, M] their probabilities; they sum to 1 where the action is legal."""
    rewards: Floats
    """[S, A] mean reward of the action itself."""
    legal: Bools
    """[S, A]"""

    @cached_property
    def layered(self) -> bool:
        """True where every move leads to a higher state number, so that sweeps end by themselves."""
        here = np.arange(len(self.targets))[:, None, None]
        return bool(np.all((self.targets > here) | (self.targets == END) | (self.chances == 0)))

    @cached_property
    def cumulative(self) -> Floats:
        """[S, A, M - 1] chance of the outcomes up to each, the last left out: what sampling compares with."""
        return np.cumsum(self.chances, axis=2)[:, :, :-1]


class Optimum(NamedTuple):
    """The solution of a process."""

    values: Floats
    """[S] V*"""
    action_values: Floats
    """[S, A] Q*; minus infinity where the action is not legal."""
    actions: Ints
    """[S] an optimal action; among ties the first."""


def checked_policy(process: Process, policy: Floats) -> Floats:
    """The policy as float64 rows that sum to one exactly. Single-precision rounding is forgiven, nothing else.

    Raises:
      ValueError: the shape is not [S, A], a row is no distribution, or it puts weight on an illegal action.
    """
    policy = np.asarray(policy, dtype=np.float64)
    if policy.shape != process.legal.shape:
        raise ValueError(f"policy has shape {policy.shape}, but states and actions are {process.legal.shape}")
    sums = policy.sum(axis=1)
    bad = ~(np.isfinite(policy).all(axis=1) & (policy >= 0).all(axis=1) & (np.abs(sums - 1) < 1e-4))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"policy[{row}] is no distribution: it sums to {sums[row]!r}")
    illegal = (policy > 0) & ~process.legal
    if illegal.any():
        state, action = np.argwhere(illegal)[0]
        raise ValueError(f"policy[{state}] gives weight to action {action}, which is not legal there")
    distributions: Floats = policy / sums[:, None]
    return distributions


def policy_values(process: Process, policy: Floats) -> Floats:
    """[S] value of each state under a stochastic policy [S, A]."""
    policy = checked_policy(process, policy)
    S = len(policy)
    weights = policy[:, :, None] * process.chances
    rewards = np.sum(policy * np.where(process.legal, process.rewards, 0.0), axis=1)
    return _chain_values(process.targets.reshape(S, -1), weights.reshape(S, -1), rewards, layered=process.layered)


def plan_values(process: Process, actions: Ints) -> Floats:
    """[S] value of each state under a plan: one legal action for each state, shape [S]."""
    states = np.arange(len(actions))
    return _chain_values(
        process.targets[states, actions],
        process.chances[states, actions],
        process.rewards[states, actions],
        layered=process.layered,
    )


def action_values(process: Process, values: Floats) -> Floats:
    """[S, A] Q of one action followed by `values` [S]; minus infinity where the action is not legal."""
    ahead = np.append(values, 0.0)[process.targets]  # END = -1 picks the zero
    q: Floats = process.rewards + np.sum(process.chances * ahead, axis=2)
    return np.where(process.legal, q, -np.inf)


def optimum(process: Process) -> Optimum:
    """V*, Q* and an optimal plan, by policy iteration from the first legal action in every state.

    A state changes its action only for a gain above `TIE`, so rounding cannot make it cycle.
    """
    states = np.arange(len(process.legal))
    plan = np.argmax(process.legal, axis=1)
    while True:
        values = plan_values(process, plan)
        q = action_values(process, values)
        better = np.max(q, axis=1) > q[states, plan] + TIE
        if not better.any():
            break
        plan = np.where(better, np.argmax(q, axis=1), plan)
    first = np.argmax(q >= np.max(q, axis=1, keepdims=True) - TIE, axis=1)
    return Optimum(values, q, first)


def _chain_values(targets: Ints, weights: Floats, rewards: Floats, *, layered: bool) -> Floats:
    """[S] V = rewards + Σⱼ weights · V[targets] of a Markov chain with targets and weights [S, J].

    A layered chain is swept until nothing changes, at most S times; any other is solved, for the states that go on.
    """
    values = rewards.copy()
    if layered:
        while True:
            swept = rewards + np.sum(weights * np.append(values, 0.0)[targets], axis=1)
            if np.array_equal(swept, values):
                return values
            values = swept
    onward = np.where(targets == END, 0.0, weights)
    going = np.flatnonzero(onward.sum(axis=1) > 0)
    n, S = len(going), len(rewards)
    rows = np.repeat(np.arange(n), targets.shape[1])
    flows = np.bincount(rows * S + targets[going].ravel() % S, onward[going].ravel(), minlength=n * S).reshape(n, S)
    inner = flows[:, going].copy()
    flows[:, going] = 0.0
    values[going] = np.linalg.solve(np.eye(n) - inner, rewards[going] + flows @ values)
    return values
