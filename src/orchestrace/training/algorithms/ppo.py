"""Proximal policy optimisation with generalised advantage estimation.

    δ_t = r_t + v(s_{t+1}) − v(s_t),     A_t = δ_t + λ A_{t+1},     g_t = A_t + v(s_t)
    L = clipped surrogate(A) + c ½ (v − g)² − w H

Sources: Schulman et al. 2017 (PPO), Schulman et al. 2016 (GAE).

Departures
  - No discount: episodes end, and every price is paid when it arises.
  - Advantages are normalised within each setting over the whole batch, not within a minibatch, so that settings whose
    rewards differ in scale weigh alike.
  - Policy and value head share no weights; the value loss is not clipped.
  - The environments are finite, so every loss asks the network about each different cell of the batch once and looks
    the decisions up: the same gradient as asking about each decision, for less work.
  - The learning rate and w decay over the run (the loop sees to it); there is no penalty on the divergence from the old
    policy, and no early end of an update.
"""

import numpy as np

from orchestrace.training._torch import torch
from orchestrace.training.clipped_policy import learned
from orchestrace.training.learner import Learner, Moment, Trainee, Update
from orchestrace.training.recipe import Recipe
from orchestrace.training.stack import Stack


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """PPO before its first update."""
    return Ppo(recipe, stack, generator=generator)


class Ppo(Trainee):
    """Several passes over a batch in minibatches, an update."""

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play, then learn."""
        return learned(self, self.played(rng), moment=moment, rng=rng)
