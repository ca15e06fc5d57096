"""Direct preference optimisation: which of two episodes earned more, and nothing else.

    L = −mean log σ(β ((log π − log ρ)(better) − (log π − log ρ)(worse)))

log π of an episode is the sum over its decisions.

The reference ρ plays; its episodes with one start are paired, and the better one is preferred. After some updates the
policy becomes the reference. At the optimum of one round π is ρ exp(r / β), r the reward of Bradley and Terry's model,
so rounds sharpen the policy. A preference says which, not by how much: what wins more often is preferred, even where
its mean is lower (asking one more voter often wins a little, and now and then loses a lot). Noise in returns weakens
preferences and does not turn them.

Sources: Rafailov et al. 2023 [confirmed]; used on teams by MALT (arXiv 2412.01928) [secondary] and OWL
(arXiv 2505.23885) [secondary].

Departures
  - MALT branches and prefers by the mean of leaves; here whole episodes are compared.
  - Pairs that earned the same are left out and counted.
  - No supervised warm start.
"""

from collections.abc import Mapping

import numpy as np

from orchestrace.training._torch import torch
from orchestrace.training.learner import Learner, Moment, Trainee, Update, asked, counted, tensor
from orchestrace.training.losses import entropy, preference_loss
from orchestrace.training.policies import Tensor, distributions
from orchestrace.training.preferences import Decisions, Pairs, decisions, pairs
from orchestrace.training.recipe import Recipe
from orchestrace.training.reference import Reference
from orchestrace.training.stack import Stack


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """DPO before its first update."""
    return Preferring(recipe, stack, generator=generator)


class Preferring(Trainee):
    """Some optimiser steps on a batch of pairs, an update."""

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        self.reference = Reference(self.policy)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """The policy and its reference."""
        return {"policy": self.policy, "reference": self.reference}

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Let the reference play, then learn what was preferred."""
        self.reference.renew(self.policy, after=self.recipe.dpo.refresh)
        batch = self.played_by(lambda cells: distributions(self.reference.policy, self.view, cells), rng)
        found, flat = pairs(batch, rng), decisions(batch)
        with torch.no_grad():
            old = asked(self.reference.policy, self.view, flat.cells).logprobs.gather(1, flat.actions[:, None])[:, 0]
        losses = [0.0]
        if len(found.better):
            losses = [self._step(flat, found, old=old, moment=moment) for _ in range(self.recipe.dpo.steps)]
        figures = {"preference_loss": float(np.mean(losses)), "pairs": len(found.better), "ties": found.ties}
        return counted(batch, figures)

    def _step(self, flat: Decisions, found: Pairs, *, old: Tensor, moment: Moment) -> float:
        answer = self.answer(flat.cells)
        gained = flat.summed(answer.logprobs.gather(1, flat.actions[:, None])[:, 0] - old)
        margins = self.recipe.dpo.beta * (gained[tensor(found.better)] - gained[tensor(found.worse)])
        loss = preference_loss(margins)
        self.descend(loss - moment.entropy_weight * entropy(answer.logprobs).mean(), moment)
        return loss.item()
