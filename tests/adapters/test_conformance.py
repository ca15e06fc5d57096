"""The shipped conformance check, on ours; and the check itself, on adapters that break each promise."""

from importlib import resources
from types import SimpleNamespace

import msgspec
import numpy as np
import pytest

from adapters.logs import SESSION, Log, child, meta, task, use
from orchestrace.adapters import ADAPTERS, BytesFiles, Match, Read, Skip, claude_code, native, survey
from orchestrace.testing.adapters import DAMAGES, check_adapter
from orchestrace.trace import Agent, Builder, HumanIntervention, Source, Turn, encode
from samples import SAMPLES, needs_samples

EXAMPLE = (resources.files("orchestrace.adapters") / "survey_data" / "example_trace.json").read_bytes()
CLAUDE = SAMPLES / "claude_code"
TEST_DATA = CLAUDE / "claude_code_log" / "test" / "test_data"
FOLDERS = {
    "edge": SAMPLES / "synthetic" / "claude_code_edge" / "projects",
    "team": TEST_DATA / "teammates",
    "background": TEST_DATA / "async_agents",
    "workflow": TEST_DATA / "workflow_basic",
    "parallel": CLAUDE / "vscode_copilot_chat" / "src/extension/chatSessions/claude/node/test/fixtures",
    "flat": TEST_DATA / "real_projects" / "-Users-dain-workspace-JSSoundRecorder",
}


def folder(path):
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def own_session():
    log = Log()
    log.user(0.0, "go")
    log.says(1.0, task("T1", "p", name="ann"), task("T2", "q", run_in_background=True), stop="tool_use")
    log.result(1.5, "T2", "Async agent launched", agentId="k2", status="async_launched", isAsync=True)
    log.result(9.0, "T1", "found", agentId="k1", status="completed")
    log.says(10.0, use("c1", "SendMessage", to="ann", message="hi"), use("c2", "WebFetch", url="x"), stop="tool_use")
    log.result(11.0, "c1", '{"success":true}')
    log.result(12.0, "c2", "text")
    log.user(13.0, "<task-notification><task-id>k2</task-id><status>completed</status></task-notification>")
    log.says(14.0, "done", stop="end_turn")
    logs = {f"{SESSION}.jsonl": log.bytes()}
    for agent, prompt in (("k1", "p"), ("k2", "q")):
        logs[f"{SESSION}/subagents/agent-{agent}.jsonl"] = child(agent, prompt, 1.6, 8.0).bytes()
    return logs | {f"{SESSION}/subagents/agent-k1.meta.json": meta(toolUseId="T1")}


def own_document():
    builder = Builder(trace_id="n", task_id="t")
    builder.agent(Agent("main"))
    builder.append(HumanIntervention, "main", t=0.0, content=builder.text("go"))
    builder.append(Turn, "main", t=0.0, duration_s=1.0)
    return {"n.json": encode(builder.build(blobs=builder.blobs))}


def test_our_adapters_keep_the_contract():
    check_adapter(claude_code, own_session(), rng=np.random.default_rng(0), damages=150)
    check_adapter(native, own_document(), rng=np.random.default_rng(0), damages=150)
    check_adapter(survey, {"a.json": EXAMPLE}, rng=np.random.default_rng(0), damages=150)


def test_a_document_of_an_imported_trace_names_the_files_of_its_log():
    imported = {"n.json": encode(msgspec.structs.replace(good().trace, blobs=good().blobs))}
    check_adapter(native, imported, rng=np.random.default_rng(0), damages=40)
    (read,) = native.read(BytesFiles(imported), Match("native", ("n.json",)))
    assert read.trace == good().trace


@needs_samples
@pytest.mark.parametrize("name", FOLDERS)
def test_claude_code_keeps_the_contract_on_real_logs(name):
    check_adapter(claude_code, folder(FOLDERS[name]), rng=np.random.default_rng(1), damages=40)


