"""Who earned the result: credit as arithmetic on arrays, and the bridge to traces.

Reading order: `results` (three kinds that must never be mixed), `columns` (what credit is given to), `games`
(values of coalitions), `restricted` (where not every coalition can form), `levels` (shares of units within units),
`estimators` and `kernel` (from a budget of evaluations), `coalition_value` (a value and an estimator by name).
"""

from orchestrace.credit._evaluations import Evaluate
from orchestrace.credit._game import causally_closed
from orchestrace.credit._vectors import MOST_PLAYERS
from orchestrace.credit.coalition_value import VALUE_ESTIMATORS, VALUE_KINDS, CoalitionValue
from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.estimators import banzhaf_msr, permutation_shapley, replicated, stratified_shapley
from orchestrace.credit.games import (
    banzhaf_value,
    leave_one_out_value,
    owen_value,
    sets_without_one,
    shapley_value,
    union_sets,
    value_vector,
)
from orchestrace.credit.kernel import kernel_shapley
from orchestrace.credit.levels import (
    MOST_COALITIONS,
    LevelShares,
    Path,
    Tree,
    coalitions,
    sampled_winter,
    units,
    winter,
)
from orchestrace.credit.restricted import connected_sets, down_sets, myerson_value, precedence_value
from orchestrace.credit.results import EXACT, Advantages, Sampling, ShapedRewards, Shares

__all__ = [
    "EXACT",
    "MOST_COALITIONS",
    "MOST_PLAYERS",
    "VALUE_ESTIMATORS",
    "VALUE_KINDS",
    "Advantages",
    "CoalitionValue",
    "Evaluate",
    "LevelShares",
    "Path",
    "Rows",
    "Sampling",
    "ShapedRewards",
    "Shares",
    "Tree",
    "banzhaf_msr",
    "banzhaf_value",
    "causally_closed",
    "coalitions",
    "connected_sets",
    "down_sets",
    "kernel_shapley",
    "leave_one_out_value",
    "myerson_value",
    "owen_value",
    "permutation_shapley",
    "precedence_value",
    "replicated",
    "rows",
    "sampled_winter",
    "sets_without_one",
    "shapley_value",
    "stratified_shapley",
    "union_sets",
    "units",
    "value_vector",
    "winter",
]
