"""Index, longest path and descendants at a million events, beside rustworkx and networkx, all in one run.

    python benchmarks/graph.py [--events N] [--edges M] [--repeats R] [--skip networkx] [--json]

Every library gets the same nodes, edges and node weights, and must give the same longest path length. Events without a
cause weigh nothing, because rustworkx and networkx put weights on edges (here: the weight of the edge's destination).
Times are medians of R runs, each on a fresh graph; networkx runs once. "longest" includes whatever order a library has
to find first. The descendants are those of the event that stands at one hundredth of the trace.
"""

import argparse
import gc
import json
import platform
import sys
from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import rustworkx as rx
from synthetic import team_trace

from orchestrace.trace import Trace, violations
from orchestrace.trace.graph import Graph


class Shape(NamedTuple):
    name: str
    n: int
    src: np.ndarray
    dst: np.ndarray
    weights: np.ndarray
    trace: Trace | None = None


class Times(NamedTuple):
    shape: str
    library: str
    index_s: float
    longest_s: float
    descendants_s: float
    length: float
    n_descendants: int
    repeats: int


def shapes(n: int, m: int) -> Iterator[Shape]:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, n, (2, m))
    ends = ends[:, ends[0] != ends[1]]
    yield _shape("random", n, ends.min(axis=0), ends.max(axis=0), rng)
    name = rng.permutation(n)
    yield _shape("random, names shuffled", n, name[ends.min(axis=0)], name[ends.max(axis=0)], rng)
    near = rng.integers(0, n - 400, m)
    yield _shape("random, near", n, near, near + rng.integers(1, 400, m), rng)
    yield _shape("chain", n, np.arange(n - 1), np.arange(1, n), rng)
    trace = team_trace(n, m)
    if n <= 10_000 and (broken := violations(trace)):
        raise SystemExit(f"the synthetic team breaks a law: {broken[0]}")
    rows = Graph.of(trace).successors
    src = np.repeat(np.arange(n), np.diff(rows.indptr))
    yield _shape("team", n, src, rows.indices.astype(np.int64), rng)._replace(trace=trace)


def _shape(name: str, n: int, src: np.ndarray, dst: np.ndarray, rng: np.random.Generator) -> Shape:
    # Whole numbers: sums are exact in any order, so lengths can be compared with ==.
    weights = rng.integers(1, 1_000, n).astype(float)
    weights[np.bincount(dst, minlength=n) == 0] = 0.0
    return Shape(name, n, src, dst, weights)


def ours(shape: Shape) -> Callable[[], tuple[Any, ...]]:
    edges = np.stack([shape.src, shape.dst])

    def run() -> tuple[Any, ...]:
        graph, index_s = _timed(
            lambda: Graph.of(shape.trace) if shape.trace is not None else Graph.from_arrays(shape.n, edges)
        )
        path, longest_s = _timed(lambda: graph.longest_path(shape.weights))
        beyond, descendants_s = _timed(lambda: graph.descendants(shape.n // 100))
        return index_s, longest_s, descendants_s, path.length, len(beyond)

    return run


def rustworkx(shape: Shape) -> Callable[[], tuple[Any, ...]]:
    rows = list(zip(shape.src.tolist(), shape.dst.tolist(), shape.weights[shape.dst].tolist(), strict=True))

    def build() -> Any:
        graph = rx.PyDiGraph()
        graph.add_nodes_from(range(shape.n))
        graph.add_edges_from(rows)
        return graph

    def run() -> tuple[Any, ...]:
        graph, index_s = _timed(build)
        path, longest_s = _timed(lambda: rx.dag_weighted_longest_path(graph, lambda _src, _dst, weight: weight))
        beyond, descendants_s = _timed(lambda: rx.descendants(graph, shape.n // 100))
        return index_s, longest_s, descendants_s, shape.weights[list(path)].sum(), len(beyond)

    return run


def networkx(shape: Shape) -> Callable[[], tuple[Any, ...]]:
    rows = list(zip(shape.src.tolist(), shape.dst.tolist(), shape.weights[shape.dst].tolist(), strict=True))

    def build() -> Any:
        graph = nx.DiGraph()
        graph.add_nodes_from(range(shape.n))
        graph.add_weighted_edges_from(rows)
        return graph

    def run() -> tuple[Any, ...]:
        graph, index_s = _timed(build)
        path, longest_s = _timed(lambda: nx.dag_longest_path(graph))
        beyond, descendants_s = _timed(lambda: nx.descendants(graph, shape.n // 100))
        return index_s, longest_s, descendants_s, shape.weights[path].sum(), len(beyond)

    return run


LIBRARIES = {"orchestrace": ours, "rustworkx": rustworkx, "networkx": networkx}


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    begun = perf_counter()
    result = work()
    return result, perf_counter() - begun


def measured(shape: Shape, library: str, repeats: int) -> Times:
    run = LIBRARIES[library](shape)
    runs = []
    for _ in range(repeats):
        gc.collect()
        runs.append(run())
    index_s, longest_s, descendants_s = (median(run[column] for run in runs) for column in range(3))
    return Times(shape.name, library, index_s, longest_s, descendants_s, float(runs[0][3]), runs[0][4], repeats)


def table(results: list[Times]) -> str:
    lines = [
        f"{'shape':24}{'library':14}{'index s':>9}{'longest s':>11}{'descend. s':>12}   longest path beside orchestrace"
    ]
    for row in results:
        own = next(other for other in results if other.shape == row.shape and other.library == "orchestrace")
        alone, built = row.longest_s / own.longest_s, (row.index_s + row.longest_s) / (own.index_s + own.longest_s)
        beside = "" if row is own else f"{alone:8.1f}x, with the index {built:.1f}x"
        lines.append(
            f"{row.shape:24}{row.library:14}{row.index_s:9.3f}{row.longest_s:11.3f}{row.descendants_s:12.4f}   {beside}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, help="default: twice the events")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--skip", action="append", default=[], choices=["rustworkx", "networkx"])
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    given = parser.parse_args()
    if given.events < 1_000:
        parser.error("--events: at least 1000")
    n_edges = given.edges if given.edges is not None else 2 * given.events
    results: list[Times] = []
    for shape in shapes(given.events, n_edges):
        for library in LIBRARIES:
            if library in given.skip:
                continue
            results.append(measured(shape, library, 1 if library == "networkx" else given.repeats))
            own = next(row for row in results if row.shape == shape.name)
            if (results[-1].length, results[-1].n_descendants) != (own.length, own.n_descendants):
                raise SystemExit(f"{library} gives another answer on {shape.name!r}: {results[-1]}, ours {own}")
            print(f"{shape.name}: {library} done", file=sys.stderr)
    if given.json:
        versions = {"numpy": np.__version__, "rustworkx": rx.__version__, "networkx": nx.__version__}
        machine = {"python": platform.python_version(), "machine": platform.machine(), **versions}
        rows = [row._asdict() for row in results]
        print(json.dumps({"events": given.events, "edges": n_edges, **machine, "results": rows}, indent=2))
    else:
        print(f"{given.events:,} events, {n_edges:,} edges given (the team's lanes add their order)")
        print(table(results))


if __name__ == "__main__":
    main()
