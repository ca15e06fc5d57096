"""Decisions of episodes whose true credit is known, and re-runs of them.

The truth of a decision under the policy π that made it is its exact advantage, from the tables:

    A^π(s, a) = Q^π(s, a) − V^π(s)

A re-run takes one action (or several) as told and lets π decide the rest: what a replay of a recorded team costs money
for is free here, and is counted in model calls all the same.
"""

from dataclasses import dataclass

import numpy as np

from orchestrace.envs import Env, Grade, action_values, policy_values
from orchestrace.training.rollouts import collected, drawn
from orchestrace.training.stack import Bools, Floats, Ints, stack

HORIZON = 10_000
"""Most decisions in an episode; every environment's end much earlier."""


@dataclass(frozen=True, eq=False)
class Sample:
    """D decisions of B episodes of one environment, episode by episode, each in order."""

    env: Env
    policy: Floats
    """[S, A] π, which made them."""
    states: Ints
    """[D]"""
    actions: Ints
    """[D]"""
    rewards: Floats
    """[D] of each action."""
    episode: Ints
    """[D] 0..B-1."""
    step: Ints
    """[D] place in its episode, from 0."""
    truth: Floats
    """[D] A^π."""
    chosen: Bools
    """[D] True where there was something to choose: more than one action that π takes with some chance."""

    @property
    def returns(self) -> Floats:
        """[B] what each episode earned."""
        returns: Floats = np.bincount(self.episode, self.rewards).astype(np.float64)
        return returns

    @property
    def to_go(self) -> Floats:
        """[D] what was earned from each decision on."""
        sums = np.cumsum(self.rewards)
        ends = sums[np.flatnonzero(np.append(np.diff(self.episode), 1))]
        return ends[self.episode] - sums + self.rewards

    @property
    def calls(self) -> int:
        """Model calls that the episodes took."""
        return int(step_calls(self.env, self.actions).sum())


def step_calls(env: Env, actions: Ints) -> Ints:
    """[n] model calls of each action: the orchestrator's one, and one for each agent that the action starts."""
    spawned = np.asarray(env.spawns or (0,) * len(env.actions), dtype=np.int64)
    calls: Ints = 1 + spawned[actions]
    return calls


def sampled(env: Env, policy: Floats, *, episodes: int, rng: np.random.Generator, grade: Grade = "outcome") -> Sample:
    """Play episodes under a policy [S, A] and look their true credit up.

    Args:
      env: the environment.
      policy: π; where it is deterministic every true advantage is 0.
      episodes: B.
      rng: the die.
      grade: what methods are given as rewards; that of the environment.
    """
    batch = collected(
        stack([env], grade=grade), lambda cells: policy[cells], episodes=episodes, horizon=HORIZON, rng=rng
    )
    taken = batch.taken.T
    episode, step = np.nonzero(taken)
    states, actions = batch.cells.T[taken], batch.actions.T[taken]
    values = policy_values(env.process, policy)
    truth = action_values(env.process, values)[states, actions] - values[states]
    chosen = (policy > 0).sum(axis=1)[states] > 1
    return Sample(env, policy, states, actions, batch.rewards.T[taken], episode, step, truth, chosen)


@dataclass(frozen=True, eq=False)
class Reruns:
    """N re-runs."""

    returns: Floats
    """[N] what was earned from the first decision on."""
    calls: int
    """Model calls of all of them."""


def rerun(sample: Sample, states: Ints, *, forced: Ints, rng: np.random.Generator) -> Reruns:
    """Play on from these states, taking actions as told where they are legal and by π elsewhere.

    Args:
      sample: whose environment and policy.
      states: [N] where each re-run begins.
      forced: [N, T] the action of each of the first T steps; -1: π decides. Afterwards π decides.
      rng: the die.
    """
    env, legal = sample.env, sample.env.legal()
    here, going = states.copy(), np.arange(len(states))
    returns, calls, t = np.zeros(len(states)), 0, 0
    while len(going):
        actions = drawn(sample.policy[here[going]], rng)
        if t < forced.shape[1]:
            told = forced[going, t]
            obeyed = (told >= 0) & legal[here[going], told]
            actions = np.where(obeyed, told, actions)
        step = env.step(here[going], actions, rng)
        returns[going] += step.rewards
        calls += int(step_calls(env, actions).sum())
        here[going] = step.states
        going = going[~step.done]
        t += 1
    return Reruns(returns, calls)
