"""Who is who: agents by the names that the log uses for them, and what was said between them."""

from collections import Counter
from collections.abc import Mapping

from orchestrace.adapters.claude_code.link import Links, task_of
from orchestrace.adapters.claude_code.session import MAIN
from orchestrace.adapters.claude_code.steps import Inbound, Key, Meta, Notice, Prompt, Result, Said, Track
from orchestrace.trace import Agent, Assembler

POLL_TOOLS = frozenset({"TaskOutput", "AgentOutputTool", "BashOutput"})
"""Tools that ask how a background task is doing."""
_LEADS = frozenset({"", MAIN, "team-lead", "lead", "leader", "user"})


class Cast:
    """The agents of a session.

    Args:
      tracks: by agent.
      links: who made whom.
      metas: sidecars by agent.
    """

    def __init__(self, tracks: Mapping[str, Track], links: Links, metas: Mapping[str, Meta]) -> None:
        self._tracks, self._links, self._metas = tracks, links, metas
        self._names: dict[str, str] = {}
        for call, agent in links.made.items():
            name = links.calls[call].task.name
            if name:
                self._names[name] = agent  # of several spawns of one name the latest is meant
        self._taken = {MAIN, *tracks, *links.origins}
        self._strangers: dict[str, str] = {}
        self._used: dict[str, int] = {}
        self.arrived: Counter[tuple[str, Key]] = Counter()
        """(receiver, text) -> how often the receiver's log shows it."""
        self.sent: set[tuple[str, Key]] = set()
        """(receiver, text) of every message that a sender's log shows."""
        self._index_messages()

    def find(self, name: str) -> str | None:
        """The agent that a name or an id means; None where it is nobody known."""
        bare = name.partition("@")[0]
        for known in (name, bare):
            if known in self._tracks or known in self._links.origins:
                return known
            if known in self._names:
                return self._names[known]
        return MAIN if bare in _LEADS else None

    def stranger(self, name: str) -> str:
        """An id for somebody whom only messages know."""
        if name not in self._strangers:
            id_ = name or "unnamed"
            if id_ in self._taken:
                id_ = f"{id_}+{len(self._strangers)}"
            self._taken.add(id_)
            self._strangers[name] = id_
        return self._strangers[name]

    def has_log(self, agent: str) -> bool:
        """Its own records are here."""
        return agent in self._tracks

    def uses_of(self, agent: str) -> int | None:
        """How many tools the agent's log shows that it used; None where it has no log."""
        track = self._tracks.get(agent)
        if track is None:
            return None
        if agent not in self._used:
            self._used[agent] = len({use.id for step in track.steps if isinstance(step, Said) for use in step.uses})
        return self._used[agent]

    def others(self, agent: str) -> list[str]:
        """Everybody else, in the order of the log."""
        everybody = dict.fromkeys([MAIN, *self._links.origins, *self._tracks])
        return [other for other in everybody if other != agent]

    def team(self, name: str) -> list[str]:
        """The members of a team; of every team where no name is given."""
        calls = ((self._links.calls[call].task, agent) for call, agent in self._links.made.items())
        return [agent for task, agent in calls if task.team and name in ("", task.team)]

    def declare(self, assembler: Assembler) -> None:
        """Declare every agent that has a log or a spawn."""
        spawners = {call.agent for call in self._links.calls.values()}
        assembler.agent(Agent(MAIN, role="orchestrator" if MAIN in spawners else "", model=self._model(MAIN)))
        for agent in self.others(MAIN):
            assembler.agent(
                Agent(
                    agent,
                    role=self._role(agent),
                    parent=self._links.parent(agent),
                    model=self._model(agent),
                    unlinked=agent not in self._links.origins,
                )
            )

    def _role(self, agent: str) -> str:
        meta, origin = self._metas.get(agent), self._links.origins.get(agent)
        if meta is not None and meta.role:
            return meta.role
        if origin is None:
            return ""
        result = self._links.results.get(origin.call)
        return self._links.calls[origin.call].task.role or (result.agent_role if result is not None else "")

    def _model(self, agent: str) -> str | None:
        track = self._tracks.get(agent)
        for step in track.steps if track is not None else ():
            if isinstance(step, Said) and step.call.model:
                return step.call.model
        meta = self._metas.get(agent)
        return meta.model or None if meta is not None else None

    def _index_messages(self) -> None:
        for track in self._tracks.values():
            task = task_of(track) if track.agent != MAIN else None
            for step in track.steps:
                if isinstance(step, Inbound | Prompt) and step is not task:
                    self.arrived[(track.agent, step.key)] += 1
                elif isinstance(step, Said):
                    for use in step.uses:
                        if use.post is not None:
                            everybody = self.others(track.agent) if use.post.to == "*" else None
                            for receiver in everybody or [self.find(use.post.to) or self.stranger(use.post.to)]:
                                self.sent.add((receiver, use.post.key))


def chosen_notices(track: Track, cast: Cast) -> set[Notice]:
    """The notices that stand for the end of a task: the same end is told two or three times.

    Of those with one (task, status) the one that the agent was told is taken, else a poll's, else the queued one. A
    task that was resumed in between may end once more.
    """
    best: dict[tuple[str, str, int], Notice] = {}
    resumed: Counter[str] = Counter()
    polls: set[str] = set()
    posts: dict[str, str] = {}
    for step in track.steps:
        if isinstance(step, Said):
            for use in step.uses:
                if use.task is not None and use.task.resume:
                    resumed[use.task.resume] += 1
                elif use.post is not None:
                    posts[use.id] = cast.find(use.post.to) or ""
                elif use.tool in POLL_TOOLS:
                    polls.add(use.id)
        elif isinstance(step, Result) and step.resumed:
            resumed[posts.get(step.call, "")] += 1
        elif isinstance(step, Notice) and (not step.poll or step.poll in polls):
            key = (step.task, step.status, resumed[step.task])
            if key not in best or step.rank < best[key].rank:
                best[key] = step
    return set(best.values())
