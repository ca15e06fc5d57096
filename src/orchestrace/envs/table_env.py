"""The `Env` protocol over a process and what its module says of it. Every environment here is one of these."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np

from orchestrace.envs.dynamic_programming import Optimum, Process, optimum, plan_values, policy_values
from orchestrace.envs.protocol import END, Bools, Constant, Floats, Ints, Step
from orchestrace.trace import SubDecision, Trace

Grade = Literal["outcome", "posterior"]
"""What `step` pays. outcome: what came of the action, as in life. posterior: its mean, given the state and the action:
the same expectation with less variance. An episode's trace always has the outcome."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TableEnv:
    """An environment made of its tables. S states, A actions, F features of a state, G of an action in a state."""

    name: str
    settings: Mapping[str, float]
    actions: tuple[str, ...]
    decides: tuple[SubDecision, ...]
    """[A]"""
    process: Process = field(repr=False)
    starts: Floats = field(repr=False)
    """[S] they sum to 1."""
    seen: Floats = field(repr=False)
    """[S, F]"""
    named: Callable[[int], str] = field(repr=False)
    """A state's name."""
    told: Callable[[int], str] = field(repr=False)
    """A state in words; see `Env.describe`."""
    play: "Callable[[TableEnv, Floats, np.random.Generator, str], Trace]" = field(repr=False)
    """One episode as a trace: policy, die, trace id. `story.played` makes one from a teller of moves."""
    compare: "Callable[[TableEnv], Mapping[str, float]]" = field(repr=False)
    """Exact values of hand-made policies; called once, when they are asked for."""
    grade: Grade = "outcome"
    options_seen: Floats | None = field(default=None, repr=False)
    """[S, A, G]; None: nothing."""
    factors: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    views: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Feature columns that each agent of `factors` sees; empty: all see all."""
    spawns: tuple[int, ...] = ()
    """[A] agents that each action starts; empty: not told."""
    blind: "Callable[[TableEnv], Constant] | None" = field(default=None, repr=False)
    """The best plan that sees nothing; None: the best action that is legal in every state."""

    def features(self) -> Floats:
        """[S, F] what a policy sees; the module that makes the environment says which columns."""
        return self.seen.copy()

    def action_features(self) -> Floats:
        """[S, A, G] what a policy sees of each action; the module says which columns."""
        return np.zeros((*self.process.pairs.shape, 0)) if self.options_seen is None else self.options_seen.copy()

    def legal(self) -> Bools:
        """[S, A]"""
        return self.process.legal.copy()

    def state_name(self, state: int) -> str:
        """A state for a person to read."""
        return self.named(state)

    def describe(self, state: int) -> str:
        """The situation in words, without the options."""
        return self.told(state)

    def reset(self, episodes: int, rng: np.random.Generator) -> Ints:
        """[episodes] start states, drawn."""
        places = np.flatnonzero(self.starts)
        if len(places) == 1:
            return np.full(episodes, places[0])
        rungs = np.cumsum(self.starts[places])
        found = np.searchsorted(rungs, rng.random(episodes) * rungs[-1], side="right")
        drawn: Ints = places[np.minimum(found, len(places) - 1)]
        return drawn

    def step(self, states: Ints, actions: Ints, rng: np.random.Generator) -> Step:
        """One action in each of B episodes, and what came of it.

        Raises:
          ValueError: an action is not legal in its state.
        """
        process = self.process
        pairs = process.pairs[states, actions]
        if (pairs < 0).any():
            row = int(np.argmin(pairs))
            raise ValueError(f"actions[{row}] = {actions[row]} is not legal in state {states[row]}")
        outcomes = process.drawn(pairs, rng)
        reached = process.targets[outcomes]
        rewards = process.rewards[outcomes] if self.grade == "outcome" else process.means[pairs]
        done = reached == END
        ended = np.flatnonzero(done)
        reached[ended] = self.reset(len(ended), rng)
        return Step(reached, rewards, done)

    def optimal_value(self) -> float:
        """V* over the starts."""
        return float(self.starts @ self.solution.values)

    def optimal_action(self, state: int) -> int:
        """An optimal action; among ties the first."""
        return int(self.solution.actions[state])

    def action_values(self) -> Floats:
        """[S, A] Q*; minus infinity where an action is not legal."""
        return self.solution.action_values.copy()

    def exact_value(self, policy: Floats) -> float:
        """Value over the starts of a policy [S, A], exactly.

        Raises:
          ValueError: the policy is no distribution over legal actions in every state.
        """
        return float(self.starts @ policy_values(self.process, policy))

    def null(self) -> Constant:
        """The best policy that sees nothing, and its value."""
        return self._null

    def baselines(self) -> Mapping[str, float]:
        """Exact values of strong hand-made policies, by name."""
        return dict(self._compared)

    def episode(self, policy: Floats, *, rng: np.random.Generator, trace_id: str) -> Trace:
        """One episode under a policy [S, A]."""
        return self.play(self, policy, rng, trace_id)

    @cached_property
    def solution(self) -> Optimum:
        """V*, Q* and an optimal plan for every state."""
        return optimum(self.process)

    @cached_property
    def _compared(self) -> Mapping[str, float]:
        return self.compare(self)

    @cached_property
    def _null(self) -> Constant:
        if self.blind is not None:
            return self.blind(self)
        values = {
            int(action): plan_value(self, np.full(len(self.starts), action))
            for action in np.flatnonzero(self.process.legal.all(axis=0))
        }
        best = max(values, key=values.__getitem__)
        return Constant(self.actions[best], values[best])


def plan_value(env: TableEnv, actions: Ints) -> float:
    """Exact value over the starts of a plan: one legal action for each state, shape [S]. What baselines are made of."""
    return float(env.starts @ plan_values(env.process, actions))
