"""The comparison: how well each method's credit agrees with the truth, and what it costs in model calls."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from orchestrace.credit import average_ranks
from orchestrace.envs import Env, Grade
from orchestrace.training.credit_quality.contenders import CONTENDERS, Contender
from orchestrace.training.credit_quality.sample import Sample, sampled
from orchestrace.training.stack import Floats

RESAMPLES = 2_000
"""Of the seeds, for an interval."""


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """How one method did: means over seeds, with 95% intervals from a bootstrap over the seeds' samples."""

    method: str
    about: str
    spearman: float | None
    """Rank correlation of credit and truth over the decisions of a sample; None where either does not vary."""
    spearman_ci: tuple[float, float] | None
    mse: float
    """Mean squared error as the method says it, in squared reward."""
    mse_ci: tuple[float, float]
    explained: float | None
    """Squared correlation: the share of the truth's variance that the credit explains after the best scale and shift.
    What is left for methods whose scale means nothing."""
    calls_per_decision: float
    """Model calls for each decision credited, those of the episodes themselves included."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON contract of `orchestrace eval --credit`."""

    env: str
    params: dict[str, float]
    policy: str
    grade: str
    episodes: int
    """Of each seed."""
    seeds: int
    decisions: float
    """Mean number of decisions judged a seed: those with a choice."""
    truth_std: float
    """Standard deviation of the true advantages: what an error is to be measured by."""
    methods: list[Quality]
    left_out: dict[str, str]
    """Methods that these episodes do not allow, and why."""


class _Score(NamedTuple):
    spearman: float
    mse: float
    explained: float
    calls: float


def compared(
    env: Env,
    policy: Floats,
    *,
    name: str,
    episodes: int,
    seeds: int,
    grade: Grade = "outcome",
    progress: Callable[[str], None] = lambda _: None,
) -> Comparison:
    """Judge every method that applies.

    Args:
      env: the environment; its grade is what methods are given as rewards.
      policy: [S, A] who plays; stochastic, or there is nothing to credit.
      name: what to call the policy.
      episodes: of each seed.
      seeds: samples, each with its own dice.
      grade: the environment's, for the record.
      progress: told the name of each method before it is judged.

    Raises:
      ValueError: the policy never has a choice.
    """
    dice = [np.random.default_rng([seed, 3]) for seed in range(seeds)]
    samples = [sampled(env, policy, episodes=episodes, rng=rng, grade=grade) for rng in dice]
    if not all(sample.chosen.any() for sample in samples):
        raise ValueError("the policy never has a choice, so no decision has an advantage")
    found, left_out = _judged(samples, progress)
    ranked = sorted(found, key=lambda row: -(row.spearman if row.spearman is not None else -2.0))
    chosen = [sample.truth[sample.chosen] for sample in samples]
    size, spread = (float(np.mean([measure(truth) for truth in chosen])) for measure in (len, np.std))
    return Comparison(
        env=env.name, params=dict(env.settings), policy=name, grade=grade, episodes=episodes, seeds=seeds,
        decisions=size, truth_std=spread, methods=ranked, left_out=left_out,
    )  # fmt: skip


def _judged(samples: Sequence[Sample], progress: Callable[[str], None]) -> tuple[list[Quality], dict[str, str]]:
    found: list[Quality] = []
    left_out: dict[str, str] = {}
    for method, contender in CONTENDERS.items():
        progress(method)
        if all(contender.applies(sample) for sample in samples):
            found.append(_quality(method, contender.about, _scores(contender, samples)))
        else:
            left_out[method] = "not every decision could be to stop"
    return found, left_out


def _scores(contender: Contender, samples: Sequence[Sample]) -> Floats:
    """[seeds, 4] a row of `_Score` for each sample."""
    scores = []
    for seed, sample in enumerate(samples):
        credited = contender.credit(sample, np.random.default_rng([seed, 4]))
        calls = (sample.calls + credited.calls) / len(sample.states)
        scores.append(_scored(credited.values[sample.chosen], sample.truth[sample.chosen], calls))
    return np.array(scores)


def _scored(credit: Floats, truth: Floats, calls: float) -> _Score:
    ranks = [average_ranks(np.round(column, 12)) for column in (credit, truth)]
    return _Score(
        _correlation(ranks[0], ranks[1]),
        float(np.mean((credit - truth) ** 2)),
        _correlation(credit, truth) ** 2,
        calls,
    )


def _correlation(a: Floats, b: Floats) -> float:
    left, right = a - a.mean(), b - b.mean()
    size = float(np.sqrt((left @ left) * (right @ right)))
    return float(left @ right) / size if size > 0 else float("nan")


def _quality(method: str, about: str, scores: Floats) -> Quality:
    spearman, mse, explained, calls = scores.T
    known = bool(np.isfinite(spearman).all())
    return Quality(
        method=method,
        about=about,
        spearman=float(spearman.mean()) if known else None,
        spearman_ci=_interval(spearman) if known else None,
        mse=float(mse.mean()),
        mse_ci=_interval(mse),
        explained=float(explained.mean()) if known else None,
        calls_per_decision=float(calls.mean()),
    )


def _interval(values: Floats) -> tuple[float, float]:
    """95% bootstrap interval of the mean over seeds; its dice are fixed, so equal values give equal intervals."""
    rng = np.random.default_rng(0)
    means = values[rng.integers(len(values), size=(RESAMPLES, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
