"""Encode and decode a million events and two million edges, each in a process of its own, with its peak memory.

    python benchmarks/codec.py [--events N] [--edges M] [--repeats R] [--json]

Decoders read the same bytes: ours (validated structs), msgspec and json without a schema, orjson where it is installed.
Times are medians of R runs in one fresh process; the peak is that process's largest resident set, the bytes included.
"""

import argparse
import gc
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import msgspec
from synthetic import team_trace

from orchestrace.trace import decode, digest, encode, violations


def job(name: str, data: bytes) -> Callable[[], Any]:
    """What is timed; its preparation is not."""
    if name in ("encode", "digest", "violations"):
        trace = decode(data)
        work: Callable[[Any], Any] = {"encode": encode, "digest": digest, "violations": violations}[name]
        return lambda: work(trace)
    if name == "orjson":
        return lambda: __import__("orjson").loads(data)
    read: Callable[[Any], Any] = {"decode": decode, "msgspec untyped": msgspec.json.decode, "json": json.loads}[name]
    return lambda: read(data)


def run_child(name: str, path: str, repeats: int) -> None:
    work = job(name, Path(path).read_bytes())
    seconds = []
    for _ in range(repeats):
        gc.collect()
        begun = perf_counter()
        result = work()
        seconds.append(perf_counter() - begun)
        del result
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(json.dumps({"name": name, "seconds": median(seconds), "best_s": min(seconds), "peak_bytes": peak}))


def measured(name: str, path: Path, repeats: int) -> dict[str, Any]:
    command = [sys.executable, os.fspath(Path(__file__)), "--child", name, "--file", str(path)]
    done = subprocess.run([*command, "--repeats", str(repeats)], check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, help="default: twice the events")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        run_child(given.child, given.file, given.repeats)
        return
    if given.events < 10:
        parser.error("--events: at least 10")
    n_edges = given.edges if given.edges is not None else 2 * given.events
    names = ["decode", "msgspec untyped", "json", "encode", "digest", "violations"]
    if importlib.util.find_spec("orjson"):
        names.insert(2, "orjson")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        path.write_bytes(encode(team_trace(given.events, n_edges)))
        size = path.stat().st_size
        results = []
        for name in names:
            results.append(measured(name, path, given.repeats))
            print(f"{name} done", file=sys.stderr)
    if given.json:
        print(json.dumps({"events": given.events, "edges": n_edges, "bytes": size, "results": results}, indent=2))
        return
    print(f"{given.events:,} events, {n_edges:,} edges, {size / 1e6:.0f} MB")
    print(f"{'':18}{'seconds':>9}{'best':>9}{'events/s':>13}{'MB/s':>8}{'peak MB':>9}")
    for row in results:
        rate, speed = given.events / row["seconds"], size / 1e6 / row["seconds"]
        peak = row["peak_bytes"] / 1e6
        print(f"{row['name']:18}{row['seconds']:9.2f}{row['best_s']:9.2f}{rate:13,.0f}{speed:8.0f}{peak:9.0f}")


if __name__ == "__main__":
    main()
