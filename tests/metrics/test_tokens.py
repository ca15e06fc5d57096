"""Tokens are counted once, and money is known or it is not."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from orchestrace.metrics import money, token_totals
from orchestrace.trace import Agent, Builder, Tokens, Turn

counts = st.none() | st.integers(0, 1000)
tokens = st.builds(Tokens, input=counts, output=counts, cache_read=counts, cache_write=counts, reasoning=counts)


@given(st.lists(st.none() | tokens))
def test_totals_are_sums_over_what_is_known(given_tokens):
    turns = [Turn(f"a.{n}", "a", tokens=one) for n, one in enumerate(given_tokens)]
    found = token_totals(turns)
    for name in ("input", "output", "cache_read", "cache_write", "reasoning"):
        known = [getattr(one, name) for one in given_tokens if one is not None and getattr(one, name) is not None]
        assert getattr(found, name) == (sum(known) if known else None)
    parts = [n for n in (found.input, found.output, found.cache_read, found.cache_write) if n is not None]
    assert found.total == (sum(parts) if parts else None)
    if given_tokens:
        assert found.coverage == sum(one not in (None, Tokens()) for one in given_tokens) / len(given_tokens)
    else:
        assert found.coverage is None


def spent(**fields):
    b = Builder(trace_id="t", task_id="t")
    b.agent(Agent("main"))
    b.append(Turn, "main", model="m", tokens=Tokens(input=1_000_000, output=500_000, cache_read=0), **fields)
    return b


def test_the_log_knows_best():
    prices = {"m": {"input": 3.0, "output": 15.0}}
    assert money(spent(usd=0.25).build(), prices=prices).usd == 0.25
    assert money(spent().build(costs={"usd": 4.0}), prices=prices).usd == 4.0
    assert money(spent().build(), prices=prices).usd == 10.5


def test_a_missing_price_is_named():
    trace = spent().build()
    assert money(trace).unknown == "the log has no costs; give prices"
    assert money(trace, prices={"n": {}}).unknown == "the prices have no 'input' for the model 'm'"
    assert money(trace, prices={"m": {"input": 3.0}}).unknown == "the prices have no 'output' for the model 'm'"
    blank = msgspec.structs.replace(trace, events=(Turn("main.0", "main"),))
    assert money(blank, prices={"m": {}}).unknown == "turn 'main.0' carries no tokens"
