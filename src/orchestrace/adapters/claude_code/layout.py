"""Which files make one session.

Layouts by version: sub-agents inside the main file (1.0); flat `agent-<id>.jsonl` beside it (2.0); under
`<session>/subagents/`, at any depth, with `.meta.json` sidecars (2.1). What a file is, its first records say; its name
says only what belongs together.
"""

import io
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from orchestrace.adapters.claude_code.records import seconds, text
from orchestrace.adapters.claude_code.session import MAIN
from orchestrace.adapters.files import stem
from orchestrace.adapters.lines import MAX_LINE, objects, utf_16
from orchestrace.adapters.reading import Files, Skip
from orchestrace.errors import LogError

_PEEKED = 40
"""Records of a file that are looked at to see what it is."""
_SPOKEN = 3
"""User and assistant records after which that is clear."""
_HEAD = 32 << 20
"""Bytes of a file, as stored, that are looked at."""
_TYPES = frozenset({"user", "assistant", "system", "attachment", "progress"})
_MARKERS = frozenset({"sessionId", "parentUuid", "isSidechain", "uuid"})
_BARE_TYPES: Mapping[str, frozenset[str]] = {
    "queue-operation": frozenset({"operation", "sessionId"}),
    "file-history-snapshot": frozenset({"messageId", "snapshot"}),
    "summary": frozenset({"summary", "leafUuid"}),
    "permission-mode": frozenset({"permissionMode", "sessionId"}),
    "mode": frozenset({"mode", "sessionId"}),
    "last-prompt": frozenset({"lastPrompt", "sessionId"}),
    "ai-title": frozenset({"sessionId"}),
    "custom-title": frozenset({"sessionId"}),
    "agent-name": frozenset({"sessionId"}),
    "agent-color": frozenset({"sessionId"}),
    "agent-setting": frozenset({"sessionId"}),
    "pr-link": frozenset({"sessionId"}),
}


class Glance(msgspec.Struct, frozen=True):
    """What the first records of a file say."""

    session: str
    agent: str
    """The sub-agent whose file it is; "": a session's own."""
    first_t: float | None
    copied: bool
    """It starts with records of another session: a fork, or a resumption."""


_NO_GLANCE = Glance("", "", None, copied=False)


class SessionFiles(msgspec.Struct, frozen=True):
    """The files of one session."""

    id: str
    """What follows `claude_code:` in the trace's id."""
    session: str
    main: str | None
    """Absent: only files of its sub-agents are here."""
    agents: tuple[str, ...]
    agent_ids: Mapping[str, str]
    """Sub-agent file -> the agent; several files of one agent are its one log."""
    metas: Mapping[str, str]
    """Sub-agent file -> its sidecar."""
    first_t: float | None
    copied: bool


def is_record(record: Mapping[str, Any]) -> bool:
    """One record of a Claude Code log, by its own fields."""
    kind = record.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _TYPES:
        spoken = kind not in ("user", "assistant") or isinstance(record.get("message"), dict)
        return spoken and len(_MARKERS & record.keys()) >= 2
    needed = _BARE_TYPES.get(kind)
    return needed is not None and needed <= record.keys()


def glance(files: Files, name: str) -> Glance | None:
    """What a file is; None where it is no Claude Code log.

    Raises:
      LogError: it cannot be read.
    """
    with files.open(name) as stream:
        data = stream.read(_HEAD)
        if len(data) == _HEAD and b"\n" not in data and _starts_like_json(data):
            data += stream.read(MAX_LINE)
    if ".jsonl" not in name and not _starts_like_json(data):
        return None
    known: list[Mapping[str, Any]] = []
    for line in islice(objects(io.BytesIO(data), Counter()), _PEEKED):
        if is_record(line.record):
            known.append(line.record)
            if sum(record.get("type") in ("user", "assistant") for record in known) >= _SPOKEN:
                break
    if not known:
        return None
    session = next((found for record in known if (found := text(record.get("sessionId")))), "")[:200]
    dated = [t for record in known if (t := seconds(record.get("timestamp"))) is not None]
    spoken = [record for record in known if record.get("type") in ("user", "assistant")]
    agents = {text(record.get("agentId")) for record in spoken}
    sidechain = bool(spoken) and all(record.get("isSidechain") is True for record in spoken)
    agent = agents.pop() if sidechain and len(agents) == 1 else ""
    forked = any(isinstance(record.get("forkedFrom"), dict) for record in known)
    renamed = _is_uuid(stem(name)) and session != stem(name)
    return Glance(session, agent[:200], dated[0] if dated else None, forked or (renamed and not agent))


def _starts_like_json(data: bytes) -> bool:
    """An object, or something compressed or in UTF-16, of which the records will tell."""
    start = data[:16].removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return start in (b"{", b"\x1f", b"\x28") or utf_16(data[:4]) is not None


def recognized(files: Files) -> tuple[str, ...]:
    """The Claude Code logs among these files, and what lies in their folders with them."""
    logs = {name for name in files.names if _is_log(files, name)}
    folders = {name.removesuffix(name.rpartition("/")[2]) + stem(name) for name in logs}
    return tuple(name for name in files.names if name in logs or _belongs(name, logs, folders))


