"""Rewards of orchestrators that route between frozen agents: what they pay for being right, for steps, for tokens."""

import math

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, floats
from orchestrace.credit.results import ShapedRewards

PUPPETEER_TOKENS = 1e5
"""Tokens that count as one unit of cost."""
PUPPETEER_END = 0.5
"""Factor of the step cost at the end."""


def agent_q_mix_rewards(
    accuracy: ArrayLike,
    tokens: ArrayLike,
    *,
    accuracy_weight: float = 1.0,
    token_weight: float = 0.1,
    most_tokens: float = 10_000,
) -> ShapedRewards:
    """r = w_acc · accuracy − w_tok · min(tokens / max, 1)     (Agent Q-Mix, arXiv 2604.00344).

    Args:
      accuracy: [B] of each rollout, in [0, 1].
      tokens: [B] that it took, ≥ 0.
      accuracy_weight: w_acc.
      token_weight: w_tok.
      most_tokens: max; more cost no more.

    Returns:
      raw: w_acc · accuracy; added: the price of the tokens.

    Raises:
      ValueError: lengths that differ, negative tokens, or a limit that is not positive.
    """
    right = floats("accuracy", accuracy)
    used = floats("tokens", tokens, like=("accuracy", len(right)))
    if (used < 0).any():
        raise ValueError(f"tokens[{int(np.argmax(used < 0))}] is negative")
    if not most_tokens > 0:
        raise ValueError(f"most_tokens is {most_tokens}; it must be positive")
    return ShapedRewards(raw=accuracy_weight * right, added=-token_weight * np.minimum(used / most_tokens, 1.0))


def puppeteer_step_costs(steps: ArrayLike, *, most_steps: int) -> Floats:
    """c(s) = 0.1 log₂(1 + (s + 1) / (max + 1)): rises with every step, .1 at the cap (Puppeteer, arXiv 2505.19591).

    Args:
      steps: any shape, s ≥ 0, counted from 0.
      most_steps: max ≥ 1, the cap on steps; 5 as shipped.

    Raises:
      ValueError: a step below 0 or a cap below 1.
    """
    s = floats("steps", steps, ndim=np.ndim(steps))
    if (s < 0).any():
        raise ValueError("steps must not be negative; they are counted from 0")
    if most_steps < 1:
        raise ValueError(f"most_steps is {most_steps}; it must be at least 1")
    costs: Floats = 0.1 * np.log1p((s + 1) / (most_steps + 1)) / math.log(2)
    return costs


def puppeteer_rewards(
    task_reward: float, tokens: ArrayLike, *, most_steps: int, factors: ArrayLike | None = None
) -> ShapedRewards:
    """The task's reward at the end and the price of every step before it (arXiv 2505.19591, as its code has it).

        r_t = f_t c(t) tokens_t / 10⁵ before the end,     r_T = R + ½ c(T) if R > 0, else R − ½ c(T)

    The end's bonus rises with T: a success that comes later is paid more. That is the code's, not a slip of ours.

    Args:
      task_reward: R.
      tokens: [T] of each step, ≥ 0; the last step's are not counted.
      most_steps: the cap on steps.
      factors: [T] f of the agent chosen: −1 by default, −1.5 for web search; the last one's is not used.

    Raises:
      ValueError: no step, lengths that differ, or negative tokens.
    """
    used = floats("tokens", tokens)
    if not len(used):
        raise ValueError("tokens is empty; an episode has at least the step that ends it")
    if (used < 0).any():
        raise ValueError(f"tokens[{int(np.argmax(used < 0))}] is negative")
    if not math.isfinite(task_reward):
        raise ValueError(f"task_reward is {task_reward}; it must be finite")
    f = -np.ones(len(used)) if factors is None else floats("factors", factors, like=("tokens", len(used)))
    costs = puppeteer_step_costs(np.arange(len(used)), most_steps=most_steps)
    raw, added = np.zeros(len(used)), f * costs * used / PUPPETEER_TOKENS
    raw[-1] = task_reward
    added[-1] = math.copysign(PUPPETEER_END, 1.0 if task_reward > 0 else -1.0) * costs[-1]
    return ShapedRewards(raw=raw, added=added)
