"""R1, shared team reward: one number for the whole rollout, from a grader, the environment or a reference answer.

How it is gamed: agents that do nothing are paid with the rest (`hacking`: free riding).
"""

from collections.abc import Iterable, Mapping, Sequence

from orchestrace.annotations import Evidence
from orchestrace.rewards import graders
from orchestrace.rewards._rows import graded, team_row
from orchestrace.rewards.absence import Rewards, Unavailable
from orchestrace.trace import Trace

_NO_ANSWER = "no answer was given"


def outcome(trace: Trace, evidence: Evidence, *, channel: str = "outcome") -> Rewards:
    """What a grader gave the team: `evidence.grades["team"][trace_id]`."""
    return graded(channel, "R1", unit="team", ids=[trace.trace_id], evidence=evidence)


def env_return(trace: Trace, _evidence: Evidence, *, name: str = "team") -> Rewards:
    """What the environment paid on one of its channels, as the trace's header records it: channel `env_return`."""
    if name not in trace.rewards:
        known = ", ".join(sorted(trace.rewards)) or "none"
        return Unavailable("env_return", f"the trace records no reward {name!r}; it records: {known}")
    return team_row("env_return", "R1", trace=trace, value=trace.rewards[name], why=f"recorded as {name!r}")


def exact_match(trace: Trace, _evidence: Evidence, *, answer: str | None, references: Sequence[str]) -> Rewards:
    """1 where the answer is one of the references (`graders.exact`), else 0. Answer None: unavailable."""
    if answer is None:
        return Unavailable("exact_match", _NO_ANSWER)
    return team_row("exact_match", "R1", trace=trace, value=graders.exact(answer, references))


def token_f1(trace: Trace, _evidence: Evidence, *, answer: str | None, references: Sequence[str]) -> Rewards:
    """F1 between the words of answer and reference (`graders.token_f1`). Answer None: unavailable."""
    if answer is None:
        return Unavailable("token_f1", _NO_ANSWER)
    return team_row("token_f1", "R1", trace=trace, value=graders.token_f1(answer, references))


def item_f1(
    trace: Trace, _evidence: Evidence, *, answer: Iterable[object] | None, reference: Iterable[object]
) -> Rewards:
    """F1 between two sets of items (`graders.item_f1`). Answer None: unavailable; an empty answer is an answer."""
    if answer is None:
        return Unavailable("item_f1", _NO_ANSWER)
    return team_row("item_f1", "R1", trace=trace, value=graders.item_f1(answer, reference))


def table_f1(
    trace: Trace,
    evidence: Evidence,
    *,
    answer: Iterable[Mapping[str, str]] | None,
    reference: Iterable[Mapping[str, str]],
    key: Sequence[str],
) -> Rewards:
    """F1 between the cells of two tables, whose rows align by their key columns (`graders.cells`); `item_f1` too."""
    said = None if answer is None else graders.cells(answer, key=key)
    return item_f1(trace, evidence, answer=said, reference=graders.cells(reference, key=key))


def numeric(
    trace: Trace,
    _evidence: Evidence,
    *,
    answer: str | None,
    reference: float,
    relative: float = 0.0,
    absolute: float = 1e-6,
) -> Rewards:
    """1 where the answer is a number close enough to the reference (`graders.numeric`). Answer None: unavailable."""
    if answer is None:
        return Unavailable("numeric", _NO_ANSWER)
    right = graders.numeric(answer, reference, relative=relative, absolute=absolute)
    return team_row("numeric", "R1", trace=trace, value=right, why=f"{answer!r} against {reference:g}")


def tests_passed(trace: Trace, _evidence: Evidence, *, passed: Sequence[bool] | None) -> Rewards:
    """Share of unit tests that passed.

    Args:
      trace: the rollout that was tested.
      passed: of each test, whether it passed; None or none at all: unavailable.
    """
    if not passed:
        return Unavailable("tests_passed", "no test was run")
    n = sum(map(bool, passed))
    return team_row("tests_passed", "R1", trace=trace, value=n / len(passed), why=f"{n} of {len(passed)} tests")
