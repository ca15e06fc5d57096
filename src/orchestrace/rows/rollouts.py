"""Which rollouts train: what goes in, what is left out, and what must not stand together in one batch."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrace.errors import InputError
from orchestrace.rows.advantages import RolloutCredit
from orchestrace.trace import Stop, Trace, views

Mixed = Literal["harness", "policy_version"]
"""What a batch may mix only when told to."""

_STOPPED: Mapping[str, str] = {
    "error": "stopped by an error",
    "interrupted": "interrupted",
    "external": "stopped from outside",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One rollout as rows are made from it."""

    trace: Trace
    credit: RolloutCredit | None = None
    """What its units earned; None: nobody worked it out, and it does not train."""
    blobs: Mapping[str, bytes] | None = None
    """Token arrays by hash; None: the trace's own `blobs`."""
    rewarded: bool | None = None
    """Whether it has a reward; None: it has where the trace holds `rewards`. Say True where one is kept elsewhere."""

    @property
    def group_key(self) -> str:
        """What it is compared with: the trace's group; a rollout without one is a group of its own."""
        return self.trace.trace_id if self.trace.group_id is None else self.trace.group_id


def failure(rollout: Rollout) -> str | None:
    """Why a rollout says nothing about the policy, in words; None: it may train.

    It failed if its last stop was an error or came from outside the team, if it has none or went on after it, or if it
    has no reward. A broken tool server is no answer that earns 0. A rollout that ran into its budget or a limit did not
    fail: that was the team's doing.

    Leave rollouts that failed out of a group's baseline as well: counted there as 0, they move every advantage.
    """
    trace = rollout.trace
    stops = [event for event in trace.events if isinstance(event, Stop)]
    if not stops or views.statuses(trace)[stops[-1].agent] == "running":
        return "no stop"
    if stops[-1].reason in _STOPPED:
        return _STOPPED[stops[-1].reason]
    rewarded = bool(trace.rewards) if rollout.rewarded is None else rollout.rewarded
    return None if rewarded else "no reward"


def check_distinct(rollouts: Iterable[Rollout]) -> None:
    """Refuse one rollout twice, one with another's credit, and one group with two tasks.

    Raises:
      InputError: names both culprits.
    """
    seen: set[str] = set()
    tasks: dict[str, Trace] = {}
    for rollout in rollouts:
        trace = rollout.trace
        said = rollout.credit.trace_id if rollout.credit is not None else None
        if said is not None and said != trace.trace_id:
            raise InputError(
                f"rollout {trace.trace_id!r} is given the credit of {said!r}",
                remedy="ids of turns and agents are the same in both: match them by trace_id",
            )
        if trace.trace_id in seen:
            raise InputError(f"rollout {trace.trace_id!r} is given twice", remedy="each rollout has one vote")
        seen.add(trace.trace_id)
        first = tasks.setdefault(rollout.group_key, trace)
        if first.task_id != trace.task_id:
            raise InputError(
                f"group {rollout.group_key!r} holds task {first.task_id!r} (trace {first.trace_id!r}) and task "
                f"{trace.task_id!r} (trace {trace.trace_id!r})",
                remedy="rollouts of one task are compared; give each task its own group_id",
            )


def check_same(facts: Sequence[tuple[Hashable, str]], *, what: str, kind: Mixed, allow: Collection[Mixed]) -> None:
    """Refuse a batch that mixes what must not be mixed.

    Args:
      facts: (value, trace id); a value that was not recorded, None, differs from every recorded one.
      what: what the value is called.
      kind: which kind of mixing this is.
      allow: the kinds that the caller allows.

    Raises:
      InputError: two values, with a rollout of each.
    """
    if kind in allow or not facts:
        return
    (value, trace_id), *others = facts
    for other, other_id in others:
        if other != value:
            raise InputError(
                f"{what} is {_said(value)} in trace {trace_id!r}, but {_said(other)} in trace {other_id!r}",
                remedy=f"make a batch of each, or pass allow=({kind!r},) if they may be mixed",
            )


def _said(value: Hashable) -> str:
    return "not recorded" if value is None else repr(value)
