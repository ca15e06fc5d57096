"""Context-Folding's process penalties (FoldGRPO): short main context, branches in scope, valid calls."""

from orchestrace.annotations import Evidence, Reward
from orchestrace.rewards._rows import HALF, mean, rows_or, verdicts_on
from orchestrace.rewards.absence import Rewards, Unavailable
from orchestrace.trace import Delegate, Spawn, ToolCall, ToolResult, Trace, Turn
from orchestrace.trace.views import spawn_tree, stages, turns

UNFOLDED, OUT_OF_SCOPE, FAILED_CALL = -1.0, -0.2, -1.0


def fold_penalty(trace: Trace, evidence: Evidence, *, context_limit: int) -> Rewards:
    """Q of each turn, for all of its tokens.

        −1     a root's turn whose prompt fills more than half of the limit, unless it branches (spawns or delegates)
        −0.2   a turn of a branch that was judged to leave its task
        −1     a turn with a tool call that failed
        0      otherwise; of several the lowest

    A turn has no row while one of these could lower it further and is not known: a root's turn without prompt tokens, a
    branch that nobody judged. Source: Context-Folding (arXiv 2510.11967), read second-hand. Departures: its code also
    pays +0.2 for a good branch and −1 throughout where there is none; the lowest of several is ours.

    Args:
      trace: the rollout; branches are spawned or delegated.
      evidence: `verdicts` on the spawn or delegate that opened a branch; a mean below 0.5 is out of scope.
      context_limit: in tokens.

    Raises:
      ValueError: the limit is below 1.
    """
    if context_limit < 1:
        raise ValueError(f"context_limit is {context_limit}; it must be 1 token or more")
    roots = spawn_tree(trace).roots
    branching = {event.turn for event in trace.events if isinstance(event, Spawn | Delegate)}
    opened = {turn.id: member.opened_by for stage in stages(trace) for member in stage.members for turn in member.turns}
    failed = _failed_turns(trace)
    found = []
    for turn in turns(trace):
        if turn.agent in roots:
            penalty, why = _unfolded(turn, context_limit, branches=turn.id in branching)
        else:
            penalty, why = _scope(opened.get(turn.id), evidence)
        if turn.id in failed:
            penalty, why = FAILED_CALL, "a tool call failed"
        if penalty is not None:
            found.append(Reward("fold_penalty", "R4", "turn", turn.id, penalty, why))
    return rows_or("fold_penalty", found, "no turn carries prompt tokens, no branch was judged and no tool call failed")


def fold_reward(trace: Trace, evidence: Evidence, *, context_limit: int) -> Rewards:
    """clip(R + Q, 0, 1) of each turn, R being the team's grade: what FoldGRPO compares with its group's outcomes.

    The advantage is (fold_reward − mean R) / std R over the group. Arguments and source as in `fold_penalty`.
    """
    grade = evidence.grade("team", trace.trace_id)
    penalties = fold_penalty(trace, evidence, context_limit=context_limit)
    if grade is None:
        return Unavailable("fold_reward", "the evidence grades no team of this trace")
    if isinstance(penalties, Unavailable):
        return Unavailable("fold_reward", penalties.why)
    found = [
        Reward(
            "fold_reward", "R4", row.unit, row.id, min(1.0, max(0.0, grade + row.value)), f"{grade:g} + {row.value:g}"
        )
        for row in penalties
    ]
    return rows_or("fold_reward", found, "")


def _unfolded(turn: Turn, limit: int, *, branches: bool) -> tuple[float | None, str]:
    if branches:
        return 0.0, "it branches"
    used = None if turn.tokens is None else (turn.tokens.input, turn.tokens.cache_read, turn.tokens.cache_write)
    if used is None or all(part is None for part in used):
        return None, ""
    context = sum(part or 0 for part in used)
    return (UNFOLDED if 2 * context > limit else 0.0), f"{context} of {limit} tokens"


def _scope(order: str | None, evidence: Evidence) -> tuple[float | None, str]:
    given = [] if order is None else verdicts_on(order, evidence)
    if not given:
        return None, ""
    inside = mean([verdict.score for verdict in given]) >= HALF
    return (0.0, "in scope") if inside else (OUT_OF_SCOPE, "out of scope")


def _failed_turns(trace: Trace) -> set[str | None]:
    failed = {event.call for event in trace.events if isinstance(event, ToolResult) and event.status != "ok"}
    return {event.turn for event in trace.events if isinstance(event, ToolCall) and event.id in failed}
