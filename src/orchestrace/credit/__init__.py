"""Who earned the result: credit as arithmetic on arrays, and the bridge to traces.

Reading order: `results` (three kinds that must never be mixed), `columns` (what credit is given to); credit for
stopping in `stopping`, `stop_chains`, `stop_bounds`, `anchor`; one late reward spread over steps in `redistribution`;
one action replaced in `counterfactual`, at a price in `replay_budget`; team values mixed from agents' in `mixing`; the
routers' rewards in `routing`; words instead of numbers in `text`; published methods, a few lines each, in `methods`.
"""

from orchestrace.credit.anchor import AnchorBalance, anchor_balance, anchor_values, other_success
from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.counterfactual import (
    SampleBaseline,
    branch_advantages,
    difference_advantages,
    policy_advantages,
    sampled_advantages,
)
from orchestrace.credit.mixing import Mixed, Mixer, mixed_values
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
from orchestrace.credit.results import EXACT, Advantages, Sampling, ShapedRewards, Shares
from orchestrace.credit.routing import agent_q_mix_rewards, puppeteer_rewards, puppeteer_step_costs
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
    "EXACT",
    "Advantages",
    "AnchorBalance",
    "Bound",
    "ContinuationFit",
    "Correction",
    "Envelope",
    "JudgeCredit",
    "LambdaTargets",
    "LangMARLCalls",
    "Mixed",
    "Mixer",
    "PrefixLabels",
    "ProcessForm",
    "Rows",
    "SampleBaseline",
    "Sampling",
    "ShapedRewards",
    "Shares",
    "StopCredit",
    "TextCredit",
    "TextCritic",
    "TreeCost",
    "agent_q_mix_rewards",
    "anchor_balance",
    "anchor_values",
    "branch_advantages",
    "brier_score",
    "calibration_error",
    "chain_envelope",
    "chain_go_on_values",
    "chain_values",
    "checked_texts",
    "continuation_fit",
    "continuation_values",
    "difference_advantages",
    "difference_shares",
    "evaluations_to_resolve",
    "fitted_means",
    "greedy_stops",
    "high_value",
    "hindsight_stops",
    "judge_scores",
    "lambda_targets",
    "langmarl_calls",
    "loo_std_error",
    "low_value",
    "mixed_values",
    "nested_tree_cost",
    "other_success",
    "policy_advantages",
    "policy_go_on_values",
    "potential_rewards",
    "prefix_labels",
    "process_rewards",
    "puppeteer_rewards",
    "puppeteer_step_costs",
    "replay_costs",
    "replay_plan_cost",
    "rows",
    "sampled_advantages",
    "snell_values",
    "stop_credit",
    "stop_gradients",
]
