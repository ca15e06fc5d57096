"""What reached what: plain reachability on the event graph."""

from collections.abc import Iterable

import msgspec

from orchestrace.errors import TraceError
from orchestrace.trace import Event, Stop, ToolCall, Trace, Turn
from orchestrace.trace.graph import Graph
from orchestrace.trace.views import spawn_tree

CORRUPTED = "corrupted"
"""Label of an event whose content is wrong, set by a person or by a replay."""


class Ratio(msgspec.Struct, frozen=True, gc=False):
    """A number, or why there is none."""

    value: float | None
    unknown: str = ""


def useful_utilisation(trace: Trace) -> Ratio:
    """Sub-agent actions with a path to the final answer / all sub-agent actions.

    An action is a turn or a tool call of an agent that is no root. The final answer is the last stop of a root, else
    the last root turn. A path runs over edges and over the order inside agents: context is a cause.
    """
    roots = set(spawn_tree(trace).roots)
    actions = {p for p, event in enumerate(trace.events) if _acts(event) and event.agent not in roots}
    if not actions:
        return Ratio(None, "no sub-agent acted")
    answer = _final_answer(trace, roots)
    if answer is None:
        return Ratio(None, "no root has answered")
    try:
        reached = Graph.of(trace).ancestors(answer).tolist()
    except TraceError as error:
        return Ratio(None, str(error))
    return Ratio(len(actions.intersection(reached)) / len(actions))


def error_amplification(trace: Trace) -> Ratio:
    """Corrupted events that another corrupted event reached / corrupted events that none reached.

    Which events are corrupted is said by the label `corrupted`; 0 where no error spread.
    """
    corrupted = {place for place, event in enumerate(trace.events) if event.labels.get(CORRUPTED)}
    if not corrupted:
        return Ratio(None, f"no event carries the label {CORRUPTED!r}")
    try:
        reached = Graph.of(trace).descendants_of_many(corrupted).tolist()
    except TraceError as error:
        return Ratio(None, str(error))
    spread = len(corrupted.intersection(reached))
    return Ratio(spread / (len(corrupted) - spread))


def _acts(event: Event) -> bool:
    return isinstance(event, Turn | ToolCall)


def _final_answer(trace: Trace, roots: Iterable[str]) -> int | None:
    answers = [place for place, event in enumerate(trace.events) if isinstance(event, Stop) and event.agent in roots]
    turns = [place for place, event in enumerate(trace.events) if isinstance(event, Turn) and event.agent in roots]
    return max(answers, default=max(turns, default=None))
