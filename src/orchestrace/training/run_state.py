"""A run in memory: what an update changes, and how it becomes a checkpoint and comes back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from orchestrace.errors import InputError, RecipeError
from orchestrace.training._torch import torch
from orchestrace.training.algorithms import ppo, reinforce
from orchestrace.training.checkpoints import Checkpoint
from orchestrace.training.learner import Algorithm, Figures, Learner, tensor
from orchestrace.training.policies import Policy, probabilities
from orchestrace.training.recipe import Recipe
from orchestrace.training.rollouts import collected
from orchestrace.training.stack import Floats, Stack

ALGORITHMS: Mapping[str, Callable[[Recipe], Algorithm]] = {
    "ppo": lambda recipe: partial(ppo.update, settings=recipe.ppo),
    "reinforce": lambda recipe: partial(reinforce.update, settings=recipe.reinforce),
}
"""Every algorithm by its name in recipes, given its part of the recipe."""


@dataclass
class Run:
    """A run between two updates, or within one."""

    recipe: Recipe
    stack: Stack
    learner: Learner
    rng: np.random.Generator
    """The one die of training; evaluation has its own."""
    update: int = 0
    """Updates made."""
    decisions: int = 0
    """Decisions taken."""
    cut_episodes: int = 0
    """Episodes cut off at the horizon."""
    rows: int = 0
    """Rows of the curve that are written."""
    whole: bool = True
    """False within an update, when weights and counters do not belong together."""


def started(recipe: Recipe, stack: Stack) -> Run:
    """A run before its first update, all of it drawn from the recipe's seed."""
    policy = Policy(
        features=stack.features.shape[1],
        actions=stack.legal.shape[1],
        hidden=recipe.policy.hidden,
        layers=recipe.policy.layers,
        generator=torch.Generator().manual_seed(recipe.seed),
    )
    optimiser = torch.optim.Adam(policy.parameters(), lr=recipe.optimiser.rate, foreach=False)
    learner = Learner(policy, optimiser, tensor(stack.features), tensor(stack.legal), recipe.optimiser.max_norm)
    return Run(recipe, stack, learner, np.random.default_rng([recipe.seed, 0]))


def policy_table(run: Run) -> Floats:
    """[C, A] the policy as it stands."""
    with torch.no_grad():
        return probabilities(run.learner.answer().logprobs)


def advance(run: Run) -> Figures:
    """One update: play, learn, count.

    Raises:
      RecipeError: the numbers left the finite, as a learning rate that is too large makes them.
    """
    run.whole = False
    recipe, share = run.recipe, run.update / run.recipe.updates
    rate = _between(recipe.optimiser.rate, recipe.optimiser.rate_end, share)
    for group in run.learner.optimiser.param_groups:
        group["lr"] = rate
    explore = recipe.exploration
    decayed = min(1.0, share / explore.until) if explore.until else 1.0
    weight = _between(explore.entropy, explore.entropy_end, decayed)
    sizes = recipe.rollouts
    batch = collected(run.stack, policy_table(run), episodes=sizes.episodes, horizon=sizes.horizon, rng=run.rng)
    figures = ALGORITHMS[recipe.algorithm](recipe)(run.learner, batch, entropy_weight=weight, rng=run.rng)
    if not (np.isfinite(policy_table(run)).all() and np.isfinite(list(figures.values())).all()):
        raise RecipeError(
            f"training diverged at update {run.update + 1}: the policy is no longer made of finite numbers",
            place="optimiser.rate",
            remedy="lower it, or exploration.entropy, and train anew",
        )
    run.decisions += int(batch.taken.sum())
    run.cut_episodes += int(np.sum(batch.beyond >= 0))
    run.update += 1
    run.whole = True
    return figures


COUNTERS = ("update", "decisions", "cut_episodes", "rows")


def captured(run: Run) -> Checkpoint:
    """All that the rest of the run depends on, besides the recipe."""
    arrays = {f"policy/{name}": value.numpy() for name, value in run.learner.policy.state_dict().items()}
    for i, state in run.learner.optimiser.state_dict()["state"].items():
        arrays |= {f"optimiser/{i}/{name}": value.numpy() for name, value in state.items()}
    counters = {name: getattr(run, name) for name in COUNTERS}
    return Checkpoint(arrays, {**counters, "die": run.rng.bit_generator.state})


def restore(run: Run, checkpoint: Checkpoint) -> None:
    """Bring a run of the same recipe to where a checkpoint stands.

    Raises:
      InputError: the checkpoint is of another network.
    """
    weights: dict[str, Any] = {}
    state: dict[int, dict[str, Any]] = {}
    try:
        for name, array in checkpoint.arrays.items():
            kind, _, rest = name.partition("/")
            if kind == "policy":
                weights[rest] = torch.from_numpy(array)
            else:
                i, _, part = rest.partition("/")
                state.setdefault(int(i), {})[part] = torch.from_numpy(array)
        run.learner.policy.load_state_dict(weights)
        whole = run.learner.optimiser.state_dict()
        run.learner.optimiser.load_state_dict({**whole, "state": state})
        run.rng.bit_generator.state = checkpoint.note["die"]
        for name in COUNTERS:
            setattr(run, name, int(checkpoint.note[name]))
    except (KeyError, ValueError, TypeError, RuntimeError):
        raise InputError("the checkpoint does not fit this recipe", remedy="train anew") from None


def _between(first: float, last: float, share: float) -> float:
    return first + (last - first) * share
