"""Writes session logs in the shape of Claude Code 2.1: one writer per file, every id a hash of its position.

Only the shape is Claude Code's (one line a content block, the lines of a message sharing its id and usage; results
as user records; sub-agents in files of their own). Equal stories give equal bytes.
"""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

START = datetime(2026, 5, 12, 9, 30, tzinfo=UTC)
VERSION = "2.1.175"
CWD = "/home/dev/shop"
BRANCH = "fix/flaky-checkout"
Record = dict[str, Any]
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def clock(t: float) -> str:
    """ISO 8601 with milliseconds of `t` seconds after the session's first record."""
    return (START + timedelta(seconds=t)).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


def uuid_of(name: str) -> str:
    d = hashlib.sha256(name.encode()).hexdigest()
    return f"{d[:8]}-{d[8:12]}-4{d[13:16]}-a{d[17:20]}-{d[20:32]}"


def id_of(prefix: str, name: str) -> str:
    n = int.from_bytes(hashlib.sha256(name.encode()).digest(), "big")
    return prefix + "".join(_BASE58[n // 58**i % 58] for i in range(22))


def agent_id(name: str) -> str:
    return "a" + hashlib.sha256(f"agent {name}".encode()).hexdigest()[:16]


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def thinking(name: str) -> Record:
    """A thinking block as Claude Code keeps it: the text is gone, a signature stays."""
    return {"type": "thinking", "thinking": "", "signature": id_of("Ep", name) + id_of("", name + "2") + "=="}


def call(key: str, tool: str, /, **arguments: Any) -> Record:
    """A tool_use block. `key` is ours: `Log.result` names the call by it."""
    return {
        "type": "tool_use",
        "id": id_of("toolu_01", key),
        "name": tool,
        "input": arguments,
        "caller": {"type": "direct"},
    }


@dataclass
class Log:
    """One file: the root's (agent None) or a sub-agent's."""

    session: str
    agent: str | None = None
    model: str = "claude-opus-4-7"
    context_tokens: int = 0
    """Prompt size so far: what the next message reads from the cache."""
    unread_tokens: int = 24_000
    """Prompt tokens that came since: what the next message writes to the cache."""
    lines: list[Record] = field(default_factory=list)
    last: str | None = None
    usage: Record = field(default_factory=dict)
    prompt: str = ""

    @property
    def key(self) -> str:
        return f"{self.session}/{self.agent}/{len(self.lines)}"

    def add(self, t: float, kind: str, fields: Record, *, parent: str | None = "last") -> Record:
        """Append a record of the parent chain with the fields that all of them carry."""
        record: Record = {
            "parentUuid": self.last if parent == "last" else parent,
            "isSidechain": self.agent is not None,
        }
        if self.agent is not None:
            record["agentId"] = self.agent
        record |= {"type": kind} | fields
        record |= {
            "uuid": uuid_of(self.key),
            "timestamp": clock(t),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": CWD,
            "sessionId": self.session,
            "version": VERSION,
            "gitBranch": BRANCH,
        }
        self.last = record["uuid"]
        self.lines.append(record)
        return record

    def bare(self, kind: str, **fields: Any) -> None:
        """Append a record outside the chain: modes, snapshots, the queue."""
        self.lines.append({"type": kind} | fields)

    def user(self, t: float, words: str, *, tokens: int | None = None, **fields: Any) -> None:
        """A person's prompt, a task from a parent, or a message that the harness wraps as one."""
        self.prompt = uuid_of(f"prompt {self.key}")
        self.unread_tokens += tokens if tokens is not None else len(words) // 4
        self.add(t, "user", {"promptId": self.prompt, "message": {"role": "user", "content": words}} | fields)

    def says(self, t: float, *blocks: Record, output: int, gap_s: float = 0.4, stop: str | None = None) -> None:
        """One model message: a line a block, the last of them ending at `t`."""
        kinds = {b["type"] for b in blocks}
        stop = stop or ("tool_use" if "tool_use" in kinds else "end_turn")
        message = id_of("msg_01", self.key)
        request = id_of("req_011", self.key)
        self.usage = self._usage(output)
        for i, block in enumerate(blocks):
            final = i == len(blocks) - 1
            early = self.agent is not None and not final  # a sub-agent's early lines hold a placeholder count
            usage = self.usage | ({"output_tokens": 3} if early else {})
            self.add(
                t - gap_s * (len(blocks) - 1 - i),
                "assistant",
                {
                    "message": {
                        "model": self.model,
                        "id": message,
                        "type": "message",
                        "role": "assistant",
                        "content": [block],
                        "stop_reason": None if early else stop,
                        "stop_sequence": None,
                        "usage": usage,
                    },
                    "requestId": request,
                },
            )

    def _usage(self, output: int) -> Record:
        read, write = self.context_tokens, self.unread_tokens
        self.context_tokens, self.unread_tokens = read + write, output
        life = "ephemeral_5m" if self.agent else "ephemeral_1h"
        other = "ephemeral_1h" if self.agent else "ephemeral_5m"
        return {
            "input_tokens": 4,
            "cache_creation_input_tokens": write,
            "cache_read_input_tokens": read,
            "output_tokens": output,
            "service_tier": "standard",
            "cache_creation": {f"{life}_input_tokens": write, f"{other}_input_tokens": 0},
        }

    def result(
        self,
        t: float,
        name: str,
        words: str,
        *,
        tokens: int | None = None,
        error: bool = False,
        detail: Any = None,
        blocks: list[Record] | None = None,
    ) -> None:
        """The user record that carries the result of the call `name`."""
        used = id_of("toolu_01", name)
        block: Record = {"tool_use_id": used, "type": "tool_result", "content": words if blocks is None else blocks}
        if error:
            block["is_error"] = True
        self.unread_tokens += tokens if tokens is not None else len(words) // 4
        source = next((r["uuid"] for r in reversed(self.lines) if _calls(r, used)), None)
        self.add(
            t,
            "user",
            {
                "promptId": self.prompt,
                "message": {"role": "user", "content": [block]},
                "toolUseResult": detail if detail is not None else (f"Error: {words}" if error else {"stdout": words}),
                "sourceToolAssistantUUID": source,
            },
            parent=source,
        )

    def compacts(self, t: float, summary: str, *, before_tokens: int) -> None:
        """The context is folded into a summary."""
        boundary = {
            "logicalParentUuid": self.last,
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": {"trigger": "auto", "preTokens": before_tokens},
        }
        self.add(t, "system", boundary, parent=None)
        self.context_tokens, self.unread_tokens = 0, 18_000
        self.user(t + 0.01, summary, isVisibleInTranscriptOnly=True, isCompactSummary=True)

    def bytes(self) -> bytes:
        rows = (json.dumps(r, ensure_ascii=False, separators=(",", ":")) for r in self.lines)
        return "".join(f"{row}\n" for row in rows).encode()


def _calls(record: Record, used: str) -> bool:
    content = record.get("message", {}).get("content")
    return isinstance(content, list) and any(b.get("id") == used for b in content)


@dataclass
class Child:
    """A sub-agent's file, and what its parent's file and its sidecar say of it."""

    log: Log
    name: str
    kind: str
    description: str
    task: str
    call: str
    """Name of the call that spawned it."""
    started: float

    @property
    def uses(self) -> int:
        used = {b["id"] for r in self.log.lines for b in _blocks(r) if b["type"] == "tool_use"}
        return len(used)

    def total(self) -> int:
        u = self.log.usage
        return sum(
            u[k] for k in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
        )

    def spawn(self, *, background: bool = False) -> Record:
        """The tool_use block of its spawn."""
        more = {"run_in_background": True} if background else {}
        return call(
            self.call,
            "Agent",
            description=self.description,
            subagent_type=self.kind,
            name=self.name,
            prompt=self.task,
            **more,
        )

    def returns(self, parent: Log, t: float, words: str) -> None:
        """Its answer in the parent's file."""
        answer = [text(words)]
        millis = round((t - self.started) * 1000)
        tail = (
            f"agentId: {self.log.agent} (use SendMessage with to: '{self.log.agent}' to continue this agent)\n"
            f"<usage>total_tokens: {self.total()}\ntool_uses: {self.uses}\nduration_ms: {millis}</usage>"
        )
        detail = {
            "status": "completed",
            "prompt": self.task,
            "agentId": self.log.agent,
            "agentType": self.kind,
            "content": answer,
            "totalDurationMs": millis,
            "totalTokens": self.total(),
            "totalToolUseCount": self.uses,
            "usage": self.log.usage,
        }
        parent.result(t, self.call, words, detail=detail, blocks=[*answer, text(tail)])

    def launched(self, parent: Log, t: float) -> None:
        """The acknowledgement of a background launch."""
        file = f"/tmp/claude/tasks/{self.log.agent}.output"
        words = (
            f"Async agent launched successfully.\nagentId: {self.log.agent} (internal ID - do not mention to user. "
            "Use to resume later if needed.)\nThe agent is working in the background. You will be notified "
            f"automatically when it completes.\noutput_file: {file}"
        )
        detail = {
            "isAsync": True,
            "status": "async_launched",
            "agentId": self.log.agent,
            "description": self.description,
            "prompt": self.task,
            "outputFile": file,
        }
        parent.result(t, self.call, words, detail=detail, blocks=[text(words)])

    def notification(self, t: float, words: str) -> str:
        """What the harness tells the parent once a background agent is done."""
        millis = round((t - self.started) * 1000)
        return (
            f"<task-notification>\n<task-id>{self.log.agent}</task-id>\n"
            f"<tool-use-id>{id_of('toolu_01', self.call)}</tool-use-id>\n<status>completed</status>\n"
            f'<summary>Agent "{self.description}" completed</summary>\n<result>{words}</result>\n'
            f"<usage>total_tokens: {self.total()}\ntool_uses: {self.uses}\nduration_ms: {millis}</usage>\n"
            "</task-notification>"
        )

    def sidecar(self, *, depth: int = 1, parent: str | None = None) -> bytes:
        meta: Record = {
            "agentType": self.kind,
            "description": self.description,
            "name": self.name,
            "toolUseId": id_of("toolu_01", self.call),
            "spawnDepth": depth,
        }
        if parent is not None:
            meta["parentAgentId"] = parent
        return json.dumps(meta, ensure_ascii=False, separators=(",", ":")).encode()


def _blocks(record: Record) -> list[Record]:
    content = record.get("message", {}).get("content")
    return content if isinstance(content, list) else []


def child(
    session: str,
    name: str,
    *,
    description: str,
    task: str,
    started: float,
    kind: str = "general-purpose",
    model: str = "claude-sonnet-5",
) -> Child:
    """A sub-agent whose log opens with its task."""
    log = Log(session, agent_id(name), model, unread_tokens=11_500)
    log.user(started + 0.05, task)
    return Child(log, name, kind, description, task, f"spawn {name}", started)
