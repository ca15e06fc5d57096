"""Orchestrators that decide when to stop: Snell, Q(λ), Longstaff-Schwartz, EvoSteer, Puppeteer."""

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import floats
from orchestrace.credit.counterfactuals.routing import puppeteer_rewards
from orchestrace.credit.results import Advantages, Sampling
from orchestrace.credit.steps.anchor import anchor_balance, anchor_values
from orchestrace.credit.stops.stop_bounds import continuation_fit, continuation_values
from orchestrace.credit.stops.stopping import LambdaTargets, StopCredit, lambda_targets, stop_credit


def snell(stop_values: ArrayLike, go_on_values: ArrayLike, *, stopped: ArrayLike) -> Advantages:
    """Stopping, or going on, against the better of both.

    Source: ours, on the Snell envelope
    Unit: orchestrator
    Kind: advantage
    Formula: r − V where it stopped, C − V where it went on; V = max(r, C)
    Data: [D] stop values (conditional means, net of costs), values of going on, what was done
    Evidence: ours
    Departures: none known; the direction is a policy improvement step, not the policy's own gradient
    """
    return stop_credit(stop_values, go_on_values).taken(stopped)


def q_lambda(
    stop_values: ArrayLike, go_on_values: ArrayLike, *, lam: float = 0.8, lengths: ArrayLike | None = None
) -> LambdaTargets:
    """Targets for both arms at every prefix, each followed only as far as the greedy policy would go.

    Source: Stop-RAG, arXiv 2510.14337; the cut: Watkins 1989
    Unit: orchestrator
    Kind: value
    Formula: G_t = r_{t+1} if r_{t+1} ≥ C_{t+1}, else (1 − λ) C_{t+1} + λ G_{t+1}
    Data: [B, P] stop values (conditional means, net of costs) and present values of going on, along paths
    Evidence: secondary
    Departures: cut where the greedy policy stops; uncut, values are too low for every λ > 0
    """
    return lambda_targets(stop_values, go_on_values, lam=lam, lengths=lengths)


def longstaff_schwartz(
    stop_values: ArrayLike,
    features: ArrayLike,
    *,
    fit_stop_values: ArrayLike,
    fit_features: ArrayLike,
    fit_payoffs: ArrayLike | None = None,
) -> StopCredit:
    """Both arms on fresh paths, with going on worth what a regression on other paths says.

    Source: Longstaff and Schwartz 2001
    Unit: orchestrator
    Kind: advantage
    Formula: C(s_t) ≈ features_t · β_t by least squares, backwards; stop: r − V, go on: C − V, V = max(r, C)
    Data: [B, P] stop values and [B, P, F] features of fresh paths and of the paths to fit, all forced to the end
    Evidence: textbook
    Departures: every path is regressed on, not only those in the money; credit from the fit is ours
    """
    fit = continuation_fit(fit_stop_values, fit_features, payoffs=fit_payoffs)
    return stop_credit(stop_values, continuation_values(fit, features))


def evosteer(reward: float, success: ArrayLike, *, log_ratios: ArrayLike, beta: float = 2.0) -> Advantages:
    """Every orchestration action, stop among them, by how far the spans through it are from balance.

    Source: EvoSteer (AnchorTB), arXiv 2609.38661
    Unit: orchestrator
    Kind: advantage
    Formula: −∂L/∂l_t, L = mean over spans of (u_i + Σ l − u_j)², u = log(1 + (e^β − 1) p)
    Data: the reward in [0, 1]; [T] chance of success before each action; [T] log π − log ρ of each action
    Evidence: confirmed in code
    Departures: the structure correction and the learned residual of u are the caller's, as part of `success`
    """
    nodes = np.append(floats("success", success), reward)
    balance = anchor_balance(anchor_values(nodes, beta=beta), log_ratios)
    return Advantages(values=balance.credit, sampling=Sampling(definition="anchor"))


def puppeteer(
    task_reward: float,
    tokens: ArrayLike,
    *,
    most_steps: int,
    factors: ArrayLike | None = None,
    discount: float = 0.99,
) -> Advantages:
    """The return after each choice of an agent, priced by step and token; choosing the terminator is one of them.

    Source: Puppeteer, arXiv 2505.19591
    Unit: orchestrator
    Kind: advantage
    Formula: G_t = r_t + .99 G_{t+1}; r_t = f_t c(t) tokens_t / 10⁵, r_T = R ± ½ c(T), c(s) = .1 log₂(1 + (s+1)/(max+1))
    Data: the task's reward; [T] tokens and factors of the agents chosen
    Evidence: confirmed in code
    Departures: none known; as there, no baseline. Its rule of choice is not the policy that the loss assumes
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}; it must be in [0, 1]")
    rewards = puppeteer_rewards(task_reward, tokens, most_steps=most_steps, factors=factors).values
    returns = np.zeros(len(rewards) + 1)
    for t in reversed(range(len(rewards))):
        returns[t] = rewards[t] + discount * returns[t + 1]
    return Advantages(values=returns[:-1])
