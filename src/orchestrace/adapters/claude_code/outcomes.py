"""What came back, as events: tool results, returns of sub-agents, and the ends of background tasks."""

from collections.abc import Mapping
from typing import Any

import msgspec

from orchestrace.adapters.claude_code.session import MAIN
from orchestrace.adapters.claude_code.stage import Pen
from orchestrace.adapters.claude_code.steps import Inbound, Notice, Result, Use
from orchestrace.trace import (
    Delegate,
    Despawn,
    HumanIntervention,
    Message,
    Return,
    SafetyEvent,
    Scalar,
    Spawn,
    ToolCall,
    ToolResult,
)

_ASKING_TOOLS = frozenset({"AskUserQuestion", "ExitPlanMode", "exit_plan_mode"})
"""Their result is a person's answer; the time until it comes is that person's."""
_STOP_TOOLS = frozenset({"TaskStop", "KillShell"})
_OUTSIDE_TOOLS = frozenset({"WebFetch", "WebSearch", "web_fetch", "web_search"})
_ENDED_OTHERWISE: Mapping[str, Any] = {"failed": "failed", "stopped": "cancelled", "killed": "cancelled"}


def write_result(pen: Pen, step: Result) -> None:
    """One tool result, by what its call was."""
    event, use = pen.calls.get(step.call), pen.uses.get(step.call)
    if event is None or use is None:
        pen.counts["results_without_call"] += 1
        return
    if step.acknowledged and not isinstance(event, Message):
        pen.counts["launch_acks"] += 1
        return
    del pen.calls[step.call]
    match event:
        case ToolCall():
            _tool_result(pen, step, event, use)
        case Message():
            pen.counts["message_acks"] += 1
        case Delegate() if use.post is not None:
            pen.counts["launch_acks"] += 1
        case Spawn() | Delegate():
            _returned(pen, step, event.to)


def write_notice(pen: Pen, step: Notice) -> None:
    """The end of a background task; of a sub-agent's it is a return."""
    if step not in pen.chosen:
        pen.counts["polls" if step.poll else "repeated_notices"] += 1
        return
    made = pen.stage.links.made.get(step.call)
    agent = made or (pen.stage.cast.find(step.task) if step.task else None)
    if agent is None or agent in (MAIN, pen.agent):
        pen.counts["shell_notices"] += 1
        return
    if step.status != "completed" and step.status not in _ENDED_OTHERWISE:
        pen.counts["unknown_notice_status"] += 1
        return
    _append_return(pen, step, agent, _ENDED_OTHERWISE.get(step.status, "completed"))
    if step.status == "killed":
        write_despawn(pen, agent, step, "killed")


def write_despawn(pen: Pen, agent: str, step: Result | Notice | Inbound, reason: str) -> None:
    """The log says that an agent was ended; once."""
    if agent not in pen.stage.despawned:
        pen.stage.despawned.add(agent)
        pen.append(Despawn, step.t, step.uid, to=agent, reason=reason)


def _tool_result(pen: Pen, step: Result, call: ToolCall, use: Use) -> None:
    asked = use.tool in _ASKING_TOOLS and step.status == "ok"
    if asked or step.refusal == "reject":
        # The time since the call was a person's: the call stays an instant.
        pen.append(HumanIntervention, step.t, step.uid, kind="answer" if asked else "reject", content=step.content)
    elif call.t is not None and step.t is not None:
        duration = round((pen.stage.t(step.t) or 0.0) - call.t, 6)
        pen.counts["negative_duration"] += duration < 0
        pen.stage.assembler.replace(msgspec.structs.replace(call, duration_s=duration if duration >= 0 else None))
    outside = use.tool in _OUTSIDE_TOOLS or use.tool.startswith("mcp__")
    pen.append(
        ToolResult,
        step.t,
        step.uid,
        tool=use.tool,
        call=call.id,
        status=step.status,
        content=step.content,
        trusted=False if outside else None,
    )
    if step.refusal in ("permission", "hook"):
        kind = "permission_denied" if step.refusal == "permission" else "hook_blocked"
        labels = {"call": use.id}
        pen.append(SafetyEvent, step.t, step.uid, kind=kind, blocked=True, content=step.content, labels=labels)
    if step.status == "ok":
        _ended_others(pen, step, use)


def _ended_others(pen: Pen, step: Result, use: Use) -> None:
    """A tool that ends agents succeeded."""
    cast = pen.stage.cast
    if use.tool == "TeamDelete" and step.succeeded is not False:
        for member in cast.team(use.target):
            write_despawn(pen, member, step, "TeamDelete")
    agent = cast.find(use.target) if use.tool in _STOP_TOOLS and use.target else None
    if agent is not None and agent not in (MAIN, pen.agent):
        write_despawn(pen, agent, step, use.tool)
        if not any(notice.task == use.target and notice.status in _ENDED_OTHERWISE for notice in pen.chosen):
            _append_return(pen, step, agent, "cancelled")


def _returned(pen: Pen, step: Result, agent: str) -> None:
    if step.refusal == "reject":
        pen.append(HumanIntervention, step.t, step.uid, kind="reject", content=step.content)
    if step.interrupted or step.refusal == "reject":
        status = "cancelled"
    else:
        status = "completed" if step.status == "ok" else "failed"
    _append_return(pen, step, agent, _ENDED_OTHERWISE.get(step.agent_status, status))


def _append_return(pen: Pen, step: Result | Notice, agent: str, status: str) -> None:
    labels: dict[str, Scalar] = {}
    if isinstance(step, Result) and step.total_ms is not None:
        labels["reported_duration_s"] = step.total_ms / 1000
    if isinstance(step, Result) and step.total_tools is not None:
        labels["reported_tool_calls"] = step.total_tools
        used = pen.stage.cast.uses_of(agent)
        pen.counts["incomplete_sub_agent_logs"] += used is not None and used != step.total_tools
    fields: dict[str, Any] = {"agent": agent, "to": pen.agent, "status": status, "content": step.content}
    event = pen.append(Return, step.t, step.uid, labels=labels, **fields)
    pen.unconsumed.append(event.id)
    pen.stage.returns.append(event)
