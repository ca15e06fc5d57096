"""Files into traces: what the package offers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from orchestrace.adapters.claude_code.cast import Cast
from orchestrace.adapters.claude_code.emit import is_helper, write_log
from orchestrace.adapters.claude_code.layout import SessionFiles, recognized, sessions
from orchestrace.adapters.claude_code.link import Links
from orchestrace.adapters.claude_code.records import iso, mapping, text
from orchestrace.adapters.claude_code.reduce import Reducer
from orchestrace.adapters.claude_code.session import MAIN, Session
from orchestrace.adapters.claude_code.stage import Pen, Stage, settle
from orchestrace.adapters.claude_code.steps import Mark, Meta, Mode, Seen, Track
from orchestrace.adapters.lines import Fingerprint, objects, unpacked
from orchestrace.adapters.reading import Files, Match, Read, Skip
from orchestrace.errors import LogError
from orchestrace.trace import (
    Assembler,
    Content,
    Harness,
    Parent,
    Source,
    SourceFile,
    Spawn,
    Trace,
    described,
    json_document,
)

NAME = "claude_code"
VERSION = "2"
"""Raised whenever the same bytes give another trace."""
MAX_TEXT = 16 << 20
"""Characters of one text that are kept beside the trace. Of a longer one hash and length stay (`withheld`)."""
_MAX_META = 1 << 20
_JSON = msgspec.json.Decoder()

Owner = tuple[str, str]
"""(trace id, event id) of a record; no event: ""."""


def detect(files: Files) -> Match | None:
    """The Claude Code logs among these files, and their sidecars."""
    names = recognized(files)
    return Match(NAME, names) if names else None


def read(files: Files, match: Match) -> Iterator[Read | Skip]:
    """Every session; of a folder, records that an earlier session owns are left to it.

    Raises:
      LogError: never for one bad file among several; that is a `Skip`.
    """
    owned: dict[str, Owner] = {}
    for group in sessions(files, match.names):
        if isinstance(group, Skip):
            yield group
        else:
            yield from _Import(files, group, owned).outcome()


class _Import:
    """One session, from its files to its trace."""

    def __init__(self, files: Files, group: SessionFiles, owned: dict[str, Owner]) -> None:
        self._files, self._group, self._owned = files, group, owned
        self._assembler = Assembler()
        self._counts: Counter[str] = Counter()
        self._session = Session(self._counts, self._keep, owned)
        self._sources: list[SourceFile] = []
        self._metas: dict[str, Meta] = {}
        self._skips: list[Skip] = []

    def outcome(self) -> Iterator[Read | Skip]:
        """The trace, or why there is none."""
        if self._group.main is not None:
            self._read_log(self._group.main, MAIN)
        for name in self._group.agents:
            agent = self._group.agent_ids[name]
            self._read_log(name, agent)
            if name in self._group.metas:
                self._read_meta(self._group.metas[name], agent)
        yield from self._skips
        trace = self._trace()
        self._own(trace)
        if trace.events:
            used = {event.content.hash for event in trace.events if event.content is not None}
            blobs = {hash_: data for hash_, data in self._assembler.blobs.items() if hash_ in used}
            yield Read(trace, blobs, trace.diagnostics)
        else:
            reason = "all its records belong to another session" if self._session.copied else "holds no event"
            for source in self._sources:
                yield Skip(source.name, reason)

    def _keep(self, said: str, *, media: str = "text/plain") -> Content:
        if len(said) <= MAX_TEXT:
            return self._assembler.text(said, media=media)
        self._counts["text_over_cap"] += 1
        return msgspec.structs.replace(described(said, media=media).content, withheld=True, preview="")

    def _read_log(self, name: str, agent: str) -> None:
        fingerprint, reducer = Fingerprint(), Reducer(self._session, agent)
        try:
            with self._files.open(name) as stream:
                reducer.read(objects(stream, self._counts, fingerprint))
        except LogError as error:
            self._skips.append(Skip(name, str(error)))
            self._counts["unreadable_files"] += 1
            return
        self._session.track(agent)
        self._sources.append(SourceFile(name, fingerprint.sha256, fingerprint.bytes))

    def _read_meta(self, name: str, agent: str) -> None:
        fingerprint = Fingerprint()
        try:
            with self._files.open(name) as stream:
                data = unpacked(stream, fingerprint).read(_MAX_META)
            fields, _, surrogates = json_document(data, _JSON)
        except (LogError, EOFError, msgspec.MsgspecError, ValueError, RecursionError):
            self._counts["bad_meta"] += 1
            return
        self._counts["surrogates"] += surrogates
        self._sources.append(SourceFile(name, fingerprint.sha256, fingerprint.bytes))
        names = {
            "role": "agentType",
            "description": "description",
            "name": "name",
            "call": "toolUseId",
            "model": "model",
        }
        self._metas[agent] = Meta(**{ours: text(mapping(fields).get(theirs))[:200] for ours, theirs in names.items()})

    def _trace(self) -> Trace:
        session = self._session
        helpers = [track for track in session.tracks.values() if is_helper(track)]
        tracks = {agent: track for agent, track in session.tracks.items() if not is_helper(track)}
        tracks.setdefault(MAIN, Track(MAIN))
        links = Links(tracks, self._metas, session.hints)
        cast = Cast(tracks, links, self._metas)
        t0 = _earliest(session.tracks)
        stage = Stage(self._assembler, session, links, cast, t0 or 0.0, helpers)
        cast.declare(self._assembler)
        for agent in (MAIN, *sorted(tracks.keys() - {MAIN})):
            write_log(Pen(stage, tracks[agent]))
        settle(stage, tracks.values())
        for diagnostic, n in self._counts.items():
            self._assembler.count(diagnostic, n)
        trace = self._assembler.assemble(**self._header(stage))
        return _in_spawn_order(_from_zero(trace, t0))

    def _header(self, stage: Stage) -> dict[str, Any]:
        session = self._session
        trace_id = f"{NAME}:{self._group.id}"
        task = session.task.hash if session.task is not None else stage.task
        return {
            "trace_id": trace_id,
            "task_id": task[:16] or trace_id,
            "system": "claude-code",
            "topology": "centralized" if stage.spawns else None,
            "harness": Harness("claude-code", session.version or None),
            "source": Source(NAME, VERSION, tuple(self._sources)),
            "parent": self._parent(),
            "costs": {} if session.usd is None else {"usd": session.usd},
        }

    def _parent(self) -> Parent | None:
        copied = [self._owned[uid] for uid in reversed(self._session.copied)]
        if copied:
            owner = copied[0][0]
            # Records that gave no event of their own are passed over.
            return Parent(owner, next((event for trace, event in copied if trace == owner and event), None))
        origin = self._session.forked_from
        return Parent(f"{NAME}:{origin}") if origin and origin != self._group.session else None

    def _own(self, trace: Trace) -> None:
        """The session owns its records from now on, unless it is alone anyway."""
        if self._files.chosen is not None:
            return
        events = {str(event.labels["uid"]): event.id for event in trace.events if "uid" in event.labels}
        for uid in self._session.ids:
            self._owned[uid] = (trace.trace_id, events.get(uid, ""))


def _earliest(tracks: Mapping[str, Track]) -> float | None:
    """Unix seconds of the first step that may become an event."""
    times = (
        step.t
        for track in tracks.values()
        for step in track.steps
        if step.t is not None and not isinstance(step, Mark | Mode | Seen)
    )
    return min(times, default=None)


def _from_zero(trace: Trace, t0: float | None) -> Trace:
    """The trace with its earliest event at t = 0, and its clock."""
    replace = msgspec.structs.replace
    first = min((event.t for event in trace.events if event.t is not None), default=None)
    if t0 is None or first is None:
        return trace
    events = trace.events
    if first:
        events = tuple(
            event if event.t is None else replace(event, t=round(event.t - first, 6) + 0.0) for event in events
        )
    return replace(trace, events=events, clock="derived", started_at=iso(t0 + first))


def _in_spawn_order(trace: Trace) -> Trace:
    """The trace with its agents as they came: the session's own, those that were spawned, those of whom no spawn tells.

    The order of their files says nothing: the files are named at random.
    """
    spawns = [event.to for event in trace.events if isinstance(event, Spawn)]
    places = {name: place for place, name in enumerate([MAIN, *spawns])}
    agents = sorted(trace.agents, key=lambda agent: places.get(agent.id, len(places)))
    return msgspec.structs.replace(trace, agents=tuple(agents))
