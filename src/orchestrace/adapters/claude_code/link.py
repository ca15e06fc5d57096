"""Which call made which sub-agent.

In this order: the sidecar's toolUseId; a progress or queue record that names both; the agent id that the call's result
names; an equal prompt, told apart by name, description and time. What is left has no spawn: it stays unlinked.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from orchestrace.adapters.claude_code.session import MAIN
from orchestrace.adapters.claude_code.steps import Inbound, Meta, Prompt, Result, Said, Task, Track, Use
from orchestrace.trace import Evidence


class Origin(NamedTuple):
    """The call that made an agent."""

    call: str
    evidence: Evidence


class Call(NamedTuple):
    """One spawn call."""

    use: Use
    task: Task
    agent: str
    """Whose call it is."""
    t: float | None


class Links:
    """Who made whom, over all tracks of a session.

    Args:
      tracks: by agent.
      metas: sidecars by agent.
      hints: agent -> call, from records that name both.
    """

    def __init__(self, tracks: Mapping[str, Track], metas: Mapping[str, Meta], hints: Mapping[str, str]) -> None:
        self.calls: dict[str, Call] = {}
        """Spawn calls by id."""
        self.results: dict[str, Result] = {}
        """First result of each call."""
        self.origins: dict[str, Origin] = {}
        """Agent -> the call that made it."""
        self.made: dict[str, str] = {}
        """Spawn call -> the agent that it made; every spawn call made one, if only by name."""
        self._tracks, self._metas = tracks, metas
        self._index()
        for agent, meta in metas.items():
            self._claim(agent, meta.call, "explicit")
        for agent, call in hints.items():
            if agent in tracks:
                self._claim(agent, call, "explicit")
        for call in self.calls:
            self._claim(self._named_by(call), call, "explicit")
        self._match_prompts()
        self._name_the_rest()

    def parent(self, agent: str) -> str | None:
        """Who made the agent; None for the root and the unlinked."""
        origin = self.origins.get(agent)
        return None if origin is None else self.calls[origin.call].agent

    def _index(self) -> None:
        for track in self._tracks.values():
            for step in track.steps:
                if isinstance(step, Said):
                    for use in step.uses:
                        if use.task is not None and not use.task.resume:
                            self.calls.setdefault(use.id, Call(use, use.task, track.agent, step.t))
                elif isinstance(step, Result):
                    self.results.setdefault(step.call, step)

    def _named_by(self, call: str) -> str:
        result = self.results.get(call)
        return "" if result is None or result.agent == MAIN else result.agent

    def _claim(self, agent: str, call: str, evidence: Evidence) -> None:
        """Link the two, unless one of them is linked or the agent would be its own ancestor."""
        if not agent or agent == MAIN or agent in self.origins or call not in self.calls or call in self.made:
            return
        ancestor: str | None = self.calls[call].agent
        while ancestor is not None:
            if ancestor == agent:
                return
            ancestor = self.parent(ancestor)
        self.origins[agent] = Origin(call, evidence)
        self.made[call] = agent

    def _match_prompts(self) -> None:
        free = [
            call for call in self.calls.values() if call.use.id not in self.made and not self._named_by(call.use.id)
        ]
        orphans = [(task, track) for track in self._tracks.values() if (task := self._orphan_task(track)) is not None]
        orphans.sort(key=lambda orphan: (_started(orphan[1]), orphan[1].agent))
        by_key: dict[bytes, list[Call]] = {}
        for call in free:
            by_key.setdefault(call.task.key, []).append(call)
        rivals = Counter(task.key for task, _ in orphans)
        for task, track in orphans:
            waiting = by_key.get(task.key, [])
            described = [n for n, call in enumerate(waiting) if self._described(call, track.agent)]
            in_time = (n for n, call in enumerate(waiting) if self._in_time(call, _started(track)))
            fitting = described if len(described) == 1 else list(islice(in_time, 2))
            if fitting:
                alone = len(fitting) == 1 and (bool(described) or rivals[task.key] == 1)
                call = waiting.pop(fitting[0])  # first come, first served, where several would do
                self._claim(track.agent, call.use.id, "matched" if alone else "positional")

    def _orphan_task(self, track: Track) -> Prompt | Inbound | None:
        return None if track.agent == MAIN or track.agent in self.origins else task_of(track)

    def _described(self, call: Call, agent: str) -> bool:
        meta = self._metas.get(agent)
        if (
            meta is None
            or not (meta.name or meta.description)
            or not self._in_time(call, _started(self._tracks[agent]))
        ):
            return False
        return meta.name == call.task.name if meta.name else meta.description == call.task.description

    def _in_time(self, call: Call, started: float) -> bool:
        result = self.results.get(call.use.id)
        ended = None if result is None or result.acknowledged else result.t
        late = call.t is not None and started < call.t - 1.0
        return not late and (ended is None or started <= ended + 1.0 or started == float("inf"))

    def _name_the_rest(self) -> None:
        """Agents without a file are known by the id that the result names, else by their call."""
        for call in self.calls:
            if call not in self.made:
                agent = self._named_by(call)
                if not agent or agent in self.origins or agent in self._tracks:
                    agent = call if call not in self._tracks and call not in self.origins else f"agent-{call}"
                while agent in self.origins or agent in self._tracks:
                    agent += "+"
                self.origins[agent] = Origin(call, "explicit")
                self.made[call] = agent


def task_of(track: Track) -> Prompt | Inbound | None:
    """The first user text of a sub-agent, which is its task; None where its file does not begin with one."""
    for step in track.steps:
        if isinstance(step, Prompt | Inbound):
            return step
        if isinstance(step, Said):
            return None
    return None


def _started(track: Track) -> float:
    return next((step.t for step in track.steps if step.t is not None), float("inf"))
