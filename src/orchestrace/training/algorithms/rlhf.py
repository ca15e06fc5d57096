"""Learning from preferences in two steps: a reward model, then PPO against it, held to a reference.

    L(φ) = −mean log σ(Σ r_φ(better) − Σ r_φ(worse)),     sums over an episode's decisions
    r_t  = r_φ(s_t, a_t) − κ (log π(a_t | s_t) − log ρ(a_t | s_t))

The environment's rewards are seen only through who earned more in a pair. Source: Ouyang et al. 2022 (InstructGPT)
[confirmed]; Christiano et al. 2017 for the model of preferences [confirmed]. Learning is PPO's step (`clipped_policy`).

Departures
  - The reward model is relearned as the policy moves, on the pairs of each update; a share is held out, and its
    accuracy there is a figure.
  - It rewards each decision, not the end of a text; only sums over episodes are identified.
  - The reference is the policy at the start, which is close to uniform.
"""

import copy
from collections.abc import Mapping

import numpy as np

from orchestrace.training._torch import torch
from orchestrace.training.clipped_policy import learned
from orchestrace.training.learner import Learner, Moment, Trainee, Update, adam, asked, descend, tensor
from orchestrace.training.losses import preference_loss
from orchestrace.training.policies import Tensor, policy_for
from orchestrace.training.preferences import Decisions, Pairs, decisions, pairs
from orchestrace.training.recipe import Recipe
from orchestrace.training.stack import Stack


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """RLHF before its first update."""
    return Modelled(recipe, stack, generator=generator)


class Modelled(Trainee):
    """Fit the reward model to pairs, then PPO on what it says."""

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        self.reference = copy.deepcopy(self.policy)
        self.model = policy_for(stack, recipe.policy, generator=generator)
        self.model_optimiser = adam(self.model, recipe)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """The policy, its reference and the reward model, whose scores are r_φ."""
        return {"policy": self.policy, "reference": self.reference, "model": self.model}

    @property
    def optimisers(self) -> Mapping[str, torch.optim.Optimizer]:
        """Of the policy and the model."""
        return {"policy": self.optimiser, "model": self.model_optimiser}

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play, ask which was better, fit, learn."""
        settings, batch = self.recipe.rlhf, self.played(rng)
        found, flat = pairs(batch, rng), decisions(batch)
        kept = round(len(found.better) * (1 - settings.held_out))
        fitted, held = (Pairs(found.better[part], found.worse[part], 0) for part in (slice(0, kept), slice(kept, None)))
        for _ in range(settings.steps if kept else 0):
            limit = self.recipe.optimiser.max_norm
            loss = preference_loss(self._margins(flat, fitted))
            descend(loss, self.model, self.model_optimiser, rate=moment.rate, max_norm=limit)
        with torch.no_grad():
            right = self._margins(flat, held) > 0
            said = self._said(flat)
            now, start = (asked(network, self.view, flat.cells) for network in (self.policy, self.reference))
            far = (now.logprobs - start.logprobs).gather(1, flat.actions[:, None])[:, 0]
        rewards = np.zeros(batch.taken.shape)
        rewards[batch.taken] = (said - settings.kl * far).numpy()
        done = learned(self, batch._replace(rewards=rewards), moment=moment, rng=rng)
        accuracy = right.float().mean().item() if len(right) else 0.5
        told = {"model_accuracy": accuracy, "kl": far.mean().item(), "ties": float(found.ties)}
        return done._replace(figures={**done.figures, **told})

    def _said(self, flat: Decisions) -> Tensor:
        """[D] r_φ of each decision."""
        different, place = torch.unique(flat.cells, return_inverse=True)
        scores = self.model.marks(self.view.at(different))[0][place]
        return scores.gather(1, flat.actions[:, None])[:, 0]

    def _margins(self, flat: Decisions, found: Pairs) -> Tensor:
        totals = flat.summed(self._said(flat))
        return totals[tensor(found.better)] - totals[tensor(found.worse)]
