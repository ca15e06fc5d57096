"""Values of a team that each agent can maximise for itself: summed (VDN) or mixed monotonically (QMIX).

    Q_tot = Σ_i Q_i                                       vdn
    Q_tot = |W₂(s)| · ELU(Q |W₁(s)| + b₁(s)) + V(s)       qmix,  W and b from networks of the state
    L = mean (r + Q_tot⁻(s′, argmax of each Q_i) − Q_tot(s, a))²

No weight of an agent is negative, so the best joint action is each one's best. Played ε-greedily, judged greedily.
Sources: Sunehag et al. 2018 (VDN) [confirmed]; Rashid et al. 2018 (QMIX) [confirmed]; `credit.mixed_values` is the
mixing in numpy.

Departures
  - No replay buffer: each batch is fresh, and learned from several times.
  - Targets use the network's argmax and the target network's value (double Q).
  - No recurrence: states are what agents see.
"""

import copy
from collections.abc import Mapping

import numpy as np

from orchestrace.training._torch import torch
from orchestrace.training.learner import Learner, Moment, Update, adam, counted, descend, frozen, tensor
from orchestrace.training.policies import ILLEGAL, Seen, Tensor, View, perceptron
from orchestrace.training.recipe import Recipe
from orchestrace.training.rollouts import collected
from orchestrace.training.stack import Floats, Ints, Stack
from orchestrace.training.teams import TeamTrainee, onward

WIDTH = 16
"""Hidden units of the mixing network."""


def begin(recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> Learner:
    """VDN or QMIX before its first update."""
    return Mixing(recipe, stack, generator=generator)


class Mixer(torch.nn.Module):
    """Q_tot of the agents' values and the state.

    Args:
      agents: n.
      features: F.
      sums: True: VDN, with no weights.
      generator: draws the weights.
    """

    def __init__(self, *, agents: int, features: int, sums: bool, generator: torch.Generator) -> None:
        super().__init__()
        self.sums, self.agents = sums, agents
        if not sums:
            # It starts near the plain sum, Σ_h (1 / H) ELU(Σ_i Q_i): each agent's value is heard from the first step.
            parts = {"inner": (agents * WIDTH, 1.0), "inner_bias": (WIDTH, 0.0), "outer": (WIDTH, 1 / WIDTH)}
            for name, (size, bias) in parts.items():
                weights = perceptron([features, size], last_gain=0.1, generator=generator)
                torch.nn.init.constant_(weights[0].get_parameter("bias"), bias)
                self.add_module(name, weights)
            self.state = perceptron([features, WIDTH, 1], last_gain=0.1, generator=generator)

    def forward(self, values: Tensor, features: Tensor) -> Tensor:
        """[D] of values [D, n] and features [D, F]."""
        if self.sums:
            return values.sum(dim=1)
        inner, bias, outer = (self.get_submodule(name)(features) for name in ("inner", "inner_bias", "outer"))
        weights = inner.abs().view(-1, self.agents, WIDTH)
        hidden = torch.nn.functional.elu(torch.einsum("dn,dnh->dh", values, weights) + bias)
        mixed: Tensor = (hidden * outer.abs()).sum(dim=1) + self.state(features).squeeze(-1)
        return mixed


class Values(torch.nn.Module):
    """The agents' values and how they mix."""

    def __init__(self, agents: torch.nn.Module, mixer: Mixer) -> None:
        super().__init__()
        self.agents, self.mixer = agents, mixer


class Age(torch.nn.Module):
    """Updates since the target became the network."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("updates", torch.zeros(1, dtype=torch.int64))


class Mixing(TeamTrainee):
    """Some optimiser steps on each fresh batch."""

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        super().__init__(recipe, stack, generator=generator)
        sums = recipe.qmix.mixer == "vdn"
        mixer = Mixer(agents=self.team.agents, features=stack.features.shape[1], sums=sums, generator=generator)
        self.values = Values(self.actor, mixer)
        self.target, self.age = copy.deepcopy(self.values), Age()
        self.value_optimiser = adam(self.values, recipe)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """Values, target and its age."""
        return {"values": self.values, "target": self.target, "age": self.age}

    @property
    def optimisers(self) -> Mapping[str, torch.optim.Optimizer]:
        """Of the values."""
        return {"values": self.value_optimiser}

    def judged(self, view: View, cells: Ints | None = None) -> Floats:
        """[k, A] each agent's best option, the first among equals."""
        return self.joint(view, cells, self._greedy)

    def advance(self, moment: Moment, rng: np.random.Generator) -> Update:
        """Play ε-greedily, then learn."""
        settings = self.recipe.qmix
        self._renew()
        until = self.recipe.exploration.until
        decayed = min(1.0, moment.share / until) if until else 1.0
        explore = settings.explore + (settings.explore_end - settings.explore) * decayed
        sizes = self.recipe.rollouts
        actor = frozen(lambda cells: self.joint(self.view, cells, lambda seen: self._explored(seen, explore)),
                       cells=len(self.view))  # fmt: skip
        batch = collected(self.stack, actor, episodes=sizes.episodes, horizon=sizes.horizon, rng=rng)
        following, goes = onward(batch)
        columns = (batch.cells, batch.actions, batch.rewards, following, goes)
        cells, actions, rewards, ahead, still = (tensor(column[batch.taken]) for column in columns)
        losses = []
        for part in np.array_split(rng.permutation(len(cells)), settings.steps):
            if len(part):
                d = tensor(part)
                wanted = rewards[d] + still[d] * self._best_ahead(ahead[d])
                loss = (self._total(self.values, cells[d], self.team.choices[actions[d]]) - wanted).square().mean()
                limit = self.recipe.optimiser.max_norm
                descend(loss, self.values, self.value_optimiser, rate=moment.rate, max_norm=limit)
                losses.append(loss.item())
        return counted(batch, {"value_loss": float(np.mean(losses)), "explore": explore})

    def _renew(self) -> None:
        age = self.age.get_buffer("updates")
        if int(age) >= self.recipe.qmix.refresh:
            self.target.load_state_dict(self.values.state_dict())
            age.zero_()
        age.add_(1)

    def _total(self, values: Values, cells: Tensor, own: Tensor) -> Tensor:
        """[D] Q_tot of the agents' options [D, n]."""
        seen = self.view.at(cells)
        each = values.agents(seen).gather(2, own[:, :, None])[:, :, 0]
        total: Tensor = values.mixer(each, seen.features)
        return total

    def _best_ahead(self, cells: Tensor) -> Tensor:
        with torch.no_grad():
            best = self.actor(self.view.at(cells)).masked_fill(~self.team.available, ILLEGAL).argmax(dim=2)
            return self._total(self.target, cells, best)

    def _greedy(self, seen: Seen) -> Tensor:
        values = self.actor(seen).masked_fill(~self.team.available, ILLEGAL)
        best = torch.nn.functional.one_hot(values.argmax(dim=2), self.team.options)
        return torch.where(best > 0, 0.0, ILLEGAL)

    def _explored(self, seen: Seen, explore: float) -> Tensor:
        best = self._greedy(seen).exp()
        even = self.team.available.float() / self.team.available.sum(dim=1, keepdim=True)
        chances = (1 - explore) * best + explore * even[None]
        return torch.where(chances > 0, chances.clamp(min=1e-30).log(), ILLEGAL)
