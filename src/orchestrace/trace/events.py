"""The data model: a trace, its agents, its events and its edges.

A `Trace` is an immutable value. Everything else in orchestrace reads one or makes one. The structs here are the wire
format too: a trace is one JSON document whose keys are these field names, with each event tagged by `type`.

Conventions
  - `t` is seconds since the trace began, and when the event *started*; never the wall clock.
  - Absent is not zero: `None` means that the log does not say. Each docstring says what absence means.
  - A required name is `""` only where a survey file left it out; the laws (`validate`) then say which is missing.
  - `content` is the event's one text; no other field holds free text.
"""

from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

Topology = Literal[
    "centralized", "planner_executor_critic", "debate", "swarm", "hierarchical", "harness", "mixed", "unknown"
]
SubDecision = Literal["O1", "O2", "O3", "O4", "O5"]
"""Spawn, delegate, communicate, aggregate, stop."""
Evidence = Literal["explicit", "matched", "positional"]
"""How an edge is known: an id that the producer wrote; a unique text, prompt or name; order or time alone."""
EdgeType = Literal[
    "causal",
    "spawn",
    "delegate",
    "message",
    "tool_dependency",
    "return",
    "aggregate",
    "memory",
    "safety_flow",
    "temporal",
]
AttackVector = Literal["AV1", "AV2", "AV3", "AV4", "AV5", "AV6", "AV7", "AV8"]
Scalar = str | int | float | bool


