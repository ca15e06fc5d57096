"""What an algorithm changes: a policy and its optimiser, asked about every cell at once."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from orchestrace.training._torch import torch
from orchestrace.training.policies import Answer, Policy
from orchestrace.training.rollouts import Batch

Tensor = torch.Tensor

Figures = Mapping[str, float]
"""What an update tells about itself, by name; a row of the curve."""


class Learner(NamedTuple):
    """A policy in training."""

    policy: Policy
    optimiser: torch.optim.Adam
    features: Tensor
    """[C, F] of every cell, float32."""
    legal: Tensor
    """[C, A]"""
    max_norm: float
    """Gradients are scaled down to this norm."""

    def answer(self) -> Answer:
        """[C, A] log-probabilities and [C] values, as the policy stands now."""
        answer: Answer = self.policy(self.features, self.legal)
        return answer


class Algorithm(Protocol):
    """An algorithm with its own settings bound."""

    def __call__(self, learner: Learner, batch: Batch, *, entropy_weight: float, rng: np.random.Generator) -> Figures:
        """Learn from a batch, with this weight of the entropy and this die."""
        ...


def descend(learner: Learner, loss: Tensor) -> float:
    """One optimiser step down the gradient of a loss; returns the gradient's norm before it was scaled."""
    learner.optimiser.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = torch.nn.utils.clip_grad_norm_(learner.policy.parameters(), learner.max_norm, foreach=False)
    learner.optimiser.step()
    return float(norm)


def tensor(array: npt.NDArray[np.generic]) -> Tensor:
    """A numpy array as a tensor; float64 becomes float32, as the network has it."""
    made = torch.from_numpy(np.ascontiguousarray(array))
    return made.float() if made.is_floating_point() else made
