"""What the writers of one session share while steps become events, and what is settled when all have written."""

from collections.abc import Iterable
from typing import Any

import msgspec

from orchestrace.adapters.claude_code.cast import Cast, chosen_notices
from orchestrace.adapters.claude_code.link import Links, task_of
from orchestrace.adapters.claude_code.session import MAIN, Session
from orchestrace.adapters.claude_code.steps import Key, ModelCall, Said, Step, Track, Use
from orchestrace.trace import Agent, Assembler, Delegate, Message, Return, Scalar, Spawn, ToolCall, Turn

Receipt = tuple[str, Key]
"""(receiver, text)."""


class Stage(msgspec.Struct):
    """One session while its events are made."""

    assembler: Assembler
    session: Session
    links: Links
    cast: Cast
    t0: float
    """Unix seconds of t = 0."""
    helpers: list[Track] = []
    """Logs of compaction helpers, whose calls are the root's."""
    spawns: dict[str, Spawn] = {}
    """Agent -> its spawn."""
    turns: dict[str, list[Turn]] = {}
    """Agent -> its turns."""
    returns: list[Return] = []
    sent: dict[Receipt, Message | Delegate] = {}
    """What was sent, to find it in the receiver's log."""
    pickups: list[tuple[Receipt, str]] = []
    """What a receiver's log shows -> the turn that read it."""
    task: str = ""
    """Hash of the first human prompt; "": there is none."""
    despawned: set[str] = set()
    strangers: set[str] = set()
    """Agents that only messages know."""

    def t(self, unix_s: float | None) -> float | None:
        """Trace time."""
        return None if unix_s is None else round(unix_s - self.t0, 6)

    def known(self, name: str) -> str:
        """The agent of a name; a stranger is declared."""
        found = self.cast.find(name)
        if found is not None:
            return found
        stranger = self.cast.stranger(name)
        if stranger not in self.strangers:
            self.strangers.add(stranger)
            self.assembler.agent(Agent(stranger, unlinked=True))
            self.session.counts["strangers"] += 1
        return stranger


class Pen:
    """One writer: its log, and where in it we are.

    Args:
      stage: what all writers share.
      track: the log.
    """

    def __init__(self, stage: Stage, track: Track) -> None:
        self.stage, self.track, self.agent = stage, track, track.agent
        self.counts = stage.session.counts
        self.task: Step | None = task_of(track) if track.agent != MAIN else None
        """The user text that is a sub-agent's task."""
        self.chosen = chosen_notices(track, stage.cast)
        self.turns: dict[ModelCall, Turn] = {}
        self.calls: dict[str, ToolCall | Spawn | Delegate | Message] = {}
        """Calls that wait for a result."""
        self.uses: dict[str, Use] = {}
        self.unconsumed: list[str] = []
        """Returns that no turn has taken up."""
        self.arrived: list[Receipt] = []
        """Messages that no turn has read."""
        self.answering = False
        """A root that has been asked and has not ended its answer."""
        origin = stage.links.origins.get(track.agent)
        self._read_t = stage.links.calls[origin.call].t if origin is not None else None

    @property
    def is_root(self) -> bool:
        """Only roots stop."""
        return self.agent == MAIN

    def append(self, make: Any, t: float | None, uid: str, /, agent: str = "", **fields: Any) -> Any:
        """Append the log's next event.

        Args:
          make: its class.
          t: Unix seconds.
          uid: the producer's id of the record; "": none.
          agent: whose event it is; "": the writer's own.
          fields: the others.
        """
        labels: dict[str, Scalar] = {"uid": uid} if uid else {}
        labels |= fields.pop("labels", {})
        return self.stage.assembler.append(
            self.agent, make, agent or self.agent, t=self.stage.t(t), labels=labels, **fields
        )

    def read(self, t: float | None) -> None:
        """Something that the agent can read came at this time, in Unix seconds."""
        if t is not None and (self._read_t is None or t > self._read_t):
            self._read_t = t

    def start_of(self, first_t: float | None) -> float | None:
        """When a call began of which the first block came at `first_t`: at the latest thing that it could have read."""
        if first_t is None or self._read_t is None:
            return first_t
        return min(self._read_t, first_t)

    def took_turn(self, turn: Turn) -> None:
        """A turn was made: it read what had arrived."""
        self.stage.turns.setdefault(self.agent, []).append(turn)
        self.stage.pickups += [(receipt, turn.id) for receipt in self.arrived]
        self.arrived.clear()


def settle(stage: Stage, tracks: Iterable[Track]) -> None:
    """What needs every event first: returns that nobody wrote down, the turns of returns, links between logs."""
    returned = {event.agent for event in stage.returns}
    for track in tracks:
        if track.agent != MAIN and track.agent not in returned and track.agent in stage.spawns:
            _answer_unseen(stage, track)
    for event in stage.returns:
        turn = _turn_before(stage.turns.get(event.agent, []), event.t)
        if turn is not None:
            stage.assembler.replace(msgspec.structs.replace(event, turn=turn.id))
    first_returns = {event.agent: event for event in reversed(stage.returns)}
    for agent, spawn in stage.spawns.items():
        if agent in stage.turns:
            stage.assembler.link(spawn.id, f"{agent}.0", "spawn", stage.links.origins[agent].evidence)
        elif agent in first_returns:
            stage.assembler.link(spawn.id, first_returns[agent].id, "spawn", "explicit")
    for receipt, turn_id in stage.pickups:
        sent = stage.sent.get(receipt)
        if isinstance(sent, Delegate):
            stage.assembler.link(sent.id, turn_id, "delegate", "matched")
        elif sent is not None and sent.delivered:
            stage.assembler.link(sent.id, turn_id, "message", "matched")


def _answer_unseen(stage: Stage, track: Track) -> None:
    """A sub-agent ended its answer, but its parent's log does not show it."""
    last = next((step for step in reversed(track.steps) if isinstance(step, Said)), None)
    if last is None or last.call.tools or last.call.stop_reason != "end_turn":
        return
    turn = stage.turns[track.agent][-1]
    stage.assembler.append(
        track.agent,
        Return,
        track.agent,
        to=stage.spawns[track.agent].agent,
        turn=turn.id,
        t=stage.t(last.call.end_t),
        content=turn.content,
        labels={"seen": False},
    )
    stage.session.counts["returns_unseen"] += 1


def _turn_before(turns: list[Turn], t: float | None) -> Turn | None:
    """The last turn that started by then; the last of all where times do not say."""
    for turn in reversed(turns):
        if t is None or turn.t is None or turn.t <= t:
            return turn
    return turns[-1] if turns else None
