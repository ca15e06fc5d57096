"""Each algorithm solves the smallest problems that prove learning, for three seeds, in seconds."""

import pytest

from architecture.source import ROOT
from orchestrace.training import load, parse
from orchestrace.training.loop import train

SEEDS = (0, 1, 2)
ALGORITHMS = ("ppo", "reinforce")


def gap(tmp_path, recipe):
    result = train(recipe, tmp_path / "run", clock=lambda: 0.0)
    assert not result.alarm
    closed = result.exact_gap_closed
    return min(closed.values()) if isinstance(closed, dict) else closed


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_spawn_or_not_is_a_bandit(tmp_path, algorithm, seed):
    """One voter at most and a dear round: ask once or never. The optimum asks."""
    text = f"""
        env = {{name = "batch-voting", max_batch = 1, cr = 0.05, ct = 0.04}}
        algorithm = "{algorithm}"
        seed = {seed}
        updates = 60
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
    updates = {"ppo": 60, "reinforce": 300}[algorithm]  # one step an update, against sixteen
    overrides = [f"algorithm={algorithm}", f"seed={seed}", f"updates={updates}", "eval.episodes=100"]
    assert gap(tmp_path, load(ROOT / "recipes" / "sequential-voting.toml", overrides)) >= 0.95


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("recipe", ["batch-voting", "batch-voting-reinforce"])
def test_the_shipped_recipes_reach_the_goal(tmp_path, recipe, seed):
    """Gap closed of one price-conditioned policy at its worst of three price settings; V_null is stopping at once."""
    recipe = load(ROOT / "recipes" / f"{recipe}.toml", [f"seed={seed}", "eval.episodes=1000"])
    assert gap(tmp_path, recipe) >= 0.97
