"""PPO for a team: every agent its own policy and ratio, one reward, advantages from a central or an own critic.

    L = mean over agents i of [clipped surrogate(ρ_i, A_i) − w H_i] + c ½ (v − g)²
    ρ_i = π_i / π_i,old of the agent's own option

MAPPO: v(s) sees everything, and A is the same for all. IPPO: v_i(o_i) sees what the agent sees. Sources: Yu et al. 2022
(MAPPO) [confirmed]; de Witt et al. 2020 (IPPO) [confirmed].

Departures
  - Agents share weights and are told which one they are; actors and critics share none.
  - No discount, no clipped value loss, no value normalisation.
  - A joint action that is not legal cannot be drawn: the product is renormalised, while ratios are of the product's
    factors, as if each agent had drawn alone.
"""

from collections.abc import Mapping

import numpy as np

from orchestrace.credit import gae
from orchestrace.training._torch import torch
from orchestrace.training.learner import Figures, Learner, Moment, Update, adam, counted, descend, tensor
from orchestrace.training.losses import clipped_surrogate, value_loss
from orchestrace.training.policies import Tensor
from orchestrace.training.recipe import Recipe
from orchestrace.training.stack import Stack
from orchestrace.training.teams import Agents, TeamTrainee, entropies

TINY = 1e-8
"""Keeps advantages that are all equal from being divided by zero."""


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """MAPPO or IPPO before its first update."""
    return Mappo(recipe, stack, generator=generator)


class Mappo(TeamTrainee):
    """Several passes over a batch in minibatches, an update."""

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        central = recipe.mappo.critic == "central"
        self.critic = Agents(self.team, recipe, outputs=1, central=central, generator=generator)
        self.critic_optimiser = adam(self.critic, recipe)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """Actors and critics."""
        return {"actor": self.actor, "critic": self.critic}

    @property
    def optimisers(self) -> Mapping[str, torch.optim.Optimizer]:
        """Theirs."""
        return {"actor": self.optimiser, "critic": self.critic_optimiser}

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play, then learn."""
        settings, batch = self.recipe.ppo, self.played(rng)
        cells, actions = tensor(batch.cells[batch.taken]), tensor(batch.actions[batch.taken])
        with torch.no_grad():
            old = self.taken(cells, actions)
            values = self.values(cells).numpy().astype(np.float64)
            ends = self.values(tensor(np.maximum(batch.beyond, 0))).numpy().astype(np.float64)
        advantages, targets = np.empty(values.shape), np.empty(values.shape)
        for i in range(self.team.agents):
            wide = np.zeros(batch.taken.shape)
            wide[batch.taken] = values[:, i]
            beyond = np.where(batch.beyond >= 0, ends[:, i], 0.0)
            found = gae(batch.rewards.T, wide.T, lam=settings.gae_lambda, mask=batch.taken.T, bootstrap=beyond)
            advantages[:, i] = found.values.T[batch.taken]
        targets = advantages + values
        credit = (advantages - advantages.mean(axis=0)) / (advantages.std(axis=0) + TINY)
        parts = [
            part
            for _ in range(settings.epochs)
            for part in np.array_split(rng.permutation(len(cells)), settings.minibatches)
            if len(part)
        ]
        rows = [
            self._step(cells[part], actions[part], old=old[part], credit=tensor(credit[part]),
                       targets=tensor(targets[part]), moment=moment)
            for part in parts
        ]  # fmt: skip
        return counted(batch, {name: float(np.mean([row[name] for row in rows])) for name in rows[0]})

    def values(self, cells: Tensor) -> Tensor:
        """[D, n] value of each decision's cell to each agent."""
        different, place = torch.unique(cells, return_inverse=True)
        found: Tensor = self.critic(self.view.at(different))[place, :, 0]
        return found

    def _step(
        self, cells: Tensor, actions: Tensor, *, old: Tensor, credit: Tensor, targets: Tensor, moment: Moment
    ) -> Figures:
        settings, limit = self.recipe.ppo, self.recipe.optimiser.max_norm
        logprobs = self.own_logprobs(self.view.at(cells))
        taken = logprobs.gather(2, self.team.choices[actions][:, :, None])[:, :, 0]
        surrogate = clipped_surrogate(taken, old, advantages=credit, clip=settings.clip)
        spread = entropies(logprobs).mean()
        loss = surrogate - moment.entropy_weight * spread
        norm = descend(loss, self.actor, self.optimiser, rate=moment.rate, max_norm=limit)
        error = settings.value_weight * value_loss(self.values(cells), targets)
        descend(error, self.critic, self.critic_optimiser, rate=moment.rate, max_norm=limit)
        told = {"policy_loss": surrogate.item(), "value_loss": error.item(), "entropy": spread.item()}
        return {**told, "gradient_norm": norm}
