"""The survey's five-point reporting checklist, filled in from a trace."""

from collections import Counter

from orchestrace.report.document import (
    Checklist,
    RewardChannels,
    SafetyInstrumentation,
    TeamAndRoles,
    TraceScale,
)
from orchestrace.trace import ToolResult, Trace, kind
from orchestrace.trace.views import spawn_tree


def checklist(trace: Trace, unknown: dict[str, str], *, wall_s: float | None, tokens: int | None) -> Checklist:
    """Topology and roles; trace scale; reward channels; credit unit; safety instrumentation.

    Reasons for what is absent go to `unknown`.
    """
    counts = Counter(kind(event) for event in trace.events)
    tree = spawn_tree(trace)
    found = Checklist(
        topology_and_roles=TeamAndRoles(
            topology=trace.topology,
            roles=dict(sorted(Counter(agent.role for agent in trace.agents).items())),
            spawns=counts["spawn"],
            despawns=counts["despawn"],
            size="dynamic" if counts["spawn"] or counts["despawn"] else "fixed",
        ),
        trace_scale=TraceScale(
            events=len(trace.events),
            messages=counts["message"],
            tool_calls=counts["tool_call"],
            sub_agents=len(tree.children) - len(tree.roots),
            wall_s=wall_s,
            tokens=tokens,
        ),
        reward_channels=RewardChannels(channels=dict(sorted(trace.rewards.items())), annealed=None),
        credit_unit=None,
        safety_instrumentation=_safety(trace, counts),
    )
    _explain(found, unknown)
    return found


def _safety(trace: Trace, counts: Counter[str]) -> SafetyInstrumentation:
    results = [event for event in trace.events if isinstance(event, ToolResult)]
    return SafetyInstrumentation(
        untrusted_events=sum(event.trusted is False for event in trace.events),
        trust_declared=sum(event.trusted is not None for event in results) / len(results) if results else None,
        messages=counts["message"],
        memory_events=counts["memory"],
        human_interventions=counts["human_intervention"],
        safety_events=counts["safety_event"],
    )


def _explain(found: Checklist, unknown: dict[str, str]) -> None:
    unknown["checklist.reward_channels.annealed"] = "a trace does not say how its rewards are scheduled"
    unknown["checklist.credit_unit"] = "a trace does not say which unit a learner credited"
    if found.topology_and_roles.topology is None:
        unknown["checklist.topology_and_roles.topology"] = unknown["topology"]
    if found.trace_scale.wall_s is None:
        unknown["checklist.trace_scale.wall_s"] = unknown["parallelism.wall_s"]
    if found.trace_scale.tokens is None:
        unknown["checklist.trace_scale.tokens"] = unknown["tokens.total"]
    if found.safety_instrumentation.trust_declared is None:
        unknown["checklist.safety_instrumentation.trust_declared"] = "there is no tool result"
