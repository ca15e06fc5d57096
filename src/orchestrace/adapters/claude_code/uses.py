"""tool_use blocks, reduced: a spawn's task, a message's body, or plain arguments."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from orchestrace.adapters.claude_code.records import mapping, text
from orchestrace.adapters.claude_code.steps import Post, Task, Use, key_of
from orchestrace.trace import Content

SPAWN_TOOLS = frozenset({"Task", "Agent"})
MESSAGE_TOOLS = frozenset({"SendMessage"})
MAX_NAME = 200
"""Characters of a name that are kept as a label; longer ones are cut."""


def use_of(block: Mapping[str, Any], keep: Callable[..., Content]) -> Use:
    """A tool_use block that has an id."""
    call, tool = text(block.get("id"))[:MAX_NAME], text(block.get("name"))[:MAX_NAME] or "unnamed"
    arguments = mapping(block.get("input"))
    if tool in SPAWN_TOOLS:
        return Use(call, tool, None, task=_task(arguments, keep))
    if tool in MESSAGE_TOOLS:
        return Use(call, tool, None, post=_post(arguments, keep))
    content = keep(as_json(block.get("input")), media="application/json")
    target = text(arguments.get("task_id")) or text(arguments.get("shell_id")) or text(arguments.get("team_name"))
    return Use(call, tool, content, target=target[:MAX_NAME])


def as_json(value: object) -> str:
    """Compact JSON of a decoded value; numbers that JSON lacks become null, and what nests too deep becomes ""."""
    try:
        return msgspec.json.encode(value).decode()
    except RecursionError:
        return ""
    except (msgspec.MsgspecError, OverflowError, ValueError, TypeError):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)  # integers beyond 64 bits


def _task(arguments: Mapping[str, Any], keep: Callable[..., Content]) -> Task:
    prompt = text(arguments.get("prompt"))
    return Task(
        prompt=keep(prompt),
        key=key_of(prompt),
        name=text(arguments.get("name"))[:MAX_NAME],
        description=text(arguments.get("description"))[:MAX_NAME],
        role=text(arguments.get("subagent_type"))[:MAX_NAME],
        background=arguments.get("run_in_background") is True,
        resume=text(arguments.get("resume"))[:MAX_NAME],
        team=text(arguments.get("team_name"))[:MAX_NAME],
        model=text(arguments.get("model"))[:MAX_NAME],
    )


def _post(arguments: Mapping[str, Any], keep: Callable[..., Content]) -> Post:
    to = text(arguments.get("to")) or text(arguments.get("recipient"))
    given = arguments.get("message", arguments.get("content"))
    body = given if isinstance(given, str) else as_json(given) if given is not None else ""
    kind = text(arguments.get("type")) or text(mapping(given).get("type"))
    return Post(to.removeprefix("@")[:MAX_NAME], keep(body), key_of(body), kind[:MAX_NAME])
