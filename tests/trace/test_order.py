"""The order of a log against a textbook version."""

import time

from hypothesis import given
from hypothesis import strategies as st

from orchestrace.testing.strategies import dags
from orchestrace.trace.order import Link, ordering

EVIDENCE = ("positional", "matched", "explicit")


@st.composite
def records(draw, acyclic):
    n, pairs = draw(dags())
    writers = [draw(st.integers(0, 2)) for _ in range(n)]
    times = [draw(st.none() | st.integers(0, 6).map(float)) for _ in range(n)]
    links = [Link(*pair, draw(st.sampled_from(EVIDENCE))) for pair in pairs]
    if not acyclic:
        links = [Link(*((b, a) if draw(st.booleans()) else (a, b)), e) for a, b, e in links]
        links += [
            Link(node, node, "explicit") for node in draw(st.sets(st.integers(0, max(n - 1, 0)), max_size=2)) if n
        ]
    return times, writers, links


@st.composite
def rings(draw):
    """Records of as many writers, tied into one ring by links: whichever gives way, the rest can be kept."""
    n = draw(st.integers(2, 9))
    evidence = [draw(st.sampled_from(EVIDENCE)) for _ in range(n)]
    times = [draw(st.none() | st.integers(0, 3).map(float)) for _ in range(n)]
    nodes = draw(st.permutations(range(n)))
    writers = draw(st.permutations(range(n)))
    return times, writers, [Link(nodes[i], nodes[(i + 1) % n], e) for i, e in enumerate(evidence)]


def slow(times, writers, links):
    """The smallest ready record, again and again."""
    keys, last = [], {}
    for node, (t, w) in enumerate(zip(times, writers, strict=True)):
        last[w] = t if t is not None else last.get(w, float("-inf"))
        keys.append((last[w], w, node))
    before = {node: {a for a, b, _ in links if b == node} for node in range(len(times))}
    for node, w in enumerate(writers):
        before[node] |= {earlier for earlier in range(node) if writers[earlier] == w}
    order = []
    while len(order) < len(times):
        ready = [node for node in before if node not in order and before[node] <= set(order)]
        if not ready:
            return None
        order.append(min(ready, key=keys.__getitem__))
    return order


@given(records(acyclic=True))
def test_without_a_contradiction_nothing_gives_way(case):
    times, writers, links = case
    found = ordering(times, writers, links)
    assert list(found.order) == slow(times, writers, links)
    assert found.dropped_links == frozenset()
    assert found.reordered == 0


@given(records(acyclic=False))
def test_what_stays_is_obeyed_and_every_record_comes_once(case):
    times, writers, links = case
    found = ordering(times, writers, links)
    assert sorted(found.order) == list(range(len(times)))
    at = {node: place for place, node in enumerate(found.order)}
    for i, (src, dst, _) in enumerate(links):
        assert i in found.dropped_links or at[src] < at[dst]
    if not found.reordered:
        for a in range(len(writers)):
            for b in range(a + 1, len(writers)):
                assert writers[a] != writers[b] or at[a] < at[b]
    if slow(times, writers, [link for link in links if link.src != link.dst]) is not None:
        assert all(links[i].src == links[i].dst for i in found.dropped_links)


@given(records(acyclic=False))
def test_it_does_not_depend_on_the_order_of_the_links(case):
    times, writers, links = case
    there, back = ordering(times, writers, links), ordering(times, writers, links[::-1])
    assert there.order == back.order
    assert {links[i] for i in there.dropped_links} == {links[::-1][i] for i in back.dropped_links}


@given(rings())
def test_a_stronger_link_gives_way_only_where_no_weaker_one_runs_backwards(case):
    """Of the links that run backwards in the key, those of the weakest class go, and no other."""
    times, writers, links = case
    keys = [(float("-inf") if t is None else t, w) for t, w in zip(times, writers, strict=True)]
    backwards = [i for i, (src, dst, _) in enumerate(links) if keys[src] > keys[dst]]
    weakest = min(EVIDENCE.index(links[i].evidence) for i in backwards)
    expected = {i for i in backwards if EVIDENCE.index(links[i].evidence) == weakest}
    found = ordering(times, writers, links)
    assert found.dropped_links == expected
    assert found.reordered == 0


@given(dags(max_nodes=8))
def test_a_bare_dag_keeps_every_link(dag):
    found = ordering([None] * dag.n, range(dag.n), [Link(*edge, "positional") for edge in dag.edges])
    assert (found.dropped_links, sorted(found.order)) == (frozenset(), list(range(dag.n)))


def test_the_weakest_gives_way_first():
    """A ring of one link of each class through two chains; positional, then file order, then matched, then explicit."""
    ring = [Link(0, 2, "explicit"), Link(3, 1, "matched")]  # 0,1 by writer 0 and 2,3 by writer 1: no ring yet
    assert ordering([None] * 4, [0, 0, 1, 1], ring).dropped_links == frozenset()
    positional = [*ring, Link(1, 0, "positional")]
    assert ordering([None] * 4, [0, 0, 1, 1], positional).dropped_links == {2}
    found = ordering([2.0, 1.0], [0, 0], [Link(1, 0, "matched")])
    assert (found.order, found.reordered, found.dropped_links) == ((1, 0), 1, frozenset())
    found = ordering([1.0, 2.0], [0, 0], [Link(1, 0, "matched")])
    assert (found.order, found.reordered, found.dropped_links) == ((0, 1), 0, {0})
    found = ordering([1.0, 2.0], [0, 1], [Link(0, 1, "matched"), Link(1, 0, "explicit")])
    assert found.dropped_links == {1}  # the one that runs back in time, where nothing weaker does


def test_only_the_knot_is_touched():
    """A positional link downstream of a contradiction stays."""
    links = [Link(0, 1, "matched"), Link(1, 0, "positional"), Link(1, 2, "positional")]
    found = ordering([5.0, 6.0, 0.0], [0, 1, 2], links)
    assert found.dropped_links == {1}
    assert found.order == (0, 1, 2)


def test_a_large_knot_ends_quickly():
    n = 20_000
    links = [Link(i, (i * 7 + 3) % n, EVIDENCE[i % 3]) for i in range(n)]
    began = time.perf_counter()
    found = ordering([float(i % 100) for i in range(n)], [i % 50 for i in range(n)], links)
    assert sorted(found.order) == list(range(n))
    assert time.perf_counter() - began < 30
