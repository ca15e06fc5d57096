"""Who earned the result: credit as arithmetic on arrays, and the bridge to traces.

Reading order: `results` (three kinds that must never be mixed), `columns` (what credit is given to), `levels` (shares
of units that nest); then the bridge: `nesting` (how the units of a trace nest), `coalition_games` (what a coalition is
worth), `ledger` (one share for every unit at every level), `assign` (traces to columns and back).
"""

from orchestrace.credit._evaluations import Evaluate
from orchestrace.credit._game import causally_closed
from orchestrace.credit._vectors import MOST_PLAYERS
from orchestrace.credit.alignment import Compared, advantages_from_shares, agent_equal_weights, aligned, one_reward_each
from orchestrace.credit.anchor import AnchorBalance, anchor_balance, anchor_values, other_success
from orchestrace.credit.anchors import anchored, step_returns
from orchestrace.credit.assign import ROW_UNITS, Assigned, assigned, credits_of
from orchestrace.credit.baselines import GroupBaseline, Standing, Voters
from orchestrace.credit.by_name import ADVANTAGE_METHODS, FLAT_METHODS, SHARE_METHODS, AdvantageMethod
from orchestrace.credit.coalition_games import Coalition, Game, closed_game, masked_vote, said, table_game
from orchestrace.credit.coalition_value import VALUE_ESTIMATORS, VALUE_KINDS, CoalitionValue
from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.counterfactual import (
    SampleBaseline,
    branch_advantages,
    difference_advantages,
    policy_advantages,
    sampled_advantages,
)
from orchestrace.credit.estimators import banzhaf_msr, permutation_shapley, replicated, stratified_shapley
from orchestrace.credit.flat_credit import flat_credit
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
from orchestrace.credit.ledger import EXACT_COALITIONS, ORDERS, affordable_orders, ledger, rows_at
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
from orchestrace.credit.methods.outcome import grpo, rloo
from orchestrace.credit.mixing import Mixed, Mixer, mixed_values
from orchestrace.credit.nesting import Nest, Unit, nesting
from orchestrace.credit.objectives import OBJECTIVES, Objective, Surrogate, divergence, token_weights
from orchestrace.credit.ranks import average_ranks, normal_quantiles, soft_ranks
from orchestrace.credit.ratios import Ratio, Ratios
from orchestrace.credit.redistribution import (
    Correction,
    PrefixLabels,
    ProcessForm,
    brier_score,
    calibration_error,
    difference_shares,
    potential_rewards,
    prefix_labels,
    process_rewards,
)
from orchestrace.credit.replay_budget import (
    TreeCost,
    evaluations_to_resolve,
    loo_std_error,
    nested_tree_cost,
    replay_costs,
    replay_plan_cost,
)
from orchestrace.credit.restricted import connected_sets, down_sets, myerson_value, precedence_value
from orchestrace.credit.results import EXACT, Advantages, Sampling, ShapedRewards, Shares
from orchestrace.credit.returns import Estimates, SequentialGAE, discounted, gae, whitened
from orchestrace.credit.routing import agent_q_mix_rewards, puppeteer_rewards, puppeteer_step_costs
from orchestrace.credit.running import Running, running_baselines
from orchestrace.credit.shaping import (
    PairedRewards,
    history_shaped,
    implicit_process_rewards,
    implicit_reward_loss,
    influence_aware,
    paired,
    tree_shaped,
)
from orchestrace.credit.siblings import (
    ContextKey,
    SiblingLOO,
    context_key,
    context_numbers,
    fidelity,
    influence,
    node_rewards,
    within_context_variance,
)
from orchestrace.credit.stop_bounds import (
    Bound,
    ContinuationFit,
    continuation_fit,
    continuation_values,
    fitted_means,
    high_value,
    low_value,
)
from orchestrace.credit.stop_chains import Envelope, chain_envelope, chain_go_on_values, chain_values
from orchestrace.credit.stopping import (
    LambdaTargets,
    StopCredit,
    greedy_stops,
    hindsight_stops,
    lambda_targets,
    policy_go_on_values,
    snell_values,
    stop_credit,
    stop_gradients,
)
from orchestrace.credit.text import (
    JudgeCredit,
    LangMARLCalls,
    TextCredit,
    TextCritic,
    checked_texts,
    judge_scores,
    langmarl_calls,
)

