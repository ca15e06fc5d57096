"""Team algorithms: each solves small games by hand-known optima, and QMIX what VDN cannot."""

import numpy as np
import pytest
import torch

from learning.games import MATCHING, context_game, matrix_game, two_step_game
from orchestrace.credit import Mixer as MixerNumbers
from orchestrace.credit import mixed_values
from orchestrace.envs import by_name, optimal_policy
from orchestrace.errors import RecipeError
from orchestrace.testing.envs import check_env
from orchestrace.training import parse
from orchestrace.training.algorithms.qmix import WIDTH, Mixer
from orchestrace.training.loop import train
from orchestrace.training.run_state import started
from orchestrace.training.stack import environments, stack

SEEDS = (0, 1, 2)
TEXT = """
env = "game"
updates = 100
[rollouts]
episodes = 256
[policy]
hidden = 32
[optimiser]
rate = 0.01
[eval]
episodes = 100
every = 100
"""
ALGORITHMS = {
    "mappo": ("algorithm=mappo",),
    "ippo": ("algorithm=mappo", "mappo.critic=own"),
    "coma": ("algorithm=coma",),
    "qmix": ("algorithm=qmix",),
    "vdn": ("algorithm=qmix", "qmix.mixer=vdn"),
    "maddpg": ("algorithm=maddpg", "optimiser.rate=0.003", "exploration.entropy=0.1"),
}


def value(tmp_path, env, overrides):
    make = lambda name, settings, *, grade: env  # noqa: E731
    recipe = parse(TEXT, overrides, make_env=make)
    return train(recipe, tmp_path / "run", clock=lambda: 0.0, make_env=make)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_team_learns_to_match(tmp_path, name, seed):
    found = value(tmp_path, matrix_game(MATCHING), [*ALGORITHMS[name], f"seed={seed}"])
    assert found.greedy_value == pytest.approx(1.0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_team_does_what_the_context_asks_for(tmp_path, name, seed):
    found = value(tmp_path, context_game(), [*ALGORITHMS[name], f"seed={seed}"])
    assert found.greedy_value == pytest.approx(1.6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("mixer", "best"), [("vdn", 0.7), ("qmix", 0.8)])
def test_qmix_solves_the_two_step_game_and_vdn_cannot(tmp_path, mixer, best, seed):
    """Rashid et al. 2018, table 1, in tenths, under uniform exploration: sums cannot say that 2B has an 8."""
    overrides = ["algorithm=qmix", f"qmix.mixer={mixer}", "qmix.explore_end=1.0", "updates=200", f"seed={seed}"]
    assert value(tmp_path, two_step_game(), overrides).greedy_value == pytest.approx(best)


def test_the_games_are_environments():
    for env in (matrix_game(MATCHING), context_game(), two_step_game()):
        check_env(env, np.random.default_rng(0), episodes=500, traces=20)


def test_mixing_is_that_of_the_numpy_twin_and_monotone():
    generator = torch.Generator().manual_seed(0)
    mixer = Mixer(agents=3, features=4, sums=False, generator=generator)
    features, values = torch.randn(5, 4, generator=generator), torch.randn(5, 3, generator=generator)
    inner, bias, outer = (mixer.get_submodule(name)(features).detach() for name in ("inner", "inner_bias", "outer"))
    numbers = MixerNumbers(inner.view(5, 3, WIDTH), bias, outer, mixer.state(features).detach().squeeze(-1))
    twin = mixed_values(values.numpy(), MixerNumbers(*(np.asarray(part) for part in numbers)))
    np.testing.assert_allclose(mixer(values, features).detach().numpy(), twin.totals, atol=1e-5)
    values.requires_grad_()
    mixer(values, features).sum().backward()
    np.testing.assert_allclose(values.grad.numpy(), twin.slopes, atol=1e-5)
    assert (twin.slopes >= 0).all()


def test_the_joint_policy_is_the_product_of_the_agents():
    recipe = parse('env = "assignment"\nalgorithm = "mappo"\n')
    settings = stack(environments(recipe))
    run = started(recipe, settings, settings)
    learner = run.learner
    table = learner.judged(learner.view)
    own = learner.own_logprobs(learner.view.at(torch.arange(len(settings.legal)))).exp().detach().numpy()
    sizes = [len(options) for options in settings.envs[0].factors.values()]
    for number in (0, 17, 63):
        each = np.unravel_index(number, sizes)
        expected = np.prod([own[:, i, option] for i, option in enumerate(each)], axis=0)
        np.testing.assert_allclose(table[:, number], expected, rtol=1e-5)
    np.testing.assert_allclose(table.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("env", "more", "told"),
    [("batch-voting", [], "one orchestrator acts"), ("assignment", ["policy.kind=tabular"], "policy.kind")],
)
def test_what_is_no_team_is_refused(env, more, told):
    recipe = parse(f'env = "{env}"\nalgorithm = "qmix"\n', more)
    settings = stack(environments(recipe))
    with pytest.raises(RecipeError, match=told):
        started(recipe, settings, settings)


def test_the_optimum_of_assignment_is_a_joint_action():
    env = by_name("assignment")
    assert env.exact_value(optimal_policy(env)) == pytest.approx(env.optimal_value())
