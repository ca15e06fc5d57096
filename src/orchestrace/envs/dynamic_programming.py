"""Finite decision processes solved exactly: the value of a policy, and the optimum.

    Q(s, a) = Σⱼ P(s, a, j) (r(s, a, j) + V(target(s, a, j))),     V(END) = 0,     V*(s) = max over legal a of Q(s, a)

No discount: episodes must end with probability one under every policy, which is what makes the linear systems here
regular and policy iteration finite.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from orchestrace.envs.protocol import END, Bools, Floats, Ints

TIE = 1e-12
"""Actions whose values differ by no more are equally good."""


@dataclass(frozen=True, eq=False)
class Process:
    """A finite decision process as flat arrays: S states, A actions, P legal pairs of both, O outcomes of the pairs.

    Under every policy its episodes end with probability one.
    """

    pairs: Ints
    """[S, A] the number of each legal pair, 0..P-1 row by row; -1 where the action is not legal."""
    first: Ints
    """[P + 1] the outcomes of pair p are numbers first[p]..first[p + 1] - 1; each pair has at least one."""
    targets: Ints
    """[O] the state reached, or END."""
    chances: Floats
    """[O] probabilities, positive; those of a pair sum to 1."""
    rewards: Floats
    """[O] what the action pays when this comes of it, prices included."""

    @cached_property
    def legal(self) -> Bools:
        """[S, A] True where an action may be taken."""
        legal: Bools = self.pairs >= 0
        return legal

    @cached_property
    def means(self) -> Floats:
        """[P] mean reward of each pair."""
        return np.add.reduceat(self.chances * self.rewards, self.first[:-1])

    @cached_property
    def states(self) -> Ints:
        """[P] the state of each pair."""
        return np.nonzero(self.legal)[0]

    @cached_property
    def origins(self) -> Ints:
        """[O] the pair of each outcome."""
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    @cached_property
    def layered(self) -> bool:
        """True where every move leads to a higher state number, so that sweeps end by themselves."""
        return bool(np.all((self.targets > self.states[self.origins]) | (self.targets == END)))

    @cached_property
    def ladder(self) -> Floats:
        """[O] pair number plus the chance of the pair's outcomes up to each: increasing, so one search draws all."""
        sums = np.cumsum(self.chances)
        before = np.append(0.0, sums)[self.first[:-1]]
        ladder: Floats = self.origins + np.minimum(sums - before[self.origins], 1.0)
        return ladder

    def drawn(self, pairs: Ints, rng: np.random.Generator) -> Ints:
        """[B] an outcome of each pair [B], drawn by its chance."""
        found = np.searchsorted(self.ladder, pairs + rng.random(len(pairs)), side="right")
        drawn: Ints = np.minimum(found, self.first[pairs + 1] - 1)
        return drawn


class Moves(NamedTuple):
    """What one action in one state may lead to; M outcomes."""

    state: int
    action: int
    targets: Sequence[int]
    """[M] states reached, or END."""
    chances: Sequence[float]
    """[M] they sum to 1; those that are 0 are left out."""
    rewards: Sequence[float]
    """[M] what is paid, prices included."""


def process_of(moves: Iterable[Moves], *, states: int, actions: int) -> Process:
    """A process from its legal pairs, in any order.

    Raises:
      ValueError: a pair is given twice or has no outcome, or a state has no legal action.
    """
    rows = sorted(moves, key=lambda move: (move.state, move.action))
    pairs = np.full((states, actions), -1)
    targets: list[int] = []
    chances: list[float] = []
    rewards: list[float] = []
    first = [0]
    for number, move in enumerate(rows):
        if pairs[move.state, move.action] >= 0:
            raise ValueError(f"state {move.state} has action {move.action} twice")
        pairs[move.state, move.action] = number
        for target, chance, reward in zip(move.targets, move.chances, move.rewards, strict=True):
            if chance > 0:
                targets.append(target)
                chances.append(chance)
                rewards.append(reward)
        if len(targets) == first[-1]:
            raise ValueError(f"state {move.state}, action {move.action} leads nowhere")
        first.append(len(targets))
    return _checked_process(
        Process(pairs, np.array(first), np.array(targets), np.array(chances), np.array(rewards, dtype=np.float64))
    )


def dense_process(targets: Ints, chances: Floats, *, rewards: Floats, legal: Bools) -> Process:
    """A process from rectangular arrays.

    Args:
      targets: [S, A, M] states reached, or END.
      chances: [S, A, M] their probabilities; outcomes of chance 0 are left out.
      rewards: [S, A] or [S, A, M].
      legal: [S, A]; what stands elsewhere in the other arrays is not read.

    Raises:
      ValueError: chances of a legal pair do not sum to 1, or a state has no legal action.
    """
    held = legal[:, :, None] & (chances > 0)
    pairs = np.where(legal, np.cumsum(legal).reshape(legal.shape) - 1, -1)
    paid = np.broadcast_to(rewards if rewards.ndim == targets.ndim else rewards[:, :, None], targets.shape)
    counts = held.sum(axis=2)[legal]
    first = np.concatenate([[0], np.cumsum(counts)])
    return _checked_process(Process(pairs, first, targets[held], chances[held], paid[held]))


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
    if policy.shape != process.pairs.shape:
        raise ValueError(f"policy has shape {policy.shape}, but states and actions are {process.pairs.shape}")
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
    return _chain_values(process, checked_policy(process, policy)[process.legal])


