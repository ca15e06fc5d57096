"""Steps in order with a critic: PPO over tokens or turns, MAPPO, IPPO, CoLLM-MAAC, MARFT."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import Floats, floats
from orchestrace.credit.results import Advantages
from orchestrace.credit.steps.returns import Estimates, SequentialGAE, gae


class Critic(NamedTuple):
    """Advantages, and what the critic should have said."""

    advantages: Advantages
    targets: Floats
    """[D]"""


def ppo(rewards: ArrayLike, values: ArrayLike, *, mask: ArrayLike, lam: float = 0.95) -> Estimates:
    """Token-level PPO of RLHF: GAE over the tokens that the policy wrote.

    Source: PPO, arXiv 1707.06347; GAE, arXiv 1506.02438
    Unit: token
    Kind: advantage
    Formula: δ_t = r_t + γ V_{t+1} − V_t, A_t = δ_t + γ λ A_{t+1}, γ = 1; r_t: −β log(π/π_ref), at the end + R
    Data: [B, T] rewards, values, mask
    Evidence: confirmed in code
    Departures: not whitened; `whitened` is a step of its own
    """
    return gae(rewards, values, lam=lam, mask=mask)


def turn_ppo(
    rewards: ArrayLike, values: ArrayLike, *, rollout: ArrayLike, agent: ArrayLike, position: ArrayLike
) -> Critic:
    """A whole completion is one action: GAE over turns, one ratio and one clip a turn.

    Source: Turn-PPO, arXiv 2512.17008
    Unit: turn
    Kind: advantage
    Formula: GAE over the turns of an agent, γ = .99, λ = .9; every token of a turn has its A
    Data: [D] rewards and values of turns; rollout, agent, position
    Evidence: secondary
    Departures: no official code is known; γ and λ are the ones reported to do well
    """
    estimate = SequentialGAE(discount=0.99, lam=0.9)
    return Critic(*estimate.advantages(rewards, values, position=position, rollout=rollout, agent=agent))


def mappo(
    rewards: ArrayLike, values: ArrayLike, *, rollout: ArrayLike, agent: ArrayLike, position: ArrayLike
) -> Critic:
    """Each agent's GAE with the value of the global state.

    Source: MAPPO, arXiv 2103.01955
    Unit: agent, turn
    Kind: advantage
    Formula: GAE over an agent's turns with V(global state), γ = .99, λ = .95
    Data: [D] team rewards, [D] centralised values; rollout, agent, position
    Evidence: confirmed in code
    Departures: value normalisation (PopArt) is the learner's
    """
    estimate = SequentialGAE(discount=0.99, lam=0.95)
    return Critic(*estimate.advantages(rewards, values, position=position, rollout=rollout, agent=agent))


def ippo(rewards: ArrayLike, values: ArrayLike, *, rollout: ArrayLike, agent: ArrayLike, position: ArrayLike) -> Critic:
    """Each agent's GAE with the value of what it sees itself.

    Source: IPPO, arXiv 2011.09533
    Unit: agent, turn
    Kind: advantage
    Formula: GAE over an agent's turns with V(own observation), γ = .99, λ = .95
    Data: [D] rewards, [D] decentralised values; rollout, agent, position
    Evidence: textbook
    Departures: none known
    """
    return mappo(rewards, values, rollout=rollout, agent=agent, position=position)


def maac_cc(
    rewards: ArrayLike,
    values: ArrayLike,
    *,
    rollout: ArrayLike | None = None,
    position: ArrayLike | None = None,
    discount: float = 1.0,
) -> Critic:
    """One critic on the joint history: the same advantage for every agent of a turn.

    Source: CoLLM-MAAC (centralised critic), arXiv 2601.21972
    Unit: turn
    Kind: advantage
    Formula: y_t = r_t + γ V(h_{t+1}), A_t = y_t − V(h_t)
    Data: [D] team rewards and values of joint histories, one row a turn; rollout (one), position (as they lie)
    Evidence: confirmed in code
    Departures: its normaliser was not read; normalise with `whitened`
    """
    count = len(floats("rewards", rewards))
    estimate = SequentialGAE(order=("rollout",), discount=discount, lam=0.0)
    return Critic(
        *estimate.advantages(
            rewards, values, position=np.arange(count) if position is None else position, rollout=_one(rollout, count)
        )
    )


def maac_dc(
    rewards: ArrayLike,
    values: ArrayLike,
    *,
    agent: ArrayLike,
    position: ArrayLike,
    rollout: ArrayLike | None = None,
    discount: float = 1.0,
) -> Critic:
    """A critic for each agent on its own history.

    Source: CoLLM-MAAC (decentralised critics), arXiv 2601.21972
    Unit: agent, turn
    Kind: advantage
    Formula: y_t = r_t + γ V_k(h_{k,t+1}), A_t = y_t − V_k(h_{k,t})
    Data: [D] rewards, values of own histories; agent, position, rollout (one)
    Evidence: confirmed in code
    Departures: its normaliser was not read; normalise with `whitened`
    """
    estimate = SequentialGAE(discount=discount, lam=0.0)
    own = _one(rollout, len(floats("rewards", rewards)))
    return Critic(*estimate.advantages(rewards, values, position=position, rollout=own, agent=agent))


def marft_agents(rewards: ArrayLike, values: ArrayLike, *, rollout: ArrayLike, position: ArrayLike) -> Critic:
    """Agents act one after another on a growing joint prefix; each is bootstrapped from the next one's value.

    Source: MARFT (APPO), arXiv 2504.16129
    Unit: agent
    Kind: advantage
    Formula: δ_m = r_m + γ V(prefix_{m+1}) − V(prefix_m), one accumulator backwards through (step, agent); γ .99, λ .95
    Data: [D] rewards (its maths env: the last agent's alone), V of joint prefixes; rollout, position = step · N + agent
    Evidence: confirmed in code
    Departures: exact zeros stay zeros (its code makes them NaN); the accumulator is reset by rollout
    """
    estimate = SequentialGAE(order=("rollout",), discount=0.99, lam=0.95)
    return Critic(*estimate.advantages(rewards, values, position=position, rollout=rollout))


def marft_tokens(rewards: ArrayLike, values: ArrayLike, *, rollout: ArrayLike, position: ArrayLike) -> Critic:
    """The same through (step, agent, token), an agent's reward at its last token.

    Source: MARFT (TPPO), arXiv 2504.16129
    Unit: token
    Kind: advantage
    Formula: as its APPO, one accumulator backwards through (step, agent, token)
    Data: [D] token rewards, V of joint prefixes; rollout, position in the joint order
    Evidence: confirmed in code
    Departures: as `marft_agents`
    """
    return marft_agents(rewards, values, rollout=rollout, position=position)


def _one(rollout: ArrayLike | None, count: int) -> ArrayLike:
    return np.zeros(count, np.int64) if rollout is None else rollout
