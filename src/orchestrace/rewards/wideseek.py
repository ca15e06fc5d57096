"""WideSeek-R1's reward: the outcome, a little for form and for looking things up, less for running on."""

from collections.abc import Collection

from orchestrace.annotations import Evidence, RewardFamily
from orchestrace.rewards._rows import team_row
from orchestrace.rewards.absence import Rewards, Unavailable
from orchestrace.rewards.compose import Composed, Term, composed
from orchestrace.rewards.team import outcome
from orchestrace.trace import Stop, ToolCall, Trace
from orchestrace.trace.views import spawn_tree, turns

FREE_TOKENS, FULL_TOKENS = 3000, 2000
"""A turn may be so long for nothing; so many tokens more cost the whole penalty."""


def wideseek(
    trace: Trace, evidence: Evidence, *, parsed: bool, access: Collection[str] = frozenset({"access"})
) -> Composed:
    """WideSeek-R1's reward of a rollout, channel by channel.

        R = S + 0.1 + 0.05·1[something was accessed] − 0.1·clip((longest − 3000)/2000, 0, 1)
        R = 0 where the final answer does not parse, or the lead ran into a limit

    S is the team's grade (item-F1, or 0/1), longest the output tokens of the longest turn of anyone. Failure sets the
    weights to 0, so that the raw channels are still logged. Source: WideSeek-R1 (arXiv 2602.04634), by its code.
    Departures: none known.

    Args:
      trace: the rollout.
      evidence: the team's grade.
      parsed: whether the final answer could be read.
      access: tools that open a source.
    """
    roots = spawn_tree(trace).roots
    stops = [event.reason for event in trace.events if isinstance(event, Stop) and event.agent in roots]
    paid = float(parsed and not (stops and stops[-1] in ("limit", "budget")))
    looked = any(isinstance(event, ToolCall) and event.tool in access for event in trace.events)
    emitted = [
        outcome(trace, evidence),
        _channel("format", "R1", trace, float(parsed)),
        _channel("access", "R5", trace, float(looked)),
        _overlong(trace),
    ]
    weights = {"outcome": 1.0, "format": 0.1, "access": 0.05, "overlong": -0.1}
    return composed(trace, emitted, terms=[Term(name, paid * weight) for name, weight in weights.items()])


def _overlong(trace: Trace) -> Rewards:
    lengths = [None if turn.tokens is None else turn.tokens.output for turn in turns(trace)]
    known = [length for length in lengths if length is not None]
    if not known or len(known) < len(lengths):
        return Unavailable("overlong", "not every turn carries output tokens" if lengths else "the trace holds no turn")
    beyond = min(1.0, max(0.0, (max(known) - FREE_TOKENS) / FULL_TOKENS))
    return _channel("overlong", "R4", trace, beyond, why=f"longest turn {max(known)} tokens")


def _channel(name: str, family: RewardFamily, trace: Trace, value: float, why: str = "") -> Rewards:
    return team_row(name, family, trace=trace, value=value, why=why)
