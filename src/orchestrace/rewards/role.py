"""R3, role reward: each role by its own measure.

How it is gamed: the role's measure goes up and the team's reward down (`hacking`: rubric mismatch).
"""

from collections.abc import Mapping
from math import fsum

from orchestrace.annotations import Evidence, Reward
from orchestrace.rewards._rows import HALF, graded, rows_or
from orchestrace.rewards.absence import Rewards
from orchestrace.trace import Trace
from orchestrace.trace.views import turns

Rubric = Mapping[str, float]
"""Criterion -> weight. A criterion is the name of the judge that scores it (`Verdict.by`)."""


def role_grade(trace: Trace, evidence: Evidence) -> Rewards:
    """What a grader gave each role that the trace's agents have: `evidence.grades["role"]`."""
    roles = tuple(dict.fromkeys(agent.role for agent in trace.agents if agent.role))
    return graded("role_grade", "R3", unit="role", ids=roles, evidence=evidence)


def role_rubric(trace: Trace, evidence: Evidence, *, rubrics: Mapping[str, Rubric]) -> Rewards:
    """Each turn by the rubric of its agent's role.

        r(turn) = Σ_c w_c · score_c(turn) / Σ_c w_c,     over the criteria that were judged

    A turn that no criterion was judged on has no row; malformed verdicts count as not given. Of two verdicts by one
    judge the later counts. Source: ours, after the rubric rewards of MALT and MATPO.

    Args:
      trace: the rollout.
      evidence: `verdicts` on turns.
      rubrics: role -> its rubric.

    Raises:
      ValueError: a weight is not above 0.
    """
    for role, rubric in rubrics.items():
        for criterion, weight in rubric.items():
            if not weight > 0:
                raise ValueError(f"the rubric of {role!r} gives {criterion!r} the weight {weight}; it must be above 0")
    roles = {agent.id: agent.role for agent in trace.agents}
    found = []
    for turn in turns(trace):
        rubric = rubrics.get(roles.get(turn.agent, ""), {})
        given = {v.by: v.score for v in evidence.verdicts.get(turn.id, ()) if v.valid and v.by in rubric}
        if given:
            value = fsum(rubric[name] * score for name, score in given.items()) / fsum(rubric[name] for name in given)
            found.append(Reward("role_rubric", "R3", "turn", turn.id, value, ", ".join(sorted(given))))
    return rows_or("role_rubric", found, "no turn of a role with a rubric was judged by its criteria")


def verifiable_role(
    trace: Trace,
    evidence: Evidence,
    *,
    solver: str = "solver",
    verifier: str = "verifier",
    corrector: str = "corrector",
) -> Rewards:
    """MarsRL's rewards by what each role's own output can be checked for: one row a turn.

        solver, corrector:  1 where the turn's answer is right, else 0
        verifier:           1 where its verdict on a solution agrees with whether that solution is right, else 0

    A verifier's malformed verdict agrees with nothing: 0. None of them depends on a later turn. Source: MarsRL (arXiv
    2511.11373). Departures: none known; which inputs are passed on is the runtime's business.

    Args:
      trace: the rollout; roles are those of its agents.
      evidence: `grades["turn"]` says whether a turn's answer is right (from 0.5 on); `verdicts` on a solution's turn
        carry the verifier's turn as `by`.
      solver: what the trace calls this role; so with the next two.
      verifier: the role that judges solutions.
      corrector: the role that mends them.
    """
    roles = {agent.id: agent.role for agent in trace.agents}
    grades = evidence.grades.get("turn", {})
    told = {verdict.by: (on, verdict) for on, given in evidence.verdicts.items() for verdict in given}
    found = []
    for turn in turns(trace):
        role = roles.get(turn.agent)
        if role in (solver, corrector) and turn.id in grades:
            right = grades[turn.id] >= HALF
            found.append(Reward("verifiable_role", "R3", "turn", turn.id, float(right), f"{role}'s answer"))
        elif role == verifier and turn.id in told and told[turn.id][0] in grades:
            on, verdict = told[turn.id]
            agrees = verdict.valid and (verdict.score >= HALF) == (grades[on] >= HALF)
            why = f"verdict on {on!r}" if verdict.valid else f"malformed verdict on {on!r}"
            found.append(Reward("verifiable_role", "R3", "turn", turn.id, float(agrees), why))
    return rows_or("verifiable_role", found, "no turn of the three roles can be checked by the evidence")
