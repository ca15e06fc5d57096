"""What a training run came to: the JSON contract of `orchestrace train`."""

from typing import Any

import msgspec

PerSetting = float | None | dict[str, float | None]
"""A number, or with several settings an object keyed by the setting as written. None where it cannot be known."""
Interval = tuple[float | None, float | None]
PerSettingInterval = Interval | dict[str, Interval]


class Result(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The final policy, beside the optimum and what is known by hand.

    Gap closed is (V − V_null) / (V* − V_null); None where doing nothing is optimal. `value` is of the policy as it
    samples; its interval holds the true value in 95% of runs, by the normal approximation to the mean of the episodes.
    """

    env: str
    """The environment's name."""
    policy: str
    """The network: `mlp 64-64`, its hidden layers."""
    algorithm: str
    updates: int
    """Updates made."""
    decisions: int
    """Decisions taken in training, over all settings."""
    episodes: int
    """Simulated episodes of each setting that `value` is the mean of."""
    value: PerSetting
    """Mean return of the sampled policy, the outcome paid."""
    value_ci: PerSettingInterval
    """95% interval."""
    optimum: PerSetting
    """V*, exact."""
    null_value: PerSetting
    """V_null, the best constant policy, exact."""
    gap_closed: PerSetting
    """Of `value`."""
    gap_closed_ci: PerSettingInterval
    """95% interval; the optimum and V_null are exact, so it is `value_ci` on that scale."""
    baselines: dict[str, PerSetting]
    """Exact values of hand-made policies, by name."""
    exact_value: PerSetting
    """The sampled policy's value without simulation."""
    exact_gap_closed: PerSetting
    greedy_value: PerSetting
    """Exact value of the policy that always takes the likeliest action."""
    greedy_gap_closed: PerSetting
    seconds: float
    """That training took in this call: a resumed run counts from where it resumed. A run that
    was finished already keeps its own; 0 where a run was only judged."""
    run_dir: str
    """The run's folder; not in the `result.json` that lies in it."""
    alarm: dict[str, str] = {}
    """By setting: a value above the optimum by more than noise, which means a broken environment. Absent: none."""
    diagnostics: dict[str, int] = {}
    """What was cut or passed over, by kind: `cut_episodes`, `corrupt_checkpoints`. Absent: nothing."""


def document(result: Result) -> dict[str, Any]:
    """The result as plain JSON values for the run's own folder: it does not say where it lies."""
    return {key: value for key, value in msgspec.to_builtins(result).items() if key != "run_dir"}
