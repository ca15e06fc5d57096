"""A small network that sees a state's features, prices among them, and says how to act there.

The environments are finite, so the network is always asked about all states at once: its answer is a table.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from orchestrace.training._torch import torch

Tensor = torch.Tensor

ILLEGAL = -1e9
"""The logit of an action that is not legal: probability exactly 0, yet finite, so that p log p is 0 and not NaN."""


class Answer(NamedTuple):
    """What a policy says about S states."""

    logprobs: Tensor
    """[S, A] natural log; about -1e9 where an action is not legal."""
    values: Tensor
    """[S] expected return to go."""


class Policy(torch.nn.Module):
    """Two multilayer perceptrons with tanh, one for the actions and one for the value; they share no weights.

    Args:
      features: F, numbers that describe a state.
      actions: A.
      hidden: units in each hidden layer.
      layers: hidden layers.
      generator: draws the initial weights; the global die is left alone.
    """

    def __init__(self, *, features: int, actions: int, hidden: int, layers: int, generator: torch.Generator) -> None:
        super().__init__()
        # The last layer starts small: all legal actions equally likely, whatever the features.
        self.actor = _perceptron([features, *[hidden] * layers, actions], last_gain=0.01, generator=generator)
        self.critic = _perceptron([features, *[hidden] * layers, 1], last_gain=1.0, generator=generator)

    def forward(self, features: Tensor, legal: Tensor) -> Answer:
        """Act and value in S states.

        Args:
          features: [S, F].
          legal: [S, A] True where an action may be taken; at least one in each row.
        """
        logits = self.actor(features).masked_fill(~legal, ILLEGAL)
        return Answer(torch.log_softmax(logits, dim=-1), self.critic(features).squeeze(-1))


def probabilities(logprobs: Tensor) -> npt.NDArray[np.float64]:
    """[S, A] log-probabilities as a table of probabilities in float64 whose rows sum to one."""
    table: npt.NDArray[np.float64] = np.exp(logprobs.detach().numpy().astype(np.float64))
    table /= table.sum(axis=1, keepdims=True)
    return table


def _perceptron(sizes: list[int], *, last_gain: float, generator: torch.Generator) -> torch.nn.Sequential:
    layers: list[torch.nn.Module] = []
    for i, (wide, narrow) in enumerate(itertools.pairwise(sizes)):
        last = i == len(sizes) - 2
        linear: torch.nn.Linear = torch.nn.utils.skip_init(torch.nn.Linear, wide, narrow)  # type: ignore[no-untyped-call]
        torch.nn.init.orthogonal_(linear.weight, last_gain if last else math.sqrt(2), generator=generator)
        torch.nn.init.zeros_(linear.bias)
        layers += [linear] if last else [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*layers)
