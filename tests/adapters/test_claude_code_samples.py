"""Known answers on real logs, computed independently of any parser."""

import json
from collections import Counter

import pytest

from orchestrace.adapters import ADAPTERS, BytesFiles, Read, Skip, files_at, read_files, read_path
from orchestrace.trace import (
    Aggregate,
    HumanIntervention,
    Message,
    Return,
    Spawn,
    Stop,
    ToolCall,
    Turn,
    encode,
    violations,
)
from samples import SAMPLES, needs_samples

pytestmark = needs_samples

CLAUDE = SAMPLES / "claude_code"
TEST_DATA = CLAUDE / "claude_code_log" / "test" / "test_data"
REAL = TEST_DATA / "real_projects"
FIXTURES = CLAUDE / "vscode_copilot_chat" / "src/extension/chatSessions/claude/node/test/fixtures"
EDGE = SAMPLES / "synthetic" / "claude_code_edge"
EF = "ef958aa1-0e93-49f0-bb71-150f63befcd1"


def session(path):
    (found,) = (outcome for outcome in read_path(path) if isinstance(outcome, Read))
    return found


def of(trace, kind, agent=None):
    return [e for e in trace.events if isinstance(e, kind) and agent in (None, e.agent)]


def output_tokens(turns):
    return sum(turn.tokens.output or 0 for turn in turns if turn.tokens)


def seconds_by_name(trace):
    """(name at the spawn, seconds until the return), in the order of the returns."""
    spawns = {spawn.to: spawn for spawn in of(trace, Spawn)}
    return [(spawns[b.agent].labels.get("name", b.agent), b.t - spawns[b.agent].t) for b in of(trace, Return)]


@pytest.fixture(scope="module")
def ef():
    return session(REAL / "-experiments-worktrees" / f"{EF}.jsonl").trace


def test_ef_two_waves_of_three(ef):
    assert len(of(ef, Spawn)) == 6
    back = seconds_by_name(ef)
    assert [name for name, _ in back] == ["carol", "bob", "alice", "bob2", "carol2", "alice2"]
    assert [round(s) for _, s in back] == [447, 774, 803, 209, 202, 227]
    assert {event.status for event in of(ef, Return)} == {"completed"}
    assert [len(a.inputs) for a in of(ef, Aggregate)] == [3, 3]
    assert {agent.role for agent in ef.agents if agent.parent} == {"general-purpose"}
    assert {e.evidence for e in ef.edges if e.type == "spawn"} == {"explicit"}


def test_ef_turns_and_tokens(ef):
    assert len(of(ef, Turn, "main")) == 17
    assert output_tokens(of(ef, Turn, "main")) == 22_901
    assert output_tokens(of(ef, Turn)) == 53_458


def test_ef_tools_and_messages(ef):
    tools = Counter(call.tool for call in of(ef, ToolCall, "main"))
    assert (tools["TaskCreate"], tools["TaskUpdate"], tools["Bash"]) == (6, 12, 9)
    children = Counter(call.agent for call in of(ef, ToolCall) if call.agent != "main")
    assert sorted(children.values(), reverse=True) == [24, 17, 17, 7, 6, 6]
    assert [message.delivered for message in of(ef, Message)] == [False] * 3
    assert [h.kind for h in of(ef, HumanIntervention)] == ["prompt", "prompt"]
    assert [stop.reason for stop in of(ef, Stop)] == ["answer", "answer"]


def busy(trace):
    """Agent -> its busy intervals, united: turns and tool calls."""
    intervals = {}
    for event in sorted((e for e in of(trace, Turn | ToolCall) if e.duration_s is not None), key=lambda e: e.t):
        mine = intervals.setdefault(event.agent, [])
        if mine and event.t <= mine[-1][1]:
            mine[-1][1] = max(mine[-1][1], event.t + event.duration_s)
        else:
            mine.append([event.t, event.t + event.duration_s])
    return intervals


def test_ef_times(ef):
    intervals = [part for parts in busy(ef).values() for part in parts]
    assert sum(end - start for start, end in intervals) == pytest.approx(2982.275, abs=1e-3)
    assert max(end for _, end in intervals) - min(start for start, _ in intervals) == pytest.approx(1918.254, abs=1e-3)
    steps = sorted([(start, 1) for start, _ in intervals] + [(end, -1) for _, end in intervals])
    at_once = [sum(step for _, step in steps[: n + 1]) for n in range(len(steps))]
    assert max(at_once) == 3
    prompt = of(ef, HumanIntervention)[1].t
    assert prompt - max(end for _, end in intervals if end < prompt) == pytest.approx(612.891, abs=1e-3)


def test_b3_four_in_parallel():
    trace = session(FIXTURES / "b3a7bd3c-5a10-4e7b-8ff0-7fc0cd6d1093.jsonl").trace
    assert len(of(trace, Turn, "main")) == 2
    assert len({spawn.turn for spawn in of(trace, Spawn)}) == 1
    spawns = {spawn.to: n for n, spawn in enumerate(of(trace, Spawn))}
    assert [spawns[back.agent] for back in of(trace, Return)] == [0, 1, 2, 3]
    assert len(of(trace, Return)) == 4


