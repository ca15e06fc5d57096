"""What an environment with a known optimum offers. Implementers need not import this; the shape is enough.

Every environment here is a finite decision process: states are numbered 0..S-1, actions 0..A-1, and an episode starts
in `start`. That makes three things exact: the optimum, the value of any policy, and every baseline. The array form
(`step` on a batch of state numbers) trains; the trace form (`episode`) shows.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from orchestrace.trace import Trace

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


class Step(NamedTuple):
    """What one action brought, for a batch of B episodes."""

    states: Ints
    """[B] states reached; the start of a new episode where `done`."""
    rewards: Floats
    """[B] rewards of this action, prices included."""
    done: Bools
    """[B] True where the episode ended with this action."""


class Constant(NamedTuple):
    """A policy that takes one action in every state."""

    action: str
    value: float


class Env(Protocol):
    """A finite decision process with a known optimum. All of it is deterministic but `step` and `episode`."""

    @property
    def name(self) -> str:
        """The name in recipes and on the command line: `batch-voting`."""
        ...

    @property
    def settings(self) -> Mapping[str, float]:
        """Every parameter, by its recipe key: p, cr, ct, ..."""
        ...

    @property
    def actions(self) -> tuple[str, ...]:
        """Action names, shape [A]: `("stop", "1", "2", ...)`."""
        ...

    @property
    def start(self) -> int:
        """The state in which every episode starts."""
        ...

    def features(self) -> Floats:
        """[S, F] what a policy sees in each state, prices included, each of order one."""
        ...

    def legal(self) -> Bools:
        """[S, A] True where an action may be taken."""
        ...

    def state_name(self, state: int) -> str:
        """A state for a person to read: `lead 3`."""
        ...

    def step(self, states: Ints, actions: Ints, rng: np.random.Generator) -> Step:
        """Act in a batch of episodes at once."""
        ...

    def optimal_value(self) -> float:
        """V*, from `start`, by dynamic programming."""
        ...

    def optimal_action(self, state: int) -> int:
        """An optimal action; among ties the first."""
        ...

    def exact_value(self, policy: Floats) -> float:
        """Value from `start` of a stochastic policy given as [S, A] probabilities, without sampling."""
        ...

    def null(self) -> Constant:
        """The best constant policy: one action, legal in every state, whatever the state. Its value is V_null."""
        ...

    def baselines(self) -> Mapping[str, float]:
        """Exact values of strong hand-made policies, by name."""
        ...

    def episode(self, policy: Floats, *, rng: np.random.Generator, trace_id: str) -> Trace:
        """One episode under a policy [S, A], as a native trace on the simulated clock."""
        ...


def optimal_policy(env: Env) -> Floats:
    """[S, A] the optimal plan of an environment, as a policy."""
    policy = np.zeros(env.legal().shape)
    for state in range(len(policy)):
        policy[state, env.optimal_action(state)] = 1.0
    return policy
