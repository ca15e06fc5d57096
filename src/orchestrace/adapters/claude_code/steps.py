"""What a session file says, reduced: steps of one writer in file order.

Texts are hashed and put beside the trace as they are read, so that a step is small however large its line was. `t` is
in Unix seconds here; absent: the record has no usable timestamp. `uid` is the producer's id of the record.
"""

import hashlib
from typing import Literal

import msgspec

from orchestrace.trace import Content, Tokens

Key = bytes
"""Digest of a text without surrounding blanks, to find the same text elsewhere."""


def key_of(text: str) -> Key:
    """16 bytes of blake2b."""
    return hashlib.blake2b(text.strip().encode("utf-8", "replace"), digest_size=16).digest()


class Task(msgspec.Struct):
    """What a spawn tool was asked."""

    prompt: Content
    key: Key
    name: str
    description: str
    role: str
    background: bool
    resume: str
    """Agent to go on with; "": a new one."""
    team: str
    model: str


class Post(msgspec.Struct):
    """What a message tool was asked."""

    to: str
    body: Content
    key: Key
    type: str


class Use(msgspec.Struct, eq=False):
    """One tool_use block."""

    id: str
    tool: str
    arguments: Content | None
    """Absent for spawns and messages, whose text is the task or the body."""
    task: Task | None = None
    post: Post | None = None
    target: str = ""
    """The task that a stop or poll tool names."""


class ModelCall(msgspec.Struct, eq=False):
    """One API message: all lines with its id together."""

    uid: str
    first_t: float | None
    end_t: float | None
    model: str = ""
    stop_reason: str = ""
    tokens: Tokens | None = None
    texts: list[str] = []
    thinking_bytes: int = 0
    tools: list[str] = []
    usd: float | None = None
    last: "Said | None" = None
    """The line with its last new block."""


class Said(msgspec.Struct, eq=False):
    """One assistant line."""

    call: ModelCall
    t: float | None
    uid: str
    uses: list[Use]


Refusal = Literal["", "reject", "permission", "hook"]


class Result(msgspec.Struct, eq=False):
    """One tool_result block."""

    t: float | None
    uid: str
    call: str
    content: Content
    status: Literal["ok", "error", "denied", "timeout"]
    refusal: Refusal
    interrupted: bool
    acknowledged: bool
    """It only says that an agent was launched."""
    agent: str
    """The agent that it names; "": none."""
    agent_role: str
    succeeded: bool | None
    """What it says of itself in JSON; absent: nothing."""
    resumed: bool
    """It says that the addressed agent was woken up."""
    total_ms: int | None
    """How long the agent ran, as reported; absent: not said."""
    total_tools: int | None
    """How many tools the agent used, as reported; absent: not said."""
    agent_status: str
    """How it says that the agent ended; "": it does not."""


class Prompt(msgspec.Struct, eq=False):
    """User text that is nothing else."""

    t: float | None
    uid: str
    content: Content
    key: Key
    origin: str
    """`human`, `peer`...; "": not said."""
    sender: str
    command: str
    """The slash command that it stands for; "": none."""


class Interrupt(msgspec.Struct, eq=False):
    """The user stopped the agent."""

    t: float | None
    uid: str
    content: Content


class Notice(msgspec.Struct, eq=False):
    """A background task ended."""

    t: float | None
    uid: str
    task: str
    call: str
    status: str
    content: Content
    rank: int
    """0 told to the agent, 1 polled by it, 2 only queued. The lowest rank of a task's end is the event."""
    poll: str = ""
    """The call whose result told it; "": none."""


class Inbound(msgspec.Struct, eq=False):
    """A message that arrived from a team-mate."""

    t: float | None
    uid: str
    sender: str
    content: Content
    key: Key
    life: str
    """Type of a lifecycle message: `idle_notification`, `shutdown_approved`...; "": a text."""


class Fold(msgspec.Struct, eq=False):
    """Context was folded into a summary."""

    t: float | None
    uid: str
    trigger: str
    before_tokens: int | None
    summary: Content | None = None


class Mode(msgspec.Struct, eq=False):
    """The permission mode changed."""

    t: float | None
    value: str


class Trouble(msgspec.Struct, eq=False):
    """An API error, or a hook that blocked."""

    t: float | None
    uid: str
    kind: str
    content: Content
    blocked: bool | None
    ends: bool
    """It ended the answer."""


class Mark(msgspec.Struct, eq=False):
    """The producer says that an answer ended."""

    t: float | None


class Seen(msgspec.Struct, eq=False):
    """Something the agent could read, and that is no event."""

    t: float | None


Step = Said | Result | Prompt | Interrupt | Notice | Inbound | Fold | Mode | Trouble | Mark | Seen


class Track(msgspec.Struct, eq=False):
    """Everything that one agent's log says."""

    agent: str
    steps: list[Step] = []
    says_why: bool = False
    """Some message of it carries a stop reason."""


class Meta(msgspec.Struct):
    """The sidecar of a sub-agent file; "" where it does not say."""

    role: str = ""
    description: str = ""
    name: str = ""
    call: str = ""
    model: str = ""
