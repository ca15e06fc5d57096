"""How a team earns reward without working: detectors, one report.

    free_riding           R1  an agent's share is nothing, yet it used tokens                          shares
    rubric_mismatch       R3  a role is graded better and the team worse                               grades
    step_padding          R4  the process reward grows with the length, at equal outcome               grades, rewards
    tool_spam             R5  calls whose results serve for nothing                                    the trace alone
    verifier_collusion    R6  the team's verifiers approve more, the grader does not                   verdicts, grades
    undelivered_messages, repeated_messages   R6                                                       the trace alone
    unread_returns        R7  returns that were never taken up, and their tokens                       the trace alone
    pseudo_parallelism    R7  agents that serve for nothing; ever more of them for no better outcome   the trace; grades
    delegation_collapse   R7  delegation dies out and nothing is better for it                         the traces alone
    drowned_channels, weight_drift   R8  one channel moves the reward, or comes to                     rewards

A detector that lacks what it needs says so in a finding that is not `known`; one that looked and found nothing is
silent. None of them proves an intention. Reading order: `findings`, `waste` (one trace), `drift` (a batch).
"""

from collections.abc import Mapping, Sequence

from orchestrace.annotations import Evidence
from orchestrace.rewards import drift, waste
from orchestrace.rewards.compose import Composed, weighted_rows
from orchestrace.rewards.findings import Batch, Finding
from orchestrace.trace import Trace


def detect(
    traces: Sequence[Trace],
    evidence: Mapping[str, Evidence] | None = None,
    *,
    rewards: Mapping[str, Composed] | None = None,
) -> tuple[Finding, ...]:
    """What every detector found, then what the others lacked.

    Args:
      traces: of comparable tasks, in the order of training, each with an id of its own; one trace will do for the
        detectors that look at one.
      evidence: by trace id; absent: the traces alone.
      rewards: by trace id, as `compose.composed` gave them.

    Raises:
      ValueError: two traces share an id.
    """
    names = [trace.trace_id for trace in traces]
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"two traces have the id {twice!r}; evidence and rewards are given by id")
    batch, rewards = Batch(traces, evidence or {}), rewards or {}
    found = [finding for trace in traces for finding in _in_one(trace, batch.of(trace), rewards.get(trace.trace_id))]
    found += _in_all(batch, [rewards[name] for name in names if name in rewards])
    return (*(finding for finding in found if finding.known), *_merged([f for f in found if not f.known]))


def _in_one(trace: Trace, evidence: Evidence, composed: Composed | None) -> list[Finding]:
    paid: dict[str, float] = {}
    for row in () if composed is None else weighted_rows(composed):
        if row.family == "R5":
            paid[row.id] = paid.get(row.id, 0.0) + row.value
    return [
        *waste.free_riding(trace, evidence),
        *waste.unread_returns(trace, evidence),
        *waste.undelivered_messages(trace, evidence),
        *waste.repeated_messages(trace, evidence),
        *waste.tool_spam(trace, evidence, paid=paid),
        *waste.pseudo_parallelism(trace, evidence),
    ]


def _in_all(batch: Batch, composed: Sequence[Composed]) -> list[Finding]:
    return [
        *drift.farmed_spawns(batch),
        *drift.delegation_collapse(batch),
        *drift.verifier_collusion(batch),
        *drift.rubric_mismatch(batch),
        *drift.step_padding(batch, composed),
        *drift.drowned_channels(batch, composed),
        *drift.weight_drift(batch, composed),
    ]


def _merged(unknown: Sequence[Finding]) -> tuple[Finding, ...]:
    """One finding for what a detector lacked on several traces."""
    about: dict[Finding, list[str]] = {}
    for finding in unknown:
        key = Finding(finding.detector, finding.family, finding.says, (), known=False)
        about.setdefault(key, []).extend(finding.traces)
    return tuple(
        Finding(key.detector, key.family, key.says, tuple(traces), known=False) for key, traces in about.items()
    )
