"""Every credit method against the true advantage of each decision: writes docs/credit-quality.md.

    python benchmarks/credit_quality.py [--seeds 10] [--episodes 256]

The same as `orchestrace eval --credit --env NAME`, on one environment of each room. Who plays takes an optimal action
half of the time and else any legal one; methods are given the outcome.
"""

import argparse
from pathlib import Path

from orchestrace.envs import by_name, optimal_policy
from orchestrace.training.credit_quality import CONTENDERS, compared

ROOT = Path(__file__).resolve().parents[1]
PLAYED = {
    "unknown-voters": {}, "sequential-voting": {}, "batch-voting": {}, "pandora": {"boxes": 4}, "repair": {},
    "cascade": {}, "bandit": {"agents": 3, "tasks": 10}, "stages": {}, "what-to-include": {}, "reporting": {},
    "briefing": {}, "inquiry": {"contexts": 4},
}  # fmt: skip
RERUNS = ("c3-1", "c3-8", "c3-32", "leave-one-out", "shapley")


def mixed(env):
    """An optimal action half of the time, else any legal one."""
    legal = env.legal().astype(float)
    return 0.5 * legal / legal.sum(axis=1, keepdims=True) + 0.5 * optimal_policy(env)


def shown(value, digits=2):
    return "–" if value is None else f"{value:.{digits}f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--episodes", type=int, default=256)
    given = parser.parse_args()
    found = {}
    for name, settings in PLAYED.items():
        env = by_name(name, settings)
        found[name] = compared(env, mixed(env), name="mixed", episodes=given.episodes, seeds=given.seeds)
        print(name, {row.method: shown(row.spearman) for row in found[name].methods}, flush=True)
    lines = [
        "# Credit, with the truth known", "",
        f"Written by `python benchmarks/credit_quality.py --seeds {given.seeds} --episodes {given.episodes}`. One "
        "environment: `orchestrace eval --credit --env NAME`.", "",
        "In these environments the advantage of every decision is exact, Q(s, a) − V(s) of the policy that played. "
        "Each method is given the episodes' outcomes and says what each decision earned; the tables say how well that "
        "agrees with the truth. Methods in plain type need no call of a model beyond the episodes themselves; those in "
        "bold re-run the team. Values and action values that a method needs are estimated from the other half of the "
        "episodes.", "",
        *table(found, "Rank correlation with the truth (Spearman)", lambda row: shown(row.spearman)),
        *table(found, "Variance of the truth explained, after the best scale", lambda row: shown(row.explained)),
        *table(found, "Mean squared error over the variance of the truth (1: as good as saying nothing)", error(found)),
        *table(found, "Model calls for each decision, its own included", lambda row: shown(row.calls_per_decision, 1)),
        *intervals(found),
    ]  # fmt: skip
    (ROOT / "docs" / "credit-quality.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


def error(found):
    """MSE in units of the truth's variance, of the environment that is being told."""
    by_row = {id(row): comparison.truth_std**2 for comparison in found.values() for row in comparison.methods}
    return lambda row: shown(row.mse / by_row[id(row)])


def table(found, title, cell):
    """One figure: a row a method, a column an environment."""
    lines = [f"## {title}", "", "| method | " + " | ".join(found) + " |", "|---" * (len(found) + 1) + "|"]
    for method in [m for m in CONTENDERS if m not in RERUNS] + list(RERUNS):
        rows = [{row.method: row for row in comparison.methods}.get(method) for comparison in found.values()]
        name = f"**{method}**" if method in RERUNS else method
        lines.append(f"| {name} | " + " | ".join("" if row is None else cell(row) for row in rows) + " |")
    return [*lines, ""]


def intervals(found):
    """The 95% intervals of the rank correlations."""
    lines = ["## 95% intervals of the rank correlation, bootstrap over seeds", ""]
    for name, comparison in found.items():
        said = ", ".join(
            f"{row.method} {row.spearman_ci[0]:.2f} to {row.spearman_ci[1]:.2f}"
            for row in comparison.methods if row.spearman_ci is not None
        )  # fmt: skip
        lines += [f"- {name} ({comparison.decisions:,.0f} decisions a seed): {said}."]
    return lines


if __name__ == "__main__":
    main()
