"""Outputs that one transition consumes together: SRPO."""

from orchestrace.credit.columns import Rows
from orchestrace.credit.groups.baselines import GroupBaseline
from orchestrace.credit.results import Advantages


def srpo(given: Rows) -> Advantages:
    """One advantage for the set of outputs that a transition consumes; `OBJECTIVES["srpo"]` clips the set once.

    Source: SRPO (setwise), arXiv 2609.08452
    Unit: message, turn
    Kind: advantage
    Formula: A_S = (R_S − mean_g) / (std_g + ε); log ρ_S = mean over members of l_m, l_m a mean over its tokens
    Data: one row a set: its reward; task, rollout. On a trace: the outputs that an aggregate or a return takes up
    Evidence: secondary
    Departures: no code is known; GRPO's form of A_S, and the mean (or sum, or sqrt) over tokens, are ours
    """
    return GroupBaseline(scale="std_group").advantages(given)
