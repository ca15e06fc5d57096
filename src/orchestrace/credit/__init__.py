"""Who earned the result: credit as arithmetic on arrays, and the bridge to traces.

Reading order: `results` (three kinds that must never be mixed), `columns` (what credit is given to); the arithmetic in
`groups` (baselines), `steps` (returns, redistribution), `stops`, `coalitions` (values, units within units),
`counterfactuals`, `losses` (ratios, objectives); `methods` (what was published, by name); then the bridge, `traces`
(how units nest, what a coalition is worth, the ledger: one share for every unit at every level).
"""

from orchestrace.credit.coalitions._evaluations import Evaluate
from orchestrace.credit.coalitions._game import causally_closed
from orchestrace.credit.coalitions._vectors import MOST_PLAYERS
from orchestrace.credit.coalitions.coalition_value import VALUE_ESTIMATORS, VALUE_KINDS, CoalitionValue
from orchestrace.credit.coalitions.estimators import banzhaf_msr, permutation_shapley, replicated, stratified_shapley
from orchestrace.credit.coalitions.games import (
    banzhaf_value,
    leave_one_out_value,
    owen_value,
    sets_without_one,
    shapley_value,
    union_sets,
    value_vector,
)
from orchestrace.credit.coalitions.kernel import kernel_shapley
from orchestrace.credit.coalitions.levels import (
    MOST_COALITIONS,
    LevelShares,
    Path,
    Tree,
    coalitions,
    sampled_winter,
    units,
    winter,
)
from orchestrace.credit.coalitions.restricted import connected_sets, down_sets, myerson_value, precedence_value
from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.counterfactuals.counterfactual import (
    SampleBaseline,
    branch_advantages,
    difference_advantages,
    policy_advantages,
    sampled_advantages,
)
from orchestrace.credit.counterfactuals.mixing import Mixed, Mixer, mixed_values
from orchestrace.credit.counterfactuals.replay_budget import (
    TreeCost,
    evaluations_to_resolve,
    loo_std_error,
    nested_tree_cost,
    replay_costs,
    replay_plan_cost,
)
from orchestrace.credit.counterfactuals.routing import agent_q_mix_rewards, puppeteer_rewards, puppeteer_step_costs
from orchestrace.credit.counterfactuals.text import (
    JudgeCredit,
    LangMARLCalls,
    TextCredit,
    TextCritic,
    checked_texts,
    judge_scores,
    langmarl_calls,
)
from orchestrace.credit.groups.alignment import (
    Compared,
    advantages_from_shares,
    agent_equal_weights,
    aligned,
    one_reward_each,
)
from orchestrace.credit.groups.anchors import anchored, step_returns
from orchestrace.credit.groups.baselines import GroupBaseline, Standing, Voters
from orchestrace.credit.groups.ranks import average_ranks, normal_quantiles, soft_ranks
from orchestrace.credit.groups.running import Running, running_baselines
from orchestrace.credit.groups.siblings import (
    ContextKey,
    SiblingLOO,
    context_key,
    context_numbers,
    fidelity,
    influence,
    node_rewards,
    within_context_variance,
)
from orchestrace.credit.losses.objectives import OBJECTIVES, Objective, Surrogate, divergence, token_weights
from orchestrace.credit.losses.ratios import Ratio, Ratios
from orchestrace.credit.methods.outcome import grpo, rloo
from orchestrace.credit.results import EXACT, Advantages, Sampling, ShapedRewards, Shares
from orchestrace.credit.steps.anchor import AnchorBalance, anchor_balance, anchor_values, other_success
from orchestrace.credit.steps.redistribution import (
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
from orchestrace.credit.steps.returns import Estimates, SequentialGAE, discounted, gae, whitened
from orchestrace.credit.steps.shaping import (
    PairedRewards,
    history_shaped,
    implicit_process_rewards,
    implicit_reward_loss,
    influence_aware,
    paired,
    tree_shaped,
)
from orchestrace.credit.stops.stop_bounds import (
    Bound,
    ContinuationFit,
    continuation_fit,
    continuation_values,
    fitted_means,
    high_value,
    low_value,
)
from orchestrace.credit.stops.stop_chains import Envelope, chain_envelope, chain_go_on_values, chain_values
from orchestrace.credit.stops.stopping import (
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
from orchestrace.credit.traces.assign import ROW_UNITS, Assigned, assigned, credits_of
from orchestrace.credit.traces.by_name import ADVANTAGE_METHODS, FLAT_METHODS, SHARE_METHODS, AdvantageMethod
from orchestrace.credit.traces.coalition_games import Coalition, Game, closed_game, masked_vote, said, table_game
from orchestrace.credit.traces.flat_credit import flat_credit
from orchestrace.credit.traces.ledger import EXACT_COALITIONS, ORDERS, affordable_orders, ledger, rows_at
from orchestrace.credit.traces.nesting import Nest, Unit, nesting

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
