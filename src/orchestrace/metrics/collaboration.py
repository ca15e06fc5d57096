"""E3, collaboration: what agents told each other, and what came of it."""

from collections.abc import Mapping, Sequence

import msgspec

from orchestrace.metrics.near import repeats
from orchestrace.trace import Aggregate, Delegate, Message, Return, Spawn, Trace, Turn, known_text

_Reasons = dict[str, str]


class Collaboration(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Counts of what was said and taken up. Absent is not known; `unknown` says why."""

    messages: int
    """Between agents; one for each recipient."""
    undelivered: int
    """Messages of which the log shows that they never arrived."""
    delivery_unknown: int
    """Messages of which it shows neither."""
    delegations: int
    """Spawns with a task, and delegates."""
    returns: int
    """Answers of agents to the one they work for."""
    failed_returns: int
    """With another status than completed."""
    unconsumed_returns: int
    """Returns that nobody took up (`taken_up`)."""
    unconsumed_tokens: int | None
    """Tokens of the agents that returned and of which no return was taken up."""
    duplicates: int
    """Messages whose recipient had been sent the very same text before."""
    redundancy: float | None
    """duplicates / messages with a known text."""
    near_redundancy: float | None
    """The same with nearly equal texts, over the messages whose text is at hand."""
    unknown: Mapping[str, str] = {}
    """Field -> why it is absent."""


def collaboration(trace: Trace, *, blobs: Mapping[str, bytes] | None = None) -> Collaboration:
    """The collaboration of a trace (E3 of the survey, arXiv 2605.02801; the definitions are ours).

    A broadcast is no duplicate of itself: a text is redundant for the recipient that had it already.

    Args:
      trace: any trace, also one that breaks the laws.
      blobs: texts by hash, besides those that the trace carries; near redundancy needs them. A preview serves where it
        holds the whole text.
    """
    unknown: _Reasons = {}
    messages = [event for event in trace.events if isinstance(event, Message)]
    returns = [event for event in trace.events if isinstance(event, Return)]
    taken = taken_up(trace)
    unread = {event.id: event.agent for event in returns if event.id not in taken}
    heard = {event.agent for event in returns if event.id in taken}
    duplicates, redundancy = _exact(messages, unknown)
    return Collaboration(
        messages=len(messages),
        undelivered=sum(message.delivered is False for message in messages),
        delivery_unknown=sum(message.delivered is None for message in messages),
        delegations=sum(
            isinstance(event, Delegate) or (isinstance(event, Spawn) and event.content is not None)
            for event in trace.events
        ),
        returns=len(returns),
        failed_returns=sum(event.status != "completed" for event in returns),
        unconsumed_returns=len(unread),
        unconsumed_tokens=_lost_tokens(trace, heard, set(unread.values()), unknown),
        duplicates=duplicates,
        redundancy=redundancy,
        near_redundancy=_near(messages, {**trace.blobs, **(blobs or {})}, unknown),
        unknown=unknown,
    )


def taken_up(trace: Trace) -> frozenset[str]:
    """Ids of the returns and messages that were taken up: the inputs of aggregates.

    A recording of ours, or a file in the survey's form, without any aggregate says nothing about this by itself: its
    writer records none. There a return counts as taken up where its edge leads on, that is, where its recipient went on
    with it (ours).
    """
    inputs = frozenset(source for event in trace.events if isinstance(event, Aggregate) for source in event.inputs)
    written_as_it_is = trace.source is None or trace.source.adapter == "survey"
    if not written_as_it_is or any(isinstance(event, Aggregate) for event in trace.events):
        return inputs
    returns = {event.id for event in trace.events if isinstance(event, Return)}
    return frozenset(edge.src for edge in trace.edges if edge.type == "return" and edge.src in returns)


def _exact(messages: Sequence[Message], unknown: _Reasons) -> tuple[int, float | None]:
    known = [(message.to, message.content.hash) for message in messages if message.content is not None]
    duplicates = len(known) - len(set(known))
    if not known:
        unknown["redundancy"] = "no message carries a text" if messages else "no messages were sent"
        return 0, None
    return duplicates, duplicates / len(known)


def _near(messages: Sequence[Message], blobs: Mapping[str, bytes], unknown: _Reasons) -> float | None:
    by_recipient: dict[str, list[bytes]] = {}
    for message in messages:
        text = None if message.content is None else known_text(message.content, blobs)
        if text is not None:
            by_recipient.setdefault(message.to, []).append(text)
    compared = sum(map(len, by_recipient.values()))
    if not compared or compared < len(messages) / 2:
        few = f"the texts of only {compared} of {len(messages)} messages are at hand"
        unknown["near_redundancy"] = few if messages else "no messages were sent"
        return None
    return sum(sum(repeats(texts)) for texts in by_recipient.values()) / compared


def _lost_tokens(trace: Trace, heard: set[str], unheard: set[str], unknown: _Reasons) -> int | None:
    lost = unheard - heard
    turns = [event for event in trace.events if isinstance(event, Turn) and event.agent in lost]
    known = [turn.tokens.total for turn in turns if turn.tokens is not None and turn.tokens.total is not None]
    if turns and not known:
        unknown["unconsumed_tokens"] = "no turn of those agents carries tokens"
        return None
    return sum(known)
