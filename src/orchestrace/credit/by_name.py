"""Methods that a trace alone can feed, by the names that the command line takes."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, get_args

from orchestrace.credit.columns import Rows
from orchestrace.credit.flat_credit import FlatMethod
from orchestrace.credit.ledger import ShareMethod
from orchestrace.credit.methods.agents import dr_mas, soft_rank_po
from orchestrace.credit.methods.outcome import (
    dapo,
    dr_grpo,
    grpo,
    gspo,
    lite_ppo,
    pass_at_k,
    reinforce_pp_baseline,
    rloo,
)
from orchestrace.credit.results import Advantages


class AdvantageMethod(NamedTuple):
    """A method that compares rows by their reward."""

    of: Callable[[Rows], Advantages]
    group_key: str
    """What is compared with what."""


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
    "dr-mas": AdvantageMethod(dr_mas, "task+agent"),
    "soft-rank-po": AdvantageMethod(soft_rank_po, "task"),
}
