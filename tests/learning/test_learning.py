"""Each algorithm solves the smallest problems that prove learning, for three seeds, in seconds."""

import pytest

from architecture.source import ROOT
from orchestrace.training import load, parse
from orchestrace.training.loop import train

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


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mode", ["q-lambda", "gradient", "snell"])
def test_stop_credit_in_all_its_modes(tmp_path, mode, seed):
    """Voters of unknown competence, judged greedily: each mode finds nearly the optimal stop."""
    text = f"""
        env = {{name = "unknown-voters", max_votes = 20, c = 0.01}}
        algorithm = "stop"
        seed = {seed}
        updates = 100
        [stop]
        mode = "{mode}"
        [rollouts]
        episodes = 64
        [policy]
        hidden = 32
        [optimiser]
        rate = 0.01
        [eval]
        episodes = 100
        every = 100
    """
    result = train(parse(text), tmp_path / "run", clock=lambda: 0.0)
    assert result.greedy_gap_closed >= 0.95


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
