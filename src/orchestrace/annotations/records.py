"""Results about a trace, kept beside it and never in it: rewards, verdicts, credit."""

import math
from collections.abc import Iterable, Mapping
from typing import Literal, cast, get_args

import msgspec

from orchestrace.annotations._decoding import decoded
from orchestrace.annotations.evidence import Evidence, Verdict
from orchestrace.annotations.units import LedgerKind, UnitKind

RewardFamily = Literal["R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8"]
"""The survey's reward families: team, agent, role, process, tool, debate, orchestration, hybrid."""
CreditKind = Literal["share", "advantage", "shaped"]
"""A share adds up to the team's value; an advantage is relative to a baseline; a shaped reward is a reward."""


class Reward(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One number that a channel gives to one unit."""

    channel: str
    """What emitted it: `outcome`, `parallel_speedup`..."""
    family: RewardFamily
    unit: LedgerKind
    id: str
    """The unit's id."""
    value: float
    """Raw, before any weight."""
    why: str = ""
    """The arithmetic in words; empty: the channel's name says it."""


class CreditRow(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one unit earned."""

    unit_id: str
    value: float
    std_error: float | None = None
    """Absent: exact, or not known."""
    n: int | None = None
    """Samples behind it; absent: not sampled."""
    unit: LedgerKind | None = None
    """Absent: the record's unit."""
    parent: str | None = None
    """Id of the unit above it in a ledger; absent: the top, or no ledger."""
    parent_unit: LedgerKind | None = None
    """What that unit is: a role and an agent may share an id."""
    agent: str | None = None
    """The agent that it is, or is part of; absent: it is above agents, or that is not known."""


class Credit(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One credit method's result on one trace."""

    unit: UnitKind
    """The finest unit it speaks of."""
    method: str
    kind: CreditKind
    definition: str
    """How the value of a coalition was defined (mask, replay, default policy, critic, a file), or of what reward."""
    rows: tuple[CreditRow, ...]
    residual: float | None = None
    """Value of the team minus the sum of the shares; absent for what does not add up."""
    group_key: str | None = None
    """What was compared with what: `task`, `task+agent`...; absent: nothing was."""
    model_calls: int = 0
    """Calls of a model that it took, beyond the rollouts themselves."""
    notes: tuple[str, ...] = ()
    """What was skipped, capped, sampled or passed through, in words."""
    trace_id: str | None = None
    """The trace it speaks of: ids of turns and agents are the same in every rollout. Absent: not said."""


class Annotations(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Everything said about one trace, by whom it was said."""

    trace_id: str
    trace_digest: str
    """Of the trace it was worked out on; another digest means another trace."""
    rewards: tuple[Reward, ...] = ()
    verdicts: Mapping[str, tuple[Verdict, ...]] = {}
    credits: tuple[Credit, ...] = ()


def evidence_from(given: Iterable[Credit], *, verdicts: Mapping[str, tuple[Verdict, ...]] | None = None) -> Evidence:
    """What shares and verdicts say of a trace, as rewards and detectors take it.

    Only shares count: an advantage says nothing about how much a unit brought.

    Args:
      given: of one trace; of two that speak of one unit the later counts.
      verdicts: by event id.
    """
    shares: dict[UnitKind, dict[str, float]] = {}
    kinds = get_args(UnitKind)
    for credit in given:
        for row in credit.rows if credit.kind == "share" else ():
            unit = row.unit or credit.unit
            if unit in kinds:
                shares.setdefault(cast(UnitKind, unit), {})[row.unit_id] = row.value
    return Evidence(shares=shares, verdicts=verdicts or {})


def encode(annotations: Annotations) -> bytes:
    """One canonical JSON document.

    Raises:
      ValueError: a number that is not finite.
    """
    for place, value in _numbers(annotations):
        if not math.isfinite(value):
            raise ValueError(f"{place} is {value}: numbers in annotations are finite")
    return msgspec.json.encode(annotations, order="deterministic")


def decode(document: bytes) -> Annotations:
    """The document as annotations.

    Raises:
      InputError: it is none.
    """
    return decoded(document, Annotations, refusal="not annotations")


def decode_evidence(document: bytes) -> Evidence:
    """A JSON document as evidence: `grades`, `verdicts`, `labels`, `shares`.

    Raises:
      InputError: it is none.
    """
    return decoded(document, Evidence, refusal="not evidence")


def decode_evidence_by_trace(document: bytes) -> dict[str, Evidence]:
    """A JSON document of evidence by trace id.

    Raises:
      InputError: it is none.
    """
    return decoded(document, dict[str, Evidence], refusal="not evidence by trace id")


def _numbers(annotations: Annotations) -> list[tuple[str, float]]:
    found = [(f"rewards[{i}].value", reward.value) for i, reward in enumerate(annotations.rewards)]
    for i, credit in enumerate(annotations.credits):
        found.append((f"credits[{i}].residual", credit.residual or 0.0))
        for j, row in enumerate(credit.rows):
            place = f"credits[{i}].rows[{j}]"
            found += [(f"{place}.value", row.value), (f"{place}.std_error", row.std_error or 0.0)]
    for event, verdicts in annotations.verdicts.items():
        found += [(f"verdicts[{event!r}]", verdict.score) for verdict in verdicts]
    return found
