"""Tokens and money. Tokens sit on turns only, so each is counted once."""

from collections.abc import Iterable, Mapping

import msgspec

from orchestrace.trace import Tokens, Trace, Turn

KINDS_OF_TOKENS = ("input", "output", "cache_read", "cache_write")
"""They do not overlap: input leaves the cache out, output holds the reasoning."""
LEAST_COVERAGE = 0.5
"""Below this share of what must be known, a figure is not given."""
Prices = Mapping[str, Mapping[str, float]]
"""Model -> kind of token (`input`, `output`, `cache_read`, `cache_write`) -> US dollars per million tokens."""
_OWN_TOTALS = ("usd", "total_cost_usd")


class TokenTotals(msgspec.Struct, frozen=True, gc=False):
    """Sums over turns. A kind that no turn gives is absent, not zero."""

    input: int | None
    """Read by the model for the first time, outside any cache."""
    output: int | None
    """Written by the model, its reasoning included."""
    cache_read: int | None
    """Read from a cache."""
    cache_write: int | None
    """Read, and put into a cache."""
    reasoning: int | None
    """Part of `output`."""
    total: int | None
    """input + cache_read + cache_write + output over what is known."""
    coverage: float | None
    """Share of turns that carry any tokens; absent without turns."""


class Money(msgspec.Struct, frozen=True, gc=False):
    """What a trace cost."""

    usd: float | None
    """US dollars; absent: `unknown` says why."""
    unknown: str = ""
    """Why `usd` is absent."""


def token_totals(turns: Iterable[Turn]) -> TokenTotals:
    """The tokens of some turns: of a trace's, of one agent's."""
    turns = list(turns)
    given = [turn.tokens for turn in turns if turn.tokens is not None and turn.tokens != Tokens()]
    sums = {}
    for name in (*KINDS_OF_TOKENS, "reasoning", "total"):
        known = [n for tokens in given if (n := getattr(tokens, name)) is not None]
        sums[name] = sum(known) if known else None
    return TokenTotals(**sums, coverage=len(given) / len(turns) if turns else None)


def money(trace: Trace, *, prices: Prices | None = None) -> Money:
    """The cost in US dollars: as the log gives it, by event or in total, else tokens times prices.

    Args:
      trace: any trace.
      prices: a model's name must match as the turns write it.
    """
    known = [event.usd for event in trace.events if event.usd is not None]
    if known:
        return Money(sum(known))
    own = next((trace.costs[name] for name in _OWN_TOTALS if name in trace.costs), None)
    if own is not None:
        return Money(own)
    if prices is None:
        return Money(None, "the log has no costs; give prices")
    return _priced([event for event in trace.events if isinstance(event, Turn)], prices)


def _priced(turns: Iterable[Turn], prices: Prices) -> Money:
    usd = 0.0
    for turn in turns:
        if turn.tokens is None or turn.tokens.total is None:
            return Money(None, f"turn {turn.id!r} carries no tokens")
        for name in KINDS_OF_TOKENS:
            amount = getattr(turn.tokens, name) or 0
            price = prices.get(turn.model or "", {}).get(name)
            if amount and price is None:
                return Money(None, f"the prices have no {name!r} for the model {turn.model!r}")
            usd += amount * (price or 0.0) / 1e6
    return Money(usd)