@pytest.mark.long
@needs_samples
@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", FOLDERS)
def test_claude_code_keeps_the_contract_for_long(name, seed):
    check_adapter(claude_code, folder(FOLDERS[name]), rng=np.random.default_rng(seed), damages=400)


def test_a_native_document_that_breaks_a_law_is_a_skip_that_says_which():
    data = own_document()["n.json"].replace(b'"agents":[{"id":"main"}]', b'"agents":[{"id":"x"}]')
    (skip,) = native.read(BytesFiles({"n.json": data}), Match("native", ("n.json",)))
    assert "law 2" in skip.reason


def test_a_native_document_comes_back_as_it_was():
    (read,) = native.read(BytesFiles(own_document()), Match("native", ("n.json",)))
    assert read.trace.trace_id == "n"
    assert list(read.blobs.values()) == [b"go"]
    assert not read.trace.blobs


@pytest.mark.parametrize("damage", DAMAGES)
def test_each_damage_changes_a_log(damage):
    data = own_session()[f"{SESSION}.jsonl"]
    changed = [DAMAGES[damage](data, np.random.default_rng(seed)) for seed in range(8)]
    assert any(other not in (None, data) for other in changed)


def good():
    (read,) = claude_code.read(BytesFiles(own_session()), claude_code.detect(BytesFiles(own_session())))
    return read


def faulty(**replaced):
    """Claude Code's adapter, with a fault."""
    return SimpleNamespace(
        **({"NAME": "claude_code", "detect": claude_code.detect, "read": claude_code.read} | replaced)
    )


def changed(read, **fields):
    return msgspec.structs.replace(read, trace=msgspec.structs.replace(read.trace, **fields))


TASKS = iter("ab")
FAULTS = {
    "knows files where there are none": faulty(detect=lambda files: Match("claude_code", ())),
    "knows none of": faulty(detect=lambda files: None),
    "its match says": faulty(NAME="other"),
    "matched": faulty(detect=lambda files: Match("claude_code", ("x",)) if files.names else None),
    "unequal traces": faulty(read=lambda f, m: iter([changed(good(), task_id=next(TASKS))])),
    "law 2": faulty(read=lambda f, m: iter([changed(good(), agents=())])),
    "without events": faulty(read=lambda f, m: iter([changed(good(), events=(), edges=(), agents=(Agent("main"),))])),
    "its source says None": faulty(read=lambda f, m: iter([changed(good(), source=None)])),
    "its source says 'other'": faulty(read=lambda f, m: iter([changed(good(), source=Source("other", "1"))])),
    "diagnostics differ": faulty(read=lambda f, m: iter([msgspec.structs.replace(good(), diagnostics={"x": 1})])),
    "is missing": faulty(read=lambda f, m: iter([msgspec.structs.replace(good(), blobs={})])),
    "has another hash": faulty(
        read=lambda f, m: iter([msgspec.structs.replace(good(), blobs=good().blobs | {"0": b""})])
    ),
    "passes over": faulty(read=lambda f, m: iter([Skip(m.names[0], "no")])),
    "without a reason": faulty(read=lambda f, m: iter([Skip(m.names[0], "")])),
    "is no file": faulty(read=lambda f, m: iter([Skip("nowhere", "no")])),
}


@pytest.mark.parametrize("message", FAULTS)
def test_the_check_finds_a_fault(message):
    with pytest.raises(AssertionError, match=message):
        check_adapter(FAULTS[message], own_session(), rng=np.random.default_rng(0), damages=0)


def test_the_check_finds_a_crash_on_damage_and_names_it():
    def read(files, match):
        if any(files.open(name).read() != data for name, data in own_session().items() if name in files.names):
            raise KeyError("surprise")
        return claude_code.read(files, match)

    with pytest.raises(AssertionError, match=r"damage \d+ \(.* in .*\): KeyError: 'surprise'"):
        check_adapter(faulty(read=read), own_session(), rng=np.random.default_rng(0))


def test_adapters_are_known_by_their_names():
    assert list(ADAPTERS) == [adapter.NAME for adapter in ADAPTERS.values()]
    assert isinstance(good(), Read)
