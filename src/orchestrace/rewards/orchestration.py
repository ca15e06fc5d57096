"""R7, orchestration reward: what the graph itself says about spawning, delegating, aggregating and their price.

How it is gamed: agents that are spawned and serve for nothing (`hacking`: pseudo-parallelism).
"""

from collections import Counter
from collections.abc import Mapping
from math import fsum, inf, isfinite, log

import msgspec

from orchestrace import metrics
from orchestrace.annotations import Evidence, Reward
from orchestrace.metrics import NO_NAMES, Prices, ToolNames
from orchestrace.rewards._rows import counted, rows_or, score, team_row
from orchestrace.rewards.absence import Rewards, Unavailable
from orchestrace.trace import Aggregate, Delegate, Return, Spawn, ToolCall, Trace
from orchestrace.trace.views import turns

_NOBODY = "nothing was spawned or delegated"


def parallel_instantiation(trace: Trace, _evidence: Evidence, *, cap: int = 10) -> Rewards:
    """min(n, cap) / cap, with n the agents that were spawned.

    PARL's reward against serial collapse, in the reading that counts. Source: Kimi K2.5 (arXiv 2602.02276) for the
    term, OpenPARL's code for this form. Departure: OpenPARL counts assignments and not spawns.

    Raises:
      ValueError: the cap is below 1.
    """
    if cap < 1:
        raise ValueError(f"cap is {cap}; it must be 1 or more")
    n = sum(isinstance(event, Spawn) for event in trace.events)
    return team_row("parallel_instantiation", "R7", trace=trace, value=min(n, cap) / cap, why=f"{n} spawned, cap {cap}")


def parallel_speedup(trace: Trace, _evidence: Evidence, *, tools: ToolNames = NO_NAMES) -> Rewards:
    """1 − span / work: 0 where everything was done one after the other, towards 1 the wider the team.

    In seconds where enough of them are known (`metrics.parallelism`), else in turns, with critical steps as the span;
    `why` says which. It speaks of the graph: agents that could have run side by side count as if they had, whatever
    held them up; `serial_speedup` speaks of the clock. Source: the survey's reading of PARL (arXiv 2605.02801) as a
    speed-up; the form is ours.

    Args:
      trace: the rollout.
      tools: names of the tools that wait for agents or people; their calls are not work.
    """
    times = metrics.parallelism(trace, tools=tools)
    if times.work_s and times.span_s is not None:
        span, work, unit = times.span_s, times.work_s, "s"
    else:
        span, work, unit = float(metrics.critical_steps(trace)), float(len(turns(trace))), "turns"
    if not work:
        return Unavailable("parallel_speedup", "the trace holds no turn and no timed work")
    # Rounding may leave the span of a serial team a trifle longer than its work.
    value = max(0.0, 1.0 - span / work)
    return team_row("parallel_speedup", "R7", trace=trace, value=value, why=f"1 − {span:g}/{work:g} {unit}")


def serial_speedup(trace: Trace, _evidence: Evidence, *, tools: ToolNames = NO_NAMES) -> Rewards:
    """T_serial / T_parallel against a recorded serial baseline: `serial_s` among the trace's costs or metrics.

    1 means that the team took as long as one agent would have. T_parallel is the wall time without waits for people.
    Source: the survey (arXiv 2605.02801), equation 9.
    """
    if "serial_s" not in trace.costs and "serial_s" not in trace.metrics:
        return Unavailable("serial_speedup", "no serial baseline is recorded: the trace has no cost 'serial_s'")
    times = metrics.parallelism(trace, tools=tools)
    if times.speedup is None:
        return Unavailable("serial_speedup", times.unknown["speedup"])
    return team_row("serial_speedup", "R7", trace=trace, value=times.speedup, why="recorded serial time / wall time")


def finish_rate(trace: Trace, _evidence: Evidence, *, strict: bool = False) -> Rewards:
    """Valid returns / orders, an order being a spawn or a later delegate; in [0, 1].

    A return is valid where its status is `completed`. Each agent can answer as many orders as it was given, so that
    returning twice makes up for nobody else. Source: Kimi K2.5 (arXiv 2602.02276) for the term; strict: OpenPARL.

    Args:
      trace: the rollout.
      strict: the return must also hold a text, and the agent have called a tool.
    """
    orders = Counter(event.to for event in trace.events if isinstance(event, Spawn | Delegate))
    if not orders:
        return Unavailable("finish_rate", _NOBODY)
    callers = {event.agent for event in trace.events if isinstance(event, ToolCall)}
    valid = Counter(
        event.agent
        for event in trace.events
        if isinstance(event, Return) and event.status == "completed"
        if not strict or (event.content is not None and event.content.bytes > 0 and event.agent in callers)
    )
    n, total = sum(min(valid[agent], given) for agent, given in orders.items()), orders.total()
    return team_row("finish_rate", "R7", trace=trace, value=n / total, why=f"{n} of {counted(total, 'order')}")


