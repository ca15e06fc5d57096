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
