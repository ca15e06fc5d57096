"""Several agents that act at once: who they are, the networks they share, and their joint policy as a table.

A joint action is one number (`Env.factors`). A joint policy is the product of the agents' own, so the ordinary
rollouts play it and its value is exact. Joint actions that are not legal are left out, and the rest made to sum to one.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from orchestrace.errors import RecipeError
from orchestrace.training._torch import torch
from orchestrace.training.learner import adam, frozen
from orchestrace.training.policies import ILLEGAL, Seen, Tensor, View, perceptron, portions, tensor
from orchestrace.training.recipe import Recipe
from orchestrace.training.rollouts import Batch, collected
from orchestrace.training.stack import Floats, Ints, Stack


class Team(NamedTuple):
    """n agents, each with up to M options; A joint actions."""

    choices: Tensor
    """[A, n] each agent's option in each joint action."""
    available: Tensor
    """[n, M] True where an agent has that option."""
    shows: Tensor
    """[n, F] 1 where an agent sees a feature."""

    @property
    def agents(self) -> int:
        """n."""
        return len(self.available)

    @property
    def options(self) -> int:
        """M."""
        return self.available.shape[1]

    def one_hot(self, actions: Tensor) -> Tensor:
        """[D, n, M] each agent's option, of joint actions [D]."""
        return torch.nn.functional.one_hot(self.choices[actions], self.options).float()


def team_of(stack: Stack, recipe: Recipe) -> Team:
    """The agents of a stack.

    Raises:
      RecipeError: only the orchestrator acts there, or the policy is of a kind that teams do not have.
    """
    env = stack.envs[0]
    if not env.factors:
        problem = f"in {env.name} one orchestrator acts, not several agents at once"
        raise RecipeError(problem, place="algorithm", remedy='choose "ppo", or an environment with several agents')
    if recipe.policy.kind != "mlp":
        raise RecipeError("teams have networks of this kind only", place="policy.kind", remedy='choose kind = "mlp"')
    sizes = [len(options) for options in env.factors.values()]
    choices = np.stack(np.unravel_index(np.arange(len(env.actions)), sizes), axis=1)
    available = np.arange(max(sizes))[None, :] < np.array(sizes)[:, None]
    shows = np.ones((len(sizes), stack.features.shape[1]))
    for i, agent in enumerate(env.factors):
        if agent in env.views:
            shows[i] = 0.0
            shows[i, list(env.views[agent])] = 1.0
    return Team(tensor(choices), tensor(available), tensor(shows))


class Agents(torch.nn.Module):
    """One network for all agents: what an agent sees, and which one it is, in; `outputs` numbers out.

    Args:
      team: the agents.
      recipe: hidden units and layers.
      outputs: numbers for each agent.
      central: True: every agent's copy is shown all features.
      extra: more inputs that the caller adds.
      generator: draws the weights.
    """

    def __init__(
        self, team: Team, recipe: Recipe, *, outputs: int, central: bool = False, extra: int = 0,
        generator: torch.Generator,
    ) -> None:  # fmt: skip
        super().__init__()
        n, F = team.shows.shape
        self.shows = torch.ones_like(team.shows) if central else team.shows
        sizes = [F + n + extra, *[recipe.policy.hidden] * recipe.policy.layers, outputs]
        self.body = perceptron(sizes, last_gain=0.01, generator=generator)

    def forward(self, seen: Seen, extra: Tensor | None = None) -> Tensor:
        """[k, n, outputs] in k cells; extra [k, n, E]."""
        n = len(self.shows)
        shown = seen.features[:, None, :] * self.shows[None]
        inputs = [shown, torch.eye(n).expand(len(shown), n, n)]
        told: Tensor = self.body(torch.cat(inputs if extra is None else [*inputs, extra], dim=-1))
        return told


class TeamTrainee:
    """A team of agents with a softmax policy each, their optimiser and the stack: what team algorithms share.

    Args:
      recipe: the whole recipe.
      stack: the settings.
      generator: draws the weights.
    """

    def __init__(self, recipe: Recipe, stack: Stack, *, generator: torch.Generator) -> None:
        self.recipe, self.stack, self.view = recipe, stack, View(stack)
        self.team = team_of(stack, recipe)
        self.actor = Agents(self.team, recipe, outputs=self.team.options, generator=generator)
        self.optimiser = adam(self.actor, recipe)

    @property
    def networks(self) -> Mapping[str, torch.nn.Module]:
        """The agents."""
        return {"actor": self.actor}

    @property
    def optimisers(self) -> Mapping[str, torch.optim.Optimizer]:
        """Theirs."""
        return {"actor": self.optimiser}

    def own_logprobs(self, seen: Seen) -> Tensor:
        """[k, n, M] log-probabilities of each agent's options."""
        return torch.log_softmax(self.actor(seen).masked_fill(~self.team.available, ILLEGAL), dim=-1)

    def judged(self, view: View, cells: Ints | None = None) -> Floats:
        """[k, A] the joint policy as it samples."""
        return self.joint(view, cells, self.own_logprobs)

    def joint(self, view: View, cells: Ints | None, logprobs: Callable[[Seen], Tensor]) -> Floats:
        """[k, A] the product of the agents' policies, over what is legal."""
        wanted = np.arange(len(view)) if cells is None else cells
        parts = [np.zeros((0, view.legal.shape[1]))]
        with torch.no_grad():
            for part in portions(wanted):
                seen = view.at(tensor(part))
                own = logprobs(seen)
                each = torch.stack([own[:, i, self.team.choices[:, i]] for i in range(self.team.agents)])
                chances = np.exp(each.sum(dim=0).numpy().astype(np.float64)) * seen.legal.numpy()
                sums = chances.sum(axis=1, keepdims=True)
                even = seen.legal.numpy() / seen.legal.numpy().sum(axis=1, keepdims=True)
                parts.append(np.where(sums > 0, chances / np.where(sums > 0, sums, 1.0), even))
        return np.concatenate(parts)

    def played(self, rng: np.random.Generator) -> Batch:
        """Episodes of every setting under the joint policy."""
        sizes, actor = self.recipe.rollouts, frozen(lambda cells: self.judged(self.view, cells), cells=len(self.view))
        return collected(self.stack, actor, episodes=sizes.episodes, horizon=sizes.horizon, rng=rng)

    def taken(self, cells: Tensor, actions: Tensor) -> Tensor:
        """[D, n] log-probability of what each agent did."""
        own = self.own_logprobs(self.view.at(cells))
        return own.gather(2, self.team.choices[actions][:, :, None])[:, :, 0]


def entropies(logprobs: Tensor) -> Tensor:
    """[D, n] entropy of each agent's policy, of its log-probabilities [D, n, M]."""
    return -(logprobs.exp() * logprobs).sum(dim=-1)


def onward(batch: Batch) -> tuple[Ints, Floats]:
    """Where each decision led: the cell of the next one [T, B] (the cell beyond, where it was cut), and 1 if it did.

    0 where the episode ended.
    """
    following = np.vstack([batch.cells[1:], np.zeros_like(batch.cells[:1])])
    goes = np.vstack([batch.taken[1:], np.zeros_like(batch.taken[:1])])
    last = batch.taken & ~goes
    cut = last & (batch.beyond >= 0)[None, :]
    cells = np.where(cut, np.maximum(batch.beyond, 0)[None, :], np.where(goes, following, 0))
    return cells, (goes | cut).astype(np.float64)
