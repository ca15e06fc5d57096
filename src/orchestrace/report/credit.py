"""What can be said about credit without replaying anything: words that were lost, and reward earned without work."""

from collections.abc import Mapping

import msgspec

from orchestrace.metrics import Collaboration, taken_up, token_totals
from orchestrace.rewards import Finding, detect
from orchestrace.trace import Message, Return, Trace, Turn
from orchestrace.trace.views import lanes


class LostWord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A return that nobody took up, or a message that never arrived."""

    event: str
    """Its id."""
    agent: str
    """Who said it."""
    to: str
    """Whom it was meant for."""
    tokens: int | None = None
    """Of a message: what it was written with. Of a return: all that its agent used, where nobody ever listened to that
    agent. Absent: not known, or somebody listened at another time."""


class CreditSection(msgspec.Struct, frozen=True):
    """Credit as far as one trace shows it; shares and advantages need a reward: `orchestrace credit`."""

    unread_returns: tuple[LostWord, ...]
    """Returns that nobody took up."""
    undelivered_messages: tuple[LostWord, ...]
    """Messages that never arrived."""
    wasted_tokens: int | None
    """Tokens behind them, each counted once."""
    wasted_share: float | None
    """Of all tokens of the trace."""
    findings: tuple[Finding, ...]
    """What the detectors of gamed reward found."""
    lacking: Mapping[str, str]
    """Detector -> what it would need to look."""


def credit_section(trace: Trace, told: Collaboration, *, tokens: int | None, unknown: dict[str, str]) -> CreditSection:
    """The section of a trace.

    Args:
      trace: any trace.
      told: its collaboration.
      tokens: all of the trace.
      unknown: gets the reason for each null.
    """
    unread = _unread(trace)
    undelivered = tuple(
        LostWord(event.id, event.agent, event.to, _written(event))
        for event in trace.events
        if isinstance(event, Message) and event.delivered is False
    )
    wasted = None
    if told.unconsumed_tokens is not None:
        unheard = {word.agent for word in unread if word.tokens is not None}
        wasted = told.unconsumed_tokens + sum(word.tokens or 0 for word in undelivered if word.agent not in unheard)
    else:
        unknown["credit.wasted_tokens"] = "no turn of the agents that nobody listened to carries tokens"
    share = wasted / tokens if wasted is not None and tokens else None
    if share is None:
        unknown["credit.wasted_share"] = "the tokens are not known" if wasted is None or tokens is None else "no tokens"
    found = detect([trace])
    return CreditSection(
        unread_returns=unread,
        undelivered_messages=undelivered,
        wasted_tokens=wasted,
        wasted_share=share,
        findings=tuple(finding for finding in found if finding.known),
        lacking={finding.detector: finding.says for finding in found if not finding.known},
    )


def _unread(trace: Trace) -> tuple[LostWord, ...]:
    taken = taken_up(trace)
    returns = [event for event in trace.events if isinstance(event, Return)]
    heard = {event.agent for event in returns if event.id in taken}
    own = lanes(trace)
    used = {
        agent: token_totals([event for event in own[agent] if isinstance(event, Turn)]).total
        for agent in {event.agent for event in returns} - heard
    }
    return tuple(
        LostWord(event.id, event.agent, event.to, used.get(event.agent)) for event in returns if event.id not in taken
    )


def _written(message: Message) -> int | None:
    return message.token_span[1] - message.token_span[0] if message.token_span is not None else None
