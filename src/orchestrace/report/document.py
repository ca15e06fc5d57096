"""The report as data: one frozen tree, whose JSON is the contract of `orchestrace report --json`.

Key names and their order are stable. A value that cannot be known is null, and `Report.unknown` says why.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from orchestrace.metrics import Collaboration, Overhead, Parallelism, TokenTotals
from orchestrace.report.credit import CreditSection
from orchestrace.trace import Source


class AgentRow(msgspec.Struct, frozen=True, gc=False):
    """One agent. Seconds are since the trace began."""

    id: str
    name: str | None
    """What its spawn calls it; absent: nothing."""
    role: str
    parent: str | None
    """Absent: a root, or not known."""
    depth: int
    """Spawns between it and the root above it."""
    turns: int
    tokens: int | None
    """Total over its own turns."""
    busy_s: float | None
    start_s: float | None
    """Start of its first turn or leaf tool call."""
    end_s: float | None
    """Latest end of one."""
    status: str
    """never_started, running, completed, failed, cancelled, truncated."""


class EvidenceCounts(msgspec.Struct, frozen=True, gc=False):
    """How the edges are known."""

    explicit: int
    matched: int
    positional: int


class TeamAndRoles(msgspec.Struct, frozen=True, gc=False):
    """Topology and roles."""

    topology: str | None
    roles: Mapping[str, int]
    """Role -> agents that played it; the role "" is not named."""
    spawns: int
    despawns: int
    size: Literal["fixed", "dynamic"]
    """dynamic: agents came or went during the trace."""


class TraceScale(msgspec.Struct, frozen=True, gc=False):
    """Trace scale."""

    events: int
    messages: int
    tool_calls: int
    sub_agents: int
    wall_s: float | None
    tokens: int | None


class RewardChannels(msgspec.Struct, frozen=True, gc=False):
    """Reward channels."""

    channels: Mapping[str, float]
    """Channel -> the team's sum; empty: the trace carries no reward."""
    annealed: bool | None


class SafetyInstrumentation(msgspec.Struct, frozen=True, gc=False):
    """What a safety analysis would find recorded."""

    untrusted_events: int
    """Events that the log, or its adapter, marks as text from outside."""
    trust_declared: float | None
    """Share of tool results that say whether they are to be trusted."""
    messages: int
    memory_events: int
    human_interventions: int
    safety_events: int


class Checklist(msgspec.Struct, frozen=True, gc=False):
    """The survey's five-point reporting checklist (its Table 14), filled in."""

    topology_and_roles: TeamAndRoles
    trace_scale: TraceScale
    reward_channels: RewardChannels
    credit_unit: str | None
    """The finest unit that a learning signal reached."""
    safety_instrumentation: SafetyInstrumentation


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say about one trace."""

    trace_id: str
    task_id: str
    system: str | None
    topology: str | None
    clock: str | None
    started_at: str | None
    source: Source | None
    agents: tuple[AgentRow, ...]
    """In the order of their declaration."""
    counts: Mapping[str, int]
    """Every event type, in the order of the reference -> how many."""
    edges: Mapping[str, int]
    """Every edge type -> how many."""
    evidence: EvidenceCounts
    tokens: TokenTotals
    usd: float | None
    parallelism: Parallelism
    collaboration: Collaboration
    overhead: Overhead
    credit: CreditSection
    checklist: Checklist
    diagnostics: Mapping[str, int]
    """What was skipped, repaired or guessed, counted by kind."""
    unknown: Mapping[str, str]
    """Path of a null value, `parallelism.span_s`, -> why it cannot be known. (A null `parent` is a root, a null `name`
    an agent without one: they are known.)"""
