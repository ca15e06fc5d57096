"""The report's table of agents."""

from collections import defaultdict

from orchestrace.metrics import Busy, ToolNames, busy_lanes, length, token_totals, work
from orchestrace.report.document import AgentRow
from orchestrace.trace import Agent, Spawn, Trace, Turn
from orchestrace.trace.views import depths, spawn_tree, statuses

_NAMES = ("name", "description")


def agent_rows(trace: Trace, unknown: dict[str, str], *, tools: ToolNames) -> tuple[AgentRow, ...]:
    """One row an agent; reasons for what is absent go to `unknown`.

    An agent that only events name has a row too, after the declared ones.
    """
    tree, depth, status = spawn_tree(trace), depths(trace), statuses(trace)
    declared = {agent.id: agent for agent in trace.agents}
    busy: defaultdict[str, list[Busy]] = defaultdict(list)
    done = work(trace, tools=tools)
    every = (*done.busy, *done.outside)
    lanes = busy_lanes(every)
    for one in every:
        busy[one.agent].append(one)
    turns: defaultdict[str, list[Turn]] = defaultdict(list)
    for event in trace.events:
        if isinstance(event, Turn):
            turns[event.agent].append(event)
    rows = []
    for name in tree.children:
        agent, spawn, own = declared.get(name, Agent(name)), tree.spawns.get(name), busy[name]
        row = AgentRow(
            id=name,
            name=_called(spawn),
            role=agent.role,
            parent=spawn.agent if spawn is not None else agent.parent,
            depth=depth[name],
            turns=len(turns[name]),
            tokens=token_totals(turns[name]).total,
            busy_s=length(lanes[name]) if own else None,
            start_s=min((one.start_s for one in own), default=None),
            end_s=max((one.end_s for one in own), default=None),
            status=status.get(name, "never_started"),
        )
        _explain(row, unknown)
        rows.append(row)
    return tuple(rows)


def _called(spawn: Spawn | None) -> str | None:
    if spawn is None:
        return None
    return next((str(spawn.labels[label]) for label in _NAMES if spawn.labels.get(label)), None)


def _explain(row: AgentRow, unknown: dict[str, str]) -> None:
    if row.tokens is None:
        unknown[f"agents.{row.id}.tokens"] = "none of its turns carries tokens" if row.turns else "it has no turn"
    if row.busy_s is None:
        for field in ("busy_s", "start_s", "end_s"):
            unknown[f"agents.{row.id}.{field}"] = "it has no turn and no leaf tool call with a time"
