"""The graph: every answer equals a textbook one, whatever the width of its levels."""

from itertools import pairwise
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrace.errors import TraceError
from orchestrace.testing.strategies import traces
from orchestrace.trace import Agent, Edge, Spawn, Trace, Turn, graph
from orchestrace.trace.graph import Graph

WIDTHS = pytest.mark.parametrize("thin", [1, 3, 24], ids=["all vectorised", "mixed", "all loops"])


@st.composite
def dags(draw):
    """(n, edges): any acyclic edges, doubles among them, under shuffled names."""
    n = draw(st.integers(1, 14))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1])
    forward = draw(st.lists(ends.map(lambda pair: (min(pair), max(pair))), max_size=40))
    name = draw(st.permutations(range(n)))
    return n, [(name[src], name[dst]) for src, dst in forward]


def made(n, edges):
    return Graph.from_arrays(n, np.array(edges, np.int64).reshape(-1, 2).T)


def reachable(n, edges, start):
    """Textbook: everything on a path that leaves `start`."""
    seen, waiting = set(), [start]
    while waiting:
        node = waiting.pop()
        for src, dst in edges:
            if src == node and dst not in seen:
                seen.add(dst)
                waiting.append(dst)
    return sorted(seen)


def every_path(n, edges):
    following = {node: sorted({dst for src, dst in edges if src == node}) for node in range(n)}
    waiting = [(node,) for node in range(n)]
    while waiting:
        path = waiting.pop()
        yield path
        waiting += [(*path, node) for node in following[path[-1]]]


def heaviest(n, edges, weights):
    """Textbook: best(v) = w(v) + max(0, best of its causes), by repeated relaxation."""
    best = list(weights)
    for _ in range(n):
        for node in range(n):
            best[node] = weights[node] + max([0.0, *(best[src] for src, dst in edges if dst == node)])
    return max(best)


@WIDTHS
@given(dags())
def test_reach_equals_the_textbook(thin, dag):
    n, edges = dag
    backward = [(dst, src) for src, dst in edges]
    with patch.object(graph, "_THIN", thin):
        g = made(n, edges)
        for node in range(n):
            assert g.descendants(node).tolist() == reachable(n, edges, node)
            assert g.ancestors(node).tolist() == reachable(n, backward, node)


@WIDTHS
@given(dags())
def test_levels_equal_the_textbook(thin, dag):
    n, edges = dag
    expected = [0] * n
    for _ in range(n):
        for src, dst in edges:
            expected[dst] = max(expected[dst], expected[src] + 1)
    with patch.object(graph, "_THIN", thin):
        assert made(n, edges).levels().tolist() == expected


@WIDTHS
@given(dags(), st.data())
def test_longest_path_equals_the_textbook(thin, dag, data):
    n, edges = dag
    weights = data.draw(st.lists(st.integers(-5, 9).map(float), min_size=n, max_size=n))
    with patch.object(graph, "_THIN", thin):
        path = made(n, edges).longest_path(weights)
    assert path.length == heaviest(n, edges, weights)
    nodes = path.nodes.tolist()
    assert sum(weights[node] for node in nodes) == path.length
    assert set(pairwise(nodes)) <= set(edges)
    if min(weights) >= 0:
        assert nodes[0] not in {dst for _, dst in edges}


@WIDTHS
@given(dags(), st.data())
def test_ties_go_to_the_earliest_place(thin, dag, data):
    n, edges = dag
    weights = data.draw(st.lists(st.sampled_from([0.0, 1.0]), min_size=n, max_size=n))
    with patch.object(graph, "_THIN", thin):
        path = made(n, edges).longest_path(weights)
    sources = set(range(n)) - {dst for _, dst in edges}
    heavy = [
        nodes
        for nodes in every_path(n, edges)
        if nodes[0] in sources and sum(weights[node] for node in nodes) == path.length
    ]
    assert tuple(path.nodes.tolist()) == min(heavy, key=lambda nodes: (*nodes[::-1], n))


@given(dags(), st.data())
def test_down_sets(dag, data):
    n, edges = dag
    g = made(n, edges)
    nodes = data.draw(st.lists(st.integers(0, n - 1)))
    closed = g.down_set(nodes)
    assert set(closed.tolist()) == set(nodes).union(*(g.ancestors(node).tolist() for node in nodes))
    assert g.is_down_set(closed)
    assert g.is_down_set(nodes) == (set(closed.tolist()) == set(nodes))
    assert g.down_set(closed).tolist() == closed.tolist()


@given(dags(), st.data())
def test_descendants_of_many_is_the_union(dag, data):
    n, edges = dag
    nodes = data.draw(st.lists(st.integers(0, n - 1)))
    g = made(n, edges)
    union = set().union(*(g.descendants(node).tolist() for node in nodes))
    assert g.descendants_of_many(nodes).tolist() == sorted(union)


@given(dags())
def test_rows_are_sorted_and_doubles_are_one(dag):
    n, edges = dag
    g = made(n, edges)
    assert len(g.successors.indices) == len(g.predecessors.indices) == len(set(edges))
    for node in range(n):
        assert g.successors.of(node).tolist() == sorted({dst for src, dst in edges if src == node})
        assert g.predecessors.of(node).tolist() == sorted({src for src, dst in edges if dst == node})


