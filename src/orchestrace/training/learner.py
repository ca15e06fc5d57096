"""What an algorithm is to the loop: networks that are saved, a policy that is judged, and one update at a time."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np

from orchestrace.training._torch import torch
from orchestrace.training.policies import Answer, Policy, Tensor, View, distributions, policy_for, tensor
from orchestrace.training.recipe import Recipe
from orchestrace.training.rollouts import Actor, Batch, collected
from orchestrace.training.stack import Floats, Ints, Stack

Figures = Mapping[str, float]
"""What an update tells about itself, by name; a row of the curve."""

WHOLE_TABLE = 50_000
"""Up to so many cells a policy is asked about all of them before it plays; beyond, about those it comes to."""


class Moment(NamedTuple):
    """Where in its run an update stands. What the schedules of the recipe say now."""

    share: float
    """Updates made, as a share of all: 0 at the first."""
    rate: float
    """Learning rate."""
    entropy_weight: float
    """Weight of the entropy bonus."""


class Update(NamedTuple):
    """What one update did."""

    figures: Figures
    decisions: int
    """Decisions taken in it."""
    cut_episodes: int = 0
    """Episodes cut off at the horizon."""


class Learner(Protocol):
    """An algorithm at work on one stack of settings."""

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """All that it learns, by name, buffers included: what a checkpoint holds."""
        ...

    @property
    def optimisers(self) -> Mapping[str, torch.optim.Optimizer]:
        """Their optimisers, by name."""
        ...

    def judged(self, view: View, cells: Ints | None = None) -> Floats:
        """[n, A] the policy that it stands for now, in these cells of any view that its networks can read, or in all.

        Q learners give their greedy policy, all others the one they sample from.
        """
        ...

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play and learn once."""
        ...


class Begin(Protocol):
    """How an algorithm begins: every module of `algorithms` offers one."""

    def __call__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
        """A learner before its first update; `generator` draws the initial weights."""
        ...


class Trainee:
    """A policy, its optimiser and the stack it learns on: what most algorithms hold.

    Args:
      recipe: the whole recipe.
      stack: the settings.
      generator: draws the initial weights.
    """

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        self.recipe, self.stack, self.view = recipe, stack, View(stack)
        self.policy: Policy = policy_for(stack, recipe.policy, generator=generator)
        self.optimiser = adam(self.policy, recipe)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """The policy."""
        return {"policy": self.policy}

    @property
    def optimisers(self) -> Mapping[str, torch.optim.Optimizer]:
        """Adam on it."""
        return {"policy": self.optimiser}

    def judged(self, view: View, cells: Ints | None = None) -> Floats:
        """[n, A] the policy as it samples."""
        return distributions(self.policy, view, cells)

    def played(self, rng: np.random.Generator) -> Batch:
        """Episodes of every setting under the policy as it stands."""
        return self.played_by(lambda cells: self.judged(self.view, cells), rng)

    def played_by(self, policy: Callable[[Ints], Floats], rng: np.random.Generator) -> Batch:
        """Episodes of every setting under a policy: [n, A] in cells [n]."""
        sizes, actor = self.recipe.rollouts, frozen(policy, cells=len(self.view))
        return collected(self.stack, actor, episodes=sizes.episodes, horizon=sizes.horizon, rng=rng)

    def answer(self, cells: Tensor) -> Answer:
        """Log-probabilities [D, A] and values [D] in the cells [D] of D decisions, with gradients.

        Each cell is asked about once, however many decisions were taken in it: the same gradient for less work.
        """
        return asked(self.policy, self.view, cells)

    def descend(self, loss: Tensor, moment: Moment) -> float:
        """One optimiser step down the gradient of a loss; returns the gradient's norm before it was scaled."""
        return descend(loss, self.policy, self.optimiser, rate=moment.rate, max_norm=self.recipe.optimiser.max_norm)


def asked(policy: Policy, view: View, cells: Tensor) -> Answer:
    """The answer of a policy in the cells [D], each different cell asked about once."""
    different, place = torch.unique(cells, return_inverse=True)
    answer: Answer = policy(view.at(different))
    return Answer(answer.logprobs[place], answer.values[place])


def frozen(policy: Callable[[Ints], Floats], *, cells: int) -> Actor:
    """A policy as an actor: computed once for all cells where they are few, else for those that are come to."""
    if cells <= WHOLE_TABLE:
        table = policy(np.arange(cells))
        return lambda here: table[here]

    def looked_up(here: Ints) -> Floats:
        different, place = np.unique(here, return_inverse=True)
        return policy(different)[place]

    return looked_up


def adam(network: torch.nn.Module, recipe: Recipe) -> torch.optim.Adam:
    """Adam at the recipe's first rate."""
    return torch.optim.Adam(network.parameters(), lr=recipe.optimiser.rate, foreach=False)


def descend(
    loss: Tensor, network: torch.nn.Module, optimiser: torch.optim.Optimizer, *, rate: float, max_norm: float
) -> float:
    """One step down the gradient of a loss at this learning rate; returns the gradient's norm before it was scaled."""
    for group in optimiser.param_groups:
        group["lr"] = rate
    optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.nn.utils.clip_grad_norm_(network.parameters(), max_norm, foreach=False)
    optimiser.step()
    return float(norm)


def counted(batch: Batch, figures: Figures) -> Update:
    """An update that learned from one batch."""
    return Update(figures, int(batch.taken.sum()), int(np.sum(batch.beyond >= 0)))


__all__ = [
    "Begin",
    "Figures",
    "Learner",
    "Moment",
    "Tensor",
    "Trainee",
    "Update",
    "adam",
    "asked",
    "counted",
    "descend",
    "frozen",
    "tensor",
]
