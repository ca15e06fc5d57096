"""Steps into events: one writer's log, in its own order."""

from typing import assert_never

from orchestrace.adapters.claude_code.outcomes import write_despawn, write_notice, write_result
from orchestrace.adapters.claude_code.speech import folded_turn, write_said
from orchestrace.adapters.claude_code.stage import Pen
from orchestrace.adapters.claude_code.steps import (
    Fold,
    Inbound,
    Interrupt,
    Mark,
    Mode,
    Notice,
    Prompt,
    Result,
    Said,
    Seen,
    Step,
    Track,
    Trouble,
)
from orchestrace.trace import HumanIntervention, Message, SafetyEvent, Scalar, Stop, Turn

_SPEAKERS = frozenset({"peer", "channel", "coordinator"})


def write_log(pen: Pen) -> None:
    """Write every event of one log."""
    for place, step in enumerate(pen.track.steps):
        readable = _is_readable(pen, step)
        _write(pen, place, step)
        if readable:
            pen.read(step.t)
    if pen.is_root:
        _fold_helpers(pen, None)


def _is_readable(pen: Pen, step: Step) -> bool:
    """Whether the agent's next call waited for it.

    Nobody waits for the acknowledgement of a launch or a message, and a sub-agent's task is read at its spawn.
    """
    match step:
        case Said() | Mark() | Mode():
            return False
        case Notice():
            return step.rank < 2
        case Result():
            event = pen.calls.get(step.call)
            return not (isinstance(event, Message) or (step.acknowledged and event is not None))
        case Prompt() | Inbound():
            return step is not pen.task or pen.agent not in pen.stage.links.origins
        case _:
            return True


def _write(pen: Pen, place: int, step: Step) -> None:
    match step:
        case Said():
            write_said(pen, place, step)
        case Result():
            write_result(pen, step)
        case Prompt():
            _prompt(pen, step)
        case Interrupt():
            _interrupt(pen, step)
        case Notice():
            write_notice(pen, step)
        case Inbound():
            _inbound(pen, step)
        case Fold():
            _fold(pen, step)
        case Mode():
            pen.append(HumanIntervention, step.t, "", kind="mode", labels={"mode": step.value})
        case Trouble():
            _trouble(pen, step)
        case Mark() | Seen():
            pass
        case _:
            assert_never(step)


def _prompt(pen: Pen, step: Prompt) -> None:
    if step is pen.task:
        _count_task(pen)
    elif step.origin in _SPEAKERS and step.sender:
        _message(pen, step, step.origin)
    elif step.origin not in ("", "human"):
        pen.stage.session.slugs.count("ignored_origin", step.origin)
    elif pen.is_root or step.origin == "human":
        _human(pen, step)
    else:
        pen.arrived.append((pen.agent, step.key))
        if (pen.agent, step.key) not in pen.stage.cast.sent:
            pen.counts["unattributed_prompts"] += 1


def _human(pen: Pen, step: Prompt) -> None:
    initial = pen.is_root and not pen.stage.task and pen.stage.session.task is None
    if initial:
        pen.stage.task = step.content.hash
    labels: dict[str, Scalar] = {"command": step.command} if step.command else {}
    pen.append(HumanIntervention, step.t, step.uid, kind="prompt", initial=initial, content=step.content, labels=labels)
    pen.answering = True


def _interrupt(pen: Pen, step: Interrupt) -> None:
    pen.append(HumanIntervention, step.t, step.uid, kind="interrupt", content=step.content)
    if pen.is_root and pen.answering:
        pen.append(Stop, step.t, "", reason="interrupted")
        pen.answering = False


def _inbound(pen: Pen, step: Inbound) -> None:
    stage = pen.stage
    if step is pen.task:
        _count_task(pen)
    elif step.life == "shutdown_approved":
        write_despawn(pen, stage.known(step.sender), step, step.life)
    elif step.life == "idle_notification" or step.sender == "system":
        stage.session.slugs.count("ignored_teammate", step.life or step.sender)
    elif (pen.agent, step.key) in stage.cast.sent:
        pen.arrived.append((pen.agent, step.key))
    else:
        _message(pen, step, "direct")


def _message(pen: Pen, step: Prompt | Inbound, channel: str) -> None:
    """A message that only its receiver's log shows."""
    sender = pen.stage.known(step.sender)
    if sender == pen.agent:
        pen.counts["messages_to_self"] += 1
        return
    to, content = pen.agent, step.content
    pen.append(Message, step.t, step.uid, agent=sender, to=to, content=content, channel=channel, delivered=True)


def _count_task(pen: Pen) -> None:
    """A sub-agent's task is the content of its spawn, and no event of its own."""
    linked = pen.agent in pen.stage.links.origins
    pen.counts["task_prompts" if linked else "task_prompts_without_spawn"] += 1


def _trouble(pen: Pen, step: Trouble) -> None:
    pen.append(SafetyEvent, step.t, step.uid, kind=step.kind, blocked=step.blocked, content=step.content)
    if step.ends and pen.is_root:
        pen.append(Stop, step.t, "", reason="error")
        pen.answering = False


def _fold(pen: Pen, step: Fold) -> None:
    labels: dict[str, Scalar] = {"compaction": True}
    if step.trigger:
        labels["trigger"] = step.trigger
    if step.before_tokens is not None:
        labels["before_tokens"] = step.before_tokens
    if pen.is_root:
        _fold_helpers(pen, step.t)
    pen.took_turn(pen.append(Turn, step.t, step.uid, content=step.summary, labels=labels))


def _fold_helpers(pen: Pen, until: float | None) -> None:
    """The calls of compaction helpers that ended by then are calls of the agent whose context they folded."""
    for helper in list(pen.stage.helpers):
        times = [step.t for step in helper.steps if step.t is not None]
        if until is not None and times and max(times) > until + 1.0:
            continue
        pen.stage.helpers.remove(helper)
        pen.counts["compaction_helpers"] += 1
        for call in dict.fromkeys(step.call for step in helper.steps if isinstance(step, Said)):
            pen.took_turn(folded_turn(pen, call, min(times, default=None), helper.agent))


def is_helper(track: Track) -> bool:
    """The log of a call that folded an agent's context; no team member."""
    return track.agent.startswith("acompact")
