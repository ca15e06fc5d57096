"""Credit methods judged against the truth: on environments whose tables are known, every advantage is known too."""

from orchestrace.training.credit_quality.contenders import CONTENDERS, Contender, Credited
from orchestrace.training.credit_quality.sample import Reruns, Sample, rerun, sampled
from orchestrace.training.credit_quality.table import Comparison, Quality, compared

__all__ = [
    "CONTENDERS",
    "Comparison",
    "Contender",
    "Credited",
    "Quality",
    "Reruns",
    "Sample",
    "compared",
    "rerun",
    "sampled",
]