@WIDTHS
@given(st.integers(1, 8), st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20))
def test_a_cycle_is_named_by_an_event_on_it(thin, n, ends):
    edges = [(src % n, dst % n) for src, dst in ends]
    on_cycles = {node for node in range(n) if node in reachable(n, edges, node)}
    with patch.object(graph, "_THIN", thin):
        if on_cycles:
            with pytest.raises(TraceError, match="cycle") as raised:
                made(n, edges)
            assert raised.value.place in {f"$.events[{node}]" for node in on_cycles}
        else:
            assert len(made(n, edges)) == n


def test_self_loop_is_a_cycle():
    with pytest.raises(TraceError, match="event 1 is among its own causes"):
        Graph.from_arrays(3, [[0, 1], [1, 1]])


def test_empty_graph():
    g = Graph.of(Trace(schema=1, trace_id="t", task_id="t"))
    assert len(g) == 0
    assert g.levels().tolist() == []
    assert g.down_set([]).tolist() == []
    assert g.is_down_set([])
    path = g.longest_path([])
    assert path.length == 0.0
    assert path.nodes.tolist() == []


def test_one_event():
    g = Graph.from_arrays(1, [[], []])
    assert g.levels().tolist() == [0]
    assert g.descendants(0).tolist() == g.ancestors(0).tolist() == []
    assert g.longest_path([-2.0]).length == -2.0
    assert g.longest_path([-2.0]).nodes.tolist() == [0]


def test_wrong_arguments():
    g = Graph.from_arrays(2, [[0], [1]])
    with pytest.raises(ValueError, match=r"shape \(3,\), but the graph has 2 events"):
        g.longest_path([1, 2, 3])
    with pytest.raises(ValueError, match=r"weights\[1\] is nan"):
        g.longest_path([0, float("nan")])
    for node in (-1, 2):
        with pytest.raises(IndexError, match=f"node {node}"):
            g.descendants(node)
        with pytest.raises(IndexError, match=f"node {node}"):
            g.down_set([node])
        with pytest.raises(IndexError, match=f"node {node}"):
            Graph.from_arrays(2, [[0], [node]])


def _trace(events, edges=()):
    return Trace(schema=1, trace_id="t", task_id="t", agents=(Agent("a"),), events=tuple(events), edges=tuple(edges))


def test_order_inside_an_agent_is_an_edge():
    g = Graph.of(_trace([Turn("a.0", "a"), Turn("b.0", "b"), Turn("a.1", "a")]))
    assert g.successors.of(0).tolist() == [2]
    assert g.descendants(1).tolist() == []
    assert g.index == {"a.0": 0, "b.0": 1, "a.1": 2}
    assert repr(g) == "Graph(3 events, 1 edges)"


def test_what_is_no_graph_is_refused_by_name():
    two = [Turn("a.0", "a"), Turn("a.1", "a")]
    with pytest.raises(TraceError, match=r"^\$\.edges\[1\]\.dst: there is no event 'zz'"):
        Graph.of(_trace(two, [Edge("a.0", "a.1", "causal"), Edge("a.0", "zz", "causal")]))
    with pytest.raises(TraceError, match=r"^\$\.edges\[0\]\.src: there is no event 'yy'"):
        Graph.of(_trace(two, [Edge("yy", "a.1", "causal")]))
    with pytest.raises(TraceError, match=r"^\$\.events\[[01]\]: event 'a\.[01]' is among its own causes"):
        Graph.of(_trace(two, [Edge("a.1", "a.0", "causal")]))
    with pytest.raises(TraceError, match=r"^\$\.events\[0\]\.id: event id 'a\.0' stands twice"):
        Graph.of(_trace([two[0], two[0]]))


@given(traces())
@settings(max_examples=50)
def test_graph_of_a_trace_holds_its_edges_and_its_lanes(trace):
    g = Graph.of(trace)
    expected = {(g.index[edge.src], g.index[edge.dst]) for edge in trace.edges}
    last = {}
    for place, event in enumerate(trace.events):
        if event.agent in last:
            expected.add((last[event.agent], place))
        last[event.agent] = place
    sources = np.repeat(np.arange(len(g)), np.diff(g.successors.indptr))
    assert set(zip(sources.tolist(), g.successors.indices.tolist(), strict=True)) == expected


def test_a_long_chain_is_no_problem():
    n = 50_000
    g = Graph.from_arrays(n, np.array([np.arange(n - 1), np.arange(1, n)]))
    assert g.longest_path(np.ones(n)).length == n
    assert len(g.ancestors(n - 1)) == n - 1
    assert g.levels()[-1] == n - 1


def test_more_than_65536_agents_and_a_wide_fan():
    n = 70_000
    events = [Spawn(f"main.{child}", "main", to=f"c{child}") for child in range(n)]
    events += [Turn(f"c{child}.0", f"c{child}") for child in range(n)]
    edges = [Edge(f"main.{child}", f"c{child}.0", "spawn") for child in range(n)]
    g = Graph.of(_trace(events, edges))
    assert len(g.descendants(0)) == 2 * n - 1
    assert g.descendants(n - 1).tolist() == [2 * n - 1]
    assert g.levels().max() == n
