"""R2, individual reward: what an agent did itself, or with its influence on the team's later rounds.

How it is gamed: an agent that is paid for what it can solve does nothing else (`hacking`: free riding).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Literal

from orchestrace.annotations import Evidence, Reward
from orchestrace.rewards._rows import graded, mean, rows_or
from orchestrace.rewards.absence import Rewards
from orchestrace.trace import Trace
from orchestrace.trace.views import lanes, turns

Mix = Literal["all", "individual", "current", "last"]
"""Whose scores of later rounds count: the team's mean; the agent's own; none; only the agent's own last one."""


def own_outcome(trace: Trace, evidence: Evidence) -> Rewards:
    """What a grader gave each agent: `evidence.grades["agent"]`. An agent that nobody graded has no row."""
    return graded("own_outcome", "R2", unit="agent", ids=tuple(lanes(trace)), evidence=evidence)


def influence(
    trace: Trace,
    evidence: Evidence,
    *,
    discount: float = 0.3,
    mix: Mix = "all",
    rounds: Mapping[str, int] | None = None,
) -> Rewards:
    """MAPoRL's influence-aware reward of each agent's answer in each round of a debate: one row a turn.

        r(t, a) = [ s(t, a) + Σ_{t' = t+1..x} γ^{t'−t} · mean_{a'} s(t', a') ] / Σ_{t' = t..x} γ^{t'−t}

    x is the last round, s a verifier's score. A round of which no score is known counts in neither sum, so r lies
    between the least and the greatest score. Source: MAPoRL (arXiv 2502.18439). Departures: none known, except that
    the round after the question was finished is absent and not −1.

    Args:
      trace: the debate.
      evidence: `grades["turn"]` holds the scores s.
      discount: γ in [0, 1]; 0: each answer for itself.
      mix: `all` as above; `individual` with the agent's own later scores in the place of the means; `current` the
        score alone; `last` the agent's own last score for each of its turns.
      rounds: turn -> its round, from 0; absent: an agent's k-th graded turn is its answer in round k.

    Raises:
      ValueError: the discount lies outside [0, 1], or a graded turn has no round.
    """
    if not 0 <= discount <= 1:
        raise ValueError(f"discount is {discount}; it must lie in [0, 1]")
    scores = evidence.grades.get("turn", {})
    table = _answers(trace, scores, rounds)
    team = _by_round([answer for answers in table.values() for answer in answers], scores)
    found = []
    for answers in table.values():
        own = _by_round(answers, scores)
        for place, turn_id in answers:
            value = _paid(mix, scores[turn_id], place=place, own=own, team=team, discount=discount)
            found.append(Reward("influence", "R2", "turn", turn_id, value, f"round {place}, {mix}"))
    return rows_or("influence", found, "the evidence grades no turn of this trace")


def _answers(
    trace: Trace, scores: Mapping[str, float], rounds: Mapping[str, int] | None
) -> dict[str, list[tuple[int, str]]]:
    """Agent -> round and turn of each of its graded answers."""
    table: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for turn in turns(trace):
        if turn.id in scores:
            if rounds is not None and turn.id not in rounds:
                raise ValueError(f"turn {turn.id!r} is graded, but has no round")
            place = len(table[turn.agent]) if rounds is None else rounds[turn.id]
            table[turn.agent].append((place, turn.id))
    return table


def _by_round(answers: Sequence[tuple[int, str]], scores: Mapping[str, float]) -> dict[int, float]:
    """Round -> mean score."""
    found: defaultdict[int, list[float]] = defaultdict(list)
    for place, turn_id in answers:
        found[place].append(scores[turn_id])
    return {place: mean(given) for place, given in found.items()}


def _paid(
    mix: Mix, score: float, *, place: int, own: Mapping[int, float], team: Mapping[int, float], discount: float
) -> float:
    match mix:
        case "current":
            return score
        case "last":
            return own[max(own)]
        case "all" | "individual":
            later = team if mix == "all" else own
            weights = {k: discount ** (k - place) for k in later if k > place}
            return (score + fsum(weights[k] * later[k] for k in weights)) / (1.0 + fsum(weights.values()))
