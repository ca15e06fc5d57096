"""Which tools wait for others, and which manage the team, by the names that each product gives them."""

from collections.abc import Mapping
from typing import NamedTuple


class ToolNames(NamedTuple):
    """Tools that are not leaves of the work, by what they do."""

    waiting: frozenset[str]
    """The call lasts while other agents work: its time is theirs, so its agent is not busy."""
    asking: frozenset[str]
    """The call lasts until a person answers: nobody is busy with it."""
    managing: frozenset[str]
    """Calls that manage agents or tools (wait, poll, task board, tool search): protocol, not work on the task."""


CLAUDE_CODE = ToolNames(
    waiting=frozenset({"TaskOutput", "AgentOutputTool"}),
    asking=frozenset({"AskUserQuestion", "ExitPlanMode"}),
    managing=frozenset(
        {
            *("TaskOutput", "AgentOutputTool", "TaskStop", "BashOutput", "KillShell", "KillBash"),
            *("TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "TodoWrite", "TodoRead"),
            *("SendMessage", "TeamCreate", "TeamDelete", "ToolSearch"),
        }
    ),
)
TOOL_NAMES: Mapping[str, ToolNames] = {"claude_code": CLAUDE_CODE}
"""By adapter."""
NO_NAMES = ToolNames(frozenset(), frozenset(), frozenset())


def tool_names(adapter: str | None) -> ToolNames:
    """The names of an adapter's product; none for a native recording and for adapters that are not listed."""
    return TOOL_NAMES.get((adapter or "").replace("-", "_"), NO_NAMES)
