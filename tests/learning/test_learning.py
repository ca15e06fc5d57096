"""Each algorithm solves the smallest problems that prove learning, for three seeds, in seconds."""

import numpy as np
import pytest

from architecture.source import ROOT
from orchestrace.training import load, parse
from orchestrace.training.loop import train, trained

SEEDS = (0, 1, 2)
ALGORITHMS = ("anchor-tb", "dpo", "grpo", "parl", "ppo", "reinforce", "rlhf", "stop")

UPDATES = {"anchor-tb": 200, "dpo": 150, "reinforce": 300, "rlhf": 60}
"""Where one update learns less than PPO's sixteen steps."""
BANDIT_UPDATES = {"anchor-tb": 200, "rlhf": 100}


def gap(tmp_path, recipe):
    result = train(recipe, tmp_path / "run", clock=lambda: 0.0)
    assert not result.alarm
    closed = result.exact_gap_closed
    return min(closed.values()) if isinstance(closed, dict) else closed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name != "dpo"])
def test_spawn_or_not_is_a_bandit(tmp_path, algorithm, seed):
    """One voter at most and a dear round: ask once or never. The optimum asks."""
    text = f"""
        env = {{name = "batch-voting", max_batch = 1, cr = 0.05, ct = 0.04}}
        algorithm = "{algorithm}"
        seed = {seed}
        updates = {BANDIT_UPDATES.get(algorithm, 60)}
        [rollouts]
        episodes = 256
        [policy]
        hidden = 16
        [optimiser]
        rate = 0.01
        [eval]
        episodes = 100
        every = 60
    """
    assert gap(tmp_path, parse(text)) >= 0.95


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_when_to_stop_asking(tmp_path, algorithm, seed):
    updates = UPDATES.get(algorithm, 40)  # one step an update, against sixteen
    overrides = [f"algorithm={algorithm}", f"seed={seed}", f"updates={updates}", "eval.episodes=100"]
    overrides += ["optimiser.rate=0.01"] if algorithm == "anchor-tb" else []
    assert gap(tmp_path, load(ROOT / "recipes" / "sequential-voting.toml", overrides)) >= 0.95


@pytest.mark.parametrize("seed", SEEDS)
def test_preferences_find_the_best_team_size(tmp_path, seed):
    """What wins a pair is what has the higher mean where returns are certain: E1a, one step, five task sizes."""
    text = f"""
        env = {{name = "split", max_agents = 12}}
        algorithm = "dpo"
        seed = {seed}
        updates = 100
        [rollouts]
        episodes = 512
        [exploration]
        entropy = 0.1
        [eval]
        episodes = 100
        every = 100
    """
    assert gap(tmp_path, parse(text)) >= 0.9


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("flavour", ["dr-grpo", "dapo", "gspo", "srpo"])
def test_every_flavour_of_grpo_learns_when_to_stop(tmp_path, flavour, seed):
    overrides = ["algorithm=grpo", f"grpo.flavour={flavour}", f"seed={seed}", "updates=60", "eval.episodes=100"]
    assert gap(tmp_path, load(ROOT / "recipes" / "sequential-voting.toml", overrides)) >= 0.95


STOPPING = {
    "sequential-voting": ('"sequential-voting"', 40),
    "unknown-voters": ('{name = "unknown-voters", max_votes = 20}', 20),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", ["q-lambda", "gradient", "snell"])
@pytest.mark.parametrize("env", STOPPING)
def test_stop_credit_finds_when_to_stop(tmp_path, env, mode, seed):
    """No stop is ever sampled, in any mode."""
    table, horizon = STOPPING[env]
    text = f"""
        env = {table}
        algorithm = "stop"
        seed = {seed}
        updates = 40
        rollouts = {{episodes = 64, horizon = {horizon + 1}}}
        policy = {{hidden = 32}}
        optimiser = {{rate = 0.01}}
        stop = {{mode = "{mode}", average = 0.8}}
        eval = {{episodes = 100, every = 40}}
    """
    assert gap(tmp_path, parse(text)) >= 0.95


PRICES = 25


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_the_claim_on_stopping(tmp_path, seed):
    """One policy for every price of unknown voters, judged at prices that it was not trained at."""
    train(load(ROOT / "recipes" / "stop-voting.toml", [f"seed={seed}", "eval.episodes=100"]), tmp_path / "run",
          clock=lambda: 0.0)  # fmt: skip
    done = trained(tmp_path / "run")
    assert len(done.envs) == PRICES
    values = np.array([env.exact_value(table) for env, table in zip(done.envs, done.tables, strict=True)])
    best = np.array([env.optimal_value() for env in done.envs])
    threshold = np.array([env.baselines()["tuned-threshold"] for env in done.envs])
    assert (values >= 0.995 * best).all()
    assert (values >= threshold - 1e-4).all()
    assert (values > threshold)[threshold < best - 1e-9].all()
    for c in (0.002, 0.01, 0.03):
        alone = trained(tmp_path / "run", {"c": c})
        assert alone.envs[0].exact_value(alone.tables[0]) >= 0.997 * alone.envs[0].optimal_value()
    twice = trained(tmp_path / "run", {"max_votes": 80})
    assert all(e.exact_value(t) >= 0.995 * e.optimal_value() for e, t in zip(twice.envs, twice.tables, strict=True))


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
def test_the_claim_on_boxes(tmp_path, seed):
    """On instances that it was not trained on, of as many boxes and of twice as many, against Weitzman's value.

    Twice as many lie outside of what it saw: .985 to .995 is what comes over, above every rule of thumb (.980).
    """
    train(load(ROOT / "recipes" / "stop-pandora.toml", [f"seed={seed}", "eval.episodes=100"]), tmp_path / "run",
          clock=lambda: 0.0)  # fmt: skip
    for overrides, least in (({}, 0.995), ({"boxes": 8, "instances": 20}, 0.985)):
        done = trained(tmp_path / "run", overrides)
        value = sum(env.exact_value(table) for env, table in zip(done.envs, done.tables, strict=True))
        assert value >= least * sum(env.optimal_value() for env in done.envs)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_team_that_is_kept_going_until_it_pays(tmp_path, seed):
    """PARL: with auxiliaries annealed late enough the briefing is learned; without, the orchestrator works alone."""
    text = f"""
        env = {{name = "briefing", types = 4, max_agents = 4}}
        algorithm = "parl"
        seed = {seed}
        updates = 120
        [parl]
        parallel = 0.6
        cap = 4
        [rollouts]
        episodes = 256
        grade = "outcome"
        [policy]
        kind = "tabular"
        [optimiser]
        rate = 0.03
        [eval]
        episodes = 100
        every = 120
    """
    assert gap(tmp_path / "annealed", parse(text)) >= 0.95
    alone = parse(text, ["parl.parallel=0", "parl.finish=0", "env.types=8"])
    assert gap(tmp_path / "without", alone) < 0.6


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("recipe", ["batch-voting", "batch-voting-reinforce"])
def test_the_shipped_recipes_reach_the_goal(tmp_path, recipe, seed):
    """Gap closed of one price-conditioned policy at its worst of three price settings; V_null is stopping at once."""
    recipe = load(ROOT / "recipes" / f"{recipe}.toml", [f"seed={seed}", "eval.episodes=1000"])
    assert gap(tmp_path, recipe) >= 0.97