def _is_log(files: Files, name: str) -> bool:
    try:
        return not _is_companion(name) and glance(files, name) is not None
    except LogError:
        return False


def _belongs(name: str, logs: Container[str], folders: Container[str]) -> bool:
    if name.endswith(".meta.json"):
        return f"{name.removesuffix('.meta.json')}.jsonl" in logs
    parts = name.split("/")
    return any("/".join(parts[:depth]) in folders for depth in range(1, len(parts)))


def sessions(files: Files, names: Sequence[str]) -> Iterator[SessionFiles | Skip]:
    """The sessions among these files, those that own shared records first, and a `Skip` for each file in none."""
    glances: dict[str, Glance] = {}
    skips: dict[str, str] = {}
    for name in names:
        try:
            seen = None if _is_companion(name) else glance(files, name)
        except LogError as error:
            skips[name] = str(error)
            continue
        if seen is not None:
            glances[name] = seen
        else:
            skips[name] = _why_not(name)
    found = list(_grouped(files, glances, skips.keys()))
    if files.chosen is not None and glances.get(files.chosen, _NO_GLANCE).agent:
        # One sub-agent's file alone is a part of its session, and must not pass for the whole.
        found = [msgspec.structs.replace(group, id=f"{group.id}/{stem(files.chosen)}") for group in found]
    found.sort(key=lambda group: (group.copied, group.first_t if group.first_t is not None else float("inf"), group.id))
    yield from found
    used = {name for group in found for name in (group.main, *group.agents, *group.metas.values())}
    for name in names:
        if name in skips and name not in used:
            yield Skip(name, skips[name])
        elif name not in used and not (files.chosen is not None and "/" not in name):
            # Of one given file, agent files beside it that belong to other sessions were not given.
            yield Skip(name, "belongs to another session")


def _grouped(files: Files, glances: Mapping[str, Glance], rest: Container[str]) -> Iterator[SessionFiles]:
    mains = [name for name, seen in glances.items() if not seen.agent and _is_wanted(files, name)]
    homes: dict[tuple[str, str], str] = {}
    for name in sorted(mains, key=lambda name: (stem(name) != glances[name].session, name)):
        folder = name.rpartition("/")[0]
        homes.setdefault((folder, glances[name].session), name)
        homes.setdefault((folder, stem(name)), name)
    members: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name, seen in glances.items():
        if seen.agent:
            folder, session = _home(name, seen)
            main = homes.get((folder, session))
            if main is not None or files.chosen in (None, name):
                members[(main or "", "" if main else f"{folder}/{session}")].append(name)
    taken: Counter[str] = Counter()
    for name in sorted(mains, key=lambda name: (stem(name) != glances[name].session, name)):
        yield _group(glances, rest, name, members.pop((name, ""), []), taken)
    for agents in members.values():
        yield _group(glances, rest, None, agents, taken)


def _group(
    glances: Mapping[str, Glance], rest: Container[str], main: str | None, agents: Iterable[str], taken: Counter[str]
) -> SessionFiles:
    agents = tuple(sorted(agents))
    seen = glances[main] if main is not None else glances[agents[0]]
    session = (stem(main) if main is not None and _is_uuid(stem(main)) else seen.session) or stem(main or agents[0])
    id_ = session
    if id_ in taken:
        # Excerpts of one session in several files: each is a trace of its own, and ids must differ.
        id_ = f"{session}/{stem(main or agents[0])}"
    taken[id_] += 1
    if taken[id_] > 1:
        id_ = f"{id_}+{taken[id_]}"
    metas = {name: meta for name in agents if (meta := f"{name.removesuffix('.jsonl')}.meta.json") in rest}
    times = [glances[name].first_t for name in ((main,) if main else agents)]
    known = [t for t in times if t is not None]
    ids = {name: f"agent-{MAIN}" if glances[name].agent == MAIN else glances[name].agent for name in agents}
    return SessionFiles(id_, session, main, agents, ids, metas, min(known) if known else None, seen.copied)


def _home(name: str, seen: Glance) -> tuple[str, str]:
    """The folder of the main file of a sub-agent's session, and that session's id."""
    before, found, _ = name.partition("/subagents/")
    if found:
        folder, _, session = before.rpartition("/")
        return folder, session
    if name.startswith("subagents/"):
        return "", seen.session
    return name.rpartition("/")[0], seen.session


def _is_wanted(files: Files, name: str) -> bool:
    """Of one given file only that file's session is wanted."""
    return files.chosen is None or files.chosen == name


def _is_companion(name: str) -> bool:
    """No log, though it may look like one: sidecars, workflow journals."""
    return name.endswith(".json") or ("/workflows/" in name and name.endswith("journal.jsonl"))


def _why_not(name: str) -> str:
    if name.endswith(".meta.json"):
        return "a sidecar without its sub-agent's file"
    if "/tool-results/" in name:
        return "a tool's output, kept beside its session"
    if "/workflows/" in name:
        return "a workflow's own record; its agents have files of their own"
    return "holds no Claude Code record"


def _is_uuid(stem: str) -> bool:
    parts = stem.split("-")
    return [len(part) for part in parts] == [8, 4, 4, 4, 12] and all(
        c in "0123456789abcdefABCDEF" for c in stem if c != "-"
    )