def plan_values(process: Process, actions: Ints) -> Floats:
    """[S] value of each state under a plan: one legal action for each state, shape [S]."""
    weights = np.zeros(len(process.means))
    weights[process.pairs[np.arange(len(actions)), actions]] = 1.0
    return _chain_values(process, weights)


def pair_values(process: Process, values: Floats) -> Floats:
    """[P] Q of each legal pair followed by `values` [S]."""
    ahead = np.append(values, 0.0)[process.targets]  # END = -1 picks the zero
    q: Floats = process.means + np.add.reduceat(process.chances * ahead, process.first[:-1])
    return q


def action_values(process: Process, values: Floats) -> Floats:
    """[S, A] Q of one action followed by `values` [S]; minus infinity where the action is not legal."""
    table = np.full(process.pairs.shape, -np.inf)
    table[process.legal] = pair_values(process, values)
    return table


def optimum(process: Process) -> Optimum:
    """V*, Q* and an optimal plan: by sweeps where the process is layered, else by policy iteration.

    Policy iteration starts from the first legal action in every state; a state changes its action only for a gain
    above `TIE`, so rounding cannot make it cycle.
    """
    q = action_values(process, _best_values(process) if process.layered else _iterated_values(process))
    values = np.max(q, axis=1)
    return Optimum(values, q, np.argmax(q >= values[:, None] - TIE, axis=1))


def _best_values(process: Process) -> Floats:
    starts = np.searchsorted(process.states, np.arange(len(process.pairs)))
    values = np.zeros(len(process.pairs))
    while True:
        swept = np.maximum.reduceat(pair_values(process, values), starts)
        if np.array_equal(swept, values):
            return swept
        values = swept


def _iterated_values(process: Process) -> Floats:
    states = np.arange(len(process.pairs))
    plan = np.argmax(process.legal, axis=1)
    while True:
        values = plan_values(process, plan)
        q = action_values(process, values)
        better = np.max(q, axis=1) > q[states, plan] + TIE
        if not better.any():
            return values
        plan = np.where(better, np.argmax(q, axis=1), plan)


def _checked_process(process: Process) -> Process:
    if not process.legal.any(axis=1).all():
        raise ValueError(f"state {int(np.argmin(process.legal.any(axis=1)))} has no legal action")
    if (np.diff(process.first) < 1).any():
        raise ValueError(f"pair {int(np.argmax(np.diff(process.first) < 1))} leads nowhere")
    sums = np.add.reduceat(process.chances, process.first[:-1])
    if (np.abs(sums - 1) > 1e-9).any():
        pair = int(np.argmax(np.abs(sums - 1)))
        raise ValueError(f"the chances in state {process.states[pair]} sum to {sums[pair]!r}")
    return process


def _chain_values(process: Process, weights: Floats) -> Floats:
    """[S] values where each pair is taken with chance `weights` [P].

    A layered chain is swept until nothing changes, at most S times; any other is solved, for the states that go on.
    """
    S = len(process.pairs)
    rewards: Floats = np.bincount(process.states, weights * process.means, minlength=S).astype(np.float64)
    taken = np.flatnonzero((weights > 0)[process.origins] & (process.targets != END))
    origins, targets = process.states[process.origins[taken]], process.targets[taken]
    flows = weights[process.origins[taken]] * process.chances[taken]
    if process.layered:
        values = rewards.copy()
        while True:
            swept = rewards + np.bincount(origins, flows * values[targets], minlength=S)
            if np.array_equal(swept, values):
                return values
            values = swept
    return _solved(rewards, flows, origins=origins, targets=targets)


def _solved(rewards: Floats, flows: Floats, *, origins: Ints, targets: Ints) -> Floats:
    values = rewards.copy()
    going = np.unique(origins)
    place = np.full(len(rewards), -1)
    place[going] = np.arange(len(going))
    onward = place[targets] >= 0  # a state from which no flow leaves has its value already
    settled = rewards[going] + np.bincount(
        place[origins[~onward]], (flows * values[targets])[~onward], minlength=len(going)
    )
    inner = np.zeros((len(going), len(going)))
    np.add.at(inner, (place[origins[onward]], place[targets[onward]]), flows[onward])
    values[going] = np.linalg.solve(np.eye(len(going)) - inner, settled)
    return values