__all__ = [
    "ADVANTAGE_METHODS",
    "EXACT",
    "EXACT_COALITIONS",
    "FLAT_METHODS",
    "MOST_COALITIONS",
    "MOST_PLAYERS",
    "OBJECTIVES",
    "ORDERS",
    "ROW_UNITS",
    "SHARE_METHODS",
    "VALUE_ESTIMATORS",
    "VALUE_KINDS",
    "AdvantageMethod",
    "Advantages",
    "AnchorBalance",
    "Assigned",
    "Bound",
    "Coalition",
    "CoalitionValue",
    "Compared",
    "ContextKey",
    "ContinuationFit",
    "Correction",
    "Envelope",
    "Estimates",
    "Evaluate",
    "Game",
    "GroupBaseline",
    "JudgeCredit",
    "LambdaTargets",
    "LangMARLCalls",
    "LevelShares",
    "Mixed",
    "Mixer",
    "Nest",
    "Objective",
    "PairedRewards",
    "Path",
    "PrefixLabels",
    "ProcessForm",
    "Ratio",
    "Ratios",
    "Rows",
    "Running",
    "SampleBaseline",
    "Sampling",
    "SequentialGAE",
    "ShapedRewards",
    "Shares",
    "SiblingLOO",
    "Standing",
    "StopCredit",
    "Surrogate",
    "TextCredit",
    "TextCritic",
    "Tree",
    "TreeCost",
    "Unit",
    "Voters",
    "advantages_from_shares",
    "affordable_orders",
    "agent_equal_weights",
    "agent_q_mix_rewards",
    "aligned",
    "anchor_balance",
    "anchor_values",
    "anchored",
    "assigned",
    "average_ranks",
    "banzhaf_msr",
    "banzhaf_value",
    "branch_advantages",
    "brier_score",
    "calibration_error",
    "causally_closed",
    "chain_envelope",
    "chain_go_on_values",
    "chain_values",
    "checked_texts",
    "closed_game",
    "coalitions",
    "connected_sets",
    "context_key",
    "context_numbers",
    "continuation_fit",
    "continuation_values",
    "credits_of",
    "difference_advantages",
    "difference_shares",
    "discounted",
    "divergence",
    "down_sets",
    "evaluations_to_resolve",
    "fidelity",
    "fitted_means",
    "flat_credit",
    "gae",
    "greedy_stops",
    "grpo",
    "high_value",
    "hindsight_stops",
    "history_shaped",
    "implicit_process_rewards",
    "implicit_reward_loss",
    "influence",
    "influence_aware",
    "judge_scores",
    "kernel_shapley",
    "lambda_targets",
    "langmarl_calls",
    "leave_one_out_value",
    "ledger",
    "loo_std_error",
    "low_value",
    "masked_vote",
    "mixed_values",
    "myerson_value",
    "nested_tree_cost",
    "nesting",
    "node_rewards",
    "normal_quantiles",
    "one_reward_each",
    "other_success",
    "owen_value",
    "paired",
    "permutation_shapley",
    "policy_advantages",
    "policy_go_on_values",
    "potential_rewards",
    "precedence_value",
    "prefix_labels",
    "process_rewards",
    "puppeteer_rewards",
    "puppeteer_step_costs",
    "replay_costs",
    "replay_plan_cost",
    "replicated",
    "rloo",
    "rows",
    "rows_at",
    "running_baselines",
    "said",
    "sampled_advantages",
    "sampled_winter",
    "sets_without_one",
    "shapley_value",
    "snell_values",
    "soft_ranks",
    "step_returns",
    "stop_credit",
    "stop_gradients",
    "stratified_shapley",
    "table_game",
    "token_weights",
    "tree_shaped",
    "union_sets",
    "units",
    "value_vector",
    "whitened",
    "winter",
    "within_context_variance",
]
