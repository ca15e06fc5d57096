"""How a weight changes over training: a factor in [0, 1] that never grows.

`Constant`, `Linear` and `Cosine` are functions of progress, the share of updates that are done. `Convergence` goes by
what the team does: pure all the same, since its memory is a value that goes in and comes out.
"""

from math import cos, isfinite, pi

import msgspec


class Constant(msgspec.Struct, frozen=True, tag="constant"):
    """1 at all times. PARL's spawn count is farmed where its weights have this schedule."""


class Linear(msgspec.Struct, frozen=True, tag="linear"):
    """max(0, 1 − progress / until): from 1 to 0 at a share of the updates. Source: OpenPARL's code; the 0.4 is ours."""

    until: float = 0.4


class Cosine(msgspec.Struct, frozen=True, tag="cosine"):
    """½ (1 + cos(π · progress / until)), and 0 from there on. Source: textbook."""

    until: float = 0.4


Schedule = Constant | Linear | Cosine


def factor(schedule: Schedule, progress: float) -> float:
    """What a weight is multiplied with.

    Args:
      schedule: any of the three; `until` above 0. Beyond 1, a schedule ends before it reaches 0.
      progress: updates done / updates planned; 0 at the start, 1 at the end, more in an overtime.

    Raises:
      ValueError: progress is negative or not finite, or `until` is not above 0.
    """
    if not (isfinite(progress) and progress >= 0):
        raise ValueError(f"progress is {progress}; it must be finite and 0 or more")
    match schedule:
        case Constant():
            return 1.0
        case Linear(until):
            return max(0.0, 1.0 - progress / _above_0("until", until))
        case Cosine(until):
            done = min(1.0, progress / _above_0("until", until))
            return 0.5 * (1.0 + cos(pi * done)) if done < 1 else 0.0


class Convergence(msgspec.Struct, frozen=True):
    """Anneal once the team has settled: a weight stays until the spawn rate is stable, then goes linearly to 0.

        average ← average + (rate − average) / min(n, window)

    The average is stable while it stays within `tolerance` of where it was when the quiet began; after `patience`
    quiet updates annealing starts and does not stop again. Source: ours, for the survey's open question of schedules
    that follow a measured convergence (arXiv 2605.02801, §6.4).
    """

    window: int = 10
    """Updates that the moving average looks back on."""
    tolerance: float = 0.1
    """In the unit of the rate: spawns per rollout."""
    patience: int = 10
    """Quiet updates before annealing starts."""
    over: int = 50
    """Updates that annealing takes."""
    latest: int | None = None
    """Update at which annealing starts in any case; absent: it may never start."""


class ConvergenceState(msgspec.Struct, frozen=True, gc=False):
    """What a convergence-triggered schedule remembers. The default is the start of training."""

    updates: int = 0
    average: float = 0.0
    anchor: float = 0.0
    """The average when the quiet began."""
    quiet: int = 0
    """Updates since then."""
    began: int | None = None
    """Update at which annealing started; absent: not yet."""


def observed(rule: Convergence, state: ConvergenceState, *, spawn_rate: float) -> ConvergenceState:
    """The state after one more update.

    Args:
      rule: the schedule.
      state: as it was before.
      spawn_rate: mean spawns per rollout of this update's batch.

    Raises:
      ValueError: the rate is not finite, or a setting of the rule is not above 0.
    """
    if not isfinite(spawn_rate):
        raise ValueError(f"spawn_rate is {spawn_rate}; it must be finite")
    for name in ("window", "tolerance", "patience", "over"):
        _above_0(name, getattr(rule, name))
    n = state.updates + 1
    average = state.average + (spawn_rate - state.average) / min(n, rule.window)
    stays = state.updates > 0 and abs(average - state.anchor) <= rule.tolerance
    anchor, quiet = (state.anchor, state.quiet + 1) if stays else (average, 0)
    began = state.began
    if began is None and (quiet >= rule.patience or (rule.latest is not None and n >= rule.latest)):
        began = n
    return ConvergenceState(n, average, anchor, quiet, began)


def annealed(rule: Convergence, state: ConvergenceState) -> float:
    """The factor in that state: 1 until annealing starts, 0 once it has taken its updates."""
    return 1.0 if state.began is None else max(0.0, 1.0 - (state.updates - state.began) / _above_0("over", rule.over))


def _above_0(name: str, number: float) -> float:
    if not number > 0:
        raise ValueError(f"{name} is {number}; it must be above 0")
    return number