class Content(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A text that lives beside the trace, named by its hash."""

    hash: str
    """sha256 of the bytes, lower-case hex."""
    bytes: int
    """Length of the text in UTF-8 bytes, before any cap."""
    media: str = "text/plain"
    """Media type of the bytes."""
    preview: str = ""
    """At most 200 characters, control characters escaped; empty when withheld or not text."""
    withheld: bool = False
    """True: the text was left out on purpose; hash and length still hold."""


class Choice(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a policy chose among, on the event that it chose. One choice sits on exactly one event."""

    sub_decision: SubDecision
    options: tuple[str, ...]
    chosen: int
    """Index into `options`; `options[chosen]` is the name that was taken."""
    logprob: float | None = None
    """Natural log, of the choice as one action, under the sampling policy; absent: not recorded."""
    policy: str | None = None
    """A key of the trace's `policies`; absent: a rule, or not recorded."""
    policy_version: int | None = None
    """Updates that the policy had seen; absent: not trained, or not recorded."""
    value: float | None = None
    """The policy's own estimate of the value here; absent: it made none."""
    legal: tuple[bool, ...] | None = None
    """Shape of `options`; absent: all legal."""


class Tokens(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens of one model call. Absent is unknown, not zero."""

    input: int | None = None
    """Prompt tokens that were not read from a cache nor written to one."""
    output: int | None = None
    """Completion tokens, reasoning included."""
    cache_read: int | None = None
    """Prompt tokens read from a cache."""
    cache_write: int | None = None
    """Prompt tokens written to a cache."""
    reasoning: int | None = None
    """Part of `output`."""

    @property
    def total(self) -> int | None:
        """input + cache_read + cache_write + output over what is known; absent when none is."""
        known = [n for n in (self.input, self.cache_read, self.cache_write, self.output) if n is not None]
        return sum(known) if known else None


class Generation(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What a training row needs of one model call. Token arrays are blobs, named by hash; `rows.packed` makes them."""

    prompt_hash: str | None = None
    """Hash of the rendered prompt: its text, or its token ids as a blob; absent: not recorded."""
    token_ids: str | None = None
    """Blob of the sampled token ids, shape [K]."""
    logprobs: str | None = None
    """Blob of natural logs under the sampling policy, shape [K]."""
    loss_mask: str | None = None
    """Blob, True where a token trains, shape [K]; absent: all of them."""
    sampling: Mapping[str, Scalar] = {}
    """Temperature and the like, by name."""
    finish: str | None = None
    """Why the call ended, in the model server's word; absent: not recorded."""
    policy_version: int | None = None
    """Updates that the weights had seen; absent: not trained, or not recorded."""


class EventFields(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, tag_field="type"):
    """The fields that every event has."""

    id: str
    """`<writer>.<n>`: n counts the events that one writer (an agent's log, or its code) wrote, in its own order."""
    agent: str
    """Whose context it belongs to: a tool result's caller, the agent a human spoke to, the agent that returns."""
    turn: str | None = None
    """The turn of this agent whose output this event is; absent: no model call made it."""
    token_span: tuple[int, int] | None = None
    """[start, end) within that turn's completion; absent: not known."""
    t: float | None = None
    """Seconds since the trace began, when the event started; absent: not known."""
    duration_s: float | None = None
    """The event occupies [t, t + duration_s]; absent: an instant, or not known."""
    usd: float | None = None
    """What it cost, as the log says; absent: the log does not."""
    trusted: bool | None = None
    """False: text from outside (web, network, other vendors' agents); absent: not declared."""
    content: Content | None = None
    """Its one text: prompt, task, body, arguments, result, answer; absent: it has none, or none was recorded."""
    choice: Choice | None = None
    """Absent: no policy chose this event, or its choice was not recorded."""
    labels: Mapping[str, Scalar] = {}
    """Short facts of the producer: `uid` (its own id), `name`, `compaction`..."""


class Turn(EventFields, frozen=True, gc=False, omit_defaults=True, tag="turn", kw_only=True):
    """One model call of one agent: from the latest thing it could have read to its last block."""

    model: str | None = None
    """Absent: the agent's model, or not known."""
    policy: str | None = None
    """A key of the trace's `policies`; absent: the agent's, or nothing trainable."""
    tokens: Tokens | None = None
    """Absent: not recorded. Tokens sit on turns only, so that a sum counts each once."""
    generation: Generation | None = None
    """Absent: the turn cannot become a training row."""


class OrchestratorDecision(EventFields, frozen=True, gc=False, omit_defaults=True, tag="orchestrator_decision"):
    """An explicit choice that has no typed event of its own: continue, do not spawn, pick k."""


class Spawn(EventFields, frozen=True, gc=False, omit_defaults=True, tag="spawn", kw_only=True):
    """O1. `agent` made the agent `to`; its task is the content. It stands for the tool call that made it."""

    to: str = ""
    """The new agent."""


class Despawn(EventFields, frozen=True, gc=False, omit_defaults=True, tag="despawn", kw_only=True):
    """`agent` ended the agent `to`, and the log says so. Lifetime is a view, not this event."""

    to: str = ""
    reason: str | None = None
    """Absent: the log gives none."""


class Delegate(EventFields, frozen=True, gc=False, omit_defaults=True, tag="delegate", kw_only=True):
    """O2. A task for an agent that exists already: resume, follow-up, hand-off back."""

    to: str = ""


class Message(EventFields, frozen=True, gc=False, omit_defaults=True, tag="message", kw_only=True):
    """O3. From `agent` to `to`; one event for each recipient."""

    to: str = ""
    channel: str | None = None
    """What it went through (`SendMessage`, a room); absent: not known, or the only one."""
    delivered: bool | None = None
    """True only if the recipient's log shows it; absent: not known."""


class ToolCall(EventFields, frozen=True, gc=False, omit_defaults=True, tag="tool_call", kw_only=True):
    """A call of a tool; it lasts until its result."""

    tool: str = ""


class ToolResult(EventFields, frozen=True, gc=False, omit_defaults=True, tag="tool_result", kw_only=True):
    """The answer to one tool call. A launch acknowledgement is none."""

    tool: str = ""
    call: str = ""
    """Id of the tool call."""
    status: Literal["ok", "error", "denied", "timeout"] = "ok"


class Return(EventFields, frozen=True, gc=False, omit_defaults=True, tag="return", kw_only=True):
    """`agent` answers `to`. An agent may return any number of times."""

    to: str = ""
    status: Literal["completed", "failed", "cancelled", "truncated"] = "completed"


class Aggregate(EventFields, frozen=True, gc=False, omit_defaults=True, tag="aggregate", kw_only=True):
    """O4. What came back was taken up, in the turn named by `turn`."""

    method: Literal["model", "vote", "weighted_vote", "concat", "judge", "custom"] = "model"
    inputs: tuple[str, ...] = ()
    """Ids of returns and messages to this agent; each is taken up at most once."""


class Memory(EventFields, frozen=True, gc=False, omit_defaults=True, tag="memory", kw_only=True):
    """An access to memory that agents share."""

    op: Literal["read", "write"] = "read"
    key: str = ""
    """Where in the shared memory; a write reaches the later reads of its key."""


class Stop(EventFields, frozen=True, gc=False, omit_defaults=True, tag="stop", kw_only=True):
    """O5. A root agent ends its answer. In a log the last one is the outcome; an unfinished log has none."""

    reason: Literal["answer", "budget", "limit", "error", "interrupted", "external"] = "answer"


class HumanIntervention(EventFields, frozen=True, gc=False, omit_defaults=True, tag="human_intervention", kw_only=True):
    """A person (or a simulated one) spoke to `agent`, or changed what it may do."""

    kind: Literal["prompt", "answer", "interrupt", "reject", "edit", "mode"] = "prompt"
    initial: bool = False
    """True: the prompt that set the task."""
    simulated: bool = False


class SafetyEvent(EventFields, frozen=True, gc=False, omit_defaults=True, tag="safety_event", kw_only=True):
    """A guard, a permission or a detector spoke."""

    kind: str = ""
    """`permission_denied`, `hook`, `refusal`..."""
    vector: AttackVector | None = None
    """Absent: none was named."""
    verdict: str | None = None
    """What the guard said; absent: nothing beyond `blocked`."""
    blocked: bool | None = None
    """True: what it judged did not happen; absent: not known."""


Event = (
    Turn
    | OrchestratorDecision
    | Spawn
    | Despawn
    | Delegate
    | Message
    | ToolCall
    | ToolResult
    | Return
    | Aggregate
    | Memory
    | Stop
    | HumanIntervention
    | SafetyEvent
)
"""The closed union. `match` on it and end with `case _: assert_never(event)`."""

KINDS: Mapping[str, type[Event]] = {str(cls.__struct_config__.tag): cls for cls in get_args(Event)}
"""Wire tag -> class, in the order of the reference."""


def kind(event: Event) -> str:
    """The wire tag of an event: `"tool_call"`, `"return"`..."""
    return str(type(event).__struct_config__.tag)


class Edge(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """`src` had a part in `dst`. Order inside one agent is implied and not written."""

    src: str
    dst: str
    type: EdgeType
    evidence: Evidence = "explicit"


class Agent(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A participant with a role and a context. Depth, lifetime and status are views."""

    id: str
    role: str = ""
    """The producer's word for what it is there for: `general-purpose`, `voter`; empty: none given."""
    parent: str | None = None
    """Who spawned it; absent: a root, or not known."""
    model: str | None = None
    """Absent: not known, or more than one; each turn then says its own."""
    policy: str | None = None
    """A key of the trace's `policies`; absent: nothing trainable."""
    tools: tuple[str, ...] | None = None
    """Allow-list; absent: unknown, empty: none."""
    unlinked: bool = False
    """True: the log holds this agent, but not the spawn that made it."""


class Harness(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The fixed code between model and world: prompts, tools, context rules."""

    name: str
    version: str | None = None
    hash: str | None = None
    """Training refuses to mix rollouts of different hashes unless told to."""


class SourceFile(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A file that a trace was read from."""

    name: str
    """Relative to the path that was given."""
    sha256: str
    bytes: int


class Source(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Which adapter read the trace, from what."""

    adapter: str
    adapter_version: str
    files: tuple[SourceFile, ...] = ()


class Policy(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Weights that agents of this trace ran on; agents may share them."""

    model: str | None = None
    version: int | None = None
    weights: str | None = None
    """Hash or path of the weights."""


class Parent(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """The trace that this one was forked or resumed from."""

    trace_id: str
    event_id: str | None = None
    """The last event of the shared prefix; absent: not known."""
    intervention: str | None = None
    """What was changed there; absent: nothing, a plain resumption."""


class Trace(msgspec.Struct, frozen=True, gc=False, omit_defaults=True, kw_only=True):
    """One rollout of a team: header, agents, events in an order that respects causality, typed edges."""

    schema: Literal[1]
    trace_id: str
    task_id: str
    started_at: str | None = None
    """ISO 8601 UTC of t = 0; absent: unknown."""
    clock: Literal["recorded", "derived", "simulated"] | None = None
    """recorded; derived (ends recorded, starts inferred); simulated. Absent: no times."""
    group_id: str | None = None
    """Rollouts of one task that are compared with each other; absent: a group of its own."""
    rollout: int | None = None
    seed: int | None = None
    """Absent: not reproducible."""
    system: str | None = None
    topology: Topology | None = None
    harness: Harness | None = None
    source: Source | None = None
    """Absent: a native recording, which obeys stricter laws."""
    policies: Mapping[str, Policy] = {}
    parent: Parent | None = None
    rewards: Mapping[str, float] = {}
    """Channel -> sum of the team's rewards on it."""
    costs: Mapping[str, float] = {}
    """The producer's own totals, as it reported them."""
    metrics: Mapping[str, float] = {}
    agents: tuple[Agent, ...] = ()
    events: tuple[Event, ...] = ()
    edges: tuple[Edge, ...] = ()
    diagnostics: Mapping[str, int] = {}
    """What was skipped, repaired or guessed, counted by kind."""
    blobs: Mapping[str, bytes] = {}
    """Texts by hash, where the document carries them; never part of a digest."""

    @property
    def native(self) -> bool:
        """True for a recording of ours: no adapter stood between."""
        return self.source is None
