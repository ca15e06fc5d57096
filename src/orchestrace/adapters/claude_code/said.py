"""Assistant lines: the lines of one API message become one model call."""

from collections.abc import Mapping
from typing import Any

from orchestrace.adapters.claude_code.records import flat, items, mapping, merged_tokens, text
from orchestrace.adapters.claude_code.results import result_of
from orchestrace.adapters.claude_code.session import Session
from orchestrace.adapters.claude_code.steps import ModelCall, Said, Step, Track, Trouble
from orchestrace.adapters.claude_code.uses import use_of

_USES = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})


class AssistantLines:
    """The assistant lines of one file.

    One API message comes as several lines with the same (message id, request id), one block each or all blocks so far.
    Blocks are united; of the token counts the largest holds, since early lines carry a placeholder.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._calls: dict[tuple[str, str, str], ModelCall] = {}
        self._blocks: dict[ModelCall, set[tuple[str, str]]] = {}
        self.spawn_lines: dict[str, str] = {}
        """Producer id of a line -> the spawn call in it."""

    def take(self, track: Track, record: Mapping[str, Any], t: float | None, uid: str) -> None:
        """Take one line."""
        message = mapping(record.get("message"))
        if not message:
            self._session.counts["malformed_assistant"] += 1
        elif record.get("isApiErrorMessage") is True:
            said = self._session.keep(flat(message.get("content")).text)
            track.steps.append(Trouble(t, uid, "api_error", said, blocked=None, ends=True))
        elif message.get("model") == "<synthetic>":
            self._session.counts["ignored_synthetic"] += 1  # the harness wrote it, no model
        else:
            self._message(track, record, message, t, uid)

    def _message(
        self, track: Track, record: Mapping[str, Any], message: Mapping[str, Any], t: float | None, uid: str
    ) -> None:
        call = self._model_call(track, record, message, t, uid)
        said = Said(call, t, uid, [])
        content = message.get("content")
        n_before = len(self._blocks[call])
        results: list[Step] = []
        for block in items([{"type": "text", "text": content}] if isinstance(content, str) else content):
            self._block(said, mapping(block), results)
        if call.last is None or len(self._blocks[call]) > n_before:
            call.last = said
            call.end_t = t if t is not None else call.end_t
        elif n_before:
            self._session.counts["repeated_blocks"] += 1
        track.steps.append(said)
        track.steps += results

    def _model_call(
        self, track: Track, record: Mapping[str, Any], message: Mapping[str, Any], t: float | None, uid: str
    ) -> ModelCall:
        name = text(message.get("id"))
        # Without an id each line is a message of its own.
        own = "" if name else uid or str(len(self._calls))
        key = (track.agent, name or own, text(record.get("requestId")))
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = ModelCall(uid, t, t, text(message.get("model"))[:200])
            self._blocks[call] = set()
        call.tokens = merged_tokens(call.tokens, message.get("usage"), self._session.counts)
        call.stop_reason = text(message.get("stop_reason"))[:100] or call.stop_reason
        track.says_why = track.says_why or bool(call.stop_reason)
        cost = record.get("costUSD")
        if isinstance(cost, float | int) and not isinstance(cost, bool) and 0 <= cost < 1e9:
            call.usd = max(call.usd or 0.0, float(cost))
        return call

    def _block(self, said: Said, block: Mapping[str, Any], results: list[Step]) -> None:
        """Take one block, unless its message has it already."""
        call, kind, known = said.call, text(block.get("type")), self._blocks[said.call]
        thought, named = text(block.get("thinking")), text(block.get("id")) or text(block.get("tool_use_id"))
        body = named or text(block.get("text")) or thought
        if (kind, body) in known:
            return
        if kind in ("text", "thinking", "redacted_thinking"):
            if kind == "text" and body:
                call.texts.append(body)
            call.thinking_bytes += len(thought.encode("utf-8", "replace"))
        elif kind in _USES and named:
            use = use_of(block, self._session.keep)
            call.tools.append(use.tool)
            said.uses.append(use)
            if use.task is not None and said.uid:
                self.spawn_lines[said.uid] = use.id
        elif kind.endswith("_tool_result") and named:
            results.append(result_of(block, None, said.t, said.uid, self._session))
        else:
            self._session.slugs.count("unknown_block", kind)
            return
        known.add((kind, body))
