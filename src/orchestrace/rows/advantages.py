"""From what each unit earned to one advantage a token.

    A_t = advantage of the finest unit that token t belongs to and that was given one:
          token or event (over its span) > turn > agent > role > team

Levels replace each other and are never added: advantages are relative to a baseline, and adding an agent's to its
team's counts twice. Every token of a unit gets the unit's advantage (MATPO, arXiv 2510.04678, and most methods).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from orchestrace.annotations import Credit
from orchestrace.errors import InputError
from orchestrace.rows.tokens import Bools, Floats
from orchestrace.trace import Event, Trace, Turn

V = TypeVar("V")


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutCredit:
    """The advantages of one rollout, at any levels together. A unit that is left out was given none; that is not 0."""

    team: float | None = None
    roles: Mapping[str, float] = field(default_factory=dict)
    agents: Mapping[str, float] = field(default_factory=dict)
    turns: Mapping[str, ArrayLike] = field(default_factory=dict)
    """Turn id -> one advantage for the turn, or [K] one for each token of its completion."""
    events: Mapping[str, float] = field(default_factory=dict)
    """Id of a message, tool call, spawn... -> advantage of the tokens of its `token_span`."""
    trace_id: str | None = None
    """The rollout that it was worked out on; None: not said, and not checked."""


class TokenCredit(NamedTuple):
    """The advantages of one turn's completion."""

    values: Floats
    """[K] 0 where none is known."""
    known: Bools
    """[K]"""

    @property
    def missing(self) -> bool:
        """Whether there are tokens, and none of them was given anything."""
        return bool(self.known.size) and not self.known.any()


class PlacedCredit(NamedTuple):
    """A rollout's credit, where its tokens are."""

    turns: Mapping[str, TokenCredit]
    """Turn id -> its advantages, for each turn with tokens."""
    unplaced: tuple[str, ...]
    """Events with credit and without turn or token span: nobody knows which tokens they are."""


def rollout_credit(credit: Credit) -> RolloutCredit:
    """A credit record as the advantages of its rollout.

    `orchestrator:<agent>` speaks of that agent, `<turn>:rest` of its turn, `<turn>:<i>` of one token: a turn needs all
    of its tokens or none.

    Raises:
      InputError: it holds shares or shaped rewards, which are no advantages; or it speaks of one unit twice.
    """
    if credit.kind != "advantage":
        raise InputError(
            f"credit by {credit.method!r} is of kind {credit.kind!r}, but rows need advantages",
            remedy="subtract a baseline first, such as the group's mean of the same unit",
        )
    team: dict[str, float] = {}
    roles: dict[str, float] = {}
    agents: dict[str, float] = {}
    turns: dict[str, ArrayLike] = {}
    events: dict[str, float] = {}
    tokens: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for row in credit.rows:
        unit, name = row.unit or credit.unit, row.unit_id
        match unit:
            case "team":
                _put(team, "", row.value)
            case "role":
                _put(roles, name, row.value)
            case "agent" | "orchestrator":
                _put(agents, name.removeprefix("orchestrator:") if unit == "orchestrator" else name, row.value)
            case "turn" | "remainder":
                _put(turns, name.removesuffix(":rest") if unit == "remainder" else name, row.value)
            case "message" | "tool_call" | "decision":
                _put(events, name, row.value)
            case "token":
                turn, _, place = name.rpartition(":")
                _put(tokens[turn], place, row.value)
    for turn, values in tokens.items():
        _put(turns, turn, _in_order(turn, values))
    levels = RolloutCredit(team=team.get(""), roles=roles, agents=agents, turns=turns, events=events)
    return replace(levels, trace_id=credit.trace_id)


