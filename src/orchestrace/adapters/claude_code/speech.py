"""What a model said, as events: its turn, and the spawns, messages and tool calls in it."""

from collections.abc import Mapping
from typing import Any

from orchestrace.adapters.claude_code.cast import POLL_TOOLS
from orchestrace.adapters.claude_code.stage import Pen
from orchestrace.adapters.claude_code.steps import Mark, ModelCall, Post, Prompt, Said, Seen, Task, Use
from orchestrace.trace import Aggregate, Delegate, Message, SafetyEvent, Scalar, Spawn, Stop, ToolCall, Turn

_STOP_REASONS: Mapping[str, Any] = {
    "end_turn": "answer",
    "stop_sequence": "answer",
    "refusal": "answer",
    "max_tokens": "limit",
    "model_context_window_exceeded": "limit",
}
MOST_BYTES_A_TOKEN = 20
"""A message with more bytes than that for each output token carries a placeholder: its real count was never written."""
_LOOK_AHEAD = 50
"""Steps without events that may stand between an answer and what shows that it ended."""


def write_said(pen: Pen, place: int, step: Said) -> None:
    """One assistant line; the first of its message makes the turn, the last takes up what came back and may stop."""
    call = step.call
    turn = pen.turns.get(call) or _turn(pen, call)
    for use in step.uses:
        if use.id in pen.uses:
            pen.counts["repeated_calls"] += 1
            continue
        pen.uses[use.id] = use
        if use.task is not None:
            _spawn(pen, use, use.task, turn.id, step)
        elif use.post is not None:
            _post(pen, use, use.post, turn.id, step)
        else:
            labels = {"call": use.id}
            pen.calls[use.id] = pen.append(
                ToolCall, step.t, step.uid, turn=turn.id, tool=use.tool, content=use.arguments, labels=labels
            )
    if call.last is step:
        pen.read(call.end_t)
        if pen.unconsumed and not _only_polls(call):
            pen.append(Aggregate, call.end_t, "", turn=turn.id, inputs=tuple(pen.unconsumed))
            pen.unconsumed.clear()
        _maybe_stop(pen, place, call, turn.id)


def folded_turn(pen: Pen, call: ModelCall, started: float | None, helper: str) -> Turn:
    """The turn of a compaction helper's call."""
    labels: dict[str, Scalar] = {"compaction": True, "helper": helper}
    return _made_turn(pen, call, started if started is not None else call.first_t, labels)


def _turn(pen: Pen, call: ModelCall) -> Turn:
    labels: dict[str, Scalar] = {"thinking_bytes": call.thinking_bytes} if call.thinking_bytes else {}
    if call.stop_reason:
        labels["finish"] = call.stop_reason
    turn = _made_turn(pen, call, pen.start_of(call.first_t), labels)
    if call.tokens is not None and call.tokens.output is not None:
        n_bytes = call.thinking_bytes + sum(len(said) for said in call.texts)
        pen.counts["doubtful_output_tokens"] += n_bytes > MOST_BYTES_A_TOKEN * (call.tokens.output + 1)
    pen.turns[call] = turn
    pen.took_turn(turn)
    pen.answering = True
    return turn


def _made_turn(pen: Pen, call: ModelCall, start: float | None, labels: Mapping[str, Scalar]) -> Turn:
    end = call.end_t
    turn: Turn = pen.append(
        Turn,
        start,
        call.uid,
        duration_s=None if start is None or end is None else round(max(end - start, 0.0), 6),
        model=call.model or None,
        tokens=call.tokens,
        usd=call.usd,
        content=pen.stage.session.keep("\n\n".join(call.texts)) if call.texts else None,
        labels=labels,
    )
    return turn


def _spawn(pen: Pen, use: Use, task: Task, turn: str, step: Said) -> None:
    stage = pen.stage
    named = {"name": task.name, "description": task.description, "subagent_type": task.role, "team": task.team}
    labels: dict[str, Scalar] = {"call": use.id}
    labels |= {name: value for name, value in (named | {"model": task.model}).items() if value}
    if task.background:
        labels["background"] = True
    if task.resume:
        to = stage.known(task.resume)
        delegate = pen.append(Delegate, step.t, step.uid, turn=turn, to=to, content=task.prompt, labels=labels)
        pen.calls[use.id] = stage.sent[(to, task.key)] = delegate
        return
    to = stage.links.made.get(use.id, "")
    if not to or to in stage.spawns:
        pen.counts["repeated_calls"] += 1
        return
    spawn = pen.append(Spawn, step.t, step.uid, turn=turn, to=to, content=task.prompt, labels=labels)
    pen.calls[use.id] = stage.spawns[to] = spawn


def _post(pen: Pen, use: Use, post: Post, turn: str, step: Said) -> None:
    """A message to each recipient, or a delegation where the result says that it woke the recipient up."""
    stage = pen.stage
    result = stage.links.results.get(use.id)
    failed = result is not None and (result.succeeded is False or result.status != "ok")
    labels: dict[str, Scalar] = {"call": use.id}
    if post.type:
        labels["message_type"] = post.type
    receivers = stage.cast.others(pen.agent) if post.to == "*" else [stage.known(post.to)]
    for to in receivers:
        fields: dict[str, Any] = {"turn": turn, "to": to, "content": post.body, "labels": labels}
        if result is not None and result.resumed and not failed:
            event = pen.append(Delegate, step.t, step.uid, **fields)
        else:
            arrived = stage.cast.arrived[(to, post.key)] > 0
            known = arrived or failed or stage.cast.has_log(to)
            fields["channel"] = "broadcast" if post.to == "*" else "direct"
            fields["delivered"] = arrived and not failed if known else None
            event = pen.append(Message, step.t, step.uid, **fields)
        pen.calls[use.id] = stage.sent[(to, post.key)] = event


def _maybe_stop(pen: Pen, place: int, call: ModelCall, turn: str) -> None:
    """A root's message without calls ends an answer, if it says so or if what follows shows it."""
    if call.stop_reason == "refusal":
        pen.append(SafetyEvent, call.end_t, "", turn=turn, kind="refusal", blocked=True)
    if not pen.is_root or call.tools:
        return
    reason = _STOP_REASONS.get(call.stop_reason)
    if reason is None and not call.stop_reason:
        coming = pen.track.steps[place + 1 : place + _LOOK_AHEAD]
        follower = next((later for later in coming if not isinstance(later, Seen)), None)
        # Some versions write no stop reason at all; there the end of the log is the end of the answer.
        if isinstance(follower, Mark | Prompt) or (follower is None and not pen.track.says_why):
            reason = "answer"
    if reason is not None:
        pen.append(Stop, call.end_t, "", turn=turn, reason=reason)
        pen.answering = False


def _only_polls(call: ModelCall) -> bool:
    """It only waits again: what came back stays unconsumed."""
    return bool(call.tools) and not call.texts and all(tool in POLL_TOOLS for tool in call.tools)
