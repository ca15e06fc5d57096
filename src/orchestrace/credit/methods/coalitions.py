"""What each unit is worth to every team it could be in: Shapley, Banzhaf, Owen, Winter, Myerson and their estimates.

A game is a vector of the 2^n values of its coalitions (`games`), or a function of many coalitions at once
(`estimators`). Values that do not add up show it: `residual`.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit.coalitions import games, levels, restricted
from orchestrace.credit.coalitions._evaluations import Evaluate
from orchestrace.credit.coalitions._game import Number, Value
from orchestrace.credit.coalitions.estimators import banzhaf_msr, permutation_shapley
from orchestrace.credit.coalitions.kernel import kernel_shapley
from orchestrace.credit.results import Shares


def shapley(values: ArrayLike, *, definition: str = "") -> Shares:
    """The marginal contribution, averaged over all orders of the units.

    Source: Shapley 1953
    Unit: agent, role, turn, message, tool_call
    Kind: share
    Formula: φ_i = Σ_{S∌i} |S|! (n−|S|−1)! / n! (v(S∪i) − v(S))
    Data: v of all 2^n coalitions
    Evidence: textbook
    Departures: none known
    """
    return games.shapley_value(values, definition=definition)


def banzhaf(values: ArrayLike, *, definition: str = "") -> Shares:
    """The marginal contribution, averaged over all coalitions of the others; does not add up.

    Source: Banzhaf 1965; Data Banzhaf, arXiv 2205.15466
    Unit: agent, role, turn, message, tool_call
    Kind: value
    Formula: β_i = 2^(1−n) Σ_{S∌i} (v(S∪i) − v(S))
    Data: v of all 2^n coalitions
    Evidence: textbook
    Departures: not scaled to add up; the residual says by how much it does not
    """
    return games.banzhaf_value(values, definition=definition)


def myerson(values: ArrayLike, edges: Sequence[tuple[int, int]], *, definition: str = "") -> Shares:
    """Shapley where only units that are connected by who spoke with whom can work together.

    Source: Myerson 1977
    Unit: agent
    Kind: share
    Formula: φ of v^g(S) = Σ v(C) over the connected parts C of S
    Data: v of connected coalitions; the edges of the communication graph
    Evidence: textbook
    Departures: none known; the graph is the observed one, which agents who choose their edges could bend
    """
    return restricted.myerson_value(values, edges, definition=definition)


def owen(values: ArrayLike, unions: Sequence[Collection[int]], *, definition: str = "") -> Shares:
    """Shapley between unions, roles say, and within each of them.

    Source: Owen 1977
    Unit: agent, role
    Kind: share
    Formula: the mean of v(S∪i) − v(S) over orders in which each union stands together
    Data: v of whole unions with a part of one more; the unions
    Evidence: textbook
    Departures: none known
    """
    return games.owen_value(values, unions, definition=definition)


def winter(tree: levels.Tree, value: Value[Number]) -> levels.LevelShares[Number]:
    """Shapley at every level of units within units, so that the shares of a unit's parts sum to its own.

    Source: Winter 1989
    Unit: team, orchestrator, role, agent, turn, message, tool_call, token
    Kind: share
    Formula: the mean of v(S∪i) − v(S) over orders in which every unit stands together, at each level
    Data: how the units nest; v of the coalitions that such orders pass through
    Evidence: textbook
    Departures: one pass gives inner units too; orders do not respect precedence, for which v is closed causally
    """
    return levels.winter(tree, value)


def precedence(values: ArrayLike, ancestors: Mapping[int, Collection[int]], *, definition: str = "") -> Shares:
    """Shapley over orders in which every event comes after what caused it.

    Source: Faigle, Kern 1992
    Unit: turn, message, tool_call
    Kind: share
    Formula: the mean of v(S∪i) − v(S) over the linear extensions of the causal order
    Data: v of ancestor-closed coalitions; each event's ancestors
    Evidence: textbook
    Departures: none known; exact by a recursion over ancestor-closed sets instead of sampled extensions
    """
    return restricted.precedence_value(values, ancestors, definition=definition)


def tmc_shapley(
    evaluate: Evaluate, n: int, *, budget: int, rng: np.random.Generator, tolerance: float = 0.01
) -> Shares:
    """Shapley from random orders, each left once the rest can add little.

    Source: Data Shapley (truncated Monte Carlo), arXiv 1904.02868
    Unit: agent, role, turn, message, tool_call
    Kind: share
    Formula: the mean over orders of v(S∪i) − v(S), 0 once |v(N) − v(S)| ≤ tolerance
    Data: v of the coalitions that orders pass through
    Evidence: textbook
    Departures: a budget of evaluations instead of a test of convergence
    """
    return permutation_shapley(evaluate, n, budget=budget, rng=rng, tolerance=tolerance)


def kernel_shap(evaluate: Evaluate, n: int, *, budget: int, rng: np.random.Generator, noisy: bool = False) -> Shares:
    """Shapley as a weighted least squares fit of an additive game to v.

    Source: KernelSHAP, arXiv 1705.07874; paired: arXiv 2012.01536
    Unit: agent, role, turn, message, tool_call
    Kind: share
    Formula: min_φ Σ_S (n−1) / (C(n,s) s (n−s)) (v(∅) + Σ_{i∈S} φ_i − v(S))², Σ φ_i = v(N) − v(∅)
    Data: v of sampled coalitions and their complements
    Evidence: textbook
    Departures: quotas by size and no coalition twice instead of random draws; noisy=True asks again
    """
    return kernel_shapley(evaluate, n, budget=budget, rng=rng, noisy=noisy)


def data_banzhaf(evaluate: Evaluate, n: int, *, budget: int, rng: np.random.Generator) -> Shares:
    """Banzhaf by maximum sample reuse: every evaluation serves every unit; its ranking withstands noise.

    Source: Data Banzhaf, arXiv 2205.15466
    Unit: agent, role, turn, message, tool_call
    Kind: value
    Formula: β_i = mean(v(S), i∈S) − mean(v(S), i∉S), each unit in S with chance 1/2
    Data: v of random coalitions
    Evidence: secondary
    Departures: the second coalition is the first one's complement, so that no mean is of nothing
    """
    return banzhaf_msr(evaluate, n, budget=budget, rng=rng)


def shapley_q(q: Evaluate, n: int, *, orders: int, rng: np.random.Generator) -> Shares:
    """Each agent's Shapley value of the joint action, from random orders of the agents.

    Source: SQDDPG (Shapley Q-value), arXiv 1907.05707
    Unit: agent
    Kind: share
    Formula: Φ_i = Σ_{C∌i} |C|! (n−|C|−1)! / n! (Q(C∪i) − Q(C)), sampled; Σ Φ_i = Q(N) − Q(∅)
    Data: q: [k, n] which agents act as they did, the others by default (zeroed) → [k] values of the joint action
    Evidence: confirmed in code
    Departures: Q itself is asked for each coalition; its code learns a network of marginal contributions
    """
    if orders < 1:
        raise ValueError(f"orders is {orders}; it must be at least 1")
    return permutation_shapley(q, n, budget=orders * max(n - 1, 0) + 2, rng=rng, definition="critic")
