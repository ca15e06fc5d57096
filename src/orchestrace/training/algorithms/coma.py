"""COMA: each agent against what would have come had it, and it alone, done otherwise.

    A_i = Q(s, a) − Σ_b π_i(b) Q(s, (a_−i, b)),     L = −mean_i A_i log π_i(a_i) − w H

The critic sees the state and what the others did, and gives Q for each of an agent's options at once. It is fitted to
λ-returns of the team's reward. Source: Foerster et al. 2018 [confirmed]; the arithmetic is `credit.policy_advantages`.

Departures
  - Agents share weights in actor and critic; no target network for the critic, which is fitted several times a batch.
"""

from collections.abc import Mapping

import numpy as np

from orchestrace.credit import policy_advantages
from orchestrace.training._torch import torch
from orchestrace.training.learner import Learner, Moment, Update, adam, counted, descend, tensor
from orchestrace.training.policies import Tensor
from orchestrace.training.recipe import Recipe
from orchestrace.training.rollouts import Batch
from orchestrace.training.stack import Floats, Stack
from orchestrace.training.teams import Agents, TeamTrainee, entropies


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """COMA before its first update."""
    return Coma(recipe, stack, generator=generator)


class Coma(TeamTrainee):
    """Fit the critic, then one step of the policies."""

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        others = self.team.agents * self.team.options
        self.critic = Agents(
            self.team, recipe, outputs=self.team.options, central=True, extra=others, generator=generator
        )
        self.critic_optimiser = adam(self.critic, recipe)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """Actors and critic."""
        return {"actor": self.actor, "critic": self.critic}

    @property
    def optimisers(self) -> Mapping[str, torch.optim.Optimizer]:
        """Theirs."""
        return {"actor": self.optimiser, "critic": self.critic_optimiser}

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play, fit the critic, then step."""
        batch, limit = self.played(rng), self.recipe.optimiser.max_norm
        cells, actions = tensor(batch.cells[batch.taken]), tensor(batch.actions[batch.taken])
        own = self.team.choices[actions]
        with torch.no_grad():
            before = self.action_values(cells, actions).gather(2, own[:, :, None])[:, :, 0].mean(dim=1)
        targets = tensor(lambda_returns(batch, before.numpy(), self.recipe.coma.trace_lambda))
        errors = []
        for _ in range(self.recipe.coma.critic_steps):
            said = self.action_values(cells, actions).gather(2, own[:, :, None])[:, :, 0]
            loss = (said - targets[:, None]).square().mean()
            descend(loss, self.critic, self.critic_optimiser, rate=moment.rate, max_norm=limit)
            errors.append(loss.item())
        with torch.no_grad():
            q = self.action_values(cells, actions).numpy().astype(np.float64)
        logprobs = self.own_logprobs(self.view.at(cells))
        credit = self._credit(q, logprobs.detach().exp().numpy().astype(np.float64), own.numpy())
        taken = logprobs.gather(2, own[:, :, None])[:, :, 0]
        gradient_loss, spread = -(tensor(credit) * taken).mean(), entropies(logprobs).mean()
        loss = gradient_loss - moment.entropy_weight * spread
        norm = descend(loss, self.actor, self.optimiser, rate=moment.rate, max_norm=limit)
        figures = {"policy_loss": gradient_loss.item(), "value_loss": float(np.mean(errors)), "entropy": spread.item()}
        return counted(batch, {**figures, "gradient_norm": norm})

    def action_values(self, cells: Tensor, actions: Tensor) -> Tensor:
        """[D, n, M] Q of each of an agent's options, the others doing what they did."""
        did = self.team.one_hot(actions)
        n = self.team.agents
        others = did[:, None].expand(-1, n, -1, -1) * (1 - torch.eye(n))[None, :, :, None]
        told: Tensor = self.critic(self.view.at(cells), others.flatten(2))
        return told

    def _credit(self, q: Floats, chances: Floats, own: Floats) -> Floats:
        """[D, n] counterfactual advantages, of unit size."""
        chances = chances / chances.sum(axis=2, keepdims=True)
        D, n, M = q.shape
        flat = policy_advantages(q.reshape(D * n, M), chances.reshape(D * n, M), actions=own.reshape(D * n))
        values: Floats = flat.values.reshape(D, n)
        return values


def lambda_returns(batch: Batch, values: Floats, lam: float) -> Floats:
    """[D] G_t = r_t + (1 − λ) Q_{t+1} + λ G_{t+1} of the decisions of a batch; 0 after an end, Q where it was cut.

    Args:
      batch: T by B decisions.
      values: [D] Q of what was done, of the decisions that were taken.
      lam: λ.
    """
    q, targets = np.zeros(batch.taken.shape), np.zeros(batch.taken.shape)
    q[batch.taken] = values
    ahead = np.zeros(batch.taken.shape[1])
    for t in reversed(range(len(q))):
        targets[t] = np.where(batch.taken[t], batch.rewards[t] + ahead, 0.0)
        ahead = np.where(batch.taken[t], (1 - lam) * q[t] + lam * targets[t], ahead)
    found: Floats = targets[batch.taken]
    return found
