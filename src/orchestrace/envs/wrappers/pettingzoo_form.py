"""Environments as `pettingzoo.ParallelEnv`: several agents learn and pick their options at once.

All earn the team's reward. Agents are the environment's `factors`; without factors there is one, `orchestrator`, with
all actions. The joint action counts the options through, the last agent fastest: aₙ + Kₙ (aₙ₋₁ + Kₙ₋₁ (… + a₁)).

Each agent sees the same `features` [F] and its own `action_mask` [K] (int8): its options that are part of some legal
joint action. What each may do alone need not be legal together; see `illegal`. After the last step nothing is
seen: zeros, and a mask of ones. All agents live until the episode ends or is truncated. `state()` is the features.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from orchestrace.envs.protocol import Env
from orchestrace.envs.wrappers._gymnasium import gymnasium
from orchestrace.envs.wrappers._pettingzoo import pettingzoo
from orchestrace.envs.wrappers._rules import ENDED, HORIZON, Illegal, Marks, Rules, Singles, Tables, bound

ALONE = "orchestrator"
"""The agent of an environment without factors."""


def pettingzoo_env(
    env: Env, *, seed: int = 0, horizon: int | None = HORIZON, illegal: Illegal = "refuse", penalty: float = 1.0,
    render_mode: str | None = None,
) -> "PettingZooEnv":  # fmt: skip
    """The environment for several learners.

    Args:
      env: the environment.
      seed: of the die, until `reset(seed=...)` names another.
      horizon: an episode is truncated after so many steps; None: never.
      illegal: what a joint action that is not legal brings: a ValueError, or `penalty`.
      penalty: what it costs.
      render_mode: `ansi`: `render` gives the situation in words; None: it gives nothing.
    """
    rules = Rules(seed=seed, horizon=horizon, illegal=illegal, penalty=penalty)
    return PettingZooEnv(env, rules=rules, render_mode=render_mode)


class PettingZooEnv(pettingzoo.ParallelEnv[str, Any, Any]):
    """One episode at a time; see the module."""

    def __init__(self, env: Env, *, rules: Rules, render_mode: str | None) -> None:
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode: {render_mode!r} is neither 'ansi' nor None")
        self.env, self.rules, self.render_mode = env, rules, render_mode
        self.metadata = {"name": f"{env.name}_v0", "render_modes": ["ansi"], "is_parallelizable": True}
        self._tables = Tables(env)
        self.factors: Mapping[str, tuple[str, ...]] = env.factors or {ALONE: env.actions}
        self._sizes = tuple(len(options) for options in self.factors.values())
        self.possible_agents: list[str] = list(self.factors)
        self.agents: list[str] = []
        self._masks = _masks(self._tables.mask, tuple(self.factors), sizes=self._sizes)
        most = bound(self._tables.features)
        spaces = gymnasium.spaces
        box = spaces.Box(-most, most, self._tables.features.shape[1:], dtype=np.float32)
        sizes = dict(zip(self.factors, self._sizes, strict=True))
        self.observation_spaces = {
            agent: spaces.Dict({"features": box, "action_mask": spaces.MultiBinary(K)}) for agent, K in sizes.items()
        }
        self.action_spaces = {
            agent: spaces.Discrete(K, seed=rules.seed + i) for i, (agent, K) in enumerate(sizes.items())
        }
        self._rng = np.random.default_rng(rules.seed)
        self._state, self._steps, self._ended = 0, 0, True

    def observation_space(self, agent: str) -> Any:
        """What this agent sees."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Any:
        """What this agent may do."""
        return self.action_spaces[agent]

    def reset(
        self,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 (theirs)
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """A new episode. `options` are not read; without a seed the die rolls on."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self._state, self._steps, self._ended = int(self.env.reset(1, self._rng)[0]), 0, False
        return self._seen(), self._told(illegal=False)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """One joint action.

        Raises:
          ValueError: an agent has no action or one that does not exist, or the joint action is not legal and illegal
            actions are refused.
          gymnasium.error.ResetNeeded: there is no episode.
        """
        if not self.agents:
            raise gymnasium.error.ResetNeeded("the episode is over: call reset first")
        states, joint = np.array([self._state]), np.array([self.joint_action(actions)])
        move = self._tables.moved(states, joint, rules=self.rules, rng=self._rng)
        self._steps += 1
        self._ended = bool(move.ended[0])
        truncated = not self._ended and self.rules.horizon is not None and self._steps >= self.rules.horizon
        if not self._ended:
            self._state = int(move.states[0])
        observations, infos = self._seen(), self._told(illegal=bool(move.illegal[0]))
        rewards = dict.fromkeys(self.agents, float(move.rewards[0]))
        endings, truncations = (dict.fromkeys(self.agents, value) for value in (self._ended, truncated))
        if self._ended or truncated:
            self.agents = []
        return observations, rewards, endings, truncations, infos

    def joint_action(self, actions: Mapping[str, Any]) -> int:
        """The number of a joint action.

        Raises:
          ValueError: an agent has no action, or one that does not exist.
        """
        chosen = []
        for agent, options in self.factors.items():
            action = actions.get(agent)
            if action is None or not 0 <= int(action) < len(options):
                raise ValueError(f"actions[{agent!r}] = {action!r} is no action: there are 0 to {len(options) - 1}")
            chosen.append(int(action))
        return int(np.ravel_multi_index(tuple(chosen), self._sizes))

    def state(self) -> Singles:
        """[F] what a central critic sees."""
        features: Singles = self._tables.features[self._state]
        return np.zeros_like(features) if self._ended else features.copy()

    def render(self) -> Any:
        """The situation in words, in the mode `ansi`; else None."""
        if self.render_mode is None:
            return None
        return ENDED if self._ended else self.env.describe(self._state)

    @property
    def state_number(self) -> int:
        """The state in the numbers of the tables; the last one where the episode has ended."""
        return self._state

    def close(self) -> None:
        """Nothing to close."""

    def _seen(self) -> dict[str, Any]:
        return {agent: {"features": self.state(), "action_mask": self._mask(agent)} for agent in self.agents}

    def _told(self, *, illegal: bool) -> dict[str, dict[str, Any]]:
        return {agent: {"action_mask": self._mask(agent), "illegal": illegal} for agent in self.agents}

    def _mask(self, agent: str) -> Marks:
        mask: Marks = self._masks[agent][self._state]
        return np.ones_like(mask) if self._ended else mask.copy()


def _masks(joint: Marks, agents: tuple[str, ...], *, sizes: tuple[int, ...]) -> dict[str, Marks]:
    """Each agent's [S, K]: one where an option is part of some legal joint action."""
    cube = joint.reshape(len(joint), *sizes)
    axes = range(1, 1 + len(sizes))
    return {agents[i]: cube.max(axis=tuple(a for a in axes if a != 1 + i)) for i in range(len(sizes))}
