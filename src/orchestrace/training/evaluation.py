"""How good a policy is: exactly, and by simulated episodes with an interval."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from orchestrace.envs import Env
from orchestrace.training.recipe import Recipe, env_name, labels
from orchestrace.training.result import Result
from orchestrace.training.rollouts import returns
from orchestrace.training.stack import Floats

Z_95 = 1.959964
"""Standard errors to either side of the mean in a 95% interval."""
Z_ALARM = 3.0
"""Standard errors above the optimum at which a second, fresh simulation is asked; if it says the same, noise does not
explain it: by bad luck once in half a million times."""
ENOUGH = 1_000
"""Episodes below which a mean is not judged: what is rare and bad may not have come up yet."""
AT_ONCE = 100_000
"""Episodes simulated together; more would only fill the memory."""
EXACT = 1e-9
"""Rounding of an exact value."""


T = TypeVar("T")


class Trained(NamedTuple):
    """A policy as a run left it, finished or not."""

    recipe: Recipe
    envs: tuple[Env, ...]
    """[n] the settings, paying the outcome."""
    tables: tuple[Floats, ...]
    """[n] tables [S, A] of probabilities."""
    updates: int
    """Updates made."""
    decisions: int
    """Decisions taken in training."""
    run_dir: str
    """The run's folder."""


class Estimate(NamedTuple):
    """A mean over simulated episodes."""

    value: float
    std_error: float
    episodes: int

    @property
    def ci(self) -> tuple[float, float]:
        """Low and high end of the 95% interval, by the normal approximation."""
        return (self.value - Z_95 * self.std_error, self.value + Z_95 * self.std_error)


def estimate(env: Env, policy: Floats, *, episodes: int, rng: np.random.Generator) -> Estimate:
    """Mean return of a policy [S, A] over at least two simulated episodes."""
    parts = [min(AT_ONCE, episodes - played) for played in range(0, episodes, AT_ONCE)]
    earned = np.concatenate([returns(env, policy, episodes=part, rng=rng) for part in parts])
    return Estimate(float(earned.mean()), float(earned.std(ddof=1)) / math.sqrt(episodes), episodes)


def gap_closed(env: Env, value: float) -> float | None:
    """(V − V_null) / (V* − V_null); None where the best constant policy is optimal, so that there is no gap."""
    null = env.null().value
    gap = env.optimal_value() - null
    return (value - null) / gap if gap > EXACT else None


def exact_gaps(envs: Sequence[Env], tables: Sequence[Floats]) -> list[float | None]:
    """The gap that each setting's policy table closes, exactly."""
    return [gap_closed(env, env.exact_value(table)) for env, table in zip(envs, tables, strict=True)]


def alarm(env: Env, *, exact: float, simulated: Sequence[Estimate]) -> str | None:
    """Why a value is too good to be true; None if it is not. No policy is better than the optimum.

    Args:
      env: the environment.
      exact: the policy's value by its tables.
      simulated: independent estimates of it, all of which must be above the optimum by more than noise.
    """
    best = env.optimal_value()
    if exact > best + EXACT:
        return f"exact value {exact:.6f} is above the optimum {best:.6f}"
    if all(_above(best, each) for each in simulated):
        return f"simulated value {simulated[-1].value:.6f} is above the optimum {best:.6f} by more than noise"
    return None


def _above(best: float, simulated: Estimate) -> bool:
    return simulated.episodes >= ENOUGH and simulated.value > best + Z_ALARM * simulated.std_error + EXACT


def _twice(env: Env, policy: Floats, *, episodes: int, seed: int, place: int) -> list[Estimate]:
    """One estimate; where it is above the optimum by more than noise, a second one by a fresh die."""
    first = estimate(env, policy, episodes=episodes, rng=np.random.default_rng([seed, 1, place]))
    if not _above(env.optimal_value(), first):
        return [first]
    return [first, estimate(env, policy, episodes=episodes, rng=np.random.default_rng([seed, 2, place]))]


def greedy(policy: Floats) -> Floats:
    """[S, A] the table that always takes the likeliest action, the first among equals."""
    best = np.zeros_like(policy)
    best[np.arange(len(policy)), policy.argmax(axis=1)] = 1.0
    return best


def judged(trained: Trained, *, episodes: int, seed: int, diagnostics: Mapping[str, int] | None = None) -> Result:
    """Judge a policy in each of its settings: by simulation, and exactly, beside the optimum and the baselines.

    Args:
      trained: the policy; its environments pay the outcome.
      episodes: simulated in each setting.
      seed: starts the dice of the simulation, one a setting, apart from those of training.
      diagnostics: counts to pass on; zeros are left out.
    """
    envs = trained.envs
    looks = [
        _twice(env, table, episodes=episodes, seed=seed, place=i)
        for i, (env, table) in enumerate(zip(envs, trained.tables, strict=True))
    ]
    estimates = [look[0] for look in looks]
    policy, names = trained.recipe.policy, labels(trained.recipe)
    exact = [env.exact_value(table) for env, table in zip(envs, trained.tables, strict=True)]
    alarms = [alarm(env, exact=value, simulated=look) for env, value, look in zip(envs, exact, looks, strict=True)]
    compared = [env.baselines() for env in envs]
    return Result(
        env=env_name(trained.recipe),
        policy=policy.kind + ("" if policy.kind == "tabular" else " " + "-".join([str(policy.hidden)] * policy.layers)),
        algorithm=trained.recipe.algorithm,
        updates=trained.updates,
        decisions=trained.decisions,
        seconds=0.0,
        run_dir=trained.run_dir,
        episodes=episodes,
        baselines={name: _by_setting(names, [values[name] for values in compared]) for name in compared[0]},
        alarm={name: why for name, why in zip(names, alarms, strict=True) if why},
        diagnostics={kind: n for kind, n in (diagnostics or {}).items() if n},
        **_judgement(trained, names=names, exact=exact, estimates=estimates),
    )


def _judgement(
    trained: Trained, *, names: Sequence[str], exact: Sequence[float], estimates: Sequence[Estimate]
) -> dict[str, Any]:
    """The figures of a result that are one number, or one interval, a setting."""
    envs = trained.envs
    best = [env.exact_value(greedy(table)) for env, table in zip(envs, trained.tables, strict=True)]

    def gaps(values: Iterable[float]) -> list[float | None]:
        return [gap_closed(env, value) for env, value in zip(envs, values, strict=True)]

    ends = zip(gaps(e.ci[0] for e in estimates), gaps(e.ci[1] for e in estimates), strict=True)
    figures: dict[str, Sequence[Any]] = {
        "value": [e.value for e in estimates],
        "value_ci": [e.ci for e in estimates],
        "optimum": [env.optimal_value() for env in envs],
        "null_value": [env.null().value for env in envs],
        "gap_closed": gaps(e.value for e in estimates),
        "gap_closed_ci": list(ends),
        "exact_value": exact,
        "exact_gap_closed": gaps(exact),
        "greedy_value": best,
        "greedy_gap_closed": gaps(best),
    }
    return {name: _by_setting(names, values) for name, values in figures.items()}


def _by_setting(names: Sequence[str], values: Sequence[T]) -> T | dict[str, T]:
    """One setting's value as it is; those of several by their names."""
    return values[0] if len(values) == 1 else dict(zip(names, values, strict=True))
