"""Values of teams, prefixes and states: VDN, QMIX, MADDPG, Agent Q-Mix, RUDDER, potentials, process rewards."""

from numpy.typing import ArrayLike

from orchestrace.credit._arrays import floats
from orchestrace.credit.counterfactuals.mixing import Mixed, Mixer, mixed_values
from orchestrace.credit.counterfactuals.routing import agent_q_mix_rewards
from orchestrace.credit.results import Advantages, Sampling, ShapedRewards, Shares
from orchestrace.credit.steps.redistribution import Correction, difference_shares, potential_rewards, process_rewards


def vdn(action_values: ArrayLike) -> Shares:
    """Each agent's own value, the team's being their sum.

    Source: VDN, arXiv 1706.05296
    Unit: agent
    Kind: share
    Formula: Q_tot = Σ_i Q_i; the share of i is Q_i
    Data: [n] Q_i of the actions taken
    Evidence: confirmed in code
    Departures: the shares sum to the predicted value, not to the reward
    """
    q = floats("action_values", action_values)
    return Shares(values=q, total=float(q.sum()), sampling=Sampling(definition="critic"))


def qmix(action_values: ArrayLike, mixer: Mixer) -> Mixed:
    """A monotone mix of the agents' values, and the slope in each as the weight of its credit.

    Source: QMIX, arXiv 1803.11485
    Unit: agent
    Kind: value
    Formula: Q_tot = |W₂(s)| ELU(|W₁(s)| Q + b₁(s)) + V(s); weight of i: ∂Q_tot/∂Q_i ≥ 0
    Data: [B, n] Q_i of the actions taken; the mixer's weights in each state
    Evidence: confirmed in code
    Departures: hypernetworks are the caller's; slopes as weights of credit are ours
    """
    return mixed_values(action_values, mixer)


def maddpg(action_values: ArrayLike, *, baselines: ArrayLike | None = None) -> Advantages:
    """Each agent by its own central critic, for policies that sample discrete or text actions.

    Source: MADDPG, arXiv 1706.02275
    Unit: agent
    Kind: advantage
    Formula: weight of ∇ log π_i(a_i): Q_i(x, a_1..a_N) − b_i
    Data: [n] each critic's Q_i of the joint action; optionally [n] baselines that do not see a_i
    Evidence: textbook
    Departures: ∇ log π in place of ∇_a Q through the action, which text does not have
    """
    q = floats("action_values", action_values)
    b = 0.0 if baselines is None else floats("baselines", baselines, like=("action_values", len(q)))
    return Advantages(values=q - b, sampling=Sampling(definition="critic"))


def agent_q_mix(accuracy: ArrayLike, tokens: ArrayLike, *, most_tokens: float = 10_000) -> ShapedRewards:
    """The reward of a topology of agents: right answers, at a small price of tokens.

    Source: Agent Q-Mix, arXiv 2604.00344
    Unit: team, agent
    Kind: shaped
    Formula: r = accuracy − 0.1 min(tokens / max, 1), then QMIX with γ = .99
    Data: [B] accuracy and tokens of the rollouts
    Evidence: confirmed in code
    Departures: the mixing is `qmix`; the networks are the caller's
    """
    return agent_q_mix_rewards(accuracy, tokens, most_tokens=most_tokens)


def rudder(prefix_values: ArrayLike, reward: float, *, correction: Correction = "even") -> Shares:
    """A late reward given to the steps at which its prediction rose.

    Source: RUDDER, arXiv 1806.07857
    Unit: turn, message, tool_call
    Kind: share
    Formula: c_t = g_t − g_{t−1}, g_0 = 0, plus (R − g_T) / T each
    Data: [T] predicted return after each step; the team's reward
    Evidence: textbook
    Departures: any prefix value may be g; the correction can go to the last step or be a factor
    """
    return difference_shares(prefix_values, reward, correction=correction)


def pbrs(
    rewards: ArrayLike, potentials: ArrayLike, *, discount: float = 1.0, last_potential: float = 0.0
) -> ShapedRewards:
    """Rewards shaped by a potential of the state, which leaves the best policy the best.

    Source: Ng, Harada and Russell 1999
    Unit: turn, tool_call, orchestrator
    Kind: shaped
    Formula: r' = r + γ Φ(s') − Φ(s), Φ = 0 at the end
    Data: [T] rewards, potentials of the frontier state before each step in one fixed order
    Evidence: textbook
    Departures: none known
    """
    return potential_rewards(rewards, potentials, discount=discount, last_potential=last_potential)


def prm_progress(rewards: ArrayLike, values: ArrayLike, *, weight: float = 1.0) -> ShapedRewards:
    """A process reward model's progress: what each step adds to the value, so that length earns nothing.

    Source: ours, over values as of Math-Shepherd, arXiv 2312.08935
    Unit: turn
    Kind: shaped
    Formula: r' = r + w (V_{t+1} − V_t)
    Data: [T] rewards; [T + 1] values before the first step and after each
    Evidence: ours
    Departures: Math-Shepherd itself ranks answers by their lowest step; raw values are in `process_rewards`
    """
    return process_rewards(rewards, values, weight=weight)
