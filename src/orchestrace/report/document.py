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
    """As its events name it."""
    name: str | None
    """What its spawn calls it; absent: nothing."""
    role: str
    """What kind of agent it is, in the log's word; empty: not said."""
    parent: str | None
    """Absent: a root, or not known."""
    depth: int
    """Spawns between it and the root above it."""
    turns: int
    """Its model calls."""
    tokens: int | None
    """Total over its own turns."""
    busy_s: float | None
    """Time in which it was busy with model calls and leaf tool calls."""
    start_s: float | None
    """Start of its first turn or leaf tool call."""
    end_s: float | None
    """Latest end of one."""
    status: str
    """never_started, running, completed, failed, cancelled, truncated."""


class EvidenceCounts(msgspec.Struct, frozen=True, gc=False):
    """How the edges are known."""

    explicit: int
    """By an id that the producer wrote."""
    matched: int
    """By a unique text, prompt or name."""
    positional: int
    """By order or time alone."""


class TeamAndRoles(msgspec.Struct, frozen=True, gc=False):
    """Topology and roles."""

    topology: str | None
    """As in `Report`."""
    roles: Mapping[str, int]
    """Role -> agents that played it; the role "" is not named."""
    spawns: int
    """Agents made during the trace."""
    despawns: int
    """Agents ended by another."""
    size: Literal["fixed", "dynamic"]
    """dynamic: agents came or went during the trace."""


class TraceScale(msgspec.Struct, frozen=True, gc=False):
    """Trace scale."""

    events: int
    """Of every type."""
    messages: int
    """Between agents; one for each recipient."""
    tool_calls: int
    """Spawns not among them."""
    sub_agents: int
    """Agents that are no root."""
    wall_s: float | None
    """As in `Parallelism`."""
    tokens: int | None
    """As in `TokenTotals.total`."""


class RewardChannels(msgspec.Struct, frozen=True, gc=False):
    """Reward channels."""

    channels: Mapping[str, float]
    """Channel -> the team's sum; empty: the trace carries no reward."""
    annealed: bool | None
    """Whether auxiliary rewards fade out; a trace does not say."""


class SafetyInstrumentation(msgspec.Struct, frozen=True, gc=False):
    """What a safety analysis would find recorded."""

    untrusted_events: int
    """Events that the log, or its adapter, marks as text from outside."""
    trust_declared: float | None
    """Share of tool results that say whether they are to be trusted."""
    messages: int
    """Between agents: what one could pollute."""
    memory_events: int
    """Reads and writes of memory that agents share."""
    human_interventions: int
    """What a person said, answered or refused."""
    safety_events: int
    """Refusals, guards, filters that the log records."""


class Checklist(msgspec.Struct, frozen=True, gc=False):
    """The survey's five-point reporting checklist (its Table 14), filled in."""

    topology_and_roles: TeamAndRoles
    """Who was in the team."""
    trace_scale: TraceScale
    """How large it is."""
    reward_channels: RewardChannels
    """What it was rewarded for."""
    credit_unit: str | None
    """The finest unit that a learning signal reached."""
    safety_instrumentation: SafetyInstrumentation
    """What a safety analysis would find."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to say about one trace."""

    trace_id: str
    """The trace's own; of a log: `<adapter>:<session>`."""
    task_id: str
    """Traces of one task share it."""
    system: str | None
    """The product that ran the team."""
    topology: str | None
    """The form of the team, one of the trace's `Topology`."""
    clock: str | None
    """recorded; derived (ends recorded, starts inferred); simulated."""
    started_at: str | None
    """Wall-clock time of t = 0, ISO 8601."""
    source: Source | None
    """The adapter and the files that it read; absent: a native recording."""
    agents: tuple[AgentRow, ...]
    """In the order of their declaration."""
    counts: Mapping[str, int]
    """Every event type, in the order of the reference -> how many."""
    edges: Mapping[str, int]
    """Every edge type -> how many."""
    evidence: EvidenceCounts
    """How the edges are known."""
    tokens: TokenTotals
    """Of all agents that left a turn."""
    usd: float | None
    """What it cost, in US dollars: as the log says, else by the prices given."""
    parallelism: Parallelism
    """Work, span, and what running side by side bought (E2)."""
    collaboration: Collaboration
    """What agents told each other, and what came of it (E3)."""
    overhead: Overhead
    """What running the team cost (E4)."""
    credit: CreditSection
    """What one trace shows of who earned the result."""
    checklist: Checklist
    """The survey's reporting checklist."""
    diagnostics: Mapping[str, int]
    """What was skipped, repaired or guessed, counted by kind."""
    unknown: Mapping[str, str]
    """Path of a null value, `parallelism.span_s`, -> why it cannot be known. (A null `parent` is a root, a null `name`
    an agent without one: they are known.)"""
