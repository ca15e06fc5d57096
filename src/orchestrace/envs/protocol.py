"""What an environment with a known optimum offers. Implementers need not import this; the shape is enough.

Every environment here is a finite decision process: states are numbered 0..S-1, actions 0..A-1, and an episode starts
in a state drawn from `starts`. That makes three things exact: the optimum, the value of any policy, and every baseline.
The array form (`step` on a batch of state numbers) trains; the trace form (`episode`) shows; the text form (`describe`)
is what a language model reads.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from orchestrace.trace import SubDecision, Trace

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

END = -1
"""As a target: the episode ends."""


class Step(NamedTuple):
    """What one action brought, for a batch of B episodes."""

    states: Ints
    """[B] states reached; the start of a new episode where `done`."""
    rewards: Floats
    """[B] rewards of this action, prices included."""
    done: Bools
    """[B] True where the episode ended with this action."""


class Constant(NamedTuple):
    """A policy that sees nothing: one action in every state, or a plan that is fixed before the episode."""

    action: str
    """The action's name; where no action is legal everywhere, the plan in words."""
    value: float


class Env(Protocol):
    """A finite decision process with a known optimum. All of it is deterministic but `reset`, `step`, `episode`."""

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
    def decides(self) -> tuple[SubDecision, ...]:
        """[A] the sub-decision that each action belongs to, O1 to O5."""
        ...

    @property
    def factors(self) -> Mapping[str, tuple[str, ...]]:
        """Where a team acts at once: each agent's options. Action numbers count them through, the last agent fastest.

        An action's name has each agent and its option, in this order. Empty where the orchestrator alone decides.
        """
        ...

    @property
    def spawns(self) -> tuple[int, ...]:
        """[A] agents that each action starts; empty where the environment does not say."""
        ...

    @property
    def starts(self) -> Floats:
        """[S] chance that an episode starts in each state."""
        ...

    @property
    def process(self) -> Any:
        """The tables themselves, a `dynamic_programming.Process`."""
        ...

    def features(self) -> Floats:
        """[S, F] what a policy sees in each state, prices included, each of order one."""
        ...

    def action_features(self) -> Floats:
        """[S, A, G] what a policy sees of each action, for networks that score one action at a time; G may be 0."""
        ...

    def legal(self) -> Bools:
        """[S, A] True where an action may be taken."""
        ...

    def state_name(self, state: int) -> str:
        """A state for a person to read: `lead 3`."""
        ...

    def describe(self, state: int) -> str:
        """The situation in words, all that the orchestrator knows: the text form's prompt, without the options."""
        ...

    def reset(self, episodes: int, rng: np.random.Generator) -> Ints:
        """[episodes] start states."""
        ...

    def step(self, states: Ints, actions: Ints, rng: np.random.Generator) -> Step:
        """Act in a batch of episodes at once."""
        ...

    def optimal_value(self) -> float:
        """V*, over `starts`, by dynamic programming."""
        ...

    def optimal_action(self, state: int) -> int:
        """An optimal action; among ties the first."""
        ...

    def action_values(self) -> Floats:
        """[S, A] Q*, what each action is worth when the rest is optimal; minus infinity where it is not legal."""
        ...

    def exact_value(self, policy: Floats) -> float:
        """Value over `starts` of a stochastic policy given as [S, A] probabilities, without sampling."""
        ...

    def null(self) -> Constant:
        """The best policy that sees nothing; its value is V_null.

        One action, legal in every state, whatever the state. Where there is no such action, a plan fixed in advance.
        """
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
