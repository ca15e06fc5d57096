"""The report is the JSON contract: every key, and a reason for every null."""

import json

import msgspec
import pytest
from hypothesis import given

from metrics.timed_teams import EMPTY, real_numbers, troubled
from orchestrace.report import report
from orchestrace.trace import KINDS, Agent, Builder, Edge, Message, Return, Source, Spawn, Tokens, Trace, Turn

KEYS = [
    "trace_id",
    "task_id",
    "system",
    "topology",
    "clock",
    "started_at",
    "source",
    "agents",
    "counts",
    "edges",
    "evidence",
    "tokens",
    "usd",
    "parallelism",
    "collaboration",
    "overhead",
    "credit",
    "checklist",
    "diagnostics",
    "unknown",
]
AGENT = {"id", "role", "parent", "depth", "turns", "tokens", "busy_s", "start_s", "end_s", "status"}
TOKENS = {"input", "output", "cache_read", "cache_write", "reasoning", "total"}
PARALLELISM = {
    *("work_s", "span_s", "elapsed_s", "human_s", "wall_s", "speedup", "peak_concurrency", "efficiency"),
    *("critical_steps", "critical_path"),
}
CHECKLIST = {"topology_and_roles", "trace_scale", "reward_channels", "credit_unit", "safety_instrumentation"}
KNOWN_NULLS = {"parent", "name"}
"""A null here says something: a root, an agent that its spawn did not name."""


def document(trace, **given):
    return json.loads(msgspec.json.encode(report(trace, **given)))


def nulls(value, path=""):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from nulls(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            name = inner["id"] if isinstance(inner, dict) and "id" in inner else place
            yield from nulls(inner, f"{path}.{name}")
    elif value is None and path.split(".")[-1] not in KNOWN_NULLS:
        yield path


@given(troubled | real_numbers)
def test_every_null_has_its_reason_and_every_reason_its_null(trace):
    found = document(trace)
    assert list(found) == KEYS
    assert sorted(nulls(found)) == sorted(found["unknown"])
    assert all(found["unknown"].values())


@given(troubled)
def test_counts_add_up(trace):
    found = document(trace)
    assert list(found["counts"]) == list(KINDS)
    assert sum(found["counts"].values()) == len(trace.events)
    assert sum(found["edges"].values()) == sum(found["evidence"].values()) == len(trace.edges)
    assert sum(agent["turns"] for agent in found["agents"]) == found["counts"]["turn"]
    assert sum(agent["tokens"] or 0 for agent in found["agents"]) == (found["tokens"]["total"] or 0)
    busy = [agent["busy_s"] for agent in found["agents"] if agent["busy_s"] is not None]
    if found["parallelism"]["work_s"] is not None:
        if found["parallelism"]["outside_agents"]:  # what they did with no root alive is theirs, not the team's
            assert sum(busy) >= found["parallelism"]["work_s"] - 1e-9
        else:
            assert sum(busy) == pytest.approx(found["parallelism"]["work_s"])


def small():
    b = Builder(trace_id="x:1", task_id="q", source=Source("claude_code", "1"), system="Claude Code", clock="derived")
    b.agent(Agent("main", role="lead"))
    b.agent(Agent("a", role="reader", parent="main"))
    turn = b.append(Turn, "main", t=0, duration_s=2, model="m", tokens=Tokens(input=10, output=5))
    b.append(Spawn, "main", to="a", t=2, turn=turn.id, content=b.text("read"), labels={"name": "alice"})
    b.append(Turn, "a", t=2, duration_s=4, model="m", tokens=Tokens(input=20, output=5))
    b.append(Return, "a", to="main", t=6)
    b.append(Message, "main", to="a", t=6, content=b.text("thanks"), delivered=False)
    return b.build()


def test_the_contract_key_by_key():
    found = document(small(), prices={"m": {"input": 1e6, "output": 2e6}})
    assert found["source"]["adapter"] == "claude_code"
    assert AGENT | {"name"} == set(found["agents"][0])
    assert set(found["tokens"]) >= TOKENS
    assert set(found["parallelism"]) >= PARALLELISM
    assert {"event", "agent", "start_s", "end_s", "reason"} <= set(found["parallelism"]["critical_path"][0])
    assert {"messages", "undelivered", "unconsumed_returns", "redundancy"} <= set(found["collaboration"])
    assert {"protocol_overhead", "delegation_cost_tokens", "coverage"} <= set(found["overhead"])
    assert set(found["checklist"]) == CHECKLIST
    assert found["usd"] == 50.0
    assert "safety" not in found
    assert "unknown" not in found["parallelism"]


def test_the_agents():
    main, a = document(small())["agents"]
    assert (main["role"], main["parent"], main["depth"], main["tokens"], main["busy_s"]) == ("lead", None, 0, 15, 2.0)
    assert a == {
        "id": "a", "name": "alice", "role": "reader", "parent": "main", "depth": 1, "turns": 1, "tokens": 25,
        "busy_s": 4.0, "start_s": 2.0, "end_s": 6.0, "status": "completed",
    }  # fmt: skip


def test_the_checklist():
    found = document(small())["checklist"]
    assert found["topology_and_roles"] == {
        "topology": None, "roles": {"lead": 1, "reader": 1}, "spawns": 1, "despawns": 0, "size": "dynamic",
    }  # fmt: skip
    assert found["trace_scale"] == {
        "events": 5, "messages": 1, "tool_calls": 0, "sub_agents": 1, "wall_s": 6.0, "tokens": 40,
    }  # fmt: skip


def test_nothing_at_all():
    found = document(EMPTY)
    assert found["agents"] == []
    assert found["tokens"]["total"] is None
    assert sorted(nulls(found)) == sorted(found["unknown"])


def test_what_breaks_the_laws_is_reported_all_the_same():
    events = (
        Turn("child.0", "child", t=1.0, duration_s=-3.0),
        Return("child.1", "child", to="nobody", t=0.5),
        Spawn("main.0", "main", to="child", t=9.0),
        Turn("main.1", "main", turn="no such turn"),
        Turn("main.1", "main"),
    )
    edges = (Edge("main.0", "child.0", "spawn"), Edge("child.0", "main.0", "causal"), Edge("x", "y", "temporal"))
    trace = Trace(schema=1, trace_id="t", task_id="t", events=events, edges=edges)
    found = document(trace)
    assert [agent["id"] for agent in found["agents"]] == ["child", "main"]
    assert sorted(nulls(found)) == sorted(found["unknown"])


def test_equal_traces_give_equal_bytes():
    assert msgspec.json.encode(report(small())) == msgspec.json.encode(report(small()))
