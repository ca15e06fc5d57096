"""One small team that can be read by eye, evidence about it, and ways to reorder and pad a trace."""

import msgspec

from orchestrace.annotations import Evidence, Verdict
from orchestrace.trace import (
    Agent,
    Aggregate,
    Builder,
    Message,
    Return,
    Spawn,
    Stop,
    Tokens,
    ToolCall,
    ToolResult,
    Trace,
    Turn,
)
from orchestrace.trace.graph import Graph

EMPTY = Trace(schema=1, trace_id="t", task_id="t")
NOTHING = Evidence()


def small_team(**header):
    """main 0-2, a 2-8 and b 2-6 side by side, main 8-10.

    main.0 turn, main.1 spawn a, main.2 spawn b; a.0 turn, a.1 call, a.2 result, a.3 turn, a.4 return; b.0 turn,
    b.1 message to a, b.2 return; main.3 turn, main.4 aggregate, main.5 stop.
    """
    b = Builder(trace_id="t", task_id="k", **header)
    b.agent(Agent("main", role="lead"))
    b.agent(Agent("a", role="solver", parent="main"))
    b.agent(Agent("b", role="verifier", parent="main"))
    first = b.append(Turn, "main", t=0, duration_s=2, tokens=Tokens(input=100, output=20))
    b.append(Spawn, "main", to="a", t=2, turn=first.id, content=b.text("the first half"))
    b.append(Spawn, "main", to="b", t=2, turn=first.id, content=b.text("the second half"))
    asked = b.append(Turn, "a", t=2, duration_s=3, tokens=Tokens(input=50, output=10))
    call = b.append(ToolCall, "a", tool="search", t=5, duration_s=1, turn=asked.id)
    b.append(ToolResult, "a", tool="search", call=call.id, t=6)
    said = b.append(Turn, "a", t=6, duration_s=2, tokens=Tokens(input=60, output=10))
    answer_a = b.append(Return, "a", to="main", t=8, turn=said.id, content=b.text("42"))
    judged = b.append(Turn, "b", t=2, duration_s=4, tokens=Tokens(input=30, output=5))
    b.append(Message, "b", to="a", t=6, turn=judged.id, delivered=False, content=b.text("hello"))
    answer_b = b.append(Return, "b", to="main", t=6, turn=judged.id, content=b.text("41"))
    last = b.append(Turn, "main", t=8, duration_s=2, tokens=Tokens(input=200, output=30))
    b.append(Aggregate, "main", t=10, turn=last.id, inputs=(answer_a.id, answer_b.id))
    b.append(Stop, "main", t=10, turn=last.id)
    return b.build()


EVIDENCE = Evidence(
    grades={
        "team": {"t": 0.8},
        "agent": {"a": 1.0, "b": 0.5, "somebody else": 0.0},
        "role": {"solver": 0.9},
        "turn": {"a.0": 0.25, "a.3": 1.0, "b.0": 0.0},
    },
    verdicts={
        "a.3": (Verdict(0.5, by="b.0"), Verdict(1.0, by="format"), Verdict(0.0, by="depth", valid=False)),
        "a.1": (Verdict(1.0, by="schema"),),
        "main.4": (Verdict(0.9, by="judge"),),
        "a.4": (Verdict(0.7, by="judge"),),
        "b.2": (Verdict(0.4, by="judge"),),
        "main.1": (Verdict(1.0, by="scope"),),
        "main.2": (Verdict(0.0, by="scope"),),
    },
    labels={"t": ("x", "y", "z"), "main.1": ("x", "y"), "main.2": ("y",)},
    shares={"agent": {"main": 0.3, "a": 0.5, "b": 0.0}},
)


def values(given):
    """unit id -> value, of a channel that is there."""
    assert isinstance(given, tuple), given
    return {row.id: row.value for row in given}


def one(given):
    """The one value of a channel of one row."""
    assert isinstance(given, tuple), given
    (row,) = given
    return row.value


def reordered(trace, die):
    """The same events in another order: what each agent did and was told stays in its order, causes stay before."""
    graph = Graph.of(trace)
    causes = [set(graph.predecessors.of(place).tolist()) for place in range(len(trace.events))]
    latest = {}
    for place, event in enumerate(trace.events):
        for agent in {event.agent, getattr(event, "to", event.agent)}:
            causes[place] |= {latest[agent]} if agent in latest else set()
            latest[agent] = place
    order, done = [], set()
    while len(order) < len(causes):
        order.append(die.choice([p for p in range(len(causes)) if p not in done and causes[p] <= done]))
        done.add(order[-1])
    return msgspec.structs.replace(trace, events=tuple(trace.events[place] for place in order))


def with_useless_spawn(trace):
    """One more agent, spawned after everything else that happened and never heard of again."""
    root = trace.agents[0].id
    spawn = Spawn("useless.0", root, to="useless")
    before = [e for e in trace.events if not isinstance(e, Stop)]
    stops = [e for e in trace.events if isinstance(e, Stop)]
    return msgspec.structs.replace(
        trace, agents=(*trace.agents, Agent("useless", parent=root)), events=(*before, spawn, *stops)
    )
