"""The event graph as arrays: who had a part in what, and what took longest.

Nodes are places in `trace.events`. Edges are the trace's edges and, inside each agent, every event to that agent's next
one in trace order. Parallel edges (two types between the same two events) are one. Everything here is linear in events
and edges and iterative: wide levels are numpy steps, thin ones (a chain is all thin) plain loops over the same memory.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrace.errors import TraceError
from orchestrace.trace.events import Trace

N = TypeVar("N", bound=np.integer[Any])

# Below this width a loop over single nodes is quicker than a handful of numpy calls.
_THIN = 24
_ONE = np.int32(1)  # of the array's own type: `ufunc.at` has a fast path for that alone


class Adjacency(NamedTuple):
    """Compressed sparse rows: the neighbours of node i are `indices[indptr[i]:indptr[i + 1]]`, ascending."""

    indptr: NDArray[np.int64]
    """[n + 1]"""
    indices: NDArray[np.int32]
    """[edges]"""

    def of(self, node: int) -> NDArray[np.int32]:
        """The neighbours of one node, ascending."""
        begun, end = self.indptr[node : node + 2].tolist()
        return self.indices[begun:end]

    def of_many(self, nodes: NDArray[Any]) -> NDArray[np.int32]:
        """The neighbours of each node in turn, one list after the other; a shared neighbour comes more than once."""
        starts: NDArray[np.int64] = self.indptr[nodes]
        counts = self.indptr[nodes + 1] - starts
        ends = counts.cumsum()
        n = int(ends[-1]) if ends.size else 0
        places: NDArray[np.int64] = np.arange(n) + np.repeat(starts - (ends - counts), counts)
        return self.indices[places]


class LongestPath(NamedTuple):
    """The path of the greatest total weight."""

    length: float
    """Sum of the weights of its nodes; 0 in an empty graph."""
    nodes: NDArray[np.int64]
    """From its first event to its last; empty only in an empty graph."""


class _Layers(NamedTuple):
    """Nodes by level."""

    order: NDArray[np.int32]
    """Nodes, level by level; fewer than n where a cycle holds the rest back."""
    bounds: NDArray[np.int64]
    """[levels + 1]: level l is order[bounds[l]:bounds[l + 1]]."""


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """A directed acyclic graph of events. Make one with `Graph.of` or `Graph.from_arrays`."""

    ids: tuple[str, ...]
    """Event ids by place; empty for a graph made from arrays."""
    index: Mapping[str, int]
    """Event id -> place."""
    successors: Adjacency
    predecessors: Adjacency

    def __post_init__(self) -> None:
        """A graph that exists has no cycle. Where every edge runs forward there is none to look for."""
        sources = np.repeat(np.arange(len(self)), np.diff(self.successors.indptr))
        if not (sources < self.successors.indices).all() and len(self._layers.order) < len(self):
            node = self._on_a_cycle()
            name = repr(self.ids[node]) if self.ids else str(node)
            place = f"$.events[{node}]"
            raise TraceError(f"event {name} is among its own causes: the edges form a cycle", place=place)

    @classmethod
    def of(cls, trace: Trace) -> "Graph":
        """The graph of a trace, with the order inside each agent.

        Raises:
          TraceError: an event id stands twice, an edge names an unknown event, or there is a cycle. A lawful trace has
            none of these.
        """
        ids = tuple(map(attrgetter("id"), trace.events))
        index = dict(zip(ids, range(len(ids)), strict=True))
        if len(index) < len(ids):
            place = next(place for place, name in enumerate(ids) if index[name] != place)
            raise TraceError(f"event id {ids[place]!r} stands twice", place=f"$.events[{place}].id")
        before, after = _order_inside_agents(trace)
        src = np.concatenate([_ends(trace, index, "src"), before])
        dst = np.concatenate([_ends(trace, index, "dst"), after])
        return cls(ids, index, *_adjacencies(len(ids), src, dst))

    @classmethod
    def from_arrays(cls, n: int, edges: ArrayLike) -> "Graph":
        """The graph of n nodes and exactly these edges.

        Args:
          n: number of nodes.
          edges: [2, m] integers: sources and destinations; an empty list for none.

        Raises:
          IndexError: an edge end is not in 0..n-1.
          TraceError: there is a cycle.
        """
        src, dst = np.asarray(edges, np.int64).reshape(2, -1)
        for ends in (src, dst):
            _check_inside(n, ends)
        return cls((), {}, *_adjacencies(n, src, dst))

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self.successors.indptr) - 1

    def __repr__(self) -> str:
        return f"Graph({len(self)} events, {len(self.successors.indices)} edges)"

    def ancestors(self, node: int) -> NDArray[np.int64]:
        """Every event that had a part in this one, ascending, without it."""
        return _reached(self.predecessors, self._inside([node]))

    def descendants(self, node: int) -> NDArray[np.int64]:
        """Every event that this one had a part in, ascending, without it."""
        return _reached(self.successors, self._inside([node]))

    def descendants_of_many(self, nodes: Collection[int] | NDArray[Any]) -> NDArray[np.int64]:
        """The union of their descendants, ascending: one of `nodes` is in it only where another had a part in it."""
        return _reached(self.successors, self._inside(nodes))

    def down_set(self, nodes: Collection[int] | NDArray[Any]) -> NDArray[np.int64]:
        """The smallest set with `nodes` and every cause of its members, ascending: a past that can stand alone."""
        inside = self._inside(nodes)
        return np.union1d(inside, _reached(self.predecessors, inside))

    def is_down_set(self, nodes: Collection[int] | NDArray[Any]) -> bool:
        """Whether every cause of a member is a member. The empty set is one."""
        inside = self._inside(nodes)
        member = np.zeros(len(self), np.bool_)
        member[inside] = True
        return bool(member[self.predecessors.of_many(inside)].all())

    def levels(self) -> NDArray[np.int64]:
        """[n] number of edges on the longest chain of causes behind each event; 0 where there is none."""
        levels = np.empty(len(self), np.int64)
        levels[self._layers.order] = np.repeat(np.arange(len(self._layers.bounds) - 1), np.diff(self._layers.bounds))
        return levels

    def longest_path(self, weights: ArrayLike) -> LongestPath:
        """The path whose nodes weigh most together.

            best(v) = weight(v) + max(0, max over causes u of best(u));     length = max over v of best(v)

        Of equal ends the earliest place is taken; walking back from it, of equal causes the earliest place, for as long
        as going on costs nothing. So with weights >= 0 the path begins at an event without a cause.

        Args:
          weights: [n] finite numbers, one a node, in any unit; they may be negative.
        """
        weight = np.asarray(weights, np.float64)
        if weight.shape != (len(self),):
            raise ValueError(f"weights have shape {weight.shape}, but the graph has {len(self)} events")
        if not np.isfinite(weight).all():
            place = int(np.flatnonzero(~np.isfinite(weight))[0])
            raise ValueError(f"weights[{place}] is {weight[place]}, expected a finite number")
        if not len(self):
            return LongestPath(0.0, np.empty(0, np.int64))
        best = np.empty(len(self))
        best[self._layers.order] = _best(weight[self._layers.order], self._layers.bounds, self._ranked)
        end = int(best.argmax())
        return LongestPath(float(best[end]), _walk_back(self.predecessors, best, end))

    @cached_property
    def _layers(self) -> _Layers:
        return _layers(self.successors, self.predecessors)

    @cached_property
    def _ranked(self) -> Adjacency:
        """The predecessors with nodes renamed by their rank in the layers, so that a level is one slice."""
        order = self._layers.order
        rank = np.empty(len(self), np.int32)
        rank[order] = np.arange(len(self), dtype=np.int32)
        counts = np.diff(self.predecessors.indptr)[order]
        return Adjacency(_offsets(counts), rank[self.predecessors.of_many(order)])

    def _on_a_cycle(self) -> int:
        stuck = np.ones(len(self), np.bool_)
        stuck[self._layers.order] = False
        # Each stuck node has a stuck cause: walking back among them must come round.
        node, seen = int(np.flatnonzero(stuck)[0]), set()
        while node not in seen:
            seen.add(node)
            causes = self.predecessors.of(node)
            node = int(causes[stuck[causes]][0])
        return node

    def _inside(self, nodes: Collection[int] | NDArray[Any]) -> NDArray[np.int64]:
        places = np.asarray(nodes if isinstance(nodes, np.ndarray) else list(nodes), np.int64)
        _check_inside(len(self), places)
        return places


def _check_inside(n: int, places: NDArray[np.int64]) -> None:
    outside = places[(places < 0) | (places >= n)]
    if outside.size:
        raise IndexError(f"node {outside[0]} is not in a graph of {n} events")


def _ends(trace: Trace, index: Mapping[str, int], end: str) -> NDArray[np.int64]:
    """[edges] places of one end of each edge."""
    try:
        return np.fromiter(map(index.__getitem__, map(attrgetter(end), trace.edges)), np.int64, len(trace.edges))
    except KeyError as missing:
        place = next(place for place, edge in enumerate(trace.edges) if getattr(edge, end) not in index)
        problem = f"there is no event {missing.args[0]!r}"
        raise TraceError(problem, place=f"$.edges[{place}].{end}") from None


def _order_inside_agents(trace: Trace) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each event and the next one of the same agent."""
    names = list(map(attrgetter("agent"), trace.events))
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    lane = np.fromiter(map(numbers.__getitem__, names), np.int64, len(names))
    order = _stable_order(lane, len(numbers))
    same = np.diff(lane[order]) == 0
    return order[:-1][same], order[1:][same]


