"""Train every recipe with several seeds and write docs/results.md: `python benchmarks/learning.py [--seeds 5]`.

The figure is the exact gap closed by the final policy as it samples, (V - V_null) / (V* - V_null), where V_null is the
best constant policy; no simulation is in it. Over seeds: mean, worst, and a 95% interval of the mean by Student's t.
"""

import argparse
import math
import statistics
import tempfile
import time
from pathlib import Path

from orchestrace.training import load
from orchestrace.training.loop import train

ROOT = Path(__file__).resolve().parents[1]
T_95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""Two-sided, by number of seeds."""


def by_setting(value, name):
    return value if isinstance(value, dict) else {name: value}


def results(path, seeds):
    """(closed, greedy, baselines) by setting: lists over seeds, and seconds."""
    closed, greedy, seconds, last = {}, {}, [], None
    for seed in range(seeds):
        recipe = load(path, [f"seed={seed}"])
        with tempfile.TemporaryDirectory() as folder:
            last = train(recipe, Path(folder) / "run", clock=time.monotonic)
        seconds.append(last.seconds)
        for setting, gap in by_setting(last.exact_gap_closed, last.env).items():
            closed.setdefault(setting, []).append(gap)
        for setting, gap in by_setting(last.greedy_gap_closed, last.env).items():
            greedy.setdefault(setting, []).append(gap)
    return closed, greedy, seconds, last


def interval(values):
    half = T_95[len(values)] * statistics.stdev(values) / math.sqrt(len(values))
    return f"{statistics.mean(values):.4f} ± {half:.4f}"


def best_baseline(last, setting, name):
    null, best = by_setting(last.null_value, name)[setting], by_setting(last.optimum, name)[setting]
    gaps = {}
    for baseline, value in last.baselines.items():
        gaps[baseline] = (by_setting(value, name)[setting] - null) / (best - null)
    return ", ".join(f"{baseline} {gap:.3f}" for baseline, gap in sorted(gaps.items(), key=lambda i: -i[1])[:3])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, choices=sorted(T_95))
    seeds = parser.parse_args().seeds
    lines = [
        "# Learning results", "",
        f"Written by `python benchmarks/learning.py --seeds {seeds}`: seeds 0 to {seeds - 1}, one thread, CPU.", "",
        *(__doc__ or "").split("\n\n")[1].strip().splitlines(), "",
        "| recipe | setting | gap closed, 95% interval of the mean | worst | greedy | best hand-made | s a run |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for path in sorted((ROOT / "recipes").glob("*.toml")):
        if path.stem.startswith("stop-"):
            continue  # benchmarks/stop.py
        closed, greedy, seconds, last = results(path, seeds)
        for setting, gaps in closed.items():
            lines.append(
                f"| {path.stem} | {setting} | {interval(gaps)} | {min(gaps):.4f} | {min(greedy[setting]):.4f} "
                f"| {best_baseline(last, setting, last.env)} | {statistics.median(seconds):.0f} |"
            )
            print(lines[-1], flush=True)
    (ROOT / "docs" / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
