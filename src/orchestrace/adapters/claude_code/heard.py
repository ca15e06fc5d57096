"""User lines: tool results, and texts that are by far not all typed by a user."""

from collections.abc import Mapping
from typing import Any

from orchestrace.adapters.claude_code import markup
from orchestrace.adapters.claude_code.records import flat, items, mapping, text
from orchestrace.adapters.claude_code.results import poll_of, result_of
from orchestrace.adapters.claude_code.session import Session
from orchestrace.adapters.claude_code.steps import Fold, Inbound, Interrupt, Notice, Prompt, Seen, Track, key_of


class UserLines:
    """The user lines of one file."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._commands: dict[str, Prompt] = {}
        """Agent -> a slash command of which it is not known yet whether it reaches the model."""

    def take(self, track: Track, record: Mapping[str, Any], t: float | None, uid: str) -> None:
        """Take one line."""
        content = mapping(record.get("message")).get("content")
        blocks = items(content)
        results = [mapping(block) for block in blocks if mapping(block).get("type") == "tool_result"]
        outcome = record.get("toolUseResult") if len(results) == 1 else None
        for result in results:
            track.steps.append(result_of(result, outcome, t, uid, self._session))
            poll = poll_of(result, t, uid, self._session)
            if poll is not None:
                track.steps.append(poll)
        if not isinstance(content, str | list):
            self._session.counts["malformed_user"] += 1
            return
        rest = content if isinstance(content, str) else [b for b in blocks if mapping(b).get("type") != "tool_result"]
        if rest or not results:
            self._text(track, record, rest, t, uid)

    def said(self, track: Track, content: object, origin: Mapping[str, Any], t: float | None, uid: str) -> None:
        """Take a user text that is neither meta nor a summary, by what it is."""
        whole, left_out = flat(content)
        self._session.counts["left_out_blocks"] += left_out
        bare = markup.without_context(whole)
        match markup.nature(bare):
            case "interrupt":
                track.steps.append(Interrupt(t, uid, self._session.keep(bare)))
            case "notification":
                self.notified(track, bare, t, uid, rank=0)
            case "teammate":
                self._letters(track, bare, t, uid)
            case "command":
                self._drop_command(track)
                name = markup.command(bare)
                self._commands[track.agent] = self._prompt(name, origin, t, uid, command=name.partition(" ")[0])
            case "local":
                self._drop_command(track)
                self._session.counts["ignored_local_command"] += 1
            case "empty" if not left_out:
                self._session.counts["ignored_empty_user"] += 1
            case _:
                track.steps.append(self._prompt(bare, origin, t, uid))

    def notified(self, track: Track, said: str, t: float | None, uid: str, *, rank: int) -> None:
        """Take a text of task-notifications."""
        found = markup.notifications(said)
        if not found:
            self._session.counts["malformed_notification"] += 1
        for task, call, status, result in found:
            track.steps.append(Notice(t, uid, task, call, status, self._session.keep(result), rank))

    def flush_command(self, track: Track) -> None:
        """The model goes on: a slash command that still waits was a prompt. Those that only print never get here."""
        prompt = self._commands.pop(track.agent, None)
        if prompt is not None:
            track.steps.append(prompt)

    def end(self) -> None:
        """The file ended: commands that still wait reached nobody."""
        self._session.counts["ignored_command"] += len(self._commands)

    def _text(self, track: Track, record: Mapping[str, Any], content: object, t: float | None, uid: str) -> None:
        if record.get("isCompactSummary") is True:
            self._summary(track, flat(content).text, t, uid)
        elif record.get("isMeta") is True:
            if markup.nature(flat(content).text) != "local":
                self.flush_command(track)
            self._session.counts["ignored_meta"] += 1
            track.steps.append(Seen(t))
        else:
            self.said(track, content, mapping(record.get("origin")), t, uid)

    def _prompt(self, said: str, origin: Mapping[str, Any], t: float | None, uid: str, *, command: str = "") -> Prompt:
        sender = text(origin.get("name")) or text(origin.get("from"))
        kind = text(origin.get("kind"))
        return Prompt(t, uid, self._session.keep(said), key_of(said), kind[:40], sender[:200], command[:200])

    def _drop_command(self, track: Track) -> None:
        if self._commands.pop(track.agent, None) is not None:
            self._session.counts["ignored_command"] += 1

    def _letters(self, track: Track, said: str, t: float | None, uid: str) -> None:
        found = markup.letters(said)
        if not found:
            self._session.counts["malformed_teammate_message"] += 1
        for sender, body, life in found:
            track.steps.append(Inbound(t, uid, sender[:200], self._session.keep(body), key_of(body), life[:200]))

    def _summary(self, track: Track, said: str, t: float | None, uid: str) -> None:
        last = next((step for step in reversed(track.steps) if not isinstance(step, Seen)), None)
        if isinstance(last, Fold) and last.summary is None:
            last.summary = self._session.keep(said)
            track.steps.append(Seen(t))
        else:
            track.steps.append(Fold(t, uid, "", None, self._session.keep(said)))