def critical_steps(trace: Trace, _evidence: Evidence, *, budget: int | None = None) -> Rewards:
    """What the longest chain of turns costs (`metrics.critical_steps`).

        without a budget: −steps;     with one: −max(0, steps − budget) / budget

    Source: Kimi K2.5 (arXiv 2602.02276), where it is a cap on the rollout; as a penalty: ours.

    Raises:
      ValueError: the budget is below 1.
    """
    if budget is not None and budget < 1:
        raise ValueError(f"budget is {budget}; it must be 1 or more")
    if not turns(trace):
        return Unavailable("critical_steps", "the trace holds no turn")
    steps = metrics.critical_steps(trace)
    value = -float(steps) if budget is None else -max(0, steps - budget) / budget
    why = counted(steps, "critical step") + ("" if budget is None else f", budget {budget}")
    return team_row("critical_steps", "R7", trace=trace, value=value, why=why)


class Rates(msgspec.Struct, frozen=True):
    """What a unit of each thing that is spent costs in reward; 0: it is free. A negative rate is a ValueError."""

    per_token: float = 0.0
    """λ_tokens, for each token of any kind."""
    per_second: float = 0.0
    """λ_latency, for each second of the span (the busy part of the critical path)."""
    per_usd: float = 0.0
    """λ_money."""

    def __post_init__(self) -> None:
        for name, rate in msgspec.structs.asdict(self).items():
            if not (isfinite(rate) and rate >= 0):
                raise ValueError(f"{name} is {rate}; it must be finite and 0 or more")


def cost(
    trace: Trace,
    _evidence: Evidence,
    *,
    rates: Rates,
    log_form: bool = False,
    prices: Prices | None = None,
    tools: ToolNames = NO_NAMES,
) -> Rewards:
    """What the rollout cost, as a negative reward.

        r = −u,     u = λ_tokens · tokens + λ_latency · span + λ_money · usd
        log form:   r = −0.1 · ln(1 + u) / ln 2,     so that u = 1 costs 0.1

    Where a rate is not 0 and its quantity is not known, so is the cost. Source: the weighted sum is ours, after the
    survey (arXiv 2605.02801); the log form is Puppeteer's (arXiv 2505.19591). Departure: Puppeteer's u is the share
    of the steps that are used up, and its cost is paid step by step.

    Args:
      trace: the rollout.
      rates: the three λ.
      log_form: Puppeteer's form.
      prices: for the money, where the log has none.
      tools: see `parallel_speedup`.
    """
    parts: list[tuple[float, str]] = []
    for rate, noun in ((rates.per_token, "token"), (rates.per_second, "s"), (rates.per_usd, "USD")):
        if rate:
            amount, why = _spent(trace, noun, prices=prices, tools=tools)
            if amount is None:
                return Unavailable("cost", why)
            parts.append((rate * amount, f"{rate:g}/{noun} · {amount:g}"))
    spent = fsum(part for part, _ in parts) if all(abs(part) < inf for part, _ in parts) else inf
    if not 0 <= spent < inf:
        return Unavailable("cost", f"what was spent comes to {spent}")
    value = -0.1 * log(1 + spent) / log(2) if log_form else -spent
    return team_row("cost", "R7", trace=trace, value=value, why=" + ".join(why for _, why in parts) or "free")


