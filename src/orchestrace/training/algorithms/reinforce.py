"""REINFORCE with a leave-one-out baseline (RLOO).

    A_i = R_i − (1 / (G − 1)) Σ_{j ≠ i} R_j,     L = −(1/D) Σ_i A_i Σ_t log π(a_it | s_it) − w H

Episodes in groups of G from the same start are each other's baseline, which is independent of the episode and so
leaves the gradient unbiased. Every decision of an episode is credited with A_i. Sources: Williams 1992 (REINFORCE);
Kool, van Hoof and Welling 2019 (leave-one-out); Ahmadian et al. 2024 (RLOO for language models).

Departures
  - Advantages are divided by their standard deviation within the setting, so that settings whose rewards differ in
    scale weigh alike.
  - The loss is a mean over the D decisions of the batch, not over its episodes.
  - The entropy H, in nats and averaged over the decisions, is a bonus with weight w.
  - There is no reference policy, so no penalty for leaving it.
  - An episode cut off at the horizon counts as if it had ended there.
"""

import numpy as np

from orchestrace.credit import rloo, rows
from orchestrace.training._torch import torch
from orchestrace.training.learner import Learner, Moment, Trainee, Update, counted, tensor
from orchestrace.training.losses import entropy, policy_gradient_loss
from orchestrace.training.recipe import Recipe
from orchestrace.training.stack import Stack

TINY = 1e-8
"""Keeps a setting whose episodes all earned the same from being divided by zero."""


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """REINFORCE before its first update."""
    return Reinforce(recipe, stack, generator=generator)


class Reinforce(Trainee):
    """One optimiser step on a batch, an update."""

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play, then learn."""
        batch = self.played(rng)
        returns = batch.rewards.sum(axis=0)
        credit = rloo(rows(returns, task=np.arange(len(returns)) // self.recipe.reinforce.group)).values
        for setting in np.unique(batch.settings):
            own = batch.settings == setting
            credit[own] /= credit[own].std() + TINY
        cells, actions = tensor(batch.cells[batch.taken]), tensor(batch.actions[batch.taken])
        advantages = tensor(np.broadcast_to(credit, batch.taken.shape)[batch.taken])

        logprobs = self.answer(cells).logprobs
        gradient_loss = policy_gradient_loss(logprobs.gather(1, actions[:, None])[:, 0], advantages)
        spread = entropy(logprobs).mean()
        norm = self.descend(gradient_loss - moment.entropy_weight * spread, moment)
        figures = {"policy_loss": gradient_loss.item(), "entropy": spread.item(), "gradient_norm": norm}
        return counted(batch, figures)
