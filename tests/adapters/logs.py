"""A hand for writing Claude Code logs in tests: one method a record, times in seconds."""

import json
from typing import Any

from orchestrace.adapters import BytesFiles, Read, read_files
from orchestrace.trace import violations

SESSION = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"


def at(t: float | None) -> str | None:
    return None if t is None else f"2026-01-01T{int(t) // 3600:02d}:{int(t) // 60 % 60:02d}:{t % 60:06.3f}Z"


class Log:
    """The records of one file."""

    def __init__(self, agent: str = "", *, session: str = SESSION, prefix: str = "") -> None:
        self.agent, self.session, self.prefix = agent, session, prefix or agent or "u"
        self.records: list[Any] = []

    def add(self, type_: str, t: float | None = None, **fields: Any) -> dict[str, Any]:
        record: dict[str, Any] = {"type": type_, "uuid": f"{self.prefix}{len(self.records)}", "sessionId": self.session}
        record |= {"parentUuid": None, "isSidechain": bool(self.agent), "version": "2.1.0"}
        if t is not None:
            record["timestamp"] = at(t)
        if self.agent:
            record["agentId"] = self.agent
        self.records.append(record | fields)
        return self.records[-1]

    def user(self, t: float | None, content: Any, **fields: Any) -> dict[str, Any]:
        return self.add("user", t, message={"role": "user", "content": content}, **fields)

    def says(self, t: float | None, *blocks: Any, id_: str = "", out: int = 5, stop: str | None = None, **fields: Any):
        said = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        message = {"id": id_ or f"m{self.prefix}{len(self.records)}", "role": "assistant", "model": "claude-x"}
        message |= {"content": said, "stop_reason": stop, "usage": {"input_tokens": 10, "output_tokens": out}}
        return self.add("assistant", t, message=message, **fields)

    def result(self, t: float, call: str, content: Any = "done", *, error: bool = False, **outcome: Any):
        block = {"type": "tool_result", "tool_use_id": call, "content": content} | ({"is_error": True} if error else {})
        return self.user(t, [block], **({"toolUseResult": outcome} if outcome else {}))

    def bytes(self) -> bytes:
        return b"".join(
            record if isinstance(record, bytes) else json.dumps(record).encode() + b"\n" for record in self.records
        )


def use(call: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": tool, "input": arguments}


def task(call: str, prompt: str, **arguments: Any) -> dict[str, Any]:
    return use(call, "Agent", prompt=prompt, **arguments)


def child(agent: str, prompt: str, start: float, end: float, *, answer: str = "done") -> Log:
    """A sub-agent's file: its task, one call, its answer."""
    log = Log(agent)
    log.user(start, prompt)
    log.says((start + end) / 2, use(f"b{agent}", "Bash", command="ls"), stop="tool_use")
    log.result((start + end) / 2 + 0.1, f"b{agent}", "x")
    log.says(end, answer, stop="end_turn")
    return log


def reads(*logs: Log, chosen: bool = False, **others: bytes) -> list[Any]:
    """What a folder with these files gives."""
    files = {
        f"{log.session}/subagents/agent-{log.agent}.jsonl" if log.agent else f"{log.session}.jsonl": log.bytes()
        for log in logs
    }
    files |= {name.replace("__", "/"): data for name, data in others.items()}
    outcomes = list(read_files(BytesFiles(files, chosen=f"{logs[0].session}.jsonl" if chosen else None)))
    for outcome in outcomes:
        if isinstance(outcome, Read):
            assert violations(outcome.trace) == []
    return outcomes


def read(*logs: Log, **options: Any) -> Read:
    """The one trace in these files."""
    (outcome,) = (outcome for outcome in reads(*logs, **options) if isinstance(outcome, Read))
    return outcome


def meta(**fields: Any) -> bytes:
    return json.dumps(fields).encode()
