"""Credit arithmetic beside its peers, each with the same input in one run.

    python benchmarks/credit.py [--repeats R] [--only groups|gae|shapley|kernel]

- groups: GRPO and RLOO on 1,000,000 rows in groups of 8, beside verl's own functions for the same estimators.
- gae: 10,000 x 512, beside verl's function and the loop in TRL's PPO trainer, run from the installed source as it is.
- shapley: exact values from a vector of 2^n coalition values.
- kernel: root mean square error of KernelSHAP at equal numbers of evaluations, beside the shapiq package.

Peers are run where they are installed (`pip install --no-deps verl "trl<0.20" shapiq` and what they then ask for, in an
environment of their own); one that is missing is said to be. Times are medians of R runs. Results must agree.
"""

import argparse
import ast
import importlib.util
import textwrap
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from orchestrace import credit

ROWS, GROUP = 1_000_000, 8
EPISODES, STEPS = 10_000, 512


def timed(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    work()
    seconds = []
    for _ in range(repeats):
        begun = perf_counter()
        result = work()
        seconds.append(perf_counter() - begun)
    return median(seconds), result


def line(name: str, who: str, seconds: float, beside: float | None = None) -> None:
    ratio = "" if beside is None else f"{beside and seconds / beside:8.1f}x ours"
    print(f"{name:28} {who:12} {seconds:10.4f} s {ratio}", flush=True)


def missing(package: str) -> bool:
    absent = importlib.util.find_spec(package) is None
    if absent:
        print(f"{'':28} {package:12} not installed")
    return absent


def groups(repeats: int) -> None:
    rng = np.random.default_rng(0)
    rewards = rng.random(ROWS)
    task = np.repeat(np.arange(ROWS // GROUP), GROUP)
    table = credit.rows(rewards, task=task)
    peers: dict[str, Callable[[], Any]] = {}
    if not missing("verl"):
        import torch
        from verl.trainer.ppo import core_algos as verl

        tokens = torch.from_numpy(rewards).float()[:, None]
        mask = torch.ones_like(tokens)
        index = task.astype(str)
        peers = {
            "grpo": lambda: verl.compute_grpo_outcome_advantage(tokens, mask, index)[0],
            "grpo, vectorised": lambda: verl.compute_grpo_vectorized_outcome_advantage(tokens, mask, index)[0],
            "rloo": lambda: verl.compute_rloo_outcome_advantage(tokens, mask, index)[0],
            "rloo, vectorised": lambda: verl.compute_rloo_vectorized_outcome_advantage(tokens, mask, index)[0],
        }
    for name, method in (("grpo", credit.grpo), ("rloo", credit.rloo)):
        ours, result = timed(lambda method=method: method(table), repeats)
        line(f"{name}, {ROWS:,} rows", "orchestrace", ours)
        for peer, work in peers.items():
            if peer.startswith(name):
                theirs, other = timed(work, 1)
                worst = float(np.abs(other.numpy()[:, 0] - result.values).max())
                line(f"{peer}, {ROWS:,} rows", "verl", theirs, ours)
                print(f"{'':28} largest difference {worst:.1e}")


def gae(repeats: int) -> None:
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(2, EPISODES, STEPS))
    ours, result = timed(lambda: credit.gae(rewards, values, discount=1.0, lam=0.95).values, repeats)
    line(f"gae, {EPISODES:,} x {STEPS}", "orchestrace", ours)
    if not missing("verl"):
        import torch
        from verl.trainer.ppo import core_algos as verl

        r, v, mask = torch.from_numpy(rewards), torch.from_numpy(values), torch.ones(EPISODES, STEPS)
        theirs, _ = timed(lambda: verl.compute_gae_advantage_return(r, v, mask, torch.tensor(1.0), 0.95), repeats)
        line(f"gae, {EPISODES:,} x {STEPS}", "verl", theirs, ours)
    if not missing("trl"):
        theirs, other = timed(trl_gae(rewards, values, discount=1.0, lam=0.95), repeats)
        line(f"gae, {EPISODES:,} x {STEPS}", "trl", theirs, ours)
        print(f"{'':28} largest difference {np.abs(other - result).max():.1e}")


def trl_gae(rewards: np.ndarray, values: np.ndarray, *, discount: float, lam: float) -> Callable[[], np.ndarray]:
    """The lines of TRL's PPO trainer from `lastgaelam = 0` to its stack, as installed."""
    import torch

    spec = importlib.util.find_spec("trl")
    source = (Path(spec.origin).parent / "trainer" / "ppo_trainer.py").read_text(encoding="utf-8")
    lines = source.splitlines()
    begun = next(i for i, text in enumerate(lines) if text.strip() == "lastgaelam = 0")
    end = next(i for i, text in enumerate(lines[begun:], begun) if text.strip().startswith("advantages = torch.stack"))
    code = compile(ast.parse(textwrap.dedent("\n".join(lines[begun : end + 1]))), "trl", "exec")
    r, v = torch.from_numpy(rewards), torch.from_numpy(values)

    class Args:
        gamma = discount

    Args.lam = lam

    def run() -> np.ndarray:
        scope = {"torch": torch, "rewards": r, "values": v, "responses": r, "args": Args}
        exec(code, scope)  # noqa: S102 (the installed lines, run as they are)
        return scope["advantages"].numpy()

    return run


def shapley(repeats: int) -> None:
    rng = np.random.default_rng(0)
    for n, goal in ((16, 0.1), (20, 3.0)):
        values = rng.random(1 << n)
        seconds, _ = timed(lambda values=values: credit.shapley_value(values), repeats)
        line(f"exact Shapley, n = {n}", "orchestrace", seconds)
        print(f"{'':28} goal {goal} s")


def kernel(repeats: int) -> None:
    """Root mean square errors over games, relative to the mean size of a share; `repeats` times ten games each."""
    alone = missing("shapiq")
    for kind, game in (("threshold", threshold), ("30 interactions", interactions)):
        for n, budgets in ((8, (64, 128, 200)), (12, (256, 1024)), (16, (400, 2000))):
            for budget in budgets:
                errors: dict[str, list[float]] = {}
                for seed in range(10 * repeats):
                    rng = np.random.default_rng([n, seed])
                    value = game(n, rng)
                    v = value((np.arange(1 << n)[:, None] >> np.arange(n) & 1).astype(bool))
                    exact = credit.shapley_value(v).values
                    found = {
                        "orchestrace": credit.kernel_shapley(
                            value, n, budget=budget, rng=rng, ends=(v[0], v[-1])
                        ).values
                    }
                    if not alone:
                        found |= {
                            f"shapiq{', paired' * pair}": shapiq_kernel(value, n, budget, seed, pair) for pair in (0, 1)
                        }
                    for who, shares in found.items():
                        errors.setdefault(who, []).append(((shares - exact) ** 2).mean() / np.abs(exact).mean() ** 2)
                shown = "   ".join(f"{who} {np.mean(error) ** 0.5:.3f}" for who, error in errors.items())
                print(f"{kind}, n = {n}, {budget} evaluations: {shown}", flush=True)


def threshold(n: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    weights = rng.uniform(0.2, 1, n)
    return lambda inside: 1 / (1 + np.exp(-6 * (inside @ weights / weights.sum() - 0.6)))


def interactions(n: int, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    groups = np.array([rng.permutation(n) < rng.integers(1, n + 1) for _ in range(30)], float)
    gains = rng.normal(size=30)
    return lambda inside: (inside.astype(float) @ groups.T == groups.sum(axis=1)) @ gains


def shapiq_kernel(value: Callable[..., Any], n: int, budget: int, seed: int, pair: int) -> np.ndarray:
    """Its budget counts v(∅) and v(N) too."""
    import shapiq

    found = shapiq.KernelSHAP(n, pairing_trick=bool(pair), random_state=seed).approximate(budget + 2, value)
    return found.get_n_order_values(1)


MAIN = {"groups": groups, "gae": gae, "shapley": shapley, "kernel": kernel}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=MAIN)
    given = parser.parse_args()
    for name, work in MAIN.items():
        if given.only in (None, name):
            work(given.repeats)


if __name__ == "__main__":
    main()
