"""The order of a log: chains of records, joined by edges, ties broken by time.

Each writer's records are a chain. Links join chains. Among records that are ready the one with the smallest time comes
first, then the smaller writer, then the earlier record. Where chains and links contradict each other, only constraints
that run backwards in that key are dropped, weakest class first, and only inside the knot they tie.
"""

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from orchestrace.trace.events import Evidence

_UNDATED = float("-inf")
# Classes in the order in which they give way; None stands for the file order of a chain.
_GIVING_WAY: tuple[Evidence | None, ...] = ("positional", None, "matched", "explicit")


class Link(NamedTuple):
    """A constraint between two records: `src` before `dst`."""

    src: int
    dst: int
    evidence: Evidence


class Ordering(NamedTuple):
    """A total order, and what had to give way for it."""

    order: tuple[int, ...]
    dropped_links: frozenset[int]
    """Indices into the links."""
    reordered: int
    """Places where a writer's own order gave way."""


def ordering(times: Sequence[float | None], writers: Sequence[int], links: Sequence[Link]) -> Ordering:
    """The order of N records.

    Args:
      times: [N] seconds, None where not known: a record then counts as late as the last known one of its writer.
      writers: [N] who wrote each; a writer's records come in its own order.
      links: further constraints. One from a record to itself is dropped.

    Linear but for the heap. No recursion.
    """
    keys, chain = _keys_and_chain(times, writers)
    constraints: list[tuple[int, int, Evidence | None]] = [(src, dst, None) for src, dst in chain]
    constraints += links
    live = [src != dst for src, dst, _ in constraints]
    order = _kahn(keys, constraints, live)
    for giving_way in _GIVING_WAY:
        if len(order) == len(keys):
            break
        knot = _knots(len(keys), constraints, live)
        for place, (src, dst, evidence) in enumerate(constraints):
            if live[place] and evidence == giving_way and knot[src] == knot[dst] and keys[src] > keys[dst]:
                live[place] = False
        order = _kahn(keys, constraints, live)
    offset = len(chain)
    dropped = frozenset(place - offset for place in range(offset, len(constraints)) if not live[place])
    return Ordering(tuple(order), dropped, live[:offset].count(False))


def _keys_and_chain(
    times: Sequence[float | None], writers: Sequence[int]
) -> tuple[list[tuple[float, int, int]], list[tuple[int, int]]]:
    last: dict[int, int] = {}
    last_t: dict[int, float] = {}
    keys, chain = [], []
    for node, (time, writer) in enumerate(zip(times, writers, strict=True)):
        if time is not None:
            last_t[writer] = time
        keys.append((last_t.get(writer, _UNDATED), writer, node))
        if writer in last:
            chain.append((last[writer], node))
        last[writer] = node
    return keys, chain


def _kahn(
    keys: Sequence[tuple[float, int, int]],
    constraints: Sequence[tuple[int, int, Evidence | None]],
    live: Sequence[bool],
) -> list[int]:
    """As much of the order as is free of knots."""
    waiting_for = [0] * len(keys)
    successors: list[list[int]] = [[] for _ in keys]
    for (src, dst, _), alive in zip(constraints, live, strict=True):
        if alive:
            successors[src].append(dst)
            waiting_for[dst] += 1
    ready = [key for node, key in enumerate(keys) if not waiting_for[node]]
    heapq.heapify(ready)
    order = []
    while ready:
        node = heapq.heappop(ready)[2]
        order.append(node)
        for dst in successors[node]:
            waiting_for[dst] -= 1
            if not waiting_for[dst]:
                heapq.heappush(ready, keys[dst])
    return order


def _knots(n: int, constraints: Sequence[tuple[int, int, Evidence | None]], live: Sequence[bool]) -> list[int]:
    """The strongly connected component of each record (Tarjan 1972, with an explicit stack)."""
    successors: list[list[int]] = [[] for _ in range(n)]
    for (src, dst, _), alive in zip(constraints, live, strict=True):
        if alive:
            successors[src].append(dst)
    number, low, component = [-1] * n, [0] * n, [-1] * n
    open_nodes: list[int] = []
    counter = 0
    for root in range(n):
        if number[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            node, place = work.pop()
            if place == 0:
                number[node] = low[node] = counter
                counter += 1
                open_nodes.append(node)
            else:
                low[node] = min(low[node], low[successors[node][place - 1]])
            descended = False
            while place < len(successors[node]):
                dst = successors[node][place]
                place += 1
                if number[dst] < 0:
                    work += [(node, place), (dst, 0)]
                    descended = True
                    break
                if component[dst] < 0:
                    low[node] = min(low[node], number[dst])
            if not descended and low[node] == number[node]:
                _close(node, open_nodes, component)
    return component


def _close(node: int, open_nodes: list[int], component: list[int]) -> None:
    while True:
        member = open_nodes.pop()
        component[member] = node
        if member == node:
            return
