"""The one sentence that matters."""

from collections.abc import Callable

from orchestrace.report.document import Report
from orchestrace.report.words import DOUBTFUL_OUTPUT

LITTLE_SPEEDUP = 1.1
"""A team that spawned and was not this much faster than one agent ran one after another."""
MUCH_PROTOCOL = 0.5
MUCH_WAITING = 0.5
MANY_FAILURES = 0.5
MUCH_IDLE = 0.1
"""With this share of the wall time unexplained, the log lacks some of the work, and a speed-up says little."""


def headline(report: Report) -> str:
    """What to look at first: the gravest thing that the report shows, in plain words, with its numbers.

    In this order: nothing happened; returns that nobody read; messages that never arrived; sub-agents that failed;
    agents of which nobody knows who made them; no answer; time that the log does not explain; a team that ran one after
    another; a team that talked mostly about itself; waiting on people. Where none of these holds, it says so.
    """
    return next(said for rule in _RULES if (said := rule(report)) is not None)


def _empty(report: Report) -> str | None:
    counts = report.counts
    if counts["turn"] or counts["tool_call"] or counts["orchestrator_decision"]:
        return None
    return "No agent did anything." if sum(counts.values()) else "The trace holds no events."


def _unread(report: Report) -> str | None:
    told = report.collaboration
    if not told.unconsumed_returns:
        return None
    share = ""
    if told.unconsumed_tokens and report.tokens.total:
        share = f"; {told.unconsumed_tokens / report.tokens.total:.0%} of tokens"
    return f"{_of(told.unconsumed_returns, told.returns, 'return')} never read{share}."


def _undelivered(report: Report) -> str | None:
    told = report.collaboration
    if not told.undelivered:
        return None
    return f"{_of(told.undelivered, told.messages, 'message')} never received."


def _failed(report: Report) -> str | None:
    told = report.collaboration
    if not told.failed_returns or told.failed_returns < MANY_FAILURES * told.returns:
        return None
    return f"{_of(told.failed_returns, told.returns, 'return')} not a success."


def _unlinked(report: Report) -> str | None:
    lost = report.diagnostics.get("unlinked", 0)
    if not lost:
        return None
    return f"The log does not say who spawned {lost} of its {len(report.agents)} agents."


def _unfinished(report: Report) -> str | None:
    running = [agent for agent in report.agents if agent.status == "running"]
    roots = [agent for agent in running if agent.parent is None]
    if roots and report.counts["turn"] and not report.counts["stop"]:
        others = len(running) - len(roots)
        with_others = f", with {others} other {_agents(others)} still running" if others > 0 else ""
        return f"The log ends before the team has answered{with_others}."
    return None


def _unexplained(report: Report) -> str | None:
    share = _idle(report)
    if share < MUCH_WAITING:
        return None
    return f"{share:.0%} of the wall time nobody was busy, as far as the log says."


def _one_by_one(report: Report) -> str | None:
    speedup = report.parallelism.speedup
    sub_agents = report.checklist.trace_scale.sub_agents
    timed = sum(agent.busy_s is not None for agent in report.agents)
    if sub_agents < 2 or timed < 2 or speedup is None or speedup >= LITTLE_SPEEDUP or _idle(report) >= MUCH_IDLE:
        return None
    return f"{sub_agents} sub-agents bought no time: the team was {speedup:.2f} times as fast as one agent."


def _talkative(report: Report) -> str | None:
    share = report.overhead.protocol_overhead
    doubtful = report.diagnostics.get(DOUBTFUL_OUTPUT, 0)
    if share is None or share < MUCH_PROTOCOL or not report.checklist.trace_scale.sub_agents or doubtful:
        return None
    return f"{share:.0%} of the output tokens went into running the team, not into the task."


def _waiting(report: Report) -> str | None:
    human, elapsed = report.parallelism.human_s, report.parallelism.elapsed_s
    if not human or not elapsed or human < MUCH_WAITING * elapsed:
        return None
    return f"{human / elapsed:.0%} of the time nobody worked: the team waited for a person."


def _all_well(report: Report) -> str:
    told, speedup = report.collaboration, report.parallelism.speedup
    sub_agents = report.checklist.trace_scale.sub_agents
    if not sub_agents:
        turns = report.counts["turn"]
        return f"One agent, {turns} {'turn' if turns == 1 else 'turns'}; nothing was lost."
    read = f"all {told.returns} returns were read" if told.returns > 1 else "what came back was read"
    faster = ""
    if speedup is not None and speedup >= LITTLE_SPEEDUP and _idle(report) < MUCH_IDLE:
        faster = f", {speedup:.2f} times as fast as one agent"
    return f"Nothing was lost: {sub_agents} sub-{_agents(sub_agents)}, {read}{faster}."


def _idle(report: Report) -> float:
    """Share of the wall time in which nobody was busy; 0 where it is not known."""
    idle, wall = report.parallelism.idle_s, report.parallelism.wall_s
    return idle / wall if idle and wall else 0.0


def _of(some: int, all_: int, noun: str) -> str:
    """`2 of 6 returns were`, `The only return was`."""
    if all_ == 1:
        return f"The only {noun} was"
    return f"{some} of {all_} {noun}s {'was' if some == 1 else 'were'}"


def _agents(n: int) -> str:
    return "agent" if n == 1 else "agents"


_RULES: tuple[Callable[[Report], str | None], ...] = (
    _empty,
    _unread,
    _undelivered,
    _failed,
    _unlinked,
    _unfinished,
    _unexplained,
    _one_by_one,
    _talkative,
    _waiting,
    _all_well,
)
