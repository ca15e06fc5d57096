"""The learning step of PPO, for every algorithm that makes its rewards in its own way and learns from them by PPO."""

import numpy as np

from orchestrace.credit import gae
from orchestrace.training._torch import torch
from orchestrace.training.learner import Figures, Moment, Tensor, Trainee, Update, counted, tensor
from orchestrace.training.losses import clipped_surrogate, entropy, value_loss
from orchestrace.training.rollouts import Batch
from orchestrace.training.stack import Floats

TINY = 1e-8
"""Keeps a setting whose advantages are all equal from being divided by zero."""


def learned(trainee: Trainee, batch: Batch, *, moment: Moment, rng: np.random.Generator) -> Update:
    """Learn from a batch whose rewards may be of any making.

    Args:
      trainee: what learns; its recipe's `ppo` says how.
      batch: T by B decisions.
      moment: what the schedules say.
      rng: shuffles the decisions.
    """
    settings = trainee.recipe.ppo
    cells, actions = tensor(batch.cells[batch.taken]), tensor(batch.actions[batch.taken])
    with torch.no_grad():
        old = trainee.answer(cells)
        ends = trainee.answer(tensor(np.maximum(batch.beyond, 0))).values.numpy().astype(np.float64)
    values = np.zeros(batch.taken.shape)
    values[batch.taken] = old.values.numpy()
    bootstrap = np.where(batch.beyond >= 0, ends, 0.0)
    estimates = gae(batch.rewards.T, values.T, lam=settings.gae_lambda, mask=batch.taken.T, bootstrap=bootstrap)
    advantages = estimates.values.T
    targets = tensor((advantages + values)[batch.taken])
    credit = tensor(_normalised(advantages, batch)[batch.taken])
    old_logprobs = old.logprobs.gather(1, actions[:, None])[:, 0]

    rows = []
    for _ in range(settings.epochs):
        for part in np.array_split(rng.permutation(len(cells)), settings.minibatches):
            if len(part):
                d = tensor(part)
                rows.append(
                    _step(trainee, cells[d], actions[d], old_logprobs=old_logprobs[d], advantages=credit[d],
                          targets=targets[d], moment=moment)
                )  # fmt: skip
    return counted(batch, {name: float(np.mean([row[name] for row in rows])) for name in rows[0]})


def _step(
    trainee: Trainee,
    cells: Tensor,
    actions: Tensor,
    *,
    old_logprobs: Tensor,
    advantages: Tensor,
    targets: Tensor,
    moment: Moment,
) -> Figures:
    """One optimiser step on a minibatch of D decisions."""
    settings, answer = trainee.recipe.ppo, trainee.answer(cells)
    logprobs = answer.logprobs.gather(1, actions[:, None])[:, 0]
    surrogate = clipped_surrogate(logprobs, old_logprobs, advantages=advantages, clip=settings.clip)
    error = value_loss(answer.values, targets)
    spread = entropy(answer.logprobs).mean()
    norm = trainee.descend(surrogate + settings.value_weight * error - moment.entropy_weight * spread, moment)
    outside = ((logprobs - old_logprobs).exp() - 1).abs() > settings.clip
    return {
        "policy_loss": surrogate.item(),
        "value_loss": error.item(),
        "entropy": spread.item(),
        "clipped": outside.float().mean().item(),
        "gradient_norm": norm,
    }


def _normalised(advantages: Floats, batch: Batch) -> Floats:
    """[T, B] mean 0 and deviation 1 over the decisions of each setting."""
    scaled = advantages.copy()
    for setting in np.unique(batch.settings):
        own = batch.taken & (batch.settings == setting)
        scaled[own] = (scaled[own] - scaled[own].mean()) / (scaled[own].std() + TINY)
    return scaled
