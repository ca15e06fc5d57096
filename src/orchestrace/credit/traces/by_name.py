"""Methods that a trace alone can feed, by the names that the command line takes."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, get_args

from orchestrace.credit.columns import Rows
from orchestrace.credit.methods.agents import dr_mas, soft_rank_po
from orchestrace.credit.methods.orchestrators import kimi_parl, wideseek_r1
from orchestrace.credit.methods.outcome import (
    agent_lightning,
    dapo,
    dr_grpo,
    grpo,
    gspo,
    lite_ppo,
    pass_at_k,
    reinforce_pp_baseline,
    rloo,
)
from orchestrace.credit.methods.roles import matpo, rema
from orchestrace.credit.results import Advantages
from orchestrace.credit.traces.flat_credit import FlatMethod
from orchestrace.credit.traces.ledger import ShareMethod


class AdvantageMethod(NamedTuple):
    """A method that compares rows by their reward."""

    of: Callable[[Rows], Advantages]
    group_key: str
    """What is compared with what."""
    by_parent: bool = False
    """It tells orchestrators by who spawned whom."""


SHARE_METHODS: Mapping[str, ShareMethod] = {"winter": "winter", "owen": "owen", "shapley": "shapley"}
"""Values of units within units."""
FLAT_METHODS: Mapping[str, FlatMethod] = {m: m for m in get_args(FlatMethod)}
"""Values of units beside each other."""

ADVANTAGE_METHODS: Mapping[str, AdvantageMethod] = {
    "grpo": AdvantageMethod(grpo, "task"),
    "dr-grpo": AdvantageMethod(dr_grpo, "task"),
    "rloo": AdvantageMethod(rloo, "task"),
    "dapo": AdvantageMethod(dapo, "task"),
    "gspo": AdvantageMethod(gspo, "task"),
    "lite-ppo": AdvantageMethod(lite_ppo, "task"),
    "reinforce++": AdvantageMethod(reinforce_pp_baseline, "task"),
    "pass-at-k": AdvantageMethod(pass_at_k, "task"),
    "agent-lightning": AdvantageMethod(agent_lightning, "task"),
    "wideseek-r1": AdvantageMethod(wideseek_r1, "task"),
    "kimi-parl": AdvantageMethod(kimi_parl, "task, orchestrators' rows", by_parent=True),
    "matpo": AdvantageMethod(matpo, "task, planners' rows", by_parent=True),
    "rema": AdvantageMethod(rema, "task+role"),
    "dr-mas": AdvantageMethod(dr_mas, "task+agent"),
    "soft-rank-po": AdvantageMethod(soft_rank_po, "task"),
}