def _stable_order(keys: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Places sorted by key, equal keys in their order; keys are below n. (16-bit keys have numpy use a radix sort.)"""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    if n > 1 << 16:
        order = order[np.argsort((keys[order] >> 16).astype(np.uint16), kind="stable")]
    return order


def _adjacencies(n: int, src: NDArray[np.int64], dst: NDArray[np.int64]) -> tuple[Adjacency, Adjacency]:
    """Successors and predecessors. One sort of (src, dst) packed in one number also brings doubles together."""
    bits = max(n - 1, 1).bit_length()
    packed = _distinct((src << bits) | dst)
    src, dst = packed >> bits, packed & ((1 << bits) - 1)
    successors = Adjacency(_offsets(np.bincount(src, minlength=n)), dst.astype(np.int32))
    by_dst = _stable_order(dst, n)
    return successors, Adjacency(_offsets(np.bincount(dst, minlength=n)), src[by_dst].astype(np.int32))


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), counts.cumsum()])


def _distinct(numbers: NDArray[N]) -> NDArray[N]:
    """Ascending, each once. (`np.unique` costs ten times as much on short arrays.)"""
    numbers = np.sort(numbers)
    first = np.ones(len(numbers), np.bool_)
    np.not_equal(numbers[1:], numbers[:-1], out=first[1:])
    return numbers[first]


def _reached(adjacency: Adjacency, seeds: NDArray[np.int64]) -> NDArray[np.int64]:
    """Every node that lies beyond one of the seeds, ascending."""
    seen = np.zeros(len(adjacency.indptr) - 1, np.bool_)
    frontier: NDArray[Any] = seeds
    while frontier.size:
        if frontier.size < _THIN:
            frontier = _reached_thin(adjacency, seen, frontier)
        else:
            following = adjacency.of_many(frontier)
            frontier = _distinct(following[~seen[following]])
            seen[frontier] = True
    return np.flatnonzero(seen)


def _reached_thin(adjacency: Adjacency, seen: NDArray[np.bool_], frontier: NDArray[np.int64]) -> NDArray[np.int64]:
    """Go on depth first until nothing is left or the frontier has become wide."""
    indptr, indices, marks = adjacency.indptr.data, adjacency.indices.data, seen.data
    stack: list[int] = frontier.tolist()
    while 0 < len(stack) < 2 * _THIN:
        node = stack.pop()
        for following in indices[indptr[node] : indptr[node + 1]].tolist():
            if not marks[following]:
                marks[following] = True
                stack.append(following)
    return np.array(stack, np.int64)


def _layers(successors: Adjacency, predecessors: Adjacency) -> _Layers:
    """Kahn's algorithm, a whole level at a time."""
    waiting_for = np.diff(predecessors.indptr).astype(np.int32)
    ready: NDArray[Any] = np.flatnonzero(waiting_for == 0)
    parts, bounds = [], [0]
    while ready.size:
        if ready.size < _THIN:
            part, ready = _peel_thin(successors, waiting_for, ready, bounds)
            parts.append(part)
            continue
        parts.append(ready.astype(np.int32))
        bounds.append(bounds[-1] + ready.size)
        following = successors.of_many(ready)
        np.subtract.at(waiting_for, following, _ONE)
        ready = _distinct(following[waiting_for[following] == 0])
    order = np.concatenate(parts) if parts else np.empty(0, np.int32)
    return _Layers(order, np.array(bounds, np.int64))


def _peel_thin(
    successors: Adjacency, waiting_for: NDArray[np.int32], ready: NDArray[np.int64], bounds: list[int]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Level after level node by node, until one is wide: the nodes peeled, and that level."""
    indptr, indices, waiting = successors.indptr.data, successors.indices.data, waiting_for.data
    peeled: list[int] = []
    begun = bounds[-1]
    level: list[int] = ready.tolist()
    while 0 < len(level) < _THIN:
        peeled += level
        bounds.append(begun + len(peeled))
        following_level = []
        for node in level:
            for following in indices[indptr[node] : indptr[node + 1]].tolist():
                left = waiting[following] - 1
                waiting[following] = left
                if not left:
                    following_level.append(following)
        level = following_level
    return np.array(peeled, np.int32), np.array(level, np.int64)


def _best(best: NDArray[np.float64], bounds: NDArray[np.int64], predecessors: Adjacency) -> NDArray[np.float64]:
    """[n] weight of the heaviest path that ends in each node, from the weights; everything by rank."""
    indptr, indices = predecessors
    starts = bounds.tolist()
    for first, last in _stretches(bounds):
        if starts[first + 1] - starts[first] < _THIN:
            _best_thin(best, range(starts[first], starts[last]), predecessors)
            continue
        for level in range(max(first, 1), last):
            lo, hi = starts[level], starts[level + 1]
            begun = indptr[lo]
            before = np.maximum.reduceat(best[indices[begun : indptr[hi]]], indptr[lo:hi] - begun)
            best[lo:hi] += np.maximum(before, 0.0)
    return best


def _stretches(bounds: NDArray[np.int64]) -> Iterable[tuple[int, int]]:
    """Runs [first, last) of levels that are all thin or all wide."""
    thin = np.diff(bounds) < _THIN
    turns = [0, *(np.flatnonzero(thin[1:] != thin[:-1]) + 1).tolist(), len(thin)]
    return pairwise(turns)


def _best_thin(best: NDArray[np.float64], ranks: range, predecessors: Adjacency) -> None:
    indptr = predecessors.indptr[ranks.start : ranks.stop + 1].tolist()
    values: Any = best.data
    begun = first = indptr[0]
    causes = predecessors.indices[first : indptr[-1]].tolist()
    for rank, end in zip(ranks, indptr[1:], strict=True):
        top = 0.0
        for cause in causes[begun - first : end - first]:
            if values[cause] > top:
                top = values[cause]
        values[rank] += top
        begun = end


def _walk_back(predecessors: Adjacency, best: NDArray[np.float64], end: int) -> NDArray[np.int64]:
    indptr, indices = predecessors.indptr.data, predecessors.indices.data
    values: Any = best.data
    node, path = end, [end]
    while causes := indices[indptr[node] : indptr[node + 1]].tolist():
        node = causes[0]
        for cause in causes:
            if values[cause] > values[node]:
                node = cause
        if values[node] < 0:
            break
        path.append(node)
    return np.array(path[::-1], np.int64)
