"""Environments as `gymnasium.Env`, where the orchestrator is the only learner, and as `gymnasium.vector.VectorEnv`.

Observation: a dict of `features` [F], `action_mask` [A] (int8, as `Discrete.sample(mask)` takes it) and, where the
environment tells options apart, `action_features` [A, G]; or `features` alone. `info` has `action_mask`,
`state` and `illegal` either way. After the last step nothing is seen: zeros, a mask of ones so that a masked softmax
stays defined, and `END` for the state.

Returns are undiscounted. Truncation by the horizon is not part of the tables: what `Env.exact_value` says holds for
episodes that end by themselves. All draws come from `np_random`, which `reset(seed=...)` seeds.
"""

from typing import Any, Literal

import numpy as np

from orchestrace.envs.protocol import END, Bools, Env, Floats, Ints
from orchestrace.envs.wrappers._gymnasium import gymnasium
from orchestrace.envs.wrappers._rules import ENDED, HORIZON, Illegal, Rules, Singles, Tables, bound

Observe = Literal["dict", "features"]
Autoreset = Literal["same-step", "next-step"]
"""same-step: an episode that ends is followed by the first observation of the next one, and the last observation is
in `info["final_obs"]`. next-step: the observation is the last one, and the next action is ignored: it pays 0 and
brings the first observation of the next episode."""

Observation = dict[str, Any] | Singles


def gymnasium_env(
    env: Env, *, seed: int = 0, horizon: int | None = HORIZON, illegal: Illegal = "refuse", penalty: float = 1.0,
    observe: Observe = "dict", render_mode: str | None = None,
) -> "GymnasiumEnv":  # fmt: skip
    """The environment for one episode at a time.

    Args:
      env: the environment.
      seed: of the die, until `reset(seed=...)` names another.
      horizon: an episode is truncated after so many steps; None: never.
      illegal: what an action that is not legal brings: a ValueError, or `penalty`.
      penalty: what it costs.
      observe: what an observation is.
      render_mode: `ansi`: `render` gives the situation in words; None: it gives nothing.
    """
    rules = Rules(seed=seed, horizon=horizon, illegal=illegal, penalty=penalty)
    return GymnasiumEnv(env, rules=rules, observe=observe, render_mode=render_mode)


def gymnasium_vector_env(
    env: Env, num_envs: int, *, seed: int = 0, horizon: int | None = HORIZON, illegal: Illegal = "refuse",
    penalty: float = 1.0, observe: Observe = "dict", autoreset: Autoreset = "same-step",
) -> "GymnasiumVectorEnv":  # fmt: skip
    """The environment for `num_envs` episodes at once, straight from the array form.

    Args:
      env: the environment.
      num_envs: episodes that run side by side, B.
      seed: of the die, until `reset(seed=...)` names another.
      horizon: an episode is truncated after so many steps; None: never.
      illegal: what an action that is not legal brings: a ValueError, or `penalty`.
      penalty: what it costs.
      observe: what an observation is.
      autoreset: what follows the end of an episode.
    """
    rules = Rules(seed=seed, horizon=horizon, illegal=illegal, penalty=penalty)
    return GymnasiumVectorEnv(env, num_envs, rules=rules, observe=observe, autoreset=autoreset)


class _Views:
    """What is seen of states, and the spaces of it."""

    def __init__(self, env: Env, observe: Observe) -> None:
        if observe not in ("dict", "features"):
            raise ValueError(f"observe: {observe!r} is neither 'dict' nor 'features'")
        self.tables, self.observe = Tables(env), observe
        self.seen = {"features": self.tables.features}
        if observe == "dict" and self.tables.action_features.size:
            self.seen["action_features"] = self.tables.action_features

    def space(self) -> Any:
        boxes = {key: _box(table) for key, table in self.seen.items()}
        if self.observe == "features":
            return boxes["features"]
        mask = gymnasium.spaces.MultiBinary(self.tables.mask.shape[1])
        return gymnasium.spaces.Dict({**boxes, "action_mask": mask})

    def mask(self, states: Ints, over: Bools) -> Any:
        """[B, A]"""
        return np.where(over[:, None], np.int8(1), self.tables.mask[states])

    def observed(self, states: Ints, over: Bools) -> dict[str, Any]:
        """What is seen of B states, each key a batch; nothing where the episode is over."""
        found: dict[str, Any] = {}
        for key, table in self.seen.items():
            found[key] = table[states]
            found[key][over] = 0.0
        return found | {"action_mask": self.mask(states, over)}

    def form(self, observed: dict[str, Any]) -> Any:
        """The observation as the space has it."""
        return observed["features"] if self.observe == "features" else observed


