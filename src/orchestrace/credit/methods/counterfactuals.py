"""One action replaced: difference rewards, Aristocrat utility, leave one out, COMA, branches of a decision."""

from numpy.typing import ArrayLike

from orchestrace.credit.counterfactuals.counterfactual import (
    branch_advantages,
    difference_advantages,
    policy_advantages,
    sampled_advantages,
)
from orchestrace.credit.results import Advantages


def difference_rewards(reward: float, defaults: ArrayLike, *, definition: str = "default policy") -> Advantages:
    """The team's reward minus what it would be with each agent's action replaced by a fixed default.

    Source: Wolpert and Tumer 2001 (wonderful life utility)
    Unit: agent, turn, message
    Kind: advantage
    Formula: D_i = G − G(c_i instead of a_i)
    Data: the team's reward; [n] rewards of the replays with the i-th action replaced
    Evidence: textbook
    Departures: others react to the default, as the replay has it; ranking stays that of G, since c_i is fixed
    """
    return difference_advantages(reward, defaults, definition=definition)


def aristocrat_utility(replays: ArrayLike, chances: ArrayLike, *, actions: ArrayLike) -> Advantages:
    """The team's reward minus its mean over the agent's own policy, everything else as it was.

    Source: Wolpert and Tumer 2001 (Aristocrat utility)
    Unit: agent, turn
    Kind: advantage
    Formula: U_i = G − Σ_a π_i(a) G(a instead of a_i)
    Data: [n, A] rewards of the replays with each action of each agent, the chances π_i, the actions taken
    Evidence: textbook
    Departures: none known
    """
    return policy_advantages(replays, chances, actions=actions, definition="replay")


def leave_one_out(reward: float, without: ArrayLike, *, definition: str = "dropped") -> Advantages:
    """The team's reward minus what it would be without each agent. The differences do not sum to the reward.

    Source: Wolpert and Tumer 2001, with nothing as the default
    Unit: agent, turn, message, tool_call
    Kind: advantage
    Formula: L_i = v(N) − v(N − i)
    Data: the team's reward; [n] rewards of the replays without the i-th
    Evidence: textbook
    Departures: none known
    """
    return difference_advantages(reward, without, definition=definition)


def coma(action_values: ArrayLike, chances: ArrayLike, *, actions: ArrayLike) -> Advantages:
    """A central critic's value of what the agent did against its mean over the agent's policy.

    Source: COMA, arXiv 1705.08926
    Unit: agent, turn
    Kind: advantage
    Formula: A_i = Q(s, a) − Σ_b π_i(b) Q(s, (a_−i, b))
    Data: [n, A] the critic's Q of each own action given the others', the chances π_i, the actions taken
    Evidence: confirmed in code
    Departures: the critic is trained elsewhere
    """
    return policy_advantages(action_values, chances, actions=actions)


def coma_sampled(action_values: ArrayLike, contexts: ArrayLike) -> Advantages:
    """COMA where actions are texts: K samples from the policy stand for all of them.

    Source: ours, after COMA, arXiv 1705.08926
    Unit: message, turn
    Kind: advantage
    Formula: A_k = Q_k − mean of the other samples' Q in the same context
    Data: [D] the critic's Q of each sample; context
    Evidence: ours
    Departures: a sample alone in its context gives 0
    """
    return sampled_advantages(action_values, contexts)


def branches(chosen: ArrayLike, other: ArrayLike, *, common_draws: bool = False) -> Advantages:
    """Spawning, delegating or stopping against the alternative, both replayed from the same prefix.

    Source: ours
    Unit: orchestrator
    Kind: advantage
    Formula: A_d = mean R(replays of the decision) − mean R(replays of the alternative)
    Data: [n, M] and [n, L] rewards of replays for n decisions
    Evidence: ours
    Departures: none known
    """
    return branch_advantages(chosen, other, common_draws=common_draws)
