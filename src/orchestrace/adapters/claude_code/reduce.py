"""One session file, line by line, into steps.

Nothing is dropped without a count: each record becomes a step, or adds to one, or is counted by kind: `ignored_...` for
what is known and says nothing about the team, `unknown_...` for what is not known, `malformed_...` for the rest.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from orchestrace.adapters.claude_code import markup
from orchestrace.adapters.claude_code.heard import UserLines
from orchestrace.adapters.claude_code.records import flat, mapping, seconds, text, whole
from orchestrace.adapters.claude_code.said import AssistantLines
from orchestrace.adapters.claude_code.session import MAIN, Session
from orchestrace.adapters.claude_code.steps import Fold, Mark, Mode, Track, Trouble
from orchestrace.adapters.claude_code.uses import as_json
from orchestrace.adapters.lines import Line

_HOUSEKEEPING = frozenset(
    {
        "agent-color",
        "agent-name",
        "agent-setting",
        "agent_metadata",
        "ai-title",
        "custom-title",
        "file-history-snapshot",
        "last-prompt",
        "pr-link",
        "result",
        "started",
        "summary",
    }
)


class Reducer:
    """Reads one file into the tracks of its session.

    Args:
      session: the session.
      agent: whose file it is.
    """

    def __init__(self, session: Session, agent: str) -> None:
        self._session, self._agent, self._counts = session, agent, session.counts
        self._assistant, self._user = AssistantLines(session), UserLines(session)
        self._seen: set[str] = set()
        self._owners: dict[str, str] = {}
        """Producer id of a sidechain record -> its agent."""
        self._sidechains: set[str] = set()
        self._mode = ""
        self._last_t: dict[str, float] = {}
        self._handlers: Mapping[str, Callable[[Track, Mapping[str, Any], float | None, str], None]] = {
            "assistant": self._assistant_line,
            "user": self._user_line,
            "system": self._system,
            "attachment": self._attachment,
            "queue-operation": self._queue_operation,
            "progress": self._progress,
            "permission-mode": self._mode_record,
            "mode": self._mode_record,
        }

    def read(self, lines: Iterable[Line]) -> None:
        """Read all lines."""
        for line in lines:
            if self._is_new(line.record):
                self._record(line.record)
        self._user.end()

    def _is_new(self, record: Mapping[str, Any]) -> bool:
        """Not seen before, in this file or in an earlier session."""
        session, uid = self._session, text(record.get("uuid"))
        if not session.forked_from:
            session.forked_from = text(mapping(record.get("forkedFrom")).get("sessionId"))
        if not uid:
            return True
        if uid in session.owned:
            self._copied(record, uid)
            return False
        if uid in self._seen:
            self._counts["duplicate_records"] += 1
            return False
        self._seen.add(uid)
        session.ids.append(uid)
        return True

    def _copied(self, record: Mapping[str, Any], uid: str) -> None:
        """An earlier session owns the record; what it says of the task still holds."""
        session = self._session
        self._counts["copied_records"] += 1
        session.copied.append(uid)
        if session.task is None and record.get("type") == "user" and not record.get("isMeta"):
            said = markup.without_context(flat(mapping(record.get("message")).get("content")).text)
            if markup.nature(said) == "prompt":
                session.task = session.keep(said)

    def _record(self, record: Mapping[str, Any]) -> None:
        session, kind = self._session, record.get("type")
        if not session.version:
            session.version = text(record.get("version"))[:100]
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is None:
            self._unhandled(record, kind)
            return
        t, uid = seconds(record.get("timestamp")), text(record.get("uuid"))
        if t is None and record.get("timestamp") is not None:
            self._counts["bad_timestamps"] += 1
        handler(session.track(self._writer(record, uid)), record, t, uid)

    def _unhandled(self, record: Mapping[str, Any], kind: object) -> None:
        cost = record.get("total_cost_usd")
        if kind == "result" and isinstance(cost, float | int) and not isinstance(cost, bool) and 0 <= cost < 1e9:
            self._session.usd = float(cost)
        if isinstance(kind, str) and kind in _HOUSEKEEPING:
            self._session.slugs.count("ignored", kind)
        else:
            self._counts["unknown_records"] += 1
            self._session.slugs.count("unknown_type", kind)

    # Sidechains: in old files sub-agents write into their parent's

    def _writer(self, record: Mapping[str, Any], uid: str) -> str:
        """The agent whose record it is."""
        if self._agent != MAIN or record.get("isSidechain") is not True:
            return self._agent
        named = text(record.get("agentId"))[:200]
        if named:
            return named if named != MAIN else f"agent-{MAIN}"
        parent = text(record.get("parentUuid"))
        owner = self._owners.get(parent)
        if owner is None:
            owner = self._strayed(parent) or self._new_sidechain(parent, uid)
        if uid:
            self._owners[uid] = owner
        return owner

    def _strayed(self, parent: str) -> str | None:
        """The one sidechain there is, for a record whose parent was never written."""
        if not parent or parent in self._seen or len(self._sidechains) != 1:
            return None
        self._counts["guessed_sidechain"] += 1
        return next(iter(self._sidechains))

    def _new_sidechain(self, parent: str, uid: str) -> str:
        owner = f"sidechain-{uid[:8] or len(self._sidechains)}"
        if owner in self._sidechains:
            owner = f"sidechain-{uid[:200] or len(self._sidechains)}"
        self._sidechains.add(owner)
        if parent in self._assistant.spawn_lines:
            self._session.hints.setdefault(owner, self._assistant.spawn_lines[parent])
        return owner

    # Records by type

    def _assistant_line(self, track: Track, record: Mapping[str, Any], t: float | None, uid: str) -> None:
        self._user.flush_command(track)
        self._count_disorder(track, t)
        self._assistant.take(track, record, t, uid)

    def _user_line(self, track: Track, record: Mapping[str, Any], t: float | None, uid: str) -> None:
        self._count_disorder(track, t)
        self._user.take(track, record, t, uid)

    def _count_disorder(self, track: Track, t: float | None) -> None:
        if t is not None:
            if t < self._last_t.get(track.agent, t):
                self._counts["out_of_order_timestamps"] += 1
            self._last_t[track.agent] = t

    def _system(self, track: Track, record: Mapping[str, Any], t: float | None, uid: str) -> None:
        subtype = text(record.get("subtype"))
        if subtype == "compact_boundary":
            meta = mapping(record.get("compactMetadata"))
            track.steps.append(Fold(t, uid, text(meta.get("trigger"))[:40], whole(meta.get("preTokens"))))
        elif subtype == "api_error":
            said = text(record.get("content")) or as_json(record.get("error"))
            track.steps.append(Trouble(t, uid, "api_error", self._session.keep(said), blocked=None, ends=False))
        else:
            if subtype in ("turn_duration", "stop_hook_summary"):
                track.steps.append(Mark(t))
            self._session.slugs.count("ignored_system", subtype)

    def _attachment(self, track: Track, record: Mapping[str, Any], t: float | None, uid: str) -> None:
        attachment = mapping(record.get("attachment"))
        kind = text(attachment.get("type"))
        if kind == "queued_command":
            self._user.said(track, attachment.get("prompt"), mapping(attachment.get("origin")), t, uid)
        elif kind == "hook_blocking_error":
            error = attachment.get("blockingError")
            said = text(error) or text(mapping(error).get("blockingError")) or as_json(attachment)
            track.steps.append(Trouble(t, uid, "hook_blocked", self._session.keep(said), blocked=True, ends=False))
        else:
            self._session.slugs.count("ignored_attachment", kind)

    def _queue_operation(self, track: Track, record: Mapping[str, Any], t: float | None, uid: str) -> None:
        said = flat(record.get("content")).text
        if markup.nature(said) == "notification" and record.get("operation") == "enqueue":
            self._user.notified(track, said, t, uid, rank=2)
            return
        fields = markup.json_object(said)
        task, call = text(fields.get("task_id")), text(fields.get("tool_use_id"))
        if task and call:
            self._session.hints.setdefault(task, call)
        self._counts["ignored_queue_operation"] += 1

    def _progress(self, track: Track, record: Mapping[str, Any], t: float | None, uid: str) -> None:
        del track, t, uid
        data = mapping(record.get("data"))
        agent, call = text(data.get("agentId")), text(record.get("parentToolUseID"))
        if data.get("type") == "agent_progress" and agent and call:
            self._session.hints.setdefault(agent, call)
        self._session.slugs.count("ignored_progress", data.get("type"))

    def _mode_record(self, track: Track, record: Mapping[str, Any], t: float | None, uid: str) -> None:
        del uid
        value = (text(record.get("permissionMode")) or text(record.get("mode")))[:100]
        if self._mode and value and value != self._mode:
            track.steps.append(Mode(t, value))
        else:
            self._session.slugs.count("ignored", record.get("type"))
        self._mode = value or self._mode
