"""What happens in an inquiry: how much reports are worth, and what a round may bring. No decisions here.

A hidden answer θ is +1 or −1 with equal chance. An agent of weight g (2 on the task kind it is made for, 1 on the
other) is informed with probability q and then right with probability s(2 g L), s the logistic function; not informed,
it reports a fair coin. L is the unit of evidence.

    q(g) = (1 + tanh²(g L / 2)) / 2

So a short report, the sign alone, shifts the log-odds by exactly ±g units; with its detail, which says whether the
agent was informed, by ±2g or 0. The log-odds x stay whole numbers of L, and x is a sufficient statistic.

Of k jobs given to one kind in one round, each after the first repeats the first one's source with chance κ. Sources
are cited: a copy costs a job and carries nothing.
"""

import itertools
import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.envs.probability import binomial_pmf
from orchestrace.envs.protocol import Floats


class Context(NamedTuple):
    """One inquiry's numbers. Prices are paid when they arise; a right answer pays 1."""

    kind: int
    """0: the task is of kind A, where agents of kind A are strong; 1: of kind B."""
    unit: float
    """L, log-odds of one unit of evidence."""
    round_price: float
    """cr, latency."""
    detail_price: float
    """m, for each distinct source."""
    rounds: int
    """T, the deadline."""
    most: int
    """N, most agents of each kind."""
    spawn_price: float
    job_price: float
    own_price: float
    abstain: float
    """What abstaining pays."""
    copying: float
    """κ."""
    weights: tuple[int, int, int] = (2, 1, 1)
    """Of an agent on its own kind of task, on the other, and of the orchestrator's own work."""

    @property
    def agent_weights(self) -> tuple[int, int]:
        """Weights of agents of kind A and B on this task."""
        strong, weak, _ = self.weights
        return (strong, weak) if self.kind == 0 else (weak, strong)

    @property
    def furthest(self) -> int:
        """The largest log-odds in units that an episode can reach."""
        strong, weak, own = self.weights
        return self.rounds * (2 * self.most * (strong + weak) + own)


class Ask(NamedTuple):
    """Jobs of one round."""

    a: int
    b: int
    own: int
    """1: the orchestrator works too."""


class Report(NamedTuple):
    """What came back in a round: distinct sources of each kind, those among them that say +1, and the own sign."""

    sources_a: int
    sources_b: int
    up_a: int
    up_b: int
    own: int
    """+1, −1, or 0 where the orchestrator did not work."""

    @property
    def sources(self) -> int:
        """Distinct sources: what a detail is paid for."""
        return self.sources_a + self.sources_b


class Seen(NamedTuple):
    """A report and what it means."""

    report: Report
    shift: int
    """Of the log-odds, when only the signs are known."""
    chances: tuple[float, float]
    """Of this report, when θ is +1 and when it is −1."""


def logistic(x: ArrayLike) -> Floats:
    """1 / (1 + e^−x)."""
    found: Floats = 1 / (1 + np.exp(-np.asarray(x, dtype=np.float64)))
    return found


def informed(g: int, unit: float) -> float:
    """q(g)."""
    return (1 + math.tanh(g * unit / 2) ** 2) / 2


def informed_given(g: int, unit: float, *, right: bool) -> float:
    """Chance that an agent was informed, given whether its sign is right."""
    q, surely, signs = informed(g, unit), float(logistic(2 * g * unit)), float(logistic(g * unit))
    return q * surely / signs if right else q * (1 - surely) / (1 - signs)


def asks(team: tuple[int, int]) -> list[Ask]:
    """Every way to use a team in a round; somebody works."""
    every = itertools.product(range(team[0] + 1), range(team[1] + 1), (0, 1))
    return [Ask(a, b, own) for a, b, own in every if a + b + own]


@lru_cache(maxsize=10_000)
def seen(context: Context, ask: Ask) -> tuple[Seen, ...]:
    """Everything that a round may bring, with its chances under either answer."""
    gA, gB = context.agent_weights
    own_weight, found = context.weights[2], []
    for nA, nB in itertools.product(_distinct(ask.a), _distinct(ask.b)):
        copied = _distinct_chance(ask.a, nA, context.copying) * _distinct_chance(ask.b, nB, context.copying)
        if copied == 0:
            continue
        for uA, uB, own in itertools.product(range(nA + 1), range(nB + 1), (1, -1) if ask.own else (0,)):
            plus = minus = copied
            for g, n, up in ((gA, nA, uA), (gB, nB, uB), (own_weight, ask.own, int(own > 0))):
                right = float(logistic(g * context.unit))
                plus *= float(binomial_pmf(n, right)[up])
                minus *= float(binomial_pmf(n, 1 - right)[up])
            shift = gA * (2 * uA - nA) + gB * (2 * uB - nB) + own * own_weight
            found.append(Seen(Report(nA, nB, uA, uB, own), shift, (plus, minus)))
    return tuple(found)


@lru_cache(maxsize=10_000)
def detailed(context: Context, report: Report) -> tuple[tuple[int, float, float], ...]:
    """Shifts of the log-odds once the details are known: (shift, chance when θ = +1, chance when θ = −1)."""
    gA, gB = context.agent_weights
    laws = [{report.own * context.weights[2]: 1.0} for _ in range(2)]
    for truth, sign in ((0, 1), (1, -1)):
        for g, n, up in ((gA, report.sources_a, report.up_a), (gB, report.sources_b, report.up_b)):
            for says, count in ((1, up), (-1, n - up)):
                p = informed_given(g, context.unit, right=says == sign)
                for _ in range(count):
                    laws[truth] = _added(laws[truth], 2 * g * says, p)
    return tuple((shift, laws[0].get(shift, 0.0), laws[1].get(shift, 0.0)) for shift in sorted(laws[0] | laws[1]))


def _added(law: dict[int, float], shift: int, chance: float) -> dict[int, float]:
    found: dict[int, float] = {}
    for y, p in law.items():
        found[y + shift] = found.get(y + shift, 0.0) + p * chance
        found[y] = found.get(y, 0.0) + p * (1 - chance)
    return found


def _distinct(jobs: int) -> range:
    return range(min(jobs, 1), jobs + 1)


def _distinct_chance(jobs: int, distinct: int, copying: float) -> float:
    return float(binomial_pmf(jobs - 1, 1 - copying)[distinct - 1]) if jobs else 1.0