class GymnasiumEnv(gymnasium.Env[Any, Any]):
    """One episode at a time; see the module. `spec.make()` makes another one like it."""

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # gymnasium wants a rate for every mode

    def __init__(self, env: Env, *, rules: Rules, observe: Observe, render_mode: str | None) -> None:
        if render_mode not in (None, "ansi"):
            raise ValueError(f"render_mode: {render_mode!r} is neither 'ansi' nor None")
        self.env, self.rules, self.render_mode = env, rules, render_mode
        self._views = _Views(env, observe)
        self.observation_space = self._views.space()
        self.action_space = gymnasium.spaces.Discrete(len(env.actions), seed=rules.seed)
        self.spec = gymnasium.envs.registration.EnvSpec(
            f"orchestrace/{env.name}-v0",
            entry_point=lambda render_mode=None: GymnasiumEnv(
                env, rules=rules, observe=observe, render_mode=render_mode
            ),
            disable_env_checker=True,
        )
        super().reset(seed=rules.seed)
        self._state, self._over, self._steps = 0, True, 0

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 (gymnasium's)
    ) -> tuple[Any, dict[str, Any]]:
        """A new episode. `options` are not read."""
        super().reset(seed=seed)
        self._state, self._over, self._steps = int(self.env.reset(1, self.np_random)[0]), False, 0
        return self._seen(illegal=False)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One action.

        Raises:
          ValueError: it is not legal, and illegal actions are refused.
          gymnasium.error.ResetNeeded: there is no episode.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over: call reset first")
        states, actions = np.array([self._state]), np.array([int(action)])
        move = self._views.tables.moved(states, actions, rules=self.rules, rng=self.np_random)
        self._steps += 1
        ended = bool(move.ended[0])
        truncated = not ended and self.rules.horizon is not None and self._steps >= self.rules.horizon
        self._over = ended or truncated
        if not ended:
            self._state = int(move.states[0])
        observation, info = self._seen(illegal=bool(move.illegal[0]), ended=ended)
        return observation, float(move.rewards[0]), ended, truncated, info

    def render(self) -> Any:
        """The situation in words, in the mode `ansi`; else None."""
        if self.render_mode is None:
            return None
        return ENDED if self._over else self.env.describe(self._state)

    def _seen(self, *, illegal: bool, ended: bool = False) -> tuple[Any, dict[str, Any]]:
        observed = self._views.observed(np.array([self._state]), np.array([ended]))
        first = {key: batch[0] for key, batch in observed.items()}
        state = END if ended else self._state
        info = {"action_mask": first["action_mask"].copy(), "state": state, "illegal": illegal}
        return self._views.form(first), info


class GymnasiumVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """B episodes at once; see the module and `Autoreset`. `metadata["autoreset_mode"]` says which."""

    def __init__(self, env: Env, num_envs: int, *, rules: Rules, observe: Observe, autoreset: Autoreset) -> None:
        modes = gymnasium.vector.AutoresetMode
        known = {"same-step": modes.SAME_STEP, "next-step": modes.NEXT_STEP}
        if autoreset not in known:
            raise ValueError(f"autoreset: {autoreset!r} is neither 'same-step' nor 'next-step'")
        if num_envs < 1:
            raise ValueError(f"num_envs: {num_envs} is not 1 or more")
        self.env, self.rules, self.num_envs = env, rules, num_envs
        self.metadata = {"render_modes": ["ansi"], "autoreset_mode": known[autoreset]}
        self._same_step, self._views = autoreset == "same-step", _Views(env, observe)
        self.single_observation_space = self._views.space()
        self.single_action_space = gymnasium.spaces.Discrete(len(env.actions))
        batched = gymnasium.vector.utils.batch_space
        self.observation_space = batched(self.single_observation_space, num_envs)
        self.action_space = batched(self.single_action_space, num_envs)
        self.action_space.seed(rules.seed)
        super().reset(seed=rules.seed)
        self._states: Ints | None = None
        self._steps = np.zeros(num_envs, dtype=np.int64)
        self._over = np.zeros(num_envs, dtype=np.bool_)

    def reset(
        self,
        *,
        seed: int | None = None,
        options: dict[str, Any] | None = None,  # noqa: ARG002 (gymnasium's)
    ) -> tuple[Any, dict[str, Any]]:
        """B new episodes, all of one die. `options` are not read."""
        super().reset(seed=seed)
        self._states = self.env.reset(self.num_envs, self.np_random)
        self._steps[:], self._over[:] = 0, False
        nowhere = np.zeros(self.num_envs, dtype=np.bool_)
        return self._seen(self._states, illegal=nowhere)

    def step(self, actions: Any) -> tuple[Any, Floats, Bools, Bools, dict[str, Any]]:
        """One action in each episode.

        Raises:
          ValueError: there are not B actions, or one is not legal and illegal actions are refused.
          gymnasium.error.ResetNeeded: nothing was reset yet.
        """
        if self._states is None:
            raise gymnasium.error.ResetNeeded("there are no episodes yet: call reset first")
        actions = np.asarray(actions, dtype=np.int64)
        if actions.shape != (self.num_envs,):
            raise ValueError(f"actions have shape {actions.shape}, not ({self.num_envs},)")
        going = np.flatnonzero(~self._over)
        before, rewards = self._states.copy(), np.zeros(self.num_envs)
        ended, illegal = (np.zeros(self.num_envs, dtype=np.bool_) for _ in range(2))
        move = self._views.tables.moved(before[going], actions[going], rules=self.rules, rng=self.np_random)
        self._states[going], rewards[going], ended[going], illegal[going] = move
        self._steps += 1
        self._steps[self._over] = 0
        limit = self.rules.horizon
        truncated = ~ended & ~self._over & (self._steps >= (limit if limit is not None else np.inf))
        observation, info = self._after(ended, truncated, illegal=illegal)
        return observation, rewards, ended, truncated, info

    def render(self) -> tuple[str, ...]:
        """[B] the situations in words."""
        states = [] if self._states is None else self._states.tolist()
        return tuple(
            ENDED if over else self.env.describe(state) for state, over in zip(states, self._over, strict=False)
        )

    def _after(self, ended: Bools, truncated: Bools, *, illegal: Bools) -> tuple[Any, dict[str, Any]]:
        """What is seen after a step. The states already hold new starts where episodes ended, none where truncated."""
        assert self._states is not None
        done = ended | truncated
        if not self._same_step:
            shown = ended  # what a truncated episode came to is seen; what an ended one came to is nothing
            result = self._seen(self._states, illegal=illegal, ended=shown)
            self._restart(truncated)
            self._over = done
            return result
        last = np.flatnonzero(done)
        finals = self._views.observed(self._states[last], ended[last])
        self._restart(truncated)
        self._steps[last] = 0
        observation, info = self._seen(self._states, illegal=illegal)
        if len(last):
            info |= {"final_obs": np.full(self.num_envs, None, dtype=object), "_final_obs": done}
            for place, row in enumerate(last):
                info["final_obs"][row] = self._views.form({key: batch[place] for key, batch in finals.items()})
        return observation, info

    def _restart(self, truncated: Bools) -> None:
        assert self._states is not None
        rows = np.flatnonzero(truncated)
        self._states[rows] = self.env.reset(len(rows), self.np_random)

    def _seen(self, states: Ints, *, illegal: Bools, ended: Bools | None = None) -> tuple[Any, dict[str, Any]]:
        over = np.zeros(len(states), dtype=np.bool_) if ended is None else ended
        observed = self._views.observed(states, over)
        numbers = np.where(over, END, states)
        info = {"action_mask": observed["action_mask"].copy(), "state": numbers, "illegal": illegal}
        return self._views.form(observed), info


def _box(table: Singles) -> Any:
    most = bound(table)
    return gymnasium.spaces.Box(-most, most, table.shape[1:], dtype=np.float32)
