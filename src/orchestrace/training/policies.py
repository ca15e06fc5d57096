"""What acts: a state's features in, prices among them; a distribution over the legal actions and a value out.

Three kinds, one call. `Mlp` scores all actions at once. `PerAction` scores each action by what it sees of that action,
whatever their number, so it also serves teams of another size. `Tabular` has a number for each state and action.
"""

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrace.errors import RecipeError
from orchestrace.training._torch import torch
from orchestrace.training.recipe import Policy as PolicyKind
from orchestrace.training.stack import Ints, Stack

Tensor = torch.Tensor

ILLEGAL = -1e9
"""The logit of an action that is not legal: probability exactly 0, yet finite, so that p log p is 0 and not NaN."""
AT_ONCE = 65_536
"""States asked about together; more would only fill the memory."""


class Seen(NamedTuple):
    """What a policy is shown of n states."""

    cells: Tensor
    """[n] their numbers in the stack."""
    features: Tensor
    """[n, F]"""
    options: Tensor
    """[n, A, G]"""
    legal: Tensor
    """[n, A] True where an action may be taken; at least one in each row."""


class View:
    """A stack of C cells as tensors, to be looked up."""

    def __init__(self, stack: Stack) -> None:
        self.features, self.options = tensor(stack.features), tensor(stack.options)
        self.legal = tensor(stack.legal)
        self.stops, self.stop_values = stack.stops, stack.stop_values

    def __len__(self) -> int:
        return len(self.legal)

    def at(self, cells: Tensor) -> Seen:
        """What is seen in these cells [n]."""
        return Seen(cells, self.features[cells], self.options[cells], self.legal[cells])


class Answer(NamedTuple):
    """What a policy says about n states."""

    logprobs: Tensor
    """[n, A] natural log; about -1e9 where an action is not legal."""
    values: Tensor
    """[n] expected return to go."""


