"""The stop decision, measured: `python benchmarks/stop.py [--seeds 3] [--quick]` writes docs/stop.md.

Every value is exact, by dynamic programming through the greedy policy; no simulation is in it, except in the
certificates, which are made of fresh episodes. Ratios are V / V*. Seconds are processor time of one thread, evaluation
left out.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from orchestrace.envs import by_name, policy_values
from orchestrace.training import load
from orchestrace.training._torch import torch
from orchestrace.training.certificates import certificate
from orchestrace.training.evaluation import greedy
from orchestrace.training.learner import Trainee, counted, tensor
from orchestrace.training.losses import entropy
from orchestrace.training.policies import View
from orchestrace.training.recipe import grid_values
from orchestrace.training.run_state import advance, started
from orchestrace.training.stack import environments, stack

ROOT = Path(__file__).resolve().parents[1]
NAMED = (0.002, 0.01, 0.03)
MARKS = (0.99, 0.995, 0.997)
POINTS = 30
"""Evaluations of a run."""
SHORT = 1e-4
"""Closer to the tuned threshold is not below it."""


class Puppeteer(Trainee):
    """A terminator in the softmax that pays a step cost, by REINFORCE without a baseline (arXiv 2505.19591, its code).

        C(t) = 0.1 ln(1 + (t + 1) / (T + 1)) / ln 2,     r_t = -price C(t),     r_T = R ± 0.5 C(T),     G_t = r_t + 0.99 G_t+1

    The price is scaled so that a whole episode of asking costs what it costs in the environment. Departures: actions
    are drawn, not taken by a threshold; batches of the same size and the entropy bonus of our recipe, not one episode
    and a bonus of weight 1, which leaves the policy near uniform.
    """  # noqa: E501

    def advance(self, moment, rng):
        batch = self.played(rng)
        T, most = len(batch.taken), int(self.stack.envs[0].settings["max_votes"])
        steps = 0.1 * np.log1p((np.arange(max(T, most + 1)) + 1) / (most + 1)) / np.log(2)
        price = np.array([env.settings["c"] for env in self.stack.envs])[batch.settings] * most / steps[:most].sum()
        last = batch.taken & (batch.actions == self.view.stops[batch.cells])
        solved = np.where(batch.rewards > 0, 0.5, -0.5) * steps[:T, None]
        paid = np.where(last, batch.rewards + solved, -price * steps[:T, None]) * batch.taken
        returns, ahead = np.zeros(paid.shape), np.zeros(paid.shape[1])
        for t in reversed(range(T)):
            ahead = paid[t] + 0.99 * ahead
            returns[t] = ahead
        cells, actions = tensor(batch.cells[batch.taken]), tensor(batch.actions[batch.taken])
        logprobs = self.answer(cells).logprobs
        loss = -(tensor(returns[batch.taken]) * logprobs.gather(1, actions[:, None])[:, 0]).mean()
        self.descend(loss - moment.entropy_weight * entropy(logprobs).mean(), moment)
        return counted(batch, {"policy_loss": loss.item()})


class Point(NamedTuple):
    """A run at one evaluation."""

    decisions: int
    seconds: float
    ratios: np.ndarray
    """[n] V / V* of the greedy policy in each setting judged."""


class Trial(NamedTuple):
    """A run that is over."""

    points: list
    learner: object
    sampled: np.ndarray
    """[n] V / V* of the last policy as it samples; of Q(λ) the same as the greedy one."""


def trial(recipe, judged, *, learner=None):
    """Train, and judge in these environments as it goes; `learner` begins another algorithm than the recipe's."""
    torch.set_num_threads(1)
    grade, arena = recipe.rollouts.grade, stack(judged)
    view, best = View(arena), np.array([env.optimal_value() for env in judged])
    began = time.process_time()
    run = started(recipe, stack(environments(recipe, grade=grade), grade=grade), arena)
    if learner is not None:
        run.learner = learner(recipe, run.stack, generator=torch.Generator().manual_seed(recipe.seed))
    spent, points, every = time.process_time() - began, [], max(1, recipe.updates // POINTS)
    while run.update < recipe.updates:
        began = time.process_time()
        advance(run)
        spent += time.process_time() - began
        if run.update % every == 0 or run.update == recipe.updates:
            tables = arena.tables(run.learner.judged(view))
            values = [env.exact_value(greedy(table)) for env, table in zip(judged, tables, strict=True)]
            points.append(Point(run.decisions, spent, np.array(values) / best))
    values = [env.exact_value(table) for env, table in zip(judged, tables, strict=True)]
    return Trial(points, run.learner, np.array(values) / best)


def voting(prices, **more):
    return tuple(by_name("unknown-voters", {"c": c, **more}) for c in prices)


def stays(points, mark, count):
    """The first point from which the lowest of the first `count` ratios never falls below the mark again."""
    low = [point.ratios[:count].min() >= mark for point in points]
    first = next((i for i in range(len(low)) if all(low[i:])), None)
    return None if first is None else points[first]


def reached(trials, mark, count):
    """`decisions / seconds` of the slowest seed, and how many seeds got there if not all did."""
    found = [stays(t.points, mark, count) for t in trials]
    there = [point for point in found if point]
    if not there:
        return "never"
    text = f"{max(p.decisions for p in there) / 1e6:.2f} M / {max(p.seconds for p in there):.0f} s"
    return text if len(there) == len(found) else f"{text} ({len(there)} of {len(found)})"


class Known(NamedTuple):
    """What is known at the prices judged."""

    prices: tuple
    """[n]"""
    judged: tuple
    """[n + 3] environments: the grid, then NAMED."""
    best: np.ndarray
    """[n + 3] V*"""
    threshold: np.ndarray
    """[n] V / V* of the tuned threshold."""


def row(name, ratios, known, sampled=None):
    """The worst seed in each column; `ratios` and `sampled` [seeds, n + 3]."""
    prices, n = known.prices, len(known.prices)
    grid = ratios[:, :n]
    lowest = grid.min(axis=1)
    at = prices[int(grid[lowest.argmin()].argmin())]
    short = (grid - known.threshold) * known.best[:n]
    below = int((short < -SHORT).sum(axis=1).max())
    named = " | ".join(f"{ratios[:, n + i].min():.4f}" for i in range(len(NAMED)))
    lows = f"{lowest.min():.4f}" if len(lowest) == 1 else f"{lowest.min():.4f} to {lowest.max():.4f}"
    drawn = "-" if sampled is None else f"{sampled[:, :n].min():.4f}"
    return f"| {name} | {named} | {lows} | {at:.4g} | {drawn} | {short.min():+.4f} | {below} |"


HAND_MADE = {
    "fixed N, best at each price": "best-fixed-n",
    "Adaptive-Consistency": "adaptive-consistency",
    "threshold, tuned at each price": "tuned-threshold",
}
METHODS = {
    "REINFORCE, outcome only": ("stop-voting-reinforce", [], None),
    "Puppeteer-style terminator": ("stop-voting-reinforce", [], Puppeteer),
    "PPO": ("stop-voting-ppo", [], None),
    "gradient of both arms": ("stop-voting-gradient", [], None),
    "Snell": ("stop-voting-gradient", ["stop.mode=snell"], None),
    "Q(λ), cut": ("stop-voting", [], None),
}


def known_prices():
    prices = grid_values(load(ROOT / "recipes" / "stop-voting.toml").eval.grid["c"])
    judged = voting((*prices, *NAMED))
    best = np.array([env.optimal_value() for env in judged])
    threshold = np.array([env.baselines()["tuned-threshold"] for env in judged[: len(prices)]])
    return Known(prices, judged, best, threshold / best[: len(prices)])


def trials_of(name, known, *, seeds, quick):
    file, overrides, learner = METHODS[name]
    fewer = ["updates=20"] if quick else []
    recipes = [load(ROOT / "recipes" / f"{file}.toml", [*overrides, *fewer, f"seed={seed}"]) for seed in range(seeds)]
    return [trial(recipe, known.judged, learner=learner) for recipe in recipes]


def voting_section(known, *, seeds, quick):
    """The table of methods, and the trials of Q(λ)."""
    n, lines, trials = len(known.prices), [], []
    for label, name in HAND_MADE.items():
        ratios = np.array([env.baselines()[name] for env in known.judged]) / known.best
        lines.append(row(label, ratios[None], known) + " - | - | - | - |")
    for name in METHODS:
        trials = trials_of(name, known, seeds=seeds, quick=quick)
        marks = " | ".join(reached(trials, mark, n) for mark in MARKS)
        total = max(t.points[-1].seconds for t in trials)
        last, sampled = np.stack([t.points[-1].ratios for t in trials]), np.stack([t.sampled for t in trials])
        lines.append(row(name, last, known, sampled) + f" {marks} | {total:.0f} |")
        print(lines[-1], flush=True)
    beatable = known.threshold < 1 - 1e-9
    above = min(int((t.points[-1].ratios[:n] > known.threshold)[beatable].sum()) for t in trials)  # the last is Q(λ)
    head = [
        "| method | .002 | .01 | .03 | min over 25 prices | at c | min as sampled | worst V − V(threshold) "
        "| prices below it |" + "".join(f" ≥ {mark:g} to stay |" for mark in MARKS) + " s in all |",
        "|---" * 13 + "|",
    ]  # fmt: skip
    note = (
        f"Q(λ) is strictly above the tuned threshold at {above} of the {int(beatable.sum())} prices at which that "
        f"threshold is not itself optimal (the fewest of the seeds)."
    )
    return [*head, *lines, "", note], trials


def values_of(learner, view):
    """[C] max(r, Q) as a Q(λ) learner has them now."""
    arms = learner.arms(view, gains=learner.average)
    return np.maximum(arms.stop, arms.best)


def horizon_section(trials, prices):
    lines = ["| most votes N | min over 25 prices | at c | E5d tuned threshold, its min |", "|---|---|---|---|"]
    for most in (20, 40, 80):
        judged = voting(prices, max_votes=most)
        best = np.array([env.optimal_value() for env in judged])
        arena = stack(judged)
        ratios = []
        for t in trials:
            tables = arena.tables(t.learner.judged(View(arena)))
            ratios.append([env.exact_value(table) for env, table in zip(judged, tables, strict=True)] / best)
        lowest = np.min(ratios, axis=1)
        at = prices[int(np.argmin(ratios[int(np.argmin(lowest))]))]
        hand = (np.array([env.baselines()["tuned-threshold"] for env in judged]) / best).min()
        lines.append(f"| {most} | {lowest.min():.4f} to {lowest.max():.4f} | {at:.4g} | {hand:.4f} |")
    return lines


def certificate_section(trials, episodes):
    lines = [
        "| c | V* | policy, exact | V in the martingale | low | high | surely at least |",
        "|---|---|---|---|---|---|---|",
    ]
    judged = voting(NAMED)
    arena = stack(judged)
    view, learner = View(arena), trials[0].learner
    tables = arena.tables(learner.judged(view))
    learned = np.split(values_of(learner, view), arena.first[1:])
    for i, env in enumerate(judged):
        exact = env.exact_value(tables[i])
        ways = {"the policy's own": {}, "learned": {"values": learned[i]}, "its own, 64 draws": {"draws": 64}}
        for label, how in ways.items():
            found = certificate(env, tables[i], episodes=episodes, rng=np.random.default_rng([7, i]), **how)
            low, high = found.low, found.high
            lines.append(
                f"| {NAMED[i]} | {env.optimal_value():.5f} | {exact:.5f} | {label} | {low.value:.5f} ± "
                f"{1.96 * low.std_error:.5f} | {high.value:.5f} ± {1.96 * high.std_error:.5f} | {found.at_least:.4f} |"
            )
    return lines


def bootstrap(values, best, rng, resamples=2000):
    """95% interval of the sum of values over the sum of optima, instances drawn again."""
    drawn = rng.integers(0, len(values), (resamples, len(values)))
    low, high = np.quantile(values[drawn].sum(axis=1) / best[drawn].sum(axis=1), [0.025, 0.975])
    return f"{values.sum() / best.sum():.4f} ({low:.4f} to {high:.4f})"


def groups_of_boxes(quick):
    """Environments that nothing was trained on; each start is one instance."""
    few = 10 if quick else 40
    return {
        "1 to 4 boxes": tuple(by_name("pandora", {"seed": 1_000 + i, "instances": 100}) for i in range(4)),
        "exactly 4": tuple(by_name("pandora", {"seed": 10_000 + i}) for i in range(200)),
        "1 to 8": tuple(by_name("pandora", {"seed": 1_000 + i, "boxes": 8, "instances": 20}) for i in range(4)),
        "exactly 8": tuple(by_name("pandora", {"seed": 20_000 + i, "boxes": 8}) for i in range(few)),
    }


def by_instance(envs, values):
    """Values of the starts, all environments together; values: a table of the values of states for each."""
    return np.concatenate([v[env.starts > 0] for env, v in zip(envs, values, strict=True)])


def pandora_section(seeds, quick):
    fewer = ["updates=20"] if quick else []
    groups = groups_of_boxes(quick)
    best = {n: by_instance(envs, [env.solution.values for env in envs]) for n, envs in groups.items()}
    heads = [f"{n}: {len(best[n])} instances" for n in groups]
    lines = ["| method | " + " | ".join(heads) + " | s in all |", "|---" * (len(groups) + 2) + "|"]
    for name in groups["exactly 4"][0].baselines():
        ratios = [sum(env.baselines()[name] for env in envs) / sum(env.optimal_value() for env in envs)
                  for envs in groups.values()]  # fmt: skip
        lines.append(f"| {name} | " + " | ".join(f"{ratio:.4f}" for ratio in ratios) + " | - |")
    for seed in range(seeds):
        recipe = load(ROOT / "recipes" / "stop-pandora.toml", [f"seed={seed}", *fewer])
        done = trial(recipe, groups["exactly 4"][:1])
        cells = []
        for n, envs in groups.items():
            judged = [policy_values(env.process, done.learner.judged(View(stack([env])))) for env in envs]
            cells.append(bootstrap(by_instance(envs, judged), best[n], np.random.default_rng(0)))
        lines.append(f"| Q(λ), seed {seed} | " + " | ".join(cells) + f" | {done.points[-1].seconds:.0f} |")
        print(lines[-1], flush=True)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few updates: does it run?")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "stop.md")
    words = parser.parse_args()
    known = known_prices()
    table, trials = voting_section(known, seeds=words.seeds, quick=words.quick)
    parts = [
        "# When to stop", "", f"Written by `python benchmarks/stop.py --seeds {words.seeds}`.",
        *(__doc__ or "").split("\n\n")[1].strip().splitlines(), "",
        "## One policy for every price", "",
        "Voters of unknown quality (E5d), at most 40 votes. One price-conditioned policy for c in [.001, .05], judged "
        "at 25 prices spaced evenly in log c; the prices trained on are others. Of the seeds, each column shows the "
        "worst. *To stay*: the first evaluation from which the minimum over the prices never falls below the mark "
        "again: decisions and seconds of the slowest seed.", "",
        *table, "", "## Other horizons", "", "The policies of Q(λ), trained at N = 40, judged elsewhere:", "",
        *horizon_section(trials, known.prices), "", "## Certificates", "",
        "What can be said of the policy of seed 0 without knowing V*, beside V*. ± is 1.96 standard errors.", "",
        *certificate_section(trials, 2_000 if words.quick else 20_000), "", "## Boxes", "",
        "Weitzman's boxes (E5a), drawn at random; trained on instances of one to four boxes, judged on others. The sum "
        "of the values over the sum of the optima; 95% intervals by bootstrap over instances.", "",
        *pandora_section(words.seeds, words.quick),
    ]  # fmt: skip
    words.out.write_text("\n".join(parts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
