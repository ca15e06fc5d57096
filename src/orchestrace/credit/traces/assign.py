"""From traces to columns, and from advantages back to the units of each trace."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from orchestrace.annotations import Credit, CreditRow, UnitKind
from orchestrace.credit.columns import LARGEST, Rows, rows
from orchestrace.credit.results import Advantages
from orchestrace.errors import InputError
from orchestrace.trace import Spawn, Trace, Turn
from orchestrace.trace.views import lanes, spawn_tree

ROW_UNITS: tuple[UnitKind, ...] = ("team", "role", "agent", "turn")
"""What a row can be: a finer unit has no reward of its own in a trace, only its turn's."""


class Assigned(NamedTuple):
    """The rows of several traces, and what each stands for."""

    rows: Rows
    unit: UnitKind
    owners: tuple[tuple[int, str], ...]
    """[D] (place of the trace, id of the unit)."""
    orphans: int
    """Rows of spawned agents whose spawning row is not known: their `parent` is −1, as if nobody had spawned them."""
    notes: tuple[str, ...]
    """What was left out, in words."""
    traces: tuple[str, ...]
    """Ids of all traces, also of those left out."""


class _Row(NamedTuple):
    trace: int
    task: str
    unit_id: str
    agent: str = ""
    role: str = ""
    turn: int = 0
    context: str = ""
    made_by: str | None = None
    """The row that spawned this row's agent: a turn, or of agents the agent; empty: it is not known; None: nobody."""


def assigned(traces: Sequence[Trace], rewards: Sequence[float | None], *, unit: UnitKind) -> Assigned:
    """One row for each unit of each trace, credited with its team's reward.

    Rollouts of one `group_id`, or where there is none of one `task_id`, are one group. A trace without a reward is left
    out and counted: it is not a trace with reward 0.

    Args:
      traces: lawful.
      rewards: of each; None: not known.
      unit: of `ROW_UNITS`.

    Raises:
      ValueError: another unit.
      InputError: no trace has both a reward and such a unit, or a reward is too large.
    """
    if unit not in ROW_UNITS:
        raise ValueError(f"no rows of unit {unit!r}; a row is one of {', '.join(ROW_UNITS)}")
    missing = _checked(traces, rewards)
    given = [(place, trace) for place, trace in enumerate(traces) if rewards[place] is not None]
    found = [row for place, trace in given for row in _rows_of(place, trace, unit)]
    if not found:
        raise InputError(f"none of the {len(traces)} traces has both a reward and a {unit}")
    spawned_by = {(row.trace, row.unit_id): place for place, row in enumerate(found)}
    columns = rows(
        [rewards[row.trace] or 0.0 for row in found],
        task=_numbers(row.task for row in found),
        rollout=_numbers(row.trace for row in found),
        agent=_numbers(row.agent for row in found),
        role=_numbers(row.role for row in found),
        turn=[row.turn for row in found],
        context=_numbers(row.context or (row.trace, row.unit_id) for row in found),
        parent=[spawned_by.get((row.trace, row.made_by or ""), -1) for row in found],
    )
    notes = (f"{missing} of {len(traces)} traces have no such reward and were left out",) if missing else ()
    orphans = sum(row.made_by is not None and (row.trace, row.made_by) not in spawned_by for row in found)
    owners = tuple((row.trace, row.unit_id) for row in found)
    return Assigned(columns, unit, owners, orphans, notes, tuple(trace.trace_id for trace in traces))


def credits_of(
    given: Assigned,
    advantages: Advantages,
    *,
    method: str,
    definition: str,
    group_key: str,
    by_parent: bool = False,
) -> tuple[Credit | None, ...]:
    """The advantages as one record a trace; None for a trace that was left out.

    Args:
      given: the rows.
      advantages: theirs.
      method: its name.
      definition: of what reward.
      group_key: what was compared with what.
      by_parent: the method goes by who spawned whom.
    """
    by_trace = _rows_by_trace(given, advantages)
    notes = _notes(given, advantages, by_parent)
    return tuple(
        Credit(
            unit=given.unit,
            method=method,
            kind="advantage",
            definition=definition,
            rows=tuple(by_trace[trace]),
            group_key=group_key,
            model_calls=advantages.sampling.model_calls,
            notes=notes,
            trace_id=trace_id,
        )
        if trace in by_trace
        else None
        for trace, trace_id in enumerate(given.traces)
    )


def _rows_by_trace(given: Assigned, advantages: Advantages) -> dict[int, list[CreditRow]]:
    error, n = advantages.sampling.std_error, advantages.sampling.n
    by_trace: dict[int, list[CreditRow]] = {}
    for place, (trace, unit_id) in enumerate(given.owners):
        std_error = None if error is None else float(error[place])
        row = CreditRow(unit_id, float(advantages.values[place]), std_error=std_error, n=n, unit=given.unit)
        by_trace.setdefault(trace, []).append(row)
    return by_trace


def _notes(given: Assigned, advantages: Advantages, by_parent: bool) -> tuple[str, ...]:
    notes = list(given.notes)
    if by_parent and given.orphans:
        notes.append(f"{given.orphans} rows of agents whose spawning {given.unit} is not known count as orchestrators'")
    if advantages.degenerate:
        notes.append(f"{advantages.degenerate} of {len(given.owners)} rows had nothing to compare with and got 0")
    if not np.any(advantages.values):
        notes.append("every advantage is 0: nothing would be learned from these rollouts")
    return tuple(notes)


def _checked(traces: Sequence[Trace], rewards: Sequence[float | None]) -> int:
    """How many traces have no reward."""
    for trace, reward in zip(traces, rewards, strict=True):
        if reward is not None and abs(reward) > LARGEST:
            raise InputError(
                f"trace {trace.trace_id!r} has the reward {reward:g}, too large to compare",
                remedy=f"rewards go up to {LARGEST:g}",
            )
    return sum(reward is None for reward in rewards)


def _rows_of(place: int, trace: Trace, unit: UnitKind) -> list[_Row]:
    task = trace.group_id or trace.task_id
    if unit == "team":
        return [_Row(place, task, trace.trace_id)]
    roles = {agent.id: agent.role for agent in trace.agents}
    active = [name for name, events in lanes(trace).items() if events]
    if unit == "role":
        names = dict.fromkeys(roles.get(name, "") for name in active)
        return [_Row(place, task, role, role=role) for role in names if role]
    if unit == "agent":
        makers = {agent: spawn.agent for agent, spawn in spawn_tree(trace).spawns.items()}
        return [_Row(place, task, name, name, roles.get(name, ""), made_by=makers.get(name)) for name in active]
    return _turn_rows(place, task, trace, roles)


def _turn_rows(place: int, task: str, trace: Trace, roles: Mapping[str, str]) -> list[_Row]:
    made_by = {event.to: event.turn or "" for event in trace.events if isinstance(event, Spawn)}
    found: list[_Row] = []
    count: dict[str, int] = {}
    for event in trace.events:
        if isinstance(event, Turn):
            number = count.get(event.agent, 0)
            count[event.agent] = number + 1
            prompt = (event.generation.prompt_hash if event.generation else None) or ""
            role = roles.get(event.agent, "")
            made = made_by.get(event.agent)
            found.append(_Row(place, task, event.id, event.agent, role, number, prompt, made))
    return found


def _numbers(keys: Iterable[Hashable]) -> list[int]:
    """Whole numbers for keys, equal for equal ones, in the order of their first coming."""
    known: dict[Hashable, int] = {}
    return [known.setdefault(key, len(known)) for key in keys]
