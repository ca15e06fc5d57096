"""tool_result blocks, reduced."""

from collections.abc import Mapping
from typing import Any, Literal

from orchestrace.adapters.claude_code import markup
from orchestrace.adapters.claude_code.records import flat, mapping, text, whole
from orchestrace.adapters.claude_code.session import Session
from orchestrace.adapters.claude_code.steps import Notice, Refusal, Result
from orchestrace.adapters.claude_code.uses import MAX_NAME, as_json

_LAUNCHED = frozenset({"async_launched", "teammate_spawned", "remote_launched"})
_LAUNCH_TEXTS = ("Async agent launched", "Spawned successfully")
_INTERRUPTED = "[Request interrupted by user"


def result_of(block: Mapping[str, Any], outcome: object, t: float | None, uid: str, session: Session) -> Result:
    """A tool_result block, or its server-side kin; `outcome` is the record's toolUseResult if that is its alone."""
    said, left_out = flat(block.get("content"))
    if isinstance(block.get("content"), dict):
        said = as_json(block.get("content"))
    session.counts["left_out_blocks"] += left_out
    facts = mapping(outcome)
    failed = block.get("is_error") is True
    refusal = markup.refusal(said) if failed else ""
    named = text(facts.get("agentId")) or text(facts.get("agent_id")) or markup.agent_in_tail(said)
    return Result(
        t=t,
        uid=uid,
        call=text(block.get("tool_use_id"))[:MAX_NAME],
        content=session.keep(said),
        status=_status(said, facts, refusal, failed=failed),
        refusal=refusal,
        interrupted=said.startswith(_INTERRUPTED) or text(outcome).startswith(_INTERRUPTED),
        acknowledged=_acknowledged(said, facts),
        agent=named[:MAX_NAME],
        agent_role=(text(facts.get("agentType")) or text(facts.get("agent_type")))[:MAX_NAME],
        succeeded=_succeeded(said, facts),
        resumed="resum" in said[:1000].lower(),
        total_ms=whole(facts.get("totalDurationMs")),
        total_tools=whole(facts.get("totalToolUseCount")),
        agent_status=text(facts.get("status"))[:MAX_NAME],
    )


def poll_of(block: Mapping[str, Any], t: float | None, uid: str, session: Session) -> Notice | None:
    """The end of a sub-agent's task, where a tool_result block is the answer to a poll; None where it is not."""
    said = flat(block.get("content")).text
    told = markup.polled(said) if said.startswith("<retrieval_status>") else None
    if told is None:
        return None
    call = text(block.get("tool_use_id"))[:MAX_NAME]
    return Notice(t, uid, told.task, "", told.status, session.keep(told.result), 1, call)


def _status(
    said: str, facts: Mapping[str, Any], refusal: Refusal, *, failed: bool
) -> Literal["ok", "error", "denied", "timeout"]:
    if refusal:
        return "denied"
    if (failed or facts.get("interrupted") is True) and markup.timed_out(said):
        return "timeout"
    return "error" if failed else "ok"


def _acknowledged(said: str, facts: Mapping[str, Any]) -> bool:
    if facts:
        return facts.get("isAsync") is True or text(facts.get("status")) in _LAUNCHED
    return said.startswith(_LAUNCH_TEXTS)


def _succeeded(said: str, facts: Mapping[str, Any]) -> bool | None:
    told = facts.get("success")
    if told is None:
        told = markup.json_object(said[:100_000]).get("success")
    return told if isinstance(told, bool) else None
