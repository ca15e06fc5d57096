"""R4, process reward: what each turn added to the chance of success.

How it is gamed: turns that add nothing, where every turn is paid for how good things stand (`hacking`: step padding).
"""

from collections.abc import Mapping
from math import isfinite

from orchestrace.annotations import Evidence, Reward
from orchestrace.rewards._rows import rows_or
from orchestrace.rewards.absence import Rewards
from orchestrace.trace import Trace
from orchestrace.trace.views import turns


def progress(
    trace: Trace, evidence: Evidence, *, values: Mapping[str, float] | None = None, start: float | None = None
) -> Rewards:
    """Each turn by what it added to the value of the prefix that it ends: one row a turn.

        r_t = V_t − V_{t−1},     Σ r_t = V_last − V_start

    Never the raw value, whose sum grows with every turn that is added. V_t is the value of `views.prefix(trace, turn)`,
    by Monte-Carlo continuations or a process reward model, and so speaks of the trace's own order: where independent
    turns stand in another order the prefixes are others, and need values of their own. A turn without a value has no
    row, and its part falls to the next one that has. Source: Math-Shepherd (arXiv 2312.08935) for the values; progress
    in their place: textbook.

    Args:
      trace: the rollout.
      evidence: `grades["turn"]` serves where `values` is absent.
      values: turn -> V of the prefix that ends with it.
      start: V before the first turn; absent: not known, so the first valued turn has no row.

    Raises:
      ValueError: the value before the first turn is not finite.
    """
    if start is not None and not isfinite(start):
        raise ValueError(f"start is {start}; it must be finite")
    known = evidence.grades.get("turn", {}) if values is None else values
    found, before = [], start
    for turn in turns(trace):
        if turn.id in known:
            now = known[turn.id]
            if before is not None:
                found.append(Reward("progress", "R4", "turn", turn.id, now - before, f"{now:g} − {before:g}"))
            before = now
    return rows_or("progress", found, "fewer than two values of prefixes of this trace are known")
