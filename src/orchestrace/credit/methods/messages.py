"""A message against its siblings, an answer against the debate: C3, MAPoRL, MARTI, MARS2, CoMAS, CollabUIAgents."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.credit._arrays import floats
from orchestrace.credit.columns import rows
from orchestrace.credit.groups.baselines import GroupBaseline
from orchestrace.credit.groups.siblings import SiblingLOO
from orchestrace.credit.results import Advantages, ShapedRewards
from orchestrace.credit.steps.returns import SequentialGAE
from orchestrace.credit.steps.shaping import PairedRewards, history_shaped, influence_aware, paired, tree_shaped


def c3(
    rewards: ArrayLike, *, context: ArrayLike, values: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Advantages:
    """Contextual counterfactual credit: a message against other messages from its exact context.

    Source: C3, arXiv 2603.06859
    Unit: message
    Kind: advantage
    Formula: A_u = r_u − leave-one-out mean of the siblings' Q (of their r without a critic)
    Data: node rewards; context (the parent node); Q of a critic; replays behind each, where they differ
    Evidence: confirmed in code
    Departures: a group of one gives 0 on every path (its MAGRPO path leaves the raw reward)
    """
    return SiblingLOO(credit="reward_only" if values is None else "value_assisted").advantages(
        rewards, context=context, values=values, weights=weights
    )


def maporl(
    scores: ArrayLike, values: ArrayLike, *, finished: int, discount: float = 0.3, lam: float = 0.95
) -> Advantages:
    """Each answer of a debate by its own score and what the team made of it, then GAE over an agent's rounds.

    Source: MAPoRL, arXiv 2502.18439
    Unit: agent, turn
    Kind: advantage
    Formula: r(t,a) = [s(t,a) + Σ γ^{t'−t} mean_a' s(t',a')] / Σ γ^{t'−t}; A = GAE(r, V) of agent a
    Data: [T, N] scores and values, the round that finished
    Evidence: confirmed in code
    Departures: rounds after the end are absent, not −1; incentives for changing an answer are left to the caller
    """
    shaped = influence_aware(scores, finished, discount=discount).values
    count, agents = shaped.shape
    v = np.asarray(values, np.float64)
    if v.shape != np.shape(scores):
        raise ValueError(f"values have shape {v.shape}, but scores have {np.shape(scores)}")
    position, agent = np.divmod(np.arange(count * agents), agents)
    found, _ = SequentialGAE(lam=lam).advantages(
        shaped.ravel(), v[:count].ravel(), position=position, agent=agent,
        rollout=np.zeros_like(agent),
    )  # fmt: skip
    return found


def marti(
    rewards: ArrayLike, *, kind: Literal["margin", "quality"] = "margin", outcome_weight: float = 0.0
) -> ShapedRewards:
    """An answer by how far it is ahead of the earlier ones.

    Source: MARTI, TsinghuaC3I/MARTI
    Unit: turn
    Kind: shaped
    Formula: r = R + ½ D + β R_last; margin D = R − Q, quality D = Q R − (1−Q)(1−R); Q = mean of all earlier R
    Data: [T] rewards of a chain, or [N, T] of a debate's agents by round
    Evidence: confirmed in code
    Departures: none known
    """
    return history_shaped(rewards, kind=kind, outcome_weight=outcome_weight)


def mars2(rewards: ArrayLike, parent: ArrayLike, *, tree: ArrayLike) -> Advantages:
    """Nodes of search trees: shaped by parent and siblings, then normalised over all nodes of the task's tree.

    Source: MARTI-MARS2, arXiv 2602.07848
    Unit: turn
    Kind: advantage
    Formula: r' = r + γ (r − [(1−λ) r_parent + λ LOO of siblings]), γ = λ = ½; A = (r' − mean_tree) / (std_tree + ε)
    Data: [U] rewards, parent, tree
    Evidence: confirmed in code
    Departures: parents are read before shaping, whatever the order of the nodes
    """
    shaped = tree_shaped(rewards, parent, tree=tree).values
    return GroupBaseline(scale="std_group", weighting="row").advantages(rows(shaped, task=tree))


def comas(scores: ArrayLike, *, well_formed: ArrayLike | None = None) -> PairedRewards:
    """A solution and the evaluation of it share one unit: what the judge gives the one, the other lacks.

    Source: CoMAS, arXiv 2510.08529
    Unit: turn, message
    Kind: shaped
    Formula: u = (score − 1) / 2; r_solution = u, r_evaluation = 1 − u; r_judge = −1 where malformed, else 0
    Data: [B] judge scores in {1, 2, 3}; which of them are well formed
    Evidence: secondary
    Departures: the code is not available; the mapping to u is ours; a malformed verdict pays nobody
    """
    return paired(scores, lowest=1, highest=3, well_formed=well_formed)


class Pair(NamedTuple):
    """Two cells of a preference pair, by their numbers."""

    chosen: int
    rejected: int


def collab_ui(scores: ArrayLike, *, margin: float = 0.0) -> tuple[Pair, ...]:
    """Preference pairs of an agent-by-round matrix that a critic has scored, for DPO.

    Source: CollabUIAgents, arXiv 2502.14496
    Unit: agent, turn
    Kind: value
    Formula: (i, j) with score_i > score_j + margin, within one round
    Data: [T, N] critic's scores of the cells
    Evidence: secondary
    Departures: rejected cells are other agents' answers, not synthesised ones
    """
    table = floats("scores", scores, ndim=2)
    n = table.shape[1]
    return tuple(
        Pair(t * n + i, t * n + j)
        for t in range(len(table))
        for i in range(n)
        for j in range(n)
        if table[t, i] > table[t, j] + margin
    )
