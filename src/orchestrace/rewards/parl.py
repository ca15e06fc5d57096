"""PARL, the reward under which Kimi K2.5's orchestrator learned to work in parallel, in its three published readings.

    r = r_perf + λ₁·r_parallel + λ₂·r_finish,     λ₁, λ₂ → 0 over training

The report (arXiv 2602.02276) calls r_parallel an instantiation reward and gives no closed form; the survey (arXiv
2605.02801, eq. 9) reads it as a speed-up; the launch blog, known second-hand, has another sum altogether, with λ₁ = 0.1
and a cap of 100. All three are here by name. Weights that are never annealed pay for agents and not for answers
(`hacking`: pseudo-parallelism).
"""

from typing import Literal

from orchestrace.annotations import Evidence, Reward
from orchestrace.metrics import NO_NAMES, ToolNames
from orchestrace.rewards._rows import HALF, rows_or
from orchestrace.rewards.absence import Rewards, Unavailable
from orchestrace.rewards.compose import Composed, Term, composed
from orchestrace.rewards.orchestration import finish_rate, parallel_instantiation, parallel_speedup
from orchestrace.rewards.team import outcome
from orchestrace.trace import Trace

Reading = Literal["instantiation", "speedup", "blog"]


def parl(
    trace: Trace,
    evidence: Evidence,
    *,
    reading: Reading = "instantiation",
    parallel: float = 0.3,
    finish: float = 0.2,
    anneal: float = 1.0,
    cap: int = 10,
    tools: ToolNames = NO_NAMES,
) -> Composed:
    """PARL's reward of a rollout, channel by channel.

        instantiation:  r_perf + λ₁·min(n, cap)/cap + λ₂·finish rate
        speedup:        r_perf + λ₁·(1 − span/work) + λ₂·finish rate
        blog:           λ₁·min(n, cap)/cap + (1 − λ₁)·1[success]·Q

    r_perf and Q are the team's grade, success one from 0.5 on. Where nothing was delegated, OpenPARL pays the finish
    rate 0. Source: Kimi K2.5 (arXiv 2602.02276); OpenPARL's code. Departures: OpenPARL counts assignments and also pays
    turn by turn; the blog's Q is any function.

    Args:
      trace: the rollout.
      evidence: the team's grade; without it there is no total.
      reading: which of the three.
      parallel: λ₁ at the start of training.
      finish: λ₂ at the start; the blog has none.
      anneal: what both are multiplied with now: `schedules.factor` or `schedules.annealed`.
      cap: agents from which on more pay nothing.
      tools: see `orchestration.parallel_speedup`.
    """
    weight = parallel * anneal
    counted = parallel_instantiation(trace, evidence, cap=cap)
    if reading == "blog":
        terms = [Term("parallel_instantiation", weight), Term("successful_quality", 1 - weight)]
        return composed(trace, [counted, _successful(trace, evidence)], terms=terms)
    given = parallel_speedup(trace, evidence, tools=tools) if reading == "speedup" else counted
    terms = [Term("outcome"), Term(f"parallel_{reading}", weight), Term("finish_rate", finish * anneal)]
    return composed(trace, [outcome(trace, evidence), given, _finished(trace, evidence)], terms=terms)


def _finished(trace: Trace, evidence: Evidence) -> Rewards:
    rate = finish_rate(trace, evidence)
    if isinstance(rate, Unavailable):
        return (Reward("finish_rate", "R7", "team", trace.trace_id, 0.0, f"0 by rule: {rate.why}"),)
    return rate


def _successful(trace: Trace, evidence: Evidence) -> Rewards:
    given = outcome(trace, evidence, channel="successful_quality")
    if isinstance(given, Unavailable):
        return given
    paid = [Reward(row.channel, "R1", row.unit, row.id, row.value if row.value >= HALF else 0.0) for row in given]
    return rows_or("successful_quality", paid, "")
