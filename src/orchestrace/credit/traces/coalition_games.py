"""What a coalition of units is worth: from a table of values, or by masking the rest and aggregating again.

How v(S) was defined goes into every result: `mask` (the rest is taken away and only the aggregation is run again),
`replay` (what came after is run again), `default` (a default policy in place of the rest), `critic` (a model guesses).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

from orchestrace.annotations import CoalitionValues
from orchestrace.credit.columns import LARGEST
from orchestrace.credit.traces.nesting import Nest
from orchestrace.errors import InputError
from orchestrace.trace import Aggregate, Message, Return, ToolResult, Trace, Turn, known_text
from orchestrace.trace.graph import Graph
from orchestrace.trace.views import spawn_tree

Value = Callable[[frozenset[int]], float]
"""v(S) of a set of leaf numbers."""


class Coalition(NamedTuple):
    """What is left of a trace when only some units are there."""

    there: frozenset[str]
    """Ids of events of which some leaf is there and every cause."""
    whole: frozenset[str]
    """Ids of those of which every leaf is there."""


class Game(NamedTuple):
    """A value for every coalition of a nesting's leaves."""

    value: Value
    definition: str
    """How v(S) comes about."""
    model_calls: int = 0
    """Calls of a model that it took, all told."""


def closed_game(
    trace: Trace,
    nest: Nest,
    *,
    value: Callable[[Coalition], float],
    definition: str,
    causes: Literal["all", "making"] = "all",
) -> Game:
    """The game in which an event counts only where its causes are there: v of the causally closed part of S.

    Every order of the leaves is admissible then, so that levels and causality never contradict each other (ours).

    Args:
      trace: lawful.
      nest: its nesting.
      value: of a coalition of events.
      definition: how `value` comes about, for the record.
      causes: which causes an event needs. all: everything that it came after, so that what is left is a past that can
        be continued. making: only what made it exist (the turn that wrote it and that agent's turns before, the spawn
        of its agent, the call of a result); what it merely read may be missing, as under a mask, where a placeholder
        stands in its place.
    """
    needs = _all_causes(trace) if causes == "all" else _makers(trace)
    ids = [event.id for event in trace.events]
    held = [nest.holders.get(name, frozenset()) for name in ids]

    def closed(leaves: frozenset[int]) -> float:
        there: set[int] = set()
        for place, own in enumerate(held):  # in trace order, so causes come first
            if (not own or not own.isdisjoint(leaves)) and there.issuperset(needs[place]):
                there.add(place)
        whole = frozenset(ids[place] for place in there if held[place] <= leaves)
        return value(Coalition(frozenset(ids[place] for place in there), whole))

    return Game(closed, definition)


def _all_causes(trace: Trace) -> list[tuple[int, ...]]:
    graph = Graph.of(trace)
    return [tuple(graph.predecessors.of(place).tolist()) for place in range(len(graph))]


def _makers(trace: Trace) -> list[tuple[int, ...]]:
    """By place, the events without which this one would not exist."""
    index = {event.id: place for place, event in enumerate(trace.events)}
    spawned = {agent: index[spawn.id] for agent, spawn in spawn_tree(trace).spawns.items()}
    latest: dict[str, int] = {}
    needs: list[tuple[int, ...]] = []
    ordered = {edge.dst: index[edge.src] for edge in trace.edges if edge.type == "delegate"}
    for place, event in enumerate(trace.events):
        named = [event.turn, event.call if isinstance(event, ToolResult) else None]
        found = [index[name] for name in named if name is not None]
        found += [of[key] for of, key in ((spawned, event.agent), (ordered, event.id)) if key in of]
        if isinstance(event, Turn):
            if event.agent in latest:
                found.append(latest[event.agent])
            latest[event.agent] = place
        needs.append(tuple(found))
    return needs


def masked_vote(
    trace: Trace, answers: Mapping[str, str], *, right: str, reward: float = 1.0, nobody: float = 0.0
) -> Callable[[Coalition], float]:
    """v(S) = reward · P(the votes that are left elect the right answer), ties shared evenly.

    A vote is a return or message that some aggregate by vote took up; it counts where it, and the aggregate that took
    it up, are whole. Nothing is run again but the count of votes, so a voter who would have voted otherwise without the
    others is not seen (that takes a replay). A weighted vote is counted with equal weights.

    Args:
      trace: lawful.
      answers: event id -> what the vote says.
      right: the answer that earns the reward.
      reward: what it earns.
      nobody: what an election without votes is worth, v(∅): 0, or the chance of a guess.

    Raises:
      InputError: no aggregate of the trace is a vote, a vote's text is not known, or the reward is too large to divide.
    """
    if abs(reward) > LARGEST:
        raise InputError(f"the reward {reward:g} is too large to divide", remedy=f"rewards go up to {LARGEST:g}")
    ballots = _ballots(trace)
    unknown = next((name for name in ballots if name not in answers), None)
    if unknown is not None:
        raise InputError(f"the text of vote {unknown!r} is not in the trace", remedy="give the log itself, with texts")

    def value(coalition: Coalition) -> float:
        votes = Counter(
            answers[voted] for voted, taken in ballots.items() if voted in coalition.whole and taken in coalition.whole
        )
        if not votes:
            return reward * nobody
        most = max(votes.values())
        return reward * (votes[right] == most) / sum(count == most for count in votes.values())

    return value


def _ballots(trace: Trace) -> dict[str, str]:
    """Vote -> the aggregate that took it up."""
    found = {
        voted: event.id
        for event in trace.events
        if isinstance(event, Aggregate) and event.method in ("vote", "weighted_vote")
        for voted in event.inputs
    }
    if not found:
        raise InputError(
            f"trace {trace.trace_id!r} has no aggregate by vote, so masking cannot run its aggregation again",
            remedy="give the values of coalitions: --value FILE",
        )
    return found


def said(trace: Trace, texts: Mapping[str, bytes]) -> dict[str, str]:
    """What each return and message says, stripped, where its text is at hand whole."""
    blobs = {**trace.blobs, **texts}
    known = {
        event.id: known_text(event.content, blobs)
        for event in trace.events
        if isinstance(event, Return | Message) and event.content is not None
    }
    return {name: text.decode("utf-8", "replace").strip() for name, text in known.items() if text is not None}


def table_game(table: CoalitionValues, nest: Nest) -> Game:
    """The game whose values were worked out elsewhere, by a replay or a critic.

    Raises:
      InputError: the table names a unit that is no leaf here, holds a value too large to divide, or, when asked, lacks
        a coalition.
    """
    names = [leaf.id for leaf in nest.leaves]
    places = {name: place for place, name in enumerate(names)}
    values: dict[frozenset[int], float] = {}
    for row in table.values:
        strange = next((name for name in row.units if name not in places), None)
        if strange is not None:
            known = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
            raise InputError(f"the values name the {table.unit} {strange!r}, which the trace lacks",
                             remedy=f"it has {known}")  # fmt: skip
        if abs(row.value) > LARGEST:
            raise InputError(f"the value {row.value:g} is too large to divide", remedy=f"values go up to {LARGEST:g}")
        values[frozenset(places[name] for name in row.units)] = row.value

    def value(leaves: frozenset[int]) -> float:
        if leaves not in values:
            members = ", ".join(names[place] for place in sorted(leaves))
            raise InputError(f"the values lack the coalition {{{members}}}",
                             remedy="give a value for every coalition, the empty one too")  # fmt: skip
        return values[leaves]

    return Game(value, table.definition, table.model_calls)