class Policy(torch.nn.Module):
    """Something that answers; its subclasses say how."""

    def marks(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """A score for each action [n, A], legal or not, and a value for each state [n]."""
        raise NotImplementedError

    def scores(self, seen: Seen) -> Tensor:
        """The scores alone, where no value is wanted."""
        return self.marks(seen)[0]

    def forward(self, seen: Seen) -> Answer:
        """Act and value in n states."""
        scores, values = self.marks(seen)
        return Answer(legal_logprobs(scores, seen.legal), values)


class Mlp(Policy):
    """Two multilayer perceptrons with tanh, one for the actions and one for the value; they share no weights."""

    def __init__(self, *, features: int, actions: int, hidden: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        # The last layer starts small: all legal actions equally likely, whatever the features.
        self.actor = perceptron([features, *[hidden] * layers, actions], last_gain=0.01, generator=generator)
        self.critic = perceptron([features, *[hidden] * layers, 1], last_gain=1.0, generator=generator)

    def marks(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """Scores and values of n states."""
        return self.scores(seen), self.critic(seen.features).squeeze(-1)

    def scores(self, seen: Seen) -> Tensor:
        """Scores of n states."""
        found: Tensor = self.actor(seen.features)
        return found


class PerAction(Policy):
    """One network for every action: h_a = f(state, action a), score_a = g(h_a, mean of h over the legal actions).

    The value is a function of the state's features and that mean. Sharing weights across actions makes it blind to
    their order and number (Zaheer et al. 2017, deep sets).
    """

    def __init__(self, *, features: int, options: int, hidden: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        wide = [hidden] * layers
        self.embed = perceptron([features + options, *wide], last_gain=math.sqrt(2), generator=generator)
        self.score = perceptron([2 * hidden, hidden, 1], last_gain=0.01, generator=generator)
        self.critic = perceptron([features + hidden, *wide, 1], last_gain=1.0, generator=generator)

    def marks(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """Scores and values of n states."""
        each, pooled = self._embedded(seen)
        return self._scores(each, pooled), self.critic(torch.cat([seen.features, pooled], dim=-1)).squeeze(-1)

    def scores(self, seen: Seen) -> Tensor:
        """Scores of n states."""
        return self._scores(*self._embedded(seen))

    def _scores(self, each: Tensor, pooled: Tensor) -> Tensor:
        found: Tensor = self.score(torch.cat([each, pooled[:, None, :].expand_as(each)], dim=-1)).squeeze(-1)
        return found

    def _embedded(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """h of each action [n, A, H], and its mean over the legal ones [n, H]."""
        n, A, _ = seen.options.shape
        state = seen.features[:, None, :].expand(n, A, -1)
        each = torch.tanh(self.embed(torch.cat([state, seen.options], dim=-1)))
        counted = seen.legal.unsqueeze(-1).to(each.dtype)
        return each, (each * counted).sum(dim=1) / counted.sum(dim=1)


class Tabular(Policy):
    """A logit for each cell and action, a value for each cell: it sees nothing but the cell's number."""

    def __init__(self, *, cells: int, actions: int) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.zeros(cells, actions))
        self.values = torch.nn.Parameter(torch.zeros(cells))

    def marks(self, seen: Seen) -> tuple[Tensor, Tensor]:
        """Scores and values of n states."""
        return self.logits[seen.cells], self.values[seen.cells]


def policy_for(stack: Stack, kind: PolicyKind, *, generator: torch.Generator) -> Policy:
    """A policy of the kind that a recipe names, for a stack of settings.

    Args:
      stack: the settings that it will act in.
      kind: the recipe's `policy`.
      generator: draws the initial weights; the global die is left alone.

    Raises:
      RecipeError: a per-action policy where the environment says nothing of its actions.
    """
    (C, A, G), F = stack.options.shape, stack.features.shape[1]
    if kind.kind == "tabular":
        return Tabular(cells=C, actions=A)
    if kind.kind == "mlp":
        return Mlp(features=F, actions=A, hidden=kind.hidden, layers=kind.layers, generator=generator)
    if not G:
        remedy = 'choose kind = "mlp"'
        raise RecipeError("this environment shows no features of its actions", place="policy.kind", remedy=remedy)
    return PerAction(features=F, options=G, hidden=kind.hidden, layers=kind.layers, generator=generator)


def check_fits(networks: Mapping[str, torch.nn.Module], stack: Stack) -> None:
    """Refuse to judge policies where they cannot act.

    Args:
      networks: those that are policies are looked at.
      stack: the settings to act in.

    Raises:
      RecipeError: the settings differ from those of training in a way that this kind of policy cannot serve.
    """
    (C, A), F = stack.legal.shape, stack.features.shape[1]
    for policy in networks.values():
        if isinstance(policy, Tabular) and policy.logits.shape != (C, A):
            raise RecipeError("a tabular policy knows only the states it was trained in", place="policy.kind")
        if isinstance(policy, Mlp) and (policy.actor[0].in_features, policy.actor[-1].out_features) != (F, A):
            problem = f"{A} actions and {F} features are not those of training"
            raise RecipeError(problem, place="policy.kind", remedy='train with policy.kind = "per-action"')


def distributions(policy: Policy, view: View, cells: Ints | None = None) -> npt.NDArray[np.float64]:
    """[n, A] probabilities in these cells [n], or in all C of them; float64 rows that sum to one."""
    wanted = np.arange(len(view)) if cells is None else cells
    with torch.no_grad():
        seen = [view.at(tensor(part)) for part in portions(wanted)]
        parts = [legal_logprobs(policy.scores(some), some.legal) for some in seen]
    return probabilities(torch.cat(parts) if parts else torch.zeros(0, view.legal.shape[1]))


def probabilities(logprobs: Tensor) -> npt.NDArray[np.float64]:
    """[n, A] log-probabilities as a table of probabilities in float64 whose rows sum to one."""
    table: npt.NDArray[np.float64] = np.exp(logprobs.detach().numpy().astype(np.float64))
    table /= table.sum(axis=1, keepdims=True)
    return table


def legal_logprobs(scores: Tensor, legal: Tensor) -> Tensor:
    """[n, A] log-probabilities of the softmax over the legal actions."""
    return torch.log_softmax(scores.masked_fill(~legal, ILLEGAL), dim=-1)


def tensor(array: npt.NDArray[np.generic]) -> Tensor:
    """A numpy array as a tensor; float64 becomes float32, as the networks have it."""
    made = torch.from_numpy(np.ascontiguousarray(array))
    return made.float() if made.is_floating_point() else made


def perceptron(sizes: list[int], *, last_gain: float, generator: torch.Generator) -> torch.nn.Sequential:
    """Linear layers with tanh between them, orthogonal weights, zero biases.

    Args:
      sizes: units of each layer, the inputs first.
      last_gain: scale of the last layer's weights.
      generator: draws them.
    """
    layers: list[torch.nn.Module] = []
    for i, (wide, narrow) in enumerate(itertools.pairwise(sizes)):
        last = i == len(sizes) - 2
        linear: torch.nn.Linear = torch.nn.utils.skip_init(torch.nn.Linear, wide, narrow)  # type: ignore[no-untyped-call]
        torch.nn.init.orthogonal_(linear.weight, last_gain if last else math.sqrt(2), generator=generator)
        torch.nn.init.zeros_(linear.bias)
        layers += [linear] if last else [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers)


def portions(cells: Ints) -> list[Ints]:
    """Cells in parts of at most AT_ONCE."""
    return [cells[i : i + AT_ONCE] for i in range(0, len(cells), AT_ONCE)]
