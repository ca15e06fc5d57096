"""What reached what."""

import msgspec
from hypothesis import given

from metrics.timed_teams import EMPTY, teams
from orchestrace.metrics import error_amplification, useful_utilisation
from orchestrace.trace import Agent, Builder, Edge, Message, Return, Source, Spawn, Stop, ToolCall, Trace, Turn
from orchestrace.trace.views import spawn_tree


def test_work_that_never_reached_the_answer():
    b = Builder(trace_id="t", task_id="t", source=Source("test", "1"))
    b.agent(Agent("main"))
    for child in ("heard", "late", "lost"):
        b.agent(Agent(child, parent="main"))
        b.append(Spawn, "main", to=child)
        b.append(Turn, child)
        b.append(ToolCall, child, tool="bash")
    b.append(Return, "heard", to="main")
    b.append(Message, "lost", to="main", delivered=False)
    turn = b.append(Turn, "main")
    b.append(Stop, "main", turn=turn.id)
    b.append(Return, "late", to="main")
    assert useful_utilisation(b.build()).value == 2 / 6


def test_without_a_stop_the_last_turn_is_the_answer():
    b = Builder(trace_id="t", task_id="t")
    b.agent(Agent("main"))
    b.agent(Agent("a", parent="main"))
    b.append(Spawn, "main", to="a")
    b.append(Turn, "a")
    assert useful_utilisation(b.build()).unknown == "no root has answered"
    b.append(Return, "a", to="main")
    b.append(Turn, "main")
    assert useful_utilisation(b.build()).value == 1.0


def test_a_graph_that_is_none_says_so():
    events = (Turn("a.0", "a", labels={"corrupted": True}), Turn("b.0", "b"), Turn("main.0", "main"))
    ring = (Edge("a.0", "b.0", "causal"), Edge("b.0", "a.0", "causal"))
    agents = (Agent("main"), Agent("a", unlinked=True), Agent("b", unlinked=True))
    trace = Trace(schema=1, trace_id="t", task_id="t", agents=agents, events=events, edges=ring)
    assert "cycle" in useful_utilisation(trace).unknown
    assert "cycle" in error_amplification(trace).unknown
    assert useful_utilisation(EMPTY).unknown == "no sub-agent acted"


def slow_utilisation(trace):
    """Walk forward from every action, edge by edge."""
    roots = set(spawn_tree(trace).roots)
    answers = [e.id for e in trace.events if isinstance(e, Stop) and e.agent in roots]
    answers = answers or [e.id for e in trace.events if isinstance(e, Turn) and e.agent in roots]
    reach = {e.id: {e.id} for e in trace.events}
    following = {e.id: {x.dst for x in trace.edges if x.src == e.id} for e in trace.events}
    for place, event in enumerate(trace.events):
        own = [later.id for later in trace.events[place + 1 :] if later.agent == event.agent]
        following[event.id] |= set(own[:1])
    for event in reversed(trace.events):
        for after in following[event.id]:
            reach[event.id] |= reach[after]
    actions = [e.id for e in trace.events if isinstance(e, Turn | ToolCall) and e.agent not in roots]
    return sum(answers[-1] in reach[action] for action in actions) / len(actions)


@given(teams)
def test_utilisation_against_a_walk_from_every_action(trace):
    found = useful_utilisation(trace)
    if found.value is not None:
        assert found.value == slow_utilisation(trace)


@given(teams)
def test_one_corrupted_event_spreads_to_nothing(trace):
    if trace.events:
        bad = msgspec.structs.replace(trace.events[0], labels={"corrupted": True})
        alone = msgspec.structs.replace(trace, events=(bad, *trace.events[1:]))
        assert error_amplification(alone).value == 0.0
