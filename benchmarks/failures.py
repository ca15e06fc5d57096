"""The failures that the field reports, reproduced and mended: writes docs/failures.md and docs/pictures/*.png.

    python benchmarks/failures.py [--seeds 3] [--only serial-collapse,...]

Each is an experiment with a known optimum: what goes wrong, a picture, a sentence with its figures, and the fix that
works. Recipes are in recipes/failures. Means over seeds; bands are the range over seeds.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from orchestrace.credit import grpo, rows
from orchestrace.credit.methods.agents import dr_mas
from orchestrace.envs import by_name
from orchestrace.training import load, parse, run_state
from orchestrace.training.credit_quality import CONTENDERS, sampled
from orchestrace.training.learner import Trainee, counted, tensor
from orchestrace.training.loop import train, trained
from orchestrace.training.losses import entropy, policy_gradient_loss
from orchestrace.training.rollouts import collected
from orchestrace.training.stack import stack

ROOT = Path(__file__).resolve().parents[1]
RECIPES, PICTURES = ROOT / "recipes" / "failures", ROOT / "docs" / "pictures"
LENGTHS = (4, 8, 16, 32, 60)


def run(recipe, look):
    """Train in a folder that is thrown away; returns the rows of the curve and what `look` makes of the policy."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder) / "run"
        train(recipe, where, clock=time.monotonic)
        curve = [json.loads(line) for line in (where / "curve.jsonl").read_text().splitlines()]
        return curve, look(trained(where))


def value_of(policy):
    """Exact value of the first setting."""
    return policy.envs[0].exact_value(policy.tables[0])


def trials(name, seeds, overrides=()):
    """Curves and values of a recipe in recipes/failures."""
    found = [run(load(RECIPES / f"{name}.toml", [f"seed={s}", *overrides]), value_of) for s in range(seeds)]
    return [curve for curve, _ in found], [value for _, value in found]


