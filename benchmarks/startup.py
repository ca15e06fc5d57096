"""Whole-process times: `orchestrace --help` (goal: under 150 ms), `report` on a session (goal: under 1 s for 0.7 MB).

python benchmarks/startup.py [SESSION]: without a session, the one that ships with the package.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 9
SHIPPED = Path(__file__).resolve().parents[1] / "src" / "orchestrace" / "cli" / "demo_session"
ENTRY = "from orchestrace.cli.main import main; main()"


def seconds(*words: str) -> list[float]:
    """Wall seconds of each run of a command, the first (a warm-up) left out."""
    taken = []
    for _ in range(RUNS + 1):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", ENTRY, *words], check=True, capture_output=True)
        taken.append(time.perf_counter() - began)
    return taken[1:]


def main() -> None:
    """Print the medians, and bare `python -c pass` beside them."""
    session = Path(sys.argv[1]) if len(sys.argv) > 1 else SHIPPED
    megabytes = sum(path.stat().st_size for path in [session, *session.rglob("*")] if path.is_file()) / 1e6
    rows = {"--help": seconds("--help"), f"report ({megabytes:.1f} MB)": seconds("report", str(session))}
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    bare = time.perf_counter() - began
    print(f"{'':<24}{'median s':>10}{'best s':>10}   (python -c pass: {bare:.3f} s)")
    for name, taken in rows.items():
        print(f"{name:<24}{statistics.median(taken):>10.3f}{min(taken):>10.3f}")
    if "--json" in sys.argv:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
