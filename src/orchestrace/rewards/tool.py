"""R5, tool reward: whether a call worked, was well formed, and served for something.

How it is gamed: calls for the sake of the reward (`hacking`: tool spam).
"""

from collections.abc import Mapping

from orchestrace.annotations import Evidence, Reward
from orchestrace.rewards._rows import mean, rows_or, verdicts_on
from orchestrace.rewards.absence import Rewards
from orchestrace.trace import ToolCall, ToolResult, Trace

OK_ALONE: Mapping[str, float] = {"ok": 1.0, "error": 0.0, "denied": 0.0, "timeout": 0.0}


def tool_status(trace: Trace, _evidence: Evidence, *, scores: Mapping[str, float] = OK_ALONE) -> Rewards:
    """Each answered call by how it ended. A call without a result has no row.

    Args:
      trace: the rollout.
      scores: status -> value; a call with a status that is not in it has no row.
    """
    found = [
        Reward("tool_status", "R5", "tool_call", result.call, scores[result.status], result.status)
        for result in _results(trace).values()
        if result.status in scores
    ]
    return rows_or("tool_status", found, "no tool call has a result")


def tool_schema(trace: Trace, evidence: Evidence, *, judge: str = "schema") -> Rewards:
    """Each call by whether its arguments fit the tool's schema.

    Checking them needs the schemas and is done elsewhere; what it found arrives as verdicts on the calls.

    Args:
      trace: the rollout.
      evidence: `verdicts` on tool calls.
      judge: who checked (`Verdict.by`).
    """
    found = []
    for event in trace.events:
        if isinstance(event, ToolCall) and (given := verdicts_on(event.id, evidence, by=judge)):
            value = mean([verdict.score for verdict in given])
            found.append(Reward("tool_schema", "R5", "tool_call", event.id, value))
    return rows_or("tool_schema", found, f"no tool call has a verdict by {judge!r}")


def tool_used(trace: Trace, _evidence: Evidence) -> Rewards:
    """Each answered call by whether something came of it: 1 where it ended well and its result reached a later event.

    A result reaches an event over an edge that is written in the trace. The agent's next turn, which has the result in
    its context, counts; so what nobody looked at is paid 0. Source: ours, after the survey's advice (arXiv 2605.02801)
    to pay a call for what follows from it.
    """
    sources = {edge.src for edge in trace.edges}
    found = []
    for result in _results(trace).values():
        used = result.status == "ok" and result.id in sources
        why = "used" if used else f"ended with {result.status}" if result.status != "ok" else "nobody read the result"
        found.append(Reward("tool_used", "R5", "tool_call", result.call, float(used), why))
    return rows_or("tool_used", found, "no tool call has a result")


def _results(trace: Trace) -> dict[str, ToolResult]:
    """Call -> its result, for the calls that the trace holds."""
    calls = {event.id for event in trace.events if isinstance(event, ToolCall)}
    return {event.call: event for event in trace.events if isinstance(event, ToolResult) and event.call in calls}