def test_29_one_child_with_24_tools():
    trace = session(REAL / "-src-experiments-claude_p" / "29ccd257-68b1-427f-ae5f-6524b7cb6f20.jsonl").trace
    (spawn,), (back,) = of(trace, Spawn), of(trace, Return)
    assert (spawn.to, len(of(trace, ToolCall, "a2271d1"))) == ("a2271d1", 24)
    assert back.labels["reported_duration_s"] == pytest.approx(67.4, abs=0.05)
    assert back.t - spawn.t == pytest.approx(67.4, abs=0.13)
    assert back.labels["reported_tool_calls"] == 24


def test_a_flat_sub_agent_file_is_found_beside_its_session():
    trace = session(REAL / "-src-deep-manifest" / "a7da6a22-facc-4fcd-8bab-f83c87862004.jsonl").trace
    assert [spawn.to for spawn in of(trace, Spawn)] == ["c8d9b115"]
    assert {e.evidence for e in trace.edges if e.type == "spawn"} == {"explicit"}


@pytest.fixture(scope="module")
def edge():
    outcomes = [outcome for outcome in read_path(EDGE / "projects") if isinstance(outcome, Read)]
    return json.loads((EDGE / "expected.json").read_text()), outcomes


def test_edge_main(edge):
    expected, (main, _) = edge
    expected, trace, counted = expected["main"], main.trace, main.diagnostics
    assert len(of(trace, Spawn, "main")) == expected["spawns"]
    assert len(of(trace, Spawn)) - len(of(trace, Spawn, "main")) == expected["nested_spawns"]
    acting = {turn.agent for turn in of(trace, Turn)} - {"main"}
    assert sorted(acting) == expected["agents_with_files"]
    assert set(expected["agents_missing_file"]) <= {agent.id for agent in trace.agents} - acting
    calls = {spawn.to: spawn.labels["call"] for spawn in of(trace, Spawn)}
    assert {calls[back.agent]: back.status for back in of(trace, Return)} == {
        "T1": "completed", "T2": "completed", "T3": "failed", "N1": "completed",
    }  # fmt: skip
    assert [calls[agent] for agent in sorted(calls) if calls[agent] in expected["spawn_never_started"]] == ["T3"]
    assert output_tokens(of(trace, Turn, "main")) == expected["output_tokens_main"]
    assert counted["corrupt_middle"] + counted["truncated_tail"] == expected["json_invalid_lines"]
    assert counted["utf8_replaced"] == expected["utf8_invalid_lines"]
    assert counted["truncated_tail"] == expected["truncated_last_line"]
    assert counted["unknown_records"] == expected["unknown_types"]
    people = Counter(h.kind for h in of(trace, HumanIntervention))
    assert (people["prompt"], people["interrupt"]) == (expected["human_prompts"], expected["human_interrupts"])
    assert sum(bool(turn.labels.get("compaction")) for turn in of(trace, Turn)) == expected["compactions"]


def test_edge_fork(edge):
    expected, (main, fork) = edge
    assert fork.diagnostics["copied_records"] == expected["fork"]["copied_records"]
    assert len({e.labels["uid"] for e in fork.trace.events if "uid" in e.labels}) == expected["fork"]["own_records"]
    assert output_tokens(of(fork.trace, Turn)) == expected["fork"]["own_output_tokens"]
    assert fork.trace.parent.trace_id == main.trace.trace_id


ALL = [path for path in (CLAUDE, REAL, EDGE) if path.is_dir()]


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name)
def test_every_sample_imports_or_says_why(path):
    files = files_at(path)
    seen, traces = set(), set()
    for outcome in read_files(files):
        if isinstance(outcome, Skip):
            assert outcome.reason
            seen.add(outcome.path)
            continue
        trace = outcome.trace
        assert violations(trace) == []
        assert trace.trace_id not in traces
        traces.add(trace.trace_id)
        seen |= {source.name for source in trace.source.files}
        assert not any(isinstance(e, Turn | Spawn | ToolCall) and "uid" not in e.labels for e in trace.events)
    assert seen == set(files.names)


def test_every_single_file_imports_or_says_why():
    for path in sorted(CLAUDE.rglob("*.jsonl")):
        outcomes = list(read_path(path))
        assert outcomes, path
        for outcome in outcomes:
            assert isinstance(outcome, Skip) or violations(outcome.trace) == []


def test_line_ends_and_a_mark_change_nothing_but_the_source():
    name = "29ccd257-68b1-427f-ae5f-6524b7cb6f20.jsonl"
    data = (REAL / "-src-experiments-claude_p" / name).read_bytes()
    plain, other = (
        next(iter(read_files(BytesFiles({name: bytes_}, chosen=name)))).trace
        for bytes_ in (data, b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
    )
    assert plain.events == other.events
    assert plain.edges == other.edges


def test_no_foreign_log_passes_for_claude_codes():
    ours = {"claude_code", "inspect_scout", "letta_trajectory"}
    for folder in sorted(SAMPLES.iterdir()):
        if folder.is_dir() and folder.name not in ours:
            match = ADAPTERS["claude_code"].detect(files_at(folder))
            assert match is None or {name.split("/")[0] for name in match.names} == {"claude_code_edge"}, folder


def test_reading_twice_gives_the_same_bytes(ef):
    assert encode(ef) == encode(session(REAL / "-experiments-worktrees" / f"{EF}.jsonl").trace)
