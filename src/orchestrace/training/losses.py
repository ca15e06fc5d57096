"""Losses as pure functions of tensors: equation, shapes, code. Each is a mean over D decisions, to be minimised.

There is no discount: episodes end, and every price is paid when it arises.
"""

from orchestrace.training._torch import torch

Tensor = torch.Tensor


def policy_gradient_loss(logprobs: Tensor, advantages: Tensor) -> Tensor:
    """L = −(1/D) Σ A_d log π(a_d | s_d), whose gradient is the score-function estimate (Williams 1992).

    Args:
      logprobs: [D] natural log, under the learner, of the actions taken.
      advantages: [D] constants; no gradient flows into them.
    """
    return -(advantages.detach() * logprobs).mean()


def clipped_surrogate(logprobs: Tensor, old_logprobs: Tensor, *, advantages: Tensor, clip: float) -> Tensor:
    """L = −(1/D) Σ min(ρ_d A_d, clip(ρ_d, 1−ε, 1+ε) A_d),  ρ = π/π_old   (Schulman et al. 2017, eq. 7).

    Args:
      logprobs: [D] under the learner.
      old_logprobs: [D] under the policy that sampled.
      advantages: [D] constants.
      clip: ε.
    """
    ratio = torch.exp(logprobs - old_logprobs.detach())
    constant = advantages.detach()
    return -torch.minimum(ratio * constant, ratio.clamp(1 - clip, 1 + clip) * constant).mean()


def weighted_surrogate(
    log_ratios: Tensor, advantages: Tensor, *, weights: Tensor, clip_low: float, clip_high: float
) -> Tensor:
    """L = −Σ_d w_d min(ρ_d A_d, clip(ρ_d, 1−ε_low, 1+ε_high) A_d),  ρ = exp(log ratio of the decision's unit).

    The twin of `credit.Objective.surrogate`; which unit a ratio is of, and the weights, make the method.

    Args:
      log_ratios: [D] of each decision's unit: itself, or its episode.
      advantages: [D] constants.
      weights: [D] from `credit.token_weights`.
      clip_low: ε_low.
      clip_high: ε_high.
    """
    ratio, constant = torch.exp(log_ratios), advantages.detach()
    held = ratio.clamp(1 - clip_low, 1 + clip_high) * constant
    return -(weights * torch.minimum(ratio * constant, held)).sum()


def preference_loss(margins: Tensor) -> Tensor:
    """L = −mean log σ(m): Bradley and Terry's likelihood that the preferred one is preferred.

    Args:
      margins: [n] how much more the model thinks of the preferred than of the other.
    """
    return torch.nn.functional.softplus(-margins).mean()


def balance_loss(node_values: Tensor, log_ratios: Tensor, *, taken: Tensor) -> Tensor:
    """Mean over B trajectories of the mean squared residual of all spans, in O(T); see `credit.anchor_balance`.

        o_k = u_k − Σ_{t<k} l_t,     L = (2 / T) Σ_k (o_k − ō)²

    Args:
      node_values: [T + 1, B] u; the node after a trajectory's last decision is its end, what follows is not read.
      log_ratios: [T, B] l, 0 where no decision was taken.
      taken: [T, B] bool.
    """
    before = torch.cat([torch.zeros_like(log_ratios[:1]), torch.cumsum(log_ratios, dim=0)])
    counted = torch.cat([torch.ones_like(taken[:1]), taken]).to(node_values.dtype)
    offsets = (node_values - before) * counted
    length = taken.sum(dim=0).to(node_values.dtype)
    centred = (offsets - offsets.sum(dim=0) / (length + 1)) * counted
    return (2 / length * centred.square().sum(dim=0)).mean()


def value_loss(values: Tensor, targets: Tensor) -> Tensor:
    """L = (1/D) Σ ½ (v_d − g_d)².

    Args:
      values: [D] of the value head.
      targets: [D] constants, the returns to go.
    """
    return 0.5 * (values - targets.detach()).square().mean()


def entropy(logprobs: Tensor) -> Tensor:
    """H_d = −Σ_a π(a | s_d) log π(a | s_d), in nats; the one function here that is a bonus, not a loss.

    Args:
      logprobs: [D, A] of every action; finite, very negative where an action is not legal.

    Returns:
      [D] entropies.
    """
    return -(logprobs.exp() * logprobs).sum(dim=-1)
