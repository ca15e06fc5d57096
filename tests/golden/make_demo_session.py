"""Writes the session that ships with `orchestrace demo`: a team looks for the flaky tests of a web shop.

What they say and do is in demo_session.toml, invented; only the shape of the records is Claude Code's. After a change,
from the repository's root: `python tests/golden/make_demo_session.py`. A test compares the bytes.
"""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from claude_log import Child, Log, Record, call, child, clock, text, thinking, uuid_of

SESSION = uuid_of("orchestrace demo session")
PROJECT = "-home-dev-shop"
FOLDER = Path(__file__).parents[2] / "src" / "orchestrace" / "cli" / "demo_session"
STORY: dict[str, Any] = tomllib.loads(Path(__file__).with_name("demo_session.toml").read_text("utf-8"))
LEAD = STORY["lead"]


def step(log: Log, row: list[Any]) -> None:
    """One message with one tool call, and the call's result; the columns are named in demo_session.toml."""
    t, words, output, tool, arguments, at, reply, tokens, *failed = row
    name = f"{log.agent} {t}"
    log.says(t, text(words), call(name, tool, **arguments), output=output)
    log.result(at, name, reply, tokens=tokens, error=bool(failed))


def agent(name: str) -> Child:
    """A sub-agent with an empty log but for its task."""
    fields = STORY[name]
    return child(
        SESSION, name, **{k: fields[k] for k in ("kind", "description", "started", "model", "task") if k in fields}
    )


def told(name: str) -> Child:
    """A sub-agent that goes through its steps and answers."""
    c = agent(name)
    for row in STORY[name]["steps"]:
        step(c.log, row)
    return answered(c)


def answered(c: Child) -> Child:
    if "answer" in STORY[c.name]:
        t, words, output = STORY[c.name]["answer"]
        c.log.says(t, thinking(c.name), text(words), output=output)
    return c


def answer(name: str) -> str:
    return str(STORY[name]["answer"][1])


def soak() -> Child:
    """The background agent; a message of the lead reaches it between two steps."""
    c = agent("soak")
    for row in STORY["soak"]["steps"]:
        if row[0] > 1010:
            note = f'<teammate-message teammate_id="team-lead" summary="a note">{LEAD["note_soak"]}</teammate-message>'
            c.log.user(1010.4, note, origin={"kind": "coordinator", "from": "team-lead"})
        step(c.log, row)
    return answered(c)


def fixer(helper: Child) -> Child:
    """The agent that spawns one of its own before it repairs."""
    c = agent("fixer")
    c.log.says(562.6, text(STORY["fixer"]["first"]), helper.spawn(), output=340)
    helper.returns(c.log, 601.9, answer("repeater"))
    for row in STORY["fixer"]["steps"]:
        step(c.log, row)
    return answered(c)


def lead(team: dict[str, Child]) -> Log:
    """The root's file, from the first prompt to the end."""
    log = Log(SESSION)
    snapshot = {"messageId": uuid_of("snapshot"), "trackedFileBackups": {}, "timestamp": clock(3.9)}
    log.bare("permission-mode", permissionMode="acceptEdits", sessionId=SESSION)
    log.bare("file-history-snapshot", messageId=uuid_of("snapshot"), snapshot=snapshot, isSnapshotUpdate=False)
    log.user(4.0, LEAD["prompt"])
    _plan(log)
    _investigate(log, team)
    _ask(log)
    _repair(log, team)
    _close(log, team)
    return log


def _bash(name: str, command: str) -> Record:
    return call(name, "Bash", command=command, description=name)


def _plan(log: Log) -> None:
    words = "I want to see the failures once before I split the work."
    log.says(13.1, thinking("plan"), text(words), _bash("Run the suite", "pytest -q -p randomly"), output=610)
    failed = "Exit code 1\n2 failed, 212 passed in 31.70s: test_checkout, test_stock"
    log.result(46.2, "Run the suite", failed, tokens=1_400, error=True)
    blocks = [call(f"board {s}", "TaskCreate", subject=s, description=s, activeForm=s) for s in LEAD["board"]]
    log.says(57.9, text("Three kinds of cause, three investigators. The board first."), *blocks, output=520)
    for i, subject in enumerate(LEAD["board"], 1):
        words = f"Task #{i} created successfully: {subject}"
        log.result(58.0 + i / 10, f"board {subject}", words, detail={"task": {"id": str(i), "subject": subject}})


def _investigate(log: Log, team: dict[str, Child]) -> None:
    wave = [team[n] for n in ("clock", "pool", "wire")]
    log.says(84.5, text("Now the three, at once."), *(c.spawn() for c in wave), output=940, gap_s=0.3)
    for t, name in ((214.4, "wire"), (263.1, "clock"), (337.9, "pool")):
        team[name].returns(log, t, answer(name))
    notes = (_message("wire"), _message("clock"))
    log.says(352.6, text("Three causes, three tests. Two questions are left."), *notes, output=480)
    _sent(log, 353.0, "wire")
    _sent(log, 353.2, "clock")