def placed_credit(trace: Trace, credit: RolloutCredit, *, lengths: Mapping[str, int]) -> PlacedCredit:
    """The advantages of every token.

    Args:
      trace: the rollout.
      credit: what its units earned.
      lengths: turn id -> K, the length of its completion; other turns have no tokens to place anything on.

    Raises:
      InputError: the credit names what is not in the trace, is not finite, has not one number a token, or speaks of
        one token through two events.
    """
    events = {event.id: event for event in trace.events}
    _check_names(trace, events, credit)
    roles = {agent.id: agent.role for agent in trace.agents}
    placed = {}
    for name, length in lengths.items():
        agent = events[name].agent
        given = credit.turns.get(name)
        for level, unit in ((credit.agents, agent), (credit.roles, roles.get(agent, ""))):
            given = level.get(unit) if given is None else given
        placed[name] = _broadcast(trace, name, credit.team if given is None else given, length)
    claimed: dict[tuple[str, int], str] = {}
    unplaced = []
    for name, value in credit.events.items():
        event = events[name]
        if event.turn is None or event.token_span is None:
            unplaced.append(name)
        elif event.turn in placed:
            _spread(trace, event, value, placed[event.turn], claimed)
    return PlacedCredit(placed, tuple(unplaced))


def _broadcast(trace: Trace, turn: str, given: ArrayLike | None, length: int) -> TokenCredit:
    values = np.asarray(0.0 if given is None else given, np.float64)
    if values.shape not in ((), (length,)):
        problem = f"its credit has shape {values.shape}, but its completion has {length} tokens"
        raise InputError(problem, place=_place(trace, turn))
    _check_finite(trace, turn, values)
    return TokenCredit(np.broadcast_to(values, (length,)).copy(), np.full(length, given is not None))


def _spread(trace: Trace, event: Event, value: float, tokens: TokenCredit, claimed: dict[tuple[str, int], str]) -> None:
    """Give an event's advantage to the tokens of its span."""
    start, end = event.token_span or (0, 0)
    turn = event.turn or ""
    _check_finite(trace, event.id, np.asarray(value))
    if not 0 <= start <= end <= len(tokens.values):
        problem = f"token_span [{start}, {end}) is not within the {len(tokens.values)} tokens of turn {turn!r}"
        raise InputError(problem, place=_place(trace, event.id))
    for at in range(start, end):
        other = claimed.setdefault((turn, at), event.id)
        if other != event.id:
            problem = f"it has credit, and so has {other!r}; both hold token {at} of turn {turn!r}"
            raise InputError(problem, place=_place(trace, event.id))
    tokens.values[start:end] = value
    tokens.known[start:end] = True


def _check_names(trace: Trace, events: Mapping[str, Event], credit: RolloutCredit) -> None:
    turns = {name for name, event in events.items() if isinstance(event, Turn)}
    agents = {agent.id for agent in trace.agents} | {event.agent for event in trace.events}
    levels: tuple[tuple[str, Iterable[str], Iterable[str]], ...] = (
        ("role", credit.roles, {agent.role for agent in trace.agents}),
        ("agent", credit.agents, agents),
        ("turn", credit.turns, turns),
        ("event other than a turn", credit.events, events.keys() - turns),
    )
    for unit, named, known in levels:
        for name in named:
            if name not in known:
                raise InputError(f"there is no {unit} {name!r} to give credit to", place=f"trace {trace.trace_id!r}")


def _check_finite(trace: Trace, name: str, values: Floats) -> None:
    if not np.isfinite(values).all():
        raise InputError(f"its credit is {values}, expected finite numbers", place=_place(trace, name))


def _place(trace: Trace, event: str) -> str:
    return f"trace {trace.trace_id!r}, event {event!r}"


def _put(level: dict[str, V], name: str, value: V) -> None:
    if name in level:
        raise InputError(f"the credit speaks of {name!r} twice" if name else "the credit speaks of the team twice")
    level[name] = value


def _in_order(turn: str, values: Mapping[str, float]) -> list[float]:
    """Token credit by place: 0, 1, 2..., none left out."""
    places = [str(place) for place in range(len(values))]
    for place in places:
        if place not in values:
            raise InputError(f"the credit of {len(values)} tokens of turn {turn!r} leaves out token {place}")
    return [values[place] for place in places]
