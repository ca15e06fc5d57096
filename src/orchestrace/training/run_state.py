"""A run in memory: what an update changes, and how it becomes a checkpoint and comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from orchestrace.errors import InputError, RecipeError
from orchestrace.training._torch import torch
from orchestrace.training.algorithms import anchor_tb, dpo, grpo, parl, ppo, reinforce, rlhf, stop
from orchestrace.training.checkpoints import Checkpoint
from orchestrace.training.learner import Begin, Figures, Learner, Moment
from orchestrace.training.policies import View, check_fits
from orchestrace.training.recipe import Recipe
from orchestrace.training.stack import Floats, Stack

ALGORITHMS: Mapping[str, Begin] = {
    "anchor-tb": anchor_tb.begin,
    "dpo": dpo.begin,
    "grpo": grpo.begin,
    "parl": parl.begin,
    "ppo": ppo.begin,
    "reinforce": reinforce.begin,
    "rlhf": rlhf.begin,
    "stop": stop.begin,
}
"""Every algorithm by its name in recipes."""


class Arena(NamedTuple):
    """Where a policy is judged."""

    stack: Stack
    view: View


@dataclass
class Run:
    """A run between two updates, or within one."""

    recipe: Recipe
    stack: Stack
    """The settings trained on."""
    arena: Arena
    """The settings judged in."""
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


def started(recipe: Recipe, stack: Stack, judged_in: Stack) -> Run:
    """A run before its first update, all of it drawn from the recipe's seed.

    Args:
      recipe: the recipe.
      stack: the settings to train on.
      judged_in: the settings to judge in.
    """
    generator = torch.Generator().manual_seed(recipe.seed)
    learner = ALGORITHMS[recipe.algorithm](recipe, stack, generator=generator)
    check_fits(learner.networks, judged_in)
    return Run(recipe, stack, Arena(judged_in, View(judged_in)), learner, np.random.default_rng([recipe.seed, 0]))


def tables(run: Run) -> list[Floats]:
    """The policy as it stands, one table [S, A] for each setting it is judged in."""
    return run.arena.stack.tables(run.learner.judged(run.arena.view))


def moment(recipe: Recipe, update: int) -> Moment:
    """What the recipe's schedules say before an update, the first being 0."""
    share = update / recipe.updates
    explore = recipe.exploration
    decayed = min(1.0, share / explore.until) if explore.until else 1.0
    return Moment(
        share=share,
        rate=_between(recipe.optimiser.rate, recipe.optimiser.rate_end, share),
        entropy_weight=_between(explore.entropy, explore.entropy_end, decayed),
    )


def advance(run: Run) -> Figures:
    """One update: play, learn, count.

    Raises:
      RecipeError: the numbers left the finite, as a learning rate that is too large makes them.
    """
    run.whole = False
    done = run.learner.advance(moment(run.recipe, run.update), run.rng)
    weights = (part for network in run.learner.networks.values() for part in network.parameters())
    if not (np.isfinite(list(done.figures.values())).all() and all(bool(w.isfinite().all()) for w in weights)):
        raise RecipeError(
            f"training diverged at update {run.update + 1}: the policy is no longer made of finite numbers",
            place="optimiser.rate",
            remedy="lower it, or exploration.entropy, and train anew",
        )
    run.decisions += done.decisions
    run.cut_episodes += done.cut_episodes
    run.update += 1
    run.whole = True
    return done.figures


COUNTERS = ("update", "decisions", "cut_episodes", "rows")


def captured(run: Run) -> Checkpoint:
    """All that the rest of the run depends on, besides the recipe."""
    arrays: dict[str, Any] = {}
    for name, network in run.learner.networks.items():
        arrays |= {f"network/{name}/{key}": value.numpy() for key, value in network.state_dict().items()}
    for name, optimiser in run.learner.optimisers.items():
        for i, state in optimiser.state_dict()["state"].items():
            arrays |= {f"optimiser/{name}/{i}/{part}": value.numpy() for part, value in state.items()}
    counters = {name: getattr(run, name) for name in COUNTERS}
    return Checkpoint(arrays, {**counters, "die": run.rng.bit_generator.state})


def restore(run: Run, checkpoint: Checkpoint) -> None:
    """Bring a run of the same recipe to where a checkpoint stands.

    Raises:
      InputError: the checkpoint is of another network.
    """
    weights: dict[str, dict[str, Any]] = {name: {} for name in run.learner.networks}
    states: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in run.learner.optimisers}
    try:
        for key, array in checkpoint.arrays.items():
            kind, name, rest = key.split("/", 2)
            if kind == "network":
                weights[name][rest] = torch.from_numpy(array)
            else:
                i, _, part = rest.partition("/")
                states[name].setdefault(int(i), {})[part] = torch.from_numpy(array)
        for name, network in run.learner.networks.items():
            network.load_state_dict(weights[name])
        for name, optimiser in run.learner.optimisers.items():
            optimiser.load_state_dict({**optimiser.state_dict(), "state": states[name]})
        run.rng.bit_generator.state = checkpoint.note["die"]
        for name in COUNTERS:
            setattr(run, name, int(checkpoint.note[name]))
    except (KeyError, ValueError, TypeError, RuntimeError):
        raise InputError("the checkpoint does not fit this recipe", remedy="train anew") from None


def _between(first: float, last: float, share: float) -> float:
    return first + (last - first) * share
