"""AnchorTB: every span of a trajectory balances, for a policy that is a frozen reference times e^u.

    d_ij = u_i + Σ_{i≤t<j} l_t − u_j,     l_t = log π(a_t | s_t) − log ρ(a_t | s_t),     L = mean over spans of d_ij²
    u of an end = log(1 + (e^β − 1) r),   r the episode's return scaled into [0, 1];   u inside is learned

Off-policy friendly: whoever plays, the law is the same. Sources: EvoSteer (arXiv 2609.38661) [confirmed]; sums exclude
their own node, T + 1 nodes (`credit.anchor_balance`).

At the optimum the policy is ρ e^u, and with β = 2 the best of ten arms has only .45 of it. So for control the policy is
read greedily, which is the default here, or β is large. Noisy returns fit E[u], not u of the mean.

Departures
  - The reference is renewed from the policy every so many updates, which sharpens it: what is best under a policy that
    stays soft is not what is best. With `refresh = 0` it is the policy at the start; paper: the model without adapter.
  - Returns are scaled by the lowest and highest seen so far, which are kept.
  - u of inner nodes is the value head alone; the paper adds an anchor from statistics over tasks.
  - The entropy bonus of the recipe is not used: the reference keeps the policy wide.
"""

from collections.abc import Mapping

import numpy as np

from orchestrace.credit import anchor_values
from orchestrace.training._torch import torch
from orchestrace.training.learner import Learner, Moment, Trainee, Update, asked, counted, tensor
from orchestrace.training.losses import balance_loss
from orchestrace.training.policies import Tensor, View
from orchestrace.training.recipe import Recipe
from orchestrace.training.reference import Reference
from orchestrace.training.rollouts import Batch
from orchestrace.training.stack import Floats, Ints, Stack


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """AnchorTB before its first update."""
    return Balanced(recipe, stack, generator=generator)


class Bounds(torch.nn.Module):
    """The lowest and highest return seen."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("range", torch.tensor([np.inf, -np.inf], dtype=torch.float64))

    def scaled(self, returns: Floats) -> Floats:
        """Returns in [0, 1], after these have been seen; all 1 where they never differed."""
        held = self.get_buffer("range")
        low, high = min(float(held[0]), float(returns.min())), max(float(held[1]), float(returns.max()))
        held.copy_(torch.tensor([low, high], dtype=torch.float64))
        return (returns - low) / (high - low) if high > low else np.ones_like(returns)


class Balanced(Trainee):
    """Some optimiser steps on a batch, an update."""

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        self.reference, self.bounds = Reference(self.policy), Bounds()

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """The policy, whose values are u, its reference, and the range of returns."""
        return {"policy": self.policy, "reference": self.reference, "bounds": self.bounds}

    def judged(self, view: View, cells: Ints | None = None) -> Floats:
        """[n, A] the likeliest action, or the policy as it samples."""
        table = super().judged(view, cells)
        if self.recipe.anchor_tb.read == "sampled":
            return table
        best = np.zeros_like(table)
        best[np.arange(len(table)), table.argmax(axis=1)] = 1.0
        return best

    def played(self, rng: np.random.Generator) -> Batch:
        """Episodes under the policy as it samples, whatever it is judged by."""
        return self.played_by(lambda cells: Trainee.judged(self, self.view, cells), rng)

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play, then balance."""
        self.reference.renew(self.policy, after=self.recipe.anchor_tb.refresh)
        batch = self.played(rng)
        scaled = self.bounds.scaled(batch.rewards.sum(axis=0))
        ends = tensor(anchor_values(scaled, beta=self.recipe.anchor_tb.beta))
        losses = [self._step(batch, ends, moment) for _ in range(self.recipe.anchor_tb.steps)]
        return counted(batch, {"balance_loss": float(np.mean(losses))})

    def _step(self, batch: Batch, ends: Tensor, moment: Moment) -> float:
        taken = tensor(batch.taken)
        cells, actions = tensor(batch.cells[batch.taken]), tensor(batch.actions[batch.taken])
        answer = self.answer(cells)
        with torch.no_grad():
            reference = asked(self.reference.policy, self.view, cells).logprobs
        logs = (answer.logprobs - reference).gather(1, actions[:, None])[:, 0]
        ratios = torch.zeros(taken.shape).masked_scatter(taken, logs)
        inner = torch.zeros(taken.shape).masked_scatter(taken, answer.values)
        nodes = torch.cat([inner, torch.zeros_like(inner[:1])])
        last = taken.sum(dim=0)
        nodes = nodes.scatter(0, last[None, :], ends[None, :])
        loss = balance_loss(nodes, ratios, taken=taken)
        self.descend(loss, moment)
        return loss.item()