def _message(to: str) -> Record:
    return call(f"note {to}", "SendMessage", to=to, summary="a note", message=LEAD[f"note_{to}"])


def _sent(log: Log, t: float, to: str) -> None:
    """The tool says that it is in the inbox; whether it is ever read, only the receiver's file can say."""
    routing = {"sender": "team-lead", "target": f"@{to}", "summary": "a note", "content": LEAD[f"note_{to}"]}
    detail = {"success": True, "message": f"Message sent to {to}'s inbox", "routing": routing}
    said = [text(json.dumps(detail, separators=(",", ":")))]
    log.result(t, f"note {to}", "", tokens=40, detail=detail, blocks=said)


def _ask(log: Log) -> None:
    log.compacts(356.0, LEAD["compacted"], before_tokens=148_230)
    question = LEAD["question"]
    ask = {"questions": [{"question": question, "header": "Pool", "options": LEAD["options"], "multiSelect": False}]}
    log.says(371.4, text("One thing is yours to decide."), call("ask", "AskUserQuestion", **ask), output=330)
    chosen = LEAD["options"][0]["label"]
    words = f'User has answered your questions: "{question}"="{chosen}". You can now continue.'
    log.result(441.9, "ask", words, detail=ask | {"answers": {question: chosen}})
    big = _bash("Fifty rounds", "pytest -q -n 8 --count 50")
    log.says(455.7, text("The leak only. A last look at how often it fails."), big, output=210)
    log.result(492.0, "Fifty rounds", "[Request interrupted by user for tool use]", error=True)
    log.add(
        492.1, "user", {"message": {"role": "user", "content": [text("[Request interrupted by user for tool use]")]}}
    )
    log.user(521.6, LEAD["interrupt"])


def _repair(log: Log, team: dict[str, Child]) -> None:
    pair = [team["fixer"], team["bisect"]]
    words = "fixer repairs; bisect looks for where the leak came from."
    log.says(548.7, text(words), *(c.spawn() for c in pair), output=760, gap_s=0.3)
    log.result(651.0, pair[1].call, "API Error: 529 Overloaded. The agent stopped before it answered.", error=True)
    pair[0].returns(log, 825.3, answer("fixer"))
    board = call("done", "TaskUpdate", taskId="2", status="completed")
    words = (
        "bisect died; the commit does not matter for the repair. A soak run in the background counts what still fails."
    )
    log.says(834.6, text(words), board, team["soak"].spawn(background=True), output=310)
    log.result(834.7, "done", "Updated task #2 status", detail={"success": True, "taskId": "2"})
    team["soak"].launched(log, 835.3)
    log.says(846.3, text("A fresh pair of eyes."), team["reviewer"].spawn(), output=310)
    team["reviewer"].returns(log, 918.7, answer("reviewer"))


def _close(log: Log, team: dict[str, Child]) -> None:
    edit = {"file_path": "tests/test_cart.py", "old_string": "datetime.now()", "new_string": "frozen_noon()"}
    words = "The reviewer is right about the cart."
    step(log, [933.5, words, 280, "Edit", edit, 933.9, "The file has been updated.", 150])
    run = _bash("Once through", "pytest -q -p randomly --count 3")
    log.says(942.2, text("Once through, shuffled; and soak should take it."), _message("soak"), run, output=210)
    _sent(log, 942.5, "soak")
    log.result(1032.8, "Once through", "642 passed in 89.40s", tokens=220)
    log.says(1047.9, text(LEAD["answer"]), output=420)
    duration = {"subtype": "turn_duration", "durationMs": 526_300, "messageCount": len(log.lines), "isMeta": False}
    log.add(1048.0, "system", duration)
    note = team["soak"].notification(1104.3, answer("soak"))
    log.bare("queue-operation", operation="enqueue", timestamp=clock(1104.4), sessionId=SESSION, content=note)
    log.user(1104.5, note, origin={"kind": "task-notification"})


def files() -> dict[str, bytes]:
    """Relative name -> bytes of every file of the session."""
    helper = told("repeater")
    repair = fixer(helper)
    children = [*(told(n) for n in ("clock", "pool", "wire", "bisect", "reviewer")), soak(), repair, helper]
    out = {f"{PROJECT}/{SESSION}.jsonl": lead({c.name: c for c in children}).bytes()}
    for c in children:
        stem = f"{PROJECT}/{SESSION}/subagents/agent-{c.log.agent}"
        out[f"{stem}.jsonl"] = c.log.bytes()
        if c.name == "bisect":  # it died before its sidecar was written: its prompt alone links it
            continue
        nested = c is helper
        out[f"{stem}.meta.json"] = c.sidecar(depth=2 if nested else 1, parent=repair.log.agent if nested else None)
    return out


def main() -> None:
    for name, data in files().items():
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


if __name__ == "__main__":
    main()