def split_correctness(trace: Trace, evidence: Evidence) -> Rewards:
    """How well a task was split among the orders given; the survey (arXiv 2605.02801) names it, the definition is ours.

        with labels:     |T ∩ S| / |T ∪ S| − (1 − |S| / Σᵢ |Sᵢ|),     S = ∪ᵢ Sᵢ
        without:         1 − repeated answers / answers

    T are the items of the task (`evidence.labels[trace_id]`), Sᵢ those of one spawn or delegate. The first term is the
    Jaccard index of what was asked and what was handed out, the second what was handed out more than once: an exact
    partition has 1, n copies of the whole task 1/n, nothing of the task −1 at the least. Without labels of the task and
    of every order, what came back stands in: the items of the returns where all are labelled, else their texts.
    """
    orders = [event.id for event in trace.events if isinstance(event, Spawn | Delegate)]
    if not orders:
        return Unavailable("split_correctness", _NOBODY)
    labels = evidence.labels
    if trace.trace_id in labels and all(order in labels for order in orders):
        task = set(labels[trace.trace_id])
        handed = [set(labels[order]) for order in orders]
        union, given = set[str]().union(*handed), sum(map(len, handed))
        if not task or not union:
            return Unavailable("split_correctness", "the task, or every order, is labelled with no item")
        covered, twice = len(task & union) / len(task | union), 1 - len(union) / given
        why = f"coverage {covered:.3g} − repeated {twice:.3g}"
        return team_row("split_correctness", "R7", trace=trace, value=covered - twice, why=why)
    return _without_labels(trace, labels)


def _without_labels(trace: Trace, labels: Mapping[str, tuple[str, ...]]) -> Rewards:
    returns = [event for event in trace.events if isinstance(event, Return)]
    if returns and all(event.id in labels for event in returns):
        answers, noun = [item for event in returns for item in set(labels[event.id])], "labelled item"
    else:
        answers, noun = [event.content.hash for event in returns if event.content is not None], "text"
    if not answers:
        return Unavailable("split_correctness", "there are no labels of items, and no return holds a text")
    repeated = len(answers) - len(set(answers))
    why = f"{repeated} of {counted(len(answers), 'returned ' + noun)} came twice"
    return team_row("split_correctness", "R7", trace=trace, value=1 - repeated / len(answers), why=why)


def aggregation_quality(trace: Trace, evidence: Evidence) -> Rewards:
    """Each aggregate by how much better it is than its best input: one row a decision.

        r = score(aggregate) − max over inputs of score(input)

    A score is the mean of an event's verdicts, else its grade (a message's), else the grade of the turn that made it.
    An aggregate has no row unless it and all of its inputs have a score. The survey (arXiv 2605.02801) names it, the
    definition is ours.
    """
    by_id = {event.id: event for event in trace.events}
    found = []
    for event in trace.events:
        if isinstance(event, Aggregate) and event.inputs and all(source in by_id for source in event.inputs):
            own = score(event, evidence)
            parts = [score(by_id[source], evidence) for source in event.inputs]
            known = [part for part in parts if part is not None]
            if own is not None and len(known) == len(parts):
                why = f"{own:g} − {max(known):g}, the best of {counted(len(known), 'input')}"
                found.append(Reward("aggregation_quality", "R7", "decision", event.id, own - max(known), why))
    return rows_or("aggregation_quality", found, "no aggregate has scores for itself and for all of its inputs")


def aggregation_regret(trace: Trace, evidence: Evidence, *, best: Mapping[str, float]) -> Rewards:
    """Each aggregate against the best that could be made of the same inputs, as a reward: 0 at best, else negative.

        r = score(aggregate) − best

    Scores as in `aggregation_quality`. Source: ours.

    Args:
      trace: the rollout.
      evidence: scores of the aggregates.
      best: aggregate -> the score of the best combination of its inputs, where the environment knows it.
    """
    found = []
    for event in trace.events:
        own = score(event, evidence) if isinstance(event, Aggregate) and event.id in best else None
        if own is not None:
            why = f"{own:g} − {best[event.id]:g}"
            found.append(Reward("aggregation_regret", "R7", "decision", event.id, own - best[event.id], why))
    return rows_or("aggregation_regret", found, "no aggregate has a score and a known best combination")


def _spent(trace: Trace, noun: str, *, prices: Prices | None, tools: ToolNames) -> tuple[float | None, str]:
    """The quantity, or why it is not known."""
    if noun == "token":
        totals = metrics.token_totals(turns(trace))
        why = "not every turn carries tokens" if totals.coverage is not None else "the trace holds no turn"
        return (totals.total, "") if totals.coverage == 1 else (None, why)
    if noun == "USD":
        paid = metrics.money(trace, prices=prices)
        return paid.usd, paid.unknown
    times = metrics.parallelism(trace, tools=tools)
    return times.span_s, times.unknown.get("span_s", "")
