"""MADDPG for discrete options: actors that follow the gradient of central critics through a relaxed choice.

    y_i = r + Q_i⁻(s′, a′ drawn from the target actors),     L(Q_i) = mean (Q_i(s, a) − y_i)²
    L(π_i) = −mean Q_i(s, a_1, .., g_i, .., a_n) − w H_i,     g_i a Gumbel-softmax draw of π_i, straight through

The critic of each agent sees the state and everybody's options; the reward is the team's. Sources: Lowe et al. 2017
(MADDPG) [confirmed]; Jang, Gu and Poole 2017, Maddison et al. 2017 for the relaxation [confirmed].

Departures
  - No replay buffer: each batch is fresh, played by the actors as they sample, and learned from several times.
  - Agents share weights and are told which one they are; target networks are copied now and then, not averaged.
  - The draws of the relaxation come from the run's die, through numpy.
"""

import copy
from collections.abc import Mapping

import numpy as np

from orchestrace.training._torch import torch
from orchestrace.training.learner import Learner, Moment, Update, adam, counted, descend, tensor
from orchestrace.training.policies import ILLEGAL, Seen, Tensor
from orchestrace.training.recipe import Recipe
from orchestrace.training.stack import Stack
from orchestrace.training.teams import Agents, TeamTrainee, entropies, onward


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """MADDPG before its first update."""
    return Relaxed(recipe, stack, generator=generator)


class Targets(torch.nn.Module):
    """Target actors and critics, and their age in updates."""

    def __init__(self, actor: Agents, critic: Agents) -> None:
        super().__init__()
        self.actor, self.critic = copy.deepcopy(actor), copy.deepcopy(critic)
        self.register_buffer("age", torch.zeros(1, dtype=torch.int64))


class Relaxed(TeamTrainee):
    """Some steps of critics and actors on each fresh batch."""

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        everybody = self.team.agents * self.team.options
        self.critic = Agents(self.team, recipe, outputs=1, central=True, extra=everybody, generator=generator)
        self.critic_optimiser = adam(self.critic, recipe)
        self.targets = Targets(self.actor, self.critic)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """Actors, critics and their targets."""
        return {"actor": self.actor, "critic": self.critic, "targets": self.targets}

    @property
    def optimisers(self) -> Mapping[str, torch.optim.Optimizer]:
        """Of actors and critics."""
        return {"actor": self.optimiser, "critic": self.critic_optimiser}

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play, then learn."""
        self._renew()
        batch = self.played(rng)
        following, goes = onward(batch)
        columns = (batch.cells, batch.actions, batch.rewards, following, goes)
        cells, actions, rewards, ahead, still = (tensor(column[batch.taken]) for column in columns)
        told = []
        for part in np.array_split(rng.permutation(len(cells)), self.recipe.maddpg.steps):
            if len(part):
                d = tensor(part)
                with torch.no_grad():
                    there = self.view.at(ahead[d])
                    then = self._drawn(self.targets.actor(there), rng)
                    wanted = rewards[d][:, None] + still[d][:, None] * self._q(self.targets.critic, there, then)
                here, did = self.view.at(cells[d]), self.team.one_hot(actions[d])
                told.append(self._step(here, did, wanted, moment=moment, rng=rng))
        return counted(batch, {name: float(np.mean([row[name] for row in told])) for name in told[0]})

    def _step(
        self, here: Seen, did: Tensor, wanted: Tensor, *, moment: Moment, rng: np.random.Generator
    ) -> dict[str, float]:
        limit = self.recipe.optimiser.max_norm
        error = (self._q(self.critic, here, did) - wanted).square().mean()
        descend(error, self.critic, self.critic_optimiser, rate=moment.rate, max_norm=limit)
        logits = self.actor(here)
        drawn, n = self._drawn(logits, rng), self.team.agents
        mine = torch.eye(n)[None, :, :, None]  # each agent's critic sees its own new draw and what the others did
        mixed = mine * drawn[:, None] + (1 - mine) * did[:, None]
        gained = self._q(self.critic, here, mixed).mean()
        spread = entropies(self.own_logprobs(here)).mean()
        norm = descend(
            -gained - moment.entropy_weight * spread, self.actor, self.optimiser, rate=moment.rate, max_norm=limit
        )
        return {"value_loss": error.item(), "gained": gained.item(), "entropy": spread.item(), "gradient_norm": norm}

    def _drawn(self, logits: Tensor, rng: np.random.Generator) -> Tensor:
        """[k, n, M] one option each, as 0 and 1; its gradient is that of the relaxed draw."""
        noise = tensor(rng.gumbel(size=tuple(logits.shape)))
        allowed = logits.masked_fill(~self.team.available, ILLEGAL)
        soft = torch.softmax((allowed + noise) / self.recipe.maddpg.temperature, dim=-1)
        hard = torch.nn.functional.one_hot(soft.argmax(dim=-1), self.team.options).float()
        return hard + soft - soft.detach()

    def _q(self, critic: Agents, seen: Seen, options: Tensor) -> Tensor:
        """[k, n] each agent's Q of everybody's options: [k, n, M], or [k, n, n, M] where each critic sees its own."""
        n = self.team.agents
        each = options.flatten(1)[:, None, :].expand(-1, n, -1) if options.dim() == 3 else options.flatten(2)
        told: Tensor = critic(seen, each)[:, :, 0]
        return told

    def _renew(self) -> None:
        age = self.targets.get_buffer("age")
        if int(age) >= self.recipe.maddpg.refresh:
            self.targets.actor.load_state_dict(self.actor.state_dict())
            self.targets.critic.load_state_dict(self.critic.state_dict())
            age.zero_()
        age.add_(1)
