"""Voting problems as environments: the `Env` protocol over the arrays of `voting`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from orchestrace.envs.dynamic_programming import END, plan_values, policy_values
from orchestrace.envs.protocol import Bools, Constant, Floats, Ints, Step
from orchestrace.envs.voting import STOP, Voting
from orchestrace.envs.voting_trace import voting_episode
from orchestrace.trace import Trace

Grade = Literal["outcome", "posterior"]
"""What `step` pays for an answer. outcome: 1 if it is right, sampled. posterior: the chance that it is right, given
the votes: the same expectation with less variance. An episode's trace always has the outcome."""


@dataclass(frozen=True, eq=False)
class VotingEnv:
    """An `Env` made of a voting problem, what a policy sees of it, and its baselines."""

    voting: Voting
    seen: Floats = field(repr=False)
    """[S, F]"""
    compare: Callable[[Voting], Mapping[str, float]] = field(repr=False)
    """Exact values of hand-made policies; called once, when they are asked for."""
    grade: Grade = "outcome"

    @property
    def name(self) -> str:
        """The name in recipes and on the command line."""
        return self.voting.name

    @property
    def settings(self) -> Mapping[str, float]:
        """Every parameter, by its recipe key."""
        return self.voting.settings

    @property
    def actions(self) -> tuple[str, ...]:
        """[A] `stop` first, then what asks voters."""
        return self.voting.actions

    @property
    def start(self) -> int:
        """The state without votes."""
        return self.voting.start

    def features(self) -> Floats:
        """[S, F] what a policy sees; the module that makes the environment says which columns."""
        return self.seen.copy()

    def legal(self) -> Bools:
        """[S, A]"""
        return self.voting.process.legal.copy()

    def state_name(self, state: int) -> str:
        """`lead 3` (of A over B), or `3 for A, 1 for B` where counts matter."""
        return self.voting.state_names[state]

    def step(self, states: Ints, actions: Ints, rng: np.random.Generator) -> Step:
        """One action in each of B episodes: the votes drawn from their distribution given the votes so far.

        Raises:
          ValueError: an action is not legal in its state.
        """
        process = self.voting.process
        if not process.legal[states, actions].all():
            row = int(np.argmin(process.legal[states, actions]))
            raise ValueError(f"actions[{row}] = {actions[row]} is not legal in state {states[row]}")
        draws = rng.random((2, len(states)))
        outcomes = np.sum(draws[0][:, None] >= process.cumulative[states, actions], axis=1)
        reached = process.targets[states, actions, outcomes]
        paid = self.voting.confidence[states]
        if self.grade == "outcome":
            paid = (draws[1] < paid).astype(np.float64)
        rewards = np.where(actions == STOP, paid, 0.0) - self.voting.prices[actions]
        done = reached == END
        return Step(np.where(done, self.start, reached), rewards, done)

    def optimal_value(self) -> float:
        """V* from the start."""
        return float(self.voting.solution.values[self.start])

    def optimal_action(self, state: int) -> int:
        """An optimal action; among ties the first, and so the one that asks fewest."""
        return int(self.voting.solution.actions[state])

    def exact_value(self, policy: Floats) -> float:
        """Value from the start of a policy [S, A], exactly.

        Raises:
          ValueError: the policy is no distribution over legal actions in every state.
        """
        return float(policy_values(self.voting.process, policy)[self.start])

    def null(self) -> Constant:
        """The best constant policy: stopping at once, since one that always asks is cut off or is not legal at last."""
        process = self.voting.process
        values = {
            action: float(plan_values(process, np.full(len(process.legal), action))[self.start])
            for action in np.flatnonzero(process.legal.all(axis=0))
        }
        best = max(values, key=values.__getitem__)
        return Constant(self.actions[best], values[best])

    def baselines(self) -> Mapping[str, float]:
        """Exact values of strong hand-made policies, by name."""
        return dict(self._compared)

    def episode(self, policy: Floats, *, rng: np.random.Generator, trace_id: str) -> Trace:
        """One episode under a policy [S, A]; see `voting_trace`."""
        return voting_episode(self.voting, policy, rng=rng, trace_id=trace_id)

    @cached_property
    def _compared(self) -> Mapping[str, float]:
        return self.compare(self.voting)
