"""E4, protocol overhead: what share of what a team wrote was about the team itself."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from orchestrace.metrics.flow import error_amplification
from orchestrace.metrics.tokens import LEAST_COVERAGE, token_totals
from orchestrace.metrics.tools import NO_NAMES, ToolNames
from orchestrace.trace import (
    Aggregate,
    Delegate,
    Event,
    Message,
    OrchestratorDecision,
    Spawn,
    Stop,
    ToolCall,
    Trace,
    Turn,
    kind,
)
from orchestrace.trace.views import addressee

_PROTOCOL = Spawn | Delegate | Message | Aggregate | Stop | OrchestratorDecision
MANAGEMENT = "management"
_NO_TURN = "the trace holds no turn"
_NO_TEAM = "no team: no agent made or addressed another"


class Overhead(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Tokens that went into running the team. Absent is not known; `unknown` says why."""

    protocol_overhead: float | None
    """Output tokens of protocol blocks / all output tokens, in [0, 1]; absent without a team."""
    protocol_tokens: Mapping[str, float] | None
    """The numerator by what it was for: an event type, or `management` for tool calls."""
    delegation_cost_tokens: float | None
    """Tokens of the whole trace per spawn or delegation."""
    error_amplification: float | None
    """Corrupted events that others caused / those that none caused; needs labels."""
    coverage: float | None
    """Share of turns that carry output tokens."""
    unknown: Mapping[str, str] = {}
    """Field -> why it is absent."""


def overhead(trace: Trace, *, tools: ToolNames = NO_NAMES) -> Overhead:
    """The protocol overhead of a trace (E4 of the survey, arXiv 2605.02801; the definitions are ours).

        protocol overhead = Σ output tokens of blocks that spawn, delegate, message, aggregate, stop or manage
                            ─────────────────────────────────────────────────────────────────────────────────
                                                      Σ output tokens

    over the turns that carry output tokens. The blocks of a turn are the events that name it, and its own text. A
    block with a `token_span` has the tokens of the span; the rest, less recorded reasoning, is split over the other
    blocks by UTF-8 bytes of content. An aggregate or a stop whose text is the turn's own is the answer itself, not a
    block beside it.

    Args:
      trace: any trace, also one that breaks the laws.
      tools: names of the tools that manage agents or tools.
    """
    turns = [event for event in trace.events if isinstance(event, Turn)]
    known = [turn for turn in turns if _output(turn) is not None]
    output = sum(_output(turn) or 0 for turn in known)
    coverage = len(known) / len(turns) if turns else None
    reason = _missing(coverage, output) or ("" if _has_team(trace) else _NO_TEAM)
    used = _protocol_tokens(trace, known, tools=tools)
    cost, cost_reason = _delegation_cost(trace, turns)
    amplification = error_amplification(trace)
    reasons = {
        "protocol_overhead": reason,
        "protocol_tokens": reason,
        "delegation_cost_tokens": cost_reason,
        "error_amplification": amplification.unknown,
        "coverage": "" if turns else _NO_TURN,
    }
    return Overhead(
        protocol_overhead=None if reason else sum(used.values()) / output,
        protocol_tokens=None if reason else used,
        delegation_cost_tokens=cost,
        error_amplification=amplification.value,
        coverage=coverage,
        unknown={name: why for name, why in reasons.items() if why},
    )


def _has_team(trace: Trace) -> bool:
    """Whether any agent made another, or said something to one."""
    addressed = any(addressee(event) not in (None, event.agent) for event in trace.events)
    return addressed or any(agent.parent is not None for agent in trace.agents)


def _protocol_tokens(trace: Trace, turns: Sequence[Turn], *, tools: ToolNames) -> dict[str, float]:
    blocks: defaultdict[str, list[Event]] = defaultdict(list)
    for event in trace.events:
        if event.turn is not None:
            blocks[event.turn].append(event)
    used: defaultdict[str, float] = defaultdict(float)
    for turn in turns:
        for event, tokens in block_tokens(turn, blocks[turn.id]):
            purpose = _purpose(event, tools)
            if purpose is not None and tokens:
                used[purpose] += tokens
    return dict(sorted(used.items()))


def block_tokens(turn: Turn, events: Sequence[Event]) -> Iterable[tuple[Event, float]]:
    """Output tokens of each block of a turn; what is left is the turn's own text and reasoning.

    Args:
      turn: it carries output tokens.
      events: those that name it as their turn.
    """
    left = float(_output(turn) or 0)
    unspanned = []
    for event in events:
        if event.token_span is not None:
            tokens = min(max(event.token_span[1] - event.token_span[0], 0), left)
            left -= tokens
            yield event, tokens
        elif _is_block(event, turn):
            unspanned.append(event)
    left -= min(left, (turn.tokens.reasoning if turn.tokens else None) or 0)
    whole = _bytes(turn) + sum(map(_bytes, unspanned))
    for event in unspanned:
        yield event, left * _bytes(event) / whole if whole else 0.0


def _is_block(event: Event, turn: Turn) -> bool:
    """Whether the model wrote it beside the turn's text."""
    if isinstance(event, Aggregate | Stop) and event.content is not None and turn.content is not None:
        return event.content.hash != turn.content.hash
    return isinstance(event, _PROTOCOL | ToolCall)


def _purpose(event: Event, tools: ToolNames) -> str | None:
    if isinstance(event, ToolCall):
        return MANAGEMENT if event.tool in tools.managing else None
    return kind(event) if isinstance(event, _PROTOCOL) else None


def _output(turn: Turn) -> int | None:
    return turn.tokens.output if turn.tokens is not None else None


def _bytes(event: Event) -> int:
    return event.content.bytes if event.content is not None else 0


def _missing(coverage: float | None, output: int) -> str:
    if coverage is None:
        return _NO_TURN
    if coverage < LEAST_COVERAGE:
        return f"only {coverage:.0%} of the turns carry output tokens"
    return "" if output else "no output tokens were spent"


def _delegation_cost(trace: Trace, turns: Sequence[Turn]) -> tuple[float | None, str]:
    delegations = sum(isinstance(event, Spawn | Delegate) for event in trace.events)
    if not delegations:
        return None, "nothing was spawned or delegated"
    totals = token_totals(turns)
    if totals.total is None or (totals.coverage or 0.0) < LEAST_COVERAGE:
        return None, "fewer than half of the turns carry tokens"
    return totals.total / delegations, ""