def picture(name, title, series, *, x, y, log=False):
    """A PNG of lines with bands; series: {label: (xs, [ys of each seed])}."""
    figure = Figure(figsize=(8, 4), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    for (label, (xs, ys)), dash in zip(series.items(), ("-", "--", "-.", ":", (0, (5, 1))), strict=False):
        ys = np.atleast_2d(ys)
        (line,) = axes.plot(xs, ys.mean(axis=0), label=label, linestyle=dash)
        axes.fill_between(xs, ys.min(axis=0), ys.max(axis=0), alpha=0.15, color=line.get_color())
    axes.set(title=title, xlabel=x, ylabel=y)
    if log:
        axes.set(xscale="log", yscale="log")
    axes.grid(visible=True, alpha=0.3)
    axes.legend(fontsize="small")
    PICTURES.mkdir(parents=True, exist_ok=True)
    figure.savefig(PICTURES / f"{name}.png", metadata={"Software": None})


def told(curves, key):
    """(updates, [values of each seed]) of a figure; the row before the first update has none."""
    rows_ = [[row for row in curve if key in row] for curve in curves]
    return [row["update"] for row in rows_[0]], [[row[key] for row in curve] for curve in rows_]


def spread(values):
    """`0.400 (0.400 to 0.401)`."""
    return f"{np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def serial_collapse(seeds):
    best = by_name("briefing").optimal_value()
    early, bad = trials("serial-collapse", seeds)
    late, good = trials("briefing-annealed", seeds)
    series = {"gone at 5% of the updates": told(early, "delegation_rate"), "at 60%": told(late, "delegation_rate")}
    picture("serial-collapse", "Episodes that delegate", series, x="updates", y="share of episodes")
    return (
        f"With auxiliaries gone at 5% of the updates the orchestrator works alone and is worth {spread(bad)}; the "
        f"optimum is {best:.3f}.",
        f"Annealed at 60%, the same learner is worth {spread(good)}.",
    )


def farmed_parallelism(seeds):
    best = by_name("briefing").optimal_value()
    farmed, bad = trials("farmed-parallelism", seeds)
    late, good = trials("briefing-annealed", seeds)
    series = {"never annealed": told(farmed, "spawn_rate"), "annealed": told(late, "spawn_rate")}
    picture("farmed-parallelism", "Agents started in an episode", series, x="updates", y="agents")
    size = np.mean([curve[-1]["spawn_rate"] for curve in farmed])
    return (
        f"With λ₁ never annealed {size:.1f} agents are started every time, whatever the task, and the outcome is "
        f"{spread(bad)} of {best:.3f}.",
        f"Annealed, it is {spread(good)}.",
    )


def must_delegate(seeds):
    forced, bad = trials("must-delegate", seeds)
    free, good = trials("briefing-annealed", seeds)
    series = {"must delegate": told(forced, "delegation_rate"), "may act itself": told(free, "delegation_rate")}
    picture("must-delegate", "Episodes that delegate", series, x="updates", y="share of episodes")
    first, last = (np.mean([curve[i]["delegation_rate"] for curve in forced]) for i in (1, -1))
    return (
        f"Without direct tools {first:.2f} of the episodes delegate at first and {last:.2f} at last: nothing tells the "
        f"orchestrator what to delegate, so it answers at once and is worth {spread(bad)}.",
        f"With the direct tools back, it looks, then delegates, and is worth {spread(good)}.",
    )


class OwnResult(Trainee):
    """REINFORCE that credits each decision with its own reward and nothing that came after."""

    def advance(self, moment, rng):
        batch = self.played(rng)
        mean = (batch.rewards * batch.taken).sum(axis=1) / np.maximum(batch.taken.sum(axis=1), 1)
        credit = (batch.rewards - mean[:, None])[batch.taken]
        cells, actions = tensor(batch.cells[batch.taken]), tensor(batch.actions[batch.taken])
        logprobs = self.answer(cells).logprobs
        advantages = tensor(credit / (credit.std() + 1e-8))
        loss = policy_gradient_loss(logprobs.gather(1, actions[:, None])[:, 0], advantages)
        self.descend(loss - moment.entropy_weight * entropy(logprobs).mean(), moment)
        return counted(batch, {})


def dominance(policy):
    """Mean share of an episode's jobs that its most used agent got, over 4,000 episodes."""
    env, table = policy.envs[0], policy.tables[0]
    batch = collected(
        stack([env]), lambda cells: table[cells], episodes=4000, horizon=100, rng=np.random.default_rng(0)
    )
    counts = np.stack([((batch.actions == a) & batch.taken).sum(axis=0) for a in range(len(env.actions))])
    return float((counts.max(axis=0) / batch.taken.sum(axis=0)).mean())


def one_dominant_agent(seeds):
    text = """
        env = {name = "bandit", agents = 3, tasks = 10}
        algorithm = "ppo"
        updates = 100
        [policy]
        kind = "per-action"
        [rollouts]
        episodes = 512
        grade = "outcome"
        [eval]
        episodes = 1000
    """
    shipped, found = run_state.ALGORITHMS, {}
    begin = {"own result only": lambda r, s, *, generator: OwnResult(r, s, generator=generator), "GAE": shipped["ppo"]}
    try:
        for label, kind in begin.items():
            run_state.ALGORITHMS = {**shipped, "ppo": kind}
            more = ["updates=300"] if kind is not shipped["ppo"] else []  # one step an update, against sixteen
            recipes = [parse(text, [f"seed={seed}", *more]) for seed in range(seeds)]
            found[label] = [run(recipe, lambda policy: (value_of(policy), dominance(policy))) for recipe in recipes]
    finally:
        run_state.ALGORITHMS = shipped
    series = {}
    for label, runs in found.items():
        xs, ys = told([curve for curve, _ in runs], "gap_closed")
        series[label] = ([x / xs[-1] for x in xs], [[gap["bandit"] for gap in row] for row in ys])
    picture("one-dominant-agent", "Gap closed", series, x="share of the updates", y="gap closed")
    env = by_name("bandit", {"agents": 3, "tasks": 10})
    judged = [[each for _, each in runs] for runs in found.values()]
    (own, alone), (after, shared) = (zip(*each, strict=True) for each in judged)
    return (
        f"Credited with its own result only, every job goes to whoever did well first: {np.mean(alone):.2f} of an "
        f"episode's jobs to one agent, worth {spread(own)}. Greedy is {env.baselines()['greedy']:.3f}, the optimum "
        f"{env.optimal_value():.3f}.",
        f"With what comes after in the credit (GAE), trying the others pays: {np.mean(shared):.2f} to one agent, worth "
        f"{spread(after)}.",
    )


def over_communication(seeds):
    text = """
        env = {name = "message-length", price = PRICE}
        algorithm = "reinforce"
        updates = 200
        [policy]
        kind = "tabular"
        [rollouts]
        episodes = 512
        [optimiser]
        rate = 0.05
        [eval]
        episodes = 1000
    """
    env, found = by_name("message-length", {"price": 0.02}), {}

    def judged(policy):
        table = policy.tables[0]  # one number a state and action: it can be judged at another price
        return env.exact_value(table), float((env.starts @ table) @ np.arange(len(env.actions)))

    for label, price in (("the price is forgotten", 0.0), ("the price is in the reward", 0.02)):
        recipes = [parse(text.replace("PRICE", str(price)), [f"seed={seed}"]) for seed in range(seeds)]
        found[label] = [run(recipe, judged) for recipe in recipes]
    lengths = {label: [bits for _, (_, bits) in runs] for label, runs in found.items()}
    series = {label: (range(seeds), [bits]) for label, bits in lengths.items()}
    best = sum(env.starts[s] * env.optimal_action(s) for s in range(len(env.starts)))
    series["optimum"] = (range(seeds), [[best] * seeds])
    picture("over-communication", "Bits of a report at the end of training", series, x="seed", y="bits")
    (long, kept) = ([value for _, (value, _) in runs] for runs in list(found.values()))
    forgot, minded = (np.mean(bits) for bits in lengths.values())
    return (
        f"Where the reward forgets that bits cost {env.settings['price']:g}, reports have {forgot:.1f} of at most 6 "
        f"bits; at the true price that is worth {spread(long)}; the optimum is {env.optimal_value():.3f} ({best:.1f}).",
        f"With the price in the reward reports have {minded:.1f} bits and are worth {spread(kept)}.",
    )


def credit_diffusion(seeds):
    methods = {
        "shared outcome": "rloo",
        "leave-one-out": "leave-one-out",
        "Shapley": "shapley",
        "stop credit": "stop-credit",
    }
    ratios = {label: np.zeros((seeds, len(LENGTHS))) for label in methods}
    for i, most in enumerate(LENGTHS):
        env = by_name("unknown-voters", {"max_votes": most, "c": 0.002})
        ask = env.legal()[:, 1]
        policy = np.column_stack([np.where(ask, 2 / most, 1.0), np.where(ask, 1 - 2 / most, 0.0)])
        for seed in range(seeds):
            sample = sampled(env, policy, episodes=1000, rng=np.random.default_rng(seed))
            truth = sample.truth[sample.chosen]
            for label, method in methods.items():
                credit = CONTENDERS[method].credit(sample, np.random.default_rng(seed)).values[sample.chosen]
                explained = np.corrcoef(credit, truth)[0, 1] ** 2
                ratios[label][seed, i] = explained / (1 - explained)
    series = {label: (LENGTHS, found) for label, found in ratios.items()}
    picture("credit-diffusion", "Signal to noise of a decision's credit", series, x="horizon T", y="SNR", log=True)
    kept = ratios["stop credit"].mean(axis=0)[-1] / ratios["shared outcome"].mean(axis=0)[-1]
    first, last = (
        ", ".join(f"{label} {found.mean(axis=0)[i]:.4f}" for label, found in ratios.items()) for i in (0, -1)
    )
    return (
        f"Signal to noise (explained over unexplained variance of the true advantage) at T = {LENGTHS[0]}: {first}; at "
        f"T = {LENGTHS[-1]}: {last}. What is shared diffuses with the length of the trace.",
        "Stop credit, which knows the stop's value at every prefix and fits only the rest, falls as well, but at "
        f"T = {LENGTHS[-1]} it still has {kept:.0f} times the signal to noise of the shared outcome.",
    )


def statistics_across_agents(seeds):
    offsets, share = (0.0, 0.5, 1.0, 2.0, 4.0), 0.1
    found = {"one baseline for all agents": [], "theory": [], "each agent its own (Dr. MAS)": []}
    for seed in range(seeds):
        rng, sizes = np.random.default_rng(seed), []
        for offset in offsets:
            agent = (rng.random(20_000) < share).astype(int)
            given = rows(rng.normal(size=20_000) + offset * agent, agent=agent)
            rare = agent == 1
            mean, std = share * offset, np.sqrt(1 + share * (1 - share) * offset**2)
            sizes.append([np.mean(method(given).values[rare] ** 2) for method in (grpo, dr_mas)])
            sizes[-1].insert(1, (1 + (offset - mean) ** 2) / std**2)
        for label, column in zip(found, np.array(sizes).T, strict=True):
            found[label].append(column)
    series = {label: (offsets, ys) for label, ys in found.items()}
    picture("statistics-across-agents", "Mean squared advantage of the rare agent", series,
            x="its mean reward less the others', in standard deviations", y="E[A²]")  # fmt: skip
    at = {label: np.mean([column[-1] for column in ys]) for label, ys in found.items()}
    return (
        f"An agent with a tenth of the rows and rewards {offsets[-1]:g} standard deviations higher has a mean squared "
        f"advantage of {at['one baseline for all agents']:.2f} under one baseline (theory {at['theory']:.2f}): its "
        "gradient is inflated as much, by a constant push that says nothing of its choices.",
        f"With each agent its own mean and deviation it is {at['each agent its own (Dr. MAS)']:.2f}.",
    )


EXPERIMENTS = {
    "serial-collapse": ("Serial collapse: auxiliaries that go too early", serial_collapse),
    "farmed-parallelism": ("Farmed parallelism: auxiliaries that never go", farmed_parallelism),
    "must-delegate": ("An orchestrator that must delegate", must_delegate),
    "one-dominant-agent": ("One dominant agent", one_dominant_agent),
    "over-communication": ("Over-communication under a length-blind reward", over_communication),
    "credit-diffusion": ("Credit diffuses with the length of the trace", credit_diffusion),
    "statistics-across-agents": ("Statistics across agents", statistics_across_agents),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    lines = [
        "# Failures that the field reports, and what mends them", "",
        f"Written by `python benchmarks/failures.py --seeds {given.seeds}`. The optima are known; values are "
        "exact, as mean and range over seeds. `briefing` is the smallest environment in which orchestrators collapse; "
        "its recipes are in `recipes/failures`.", "",
    ]  # fmt: skip
    for name, (title, experiment) in EXPERIMENTS.items():
        if given.only and name not in given.only.split(","):
            continue
        wrong, mended = experiment(given.seeds)
        lines += [f"## {title}", "", f"![{title}](pictures/{name}.png)", "", wrong, "", f"**Fix.** {mended}", ""]
        print(f"{title}\n  {wrong}\n  {mended}", flush=True)
    if not given.only:
        (ROOT / "docs" / "failures.md").write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
