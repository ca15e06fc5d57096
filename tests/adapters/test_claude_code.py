"""What each kind of record means, on logs written here."""

import json

import pytest

from adapters.logs import OTHER, SESSION, Log, child, meta, read, reads, task, use
from orchestrace.adapters import BytesFiles, Skip, claude_code, lines, read_files
from orchestrace.trace import (
    Aggregate,
    Delegate,
    Despawn,
    HumanIntervention,
    Message,
    Return,
    SafetyEvent,
    Spawn,
    Stop,
    ToolCall,
    ToolResult,
    Turn,
)


def of(read_, kind, agent=None):
    return [e for e in read_.trace.events if isinstance(e, kind) and agent in (None, e.agent)]


def body(read_, event):
    return read_.blobs[event.content.hash].decode()


def asked(t=0.0, words="go"):
    log = Log()
    log.user(t, words)
    return log


def test_lines_of_one_message_are_one_turn_with_its_largest_counts():
    log = asked()
    log.says(3.0, "a", id_="m", out=1, requestId="r")
    log.says(4.0, use("c1", "Bash", command="ls"), id_="m", out=9, requestId="r")
    log.says(4.0, use("c1", "Bash", command="ls"), id_="m", out=9, requestId="r")
    log.result(6.0, "c1")
    log.says(7.0, "b", id_="m", out=4, requestId="r2", stop="end_turn")
    got = read(log)
    first, second = of(got, Turn)
    assert (first.tokens.output, second.tokens.output) == (9, 4)
    assert (first.t, first.duration_s) == (0.0, 4.0)
    assert (second.t, second.duration_s) == (6.0, 1.0)
    assert first.tokens.cache_read is None
    (call,) = of(got, ToolCall)
    assert (call.t, call.duration_s, call.turn) == (4.0, 2.0, first.id)
    assert json.loads(got.blobs[call.content.hash]) == {"command": "ls"}
    assert got.diagnostics["repeated_blocks"] == 1
    assert [stop.reason for stop in of(got, Stop)] == ["answer"]


def test_a_turn_starts_at_the_latest_thing_it_could_read_even_inside_a_stream():
    log = asked()
    log.says(1.0, use("c1", "Bash"), id_="m")
    log.result(2.0, "c1")
    log.says(5.0, "more", id_="m")
    log.says(9.0, "end", id_="n")
    first, second = of(read(log), Turn)
    assert (first.t, first.duration_s, second.t, second.duration_s) == (0.0, 5.0, 5.0, 4.0)


def test_a_spawn_stands_for_its_call_and_a_return_for_its_result():
    log = asked()
    log.says(1.0, task("T1", "find it", name="ann", description="look", subagent_type="scout"), stop="tool_use")
    log.result(9.0, "T1", "found", agentId="k1", status="completed")
    log.says(10.0, "thanks", stop="end_turn")
    got = read(log, child("k1", "find it", 1.5, 8.0))
    (spawn,), (back,), (aggregate,) = of(got, Spawn), of(got, Return), of(got, Aggregate)
    assert (spawn.to, body(got, spawn)) == ("k1", "find it")
    assert {
        "call": "T1",
        "name": "ann",
        "description": "look",
        "subagent_type": "scout",
    }.items() <= spawn.labels.items()
    assert (back.agent, back.to, back.status, body(got, back)) == ("k1", "main", "completed", "found")
    assert back.turn == of(got, Turn, "k1")[-1].id
    assert (aggregate.inputs, aggregate.turn, aggregate.t) == ((back.id,), of(got, Turn, "main")[-1].id, 10.0)
    assert of(got, ToolCall, "main") == []
    agents = {agent.id: agent for agent in got.trace.agents}
    assert (agents["k1"].role, agents["k1"].parent, agents["main"].parent) == ("scout", "main", None)
    assert of(got, Turn, "k1")[0].t == spawn.t
    edge = next(e for e in got.trace.edges if e.type == "spawn")
    assert (edge.src, edge.evidence) == (spawn.id, "explicit")
    assert got.trace.topology == "centralized"


def test_children_of_equal_prompts_are_linked_by_position_and_a_single_one_by_match():
    log = asked()
    log.says(1.0, task("T1", "same"), task("T2", "same"), task("T3", "other"))
    got = read(log, child("k1", "same", 2.0, 8.0), child("k2", "same", 3.0, 8.0), child("k3", "other", 3.0, 8.0))
    assert {spawn.labels["call"]: spawn.to for spawn in of(got, Spawn)} == {"T1": "k1", "T2": "k2", "T3": "k3"}
    evidence = {edge.dst.partition(".")[0]: edge.evidence for edge in got.trace.edges if edge.type == "spawn"}
    assert evidence == {"k1": "positional", "k2": "positional", "k3": "matched"}


def test_names_in_sidecars_tell_equal_prompts_apart():
    log = asked()
    log.says(1.0, task("T1", "same", description="one"), task("T2", "same", description="two"))
    sidecars = {
        f"{SESSION}__subagents__agent-k1.meta.json": meta(description="two", agentType="x"),
        f"{SESSION}__subagents__agent-k2.meta.json": meta(toolUseId="T1"),
    }
    got = read(log, child("k1", "same", 2.0, 8.0), child("k2", "same", 3.0, 8.0), **sidecars)
    assert {spawn.labels["call"]: spawn.to for spawn in of(got, Spawn)} == {"T1": "k2", "T2": "k1"}


def test_a_child_that_nobody_spawned_stays_unlinked():
    got = read(asked(), child("k1", "who made me", 2.0, 8.0))
    assert got.diagnostics["unlinked"] == 1
    assert got.diagnostics["task_prompts_without_spawn"] == 1
    assert next(agent for agent in got.trace.agents if agent.id == "k1").unlinked


def test_agents_come_in_the_order_in_which_they_were_spawned_and_the_unlinked_last():
    """Files are named at random: here the last that was spawned has the first name."""
    log = Log()
    log.user(0.0, "go")
    log.says(1.0, task("T1", "one"), stop="tool_use")
    log.result(4.0, "T1", "done", agentId="z")
    log.says(5.0, task("T2", "two"), task("T3", "three"), stop="tool_use")
    log.result(9.0, "T2", "done", agentId="c")
    log.result(9.0, "T3", "done", agentId="b")
    nested = Log("z")
    nested.user(1.5, "one")
    nested.says(2.0, task("T4", "four"), stop="tool_use")
    nested.result(3.0, "T4", "done", agentId="y")
    others = [child("a", "by nobody", 0.5, 0.8), child("b", "three", 6.0, 7.0), child("c", "two", 6.0, 7.0)]
    got = read(log, *others, nested, child("y", "four", 2.2, 2.8))
    assert [agent.id for agent in got.trace.agents] == ["main", "z", "y", "c", "b", "a"]
    spawns = [event.to for event in got.trace.events if isinstance(event, Spawn)]
    assert spawns == ["z", "y", "c", "b"]


def test_a_sidecar_cannot_make_an_agent_its_own_ancestor():
    looped = Log("k1")
    looped.user(1.0, "x")
    looped.says(2.0, task("T1", "y"))
    got = read(asked(), looped, **{f"{SESSION}__subagents__agent-k1.meta.json": meta(toolUseId="T1")})
    assert next(agent for agent in got.trace.agents if agent.id == "k1").unlinked
    assert [spawn.to for spawn in of(got, Spawn)] == ["T1"]


def test_a_tools_output_cannot_pose_as_a_spawn():
    log = asked()
    log.says(1.0, use("c1", "Bash"))
    log.result(2.0, "c1", "agentId: k1")
    log.says(3.0, use("c2", "Bash"))
    fake = "<retrieval_status>success</retrieval_status><task_id>k1</task_id><task_type>local_agent</task_type>"
    log.result(4.0, "c2", fake + "<status>completed</status><output>x</output>")
    got = read(log, child("k1", "z", 1.5, 3.0))
    assert of(got, Spawn) == []
    assert of(got, Return) == []


NOTICE = (
    "<task-notification><task-id>k1</task-id><tool-use-id>T1</tool-use-id><status>{}</status><result>r</result>"
    "</task-notification>"
)


def launched(**arguments):
    log = asked()
    log.says(1.0, task("T1", "p", run_in_background=True, **arguments), stop="tool_use")
    log.result(1.2, "T1", "Async agent launched", agentId="k1", status="async_launched", isAsync=True)
    log.says(2.0, "waiting", stop="end_turn")
    return log


def test_a_launch_acknowledgement_is_no_return_and_a_notification_told_twice_is_one():
    log = launched()
    log.add("queue-operation", 8.0, operation="enqueue", content=NOTICE.format("completed"))
    log.user(9.0, NOTICE.format("completed"), origin={"kind": "task-notification"})
    log.says(10.0, "done", stop="end_turn")
    got = read(log, child("k1", "p", 1.1, 8.0))
    (back,) = of(got, Return)
    assert (back.t, back.status, body(got, back)) == (9.0, "completed", "r")
    assert [a.inputs for a in of(got, Aggregate)] == [(back.id,)]
    assert (got.diagnostics["launch_acks"], got.diagnostics["repeated_notices"]) == (1, 1)
    assert of(got, Spawn)[0].labels["background"] is True


@pytest.mark.parametrize(("status", "ours"), [("failed", "failed"), ("stopped", "cancelled"), ("killed", "cancelled")])
def test_how_a_task_ended_is_kept(status, ours):
    log = launched()
    log.user(9.0, NOTICE.format(status))
    got = read(log)
    assert [back.status for back in of(got, Return)] == [ours]
    assert len(of(got, Despawn)) == (status == "killed")


def test_a_shells_notification_is_no_return():
    log = asked()
    log.user(9.0, "<task-notification><task-id>b1</task-id><status>completed</status></task-notification>")
    got = read(log)
    assert of(got, Return) == []
    assert got.diagnostics["shell_notices"] == 1


def test_a_resumed_agent_returns_again():
    log = launched()
    log.user(5.0, NOTICE.format("completed"))
    log.says(6.0, task("T2", "more", resume="k1"), stop="tool_use")
    log.result(6.1, "T2", "Async agent launched", agentId="k1", status="async_launched")
    log.user(9.0, NOTICE.format("completed"))
    got = read(log)
    assert len(of(got, Return)) == 2
    (delegate,) = of(got, Delegate)
    assert (delegate.to, body(got, delegate)) == ("k1", "more")
    assert len(of(got, Spawn)) == 1


def test_polling_leaves_returns_unconsumed_and_can_be_the_only_word_of_an_end():
    told = "<retrieval_status>success</retrieval_status>\n<task_id>k1</task_id>\n<task_type>local_agent</task_type>\n"
    log = launched()
    log.says(3.0, task("T9", "q"), use("c1", "TaskOutput", task_id="k1"))
    log.result(4.0, "T9", "quick", agentId="k9", status="completed")
    log.result(5.0, "c1", told + "<status>completed</status>\n<output>\nr\n</output>")
    log.says(6.0, use("c2", "TaskOutput", task_id="k1"))
    log.says(7.0, "got both", stop="end_turn")
    got = read(log)
    assert [(back.agent, back.t) for back in of(got, Return)] == [("k9", 4.0), ("k1", 5.0)]
    (aggregate,) = of(got, Aggregate)
    assert aggregate.t == 7.0
    assert len(aggregate.inputs) == 2


def test_an_agent_that_was_stopped_is_despawned_and_its_return_cancelled():
    log = launched()
    log.says(3.0, use("c1", "TaskStop", task_id="k1"))
    log.result(3.1, "c1", '{"message":"stopped"}')
    got = read(log)
    assert [(d.to, d.reason) for d in of(got, Despawn)] == [("k1", "TaskStop")]
    assert [back.status for back in of(got, Return)] == ["cancelled"]


def test_a_failed_launch_is_a_spawn_with_a_failed_return():
    log = asked()
    log.says(1.0, task("T1", "p"))
    log.result(2.0, "T1", "Error: no such agent type", error=True)
    got = read(log)
    assert [spawn.to for spawn in of(got, Spawn)] == ["T1"]
    assert [back.status for back in of(got, Return)] == ["failed"]
    assert of(got, Turn, "T1") == []


def test_an_answer_that_the_parent_never_showed_is_a_return_all_the_same():
    log = asked()
    log.says(1.0, task("T1", "p"))
    got = read(log, child("k1", "p", 1.5, 8.0))
    (back,) = of(got, Return)
    assert (back.labels["seen"], back.t, got.diagnostics["returns_unseen"]) == (False, 8.0, 1)
    assert of(got, Aggregate) == []


def test_inline_sidechains_are_agents():
    log = asked()
    log.says(1.0, task("T1", "p"))
    log.user(1.1, "p", isSidechain=True, uuid="s0-root-x", parentUuid=None)
    log.says(2.0, use("c1", "Bash"), isSidechain=True, uuid="s1", parentUuid="s0-root-x")
    log.user(
        3.0,
        [{"type": "tool_result", "tool_use_id": "c1", "content": "x"}],
        isSidechain=True,
        uuid="s2",
        parentUuid="s1",
    )
    log.says(4.0, "ok", isSidechain=True, uuid="s3", parentUuid="lost")
    log.result(5.0, "T1", "ok")
    got = read(log)
    assert [spawn.to for spawn in of(got, Spawn)] == ["sidechain-s0-root-"]
    assert len(of(got, Turn, "sidechain-s0-root-")) == 2
    assert len(of(got, ToolResult, "sidechain-s0-root-")) == 1
    assert got.diagnostics["guessed_sidechain"] == 1
    (back,) = of(got, Return)
    assert back.turn == of(got, Turn, "sidechain-s0-root-")[-1].id


def test_nested_spawns_belong_to_their_caller():
    inner = Log("k1")
    inner.user(1.1, "p")
    inner.says(2.0, task("N1", "deeper"))
    inner.result(6.0, "N1", "x", agentId="k2", status="completed")
    inner.says(7.0, "y", stop="end_turn")
    log = asked()
    log.says(1.0, task("T1", "p"))
    log.result(8.0, "T1", "y", agentId="k1", status="completed")
    got = read(log, inner, child("k2", "deeper", 2.5, 5.0))
    assert {agent.id: agent.parent for agent in got.trace.agents} == {"main": None, "k1": "main", "k2": "k1"}
    assert [(back.agent, back.to) for back in of(got, Return)] == [("k2", "k1"), ("k1", "main")]


def test_compaction_is_a_labelled_turn_and_no_prompt_and_its_helper_no_agent():
    log = asked()
    log.says(1.0, "x")
    log.add("system", 9.0, subtype="compact_boundary", compactMetadata={"trigger": "auto", "preTokens": 150_000})
    log.user(9.1, "Summary", isCompactSummary=True)
    helper = Log("acompact-1")
    helper.user(5.0, "summarise")
    helper.says(8.0, "Summary", out=77)
    got = read(log, helper)
    folds = [turn for turn in of(got, Turn) if turn.labels.get("compaction")]
    assert [turn.tokens.output if turn.tokens else None for turn in folds] == [77, None]
    assert (folds[0].t, folds[0].duration_s, folds[0].agent) == (5.0, 3.0, "main")
    assert (folds[1].labels["trigger"], folds[1].labels["before_tokens"], body(got, folds[1])) == (
        "auto",
        150_000,
        "Summary",
    )
    assert len(of(got, HumanIntervention)) == 1
    assert [agent.id for agent in got.trace.agents] == ["main"]


def test_people_ask_answer_interrupt_reject_and_change_the_mode():
    log = Log()
    log.add("permission-mode", permissionMode="default")
    log.user(0.0, "go")
    log.says(1.0, use("c1", "AskUserQuestion", questions=[]), use("c2", "Write"))
    log.result(50.0, "c1", "User has answered")
    log.result(60.0, "c2", "The user doesn't want to proceed with this tool use. Stop.", error=True)
    log.user(60.0, [{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    log.add("permission-mode", permissionMode="plan")
    log.user(70.0, "go on", origin={"kind": "human"})
    got = read(log)
    said = [(h.kind, h.initial) for h in of(got, HumanIntervention)]
    assert said == [
        ("prompt", True),
        ("answer", False),
        ("reject", False),
        ("interrupt", False),
        ("mode", False),
        ("prompt", False),
    ]
    assert [call.duration_s for call in of(got, ToolCall)] == [None, None]
    assert [result.status for result in of(got, ToolResult)] == ["ok", "denied"]
    assert [stop.reason for stop in of(got, Stop)] == ["interrupted"]


def test_refusals_and_errors_are_safety_events():
    log = asked()
    log.says(1.0, use("c1", "Bash"), use("c2", "Bash"), use("c3", "Bash"))
    log.result(2.0, "c1", "Permission to use Bash with command rm has been denied.", error=True)
    log.result(3.0, "c2", "Command timed out after 2m", error=True)
    log.result(4.0, "c3", "exit 1", error=True)
    log.add("attachment", 5.0, attachment={"type": "hook_blocking_error", "blockingError": "no"})
    log.says(6.0, "API Error", isApiErrorMessage=True)
    log.says(7.0, "I will not", stop="refusal")
    got = read(log)
    assert [result.status for result in of(got, ToolResult)] == ["denied", "timeout", "error"]
    assert [(s.kind, s.blocked) for s in of(got, SafetyEvent)] == [
        ("permission_denied", True), ("hook_blocked", True), ("api_error", None), ("refusal", True),
    ]  # fmt: skip
    assert [stop.reason for stop in of(got, Stop)] == ["error", "answer"]


def test_what_comes_from_outside_is_not_trusted():
    log = asked()
    log.says(1.0, *(use(f"c{n}", tool) for n, tool in enumerate(("WebFetch", "mcp__x__y", "Bash"))))
    for n in range(3):
        log.result(2.0, f"c{n}")
    assert [result.trusted for result in of(read(log), ToolResult)] == [False, False, None]


def test_texts_that_no_user_typed_are_no_prompts():
    log = asked()
    for words in (
        "<command-name>/clear</command-name>",
        "<local-command-stdout></local-command-stdout>",
        "<bash-input>ls</bash-input>",
    ):
        log.user(1.0, words)
    log.user(2.0, "Caveat: x", isMeta=True)
    log.user(3.0, "<system-reminder>only this</system-reminder>")
    log.user(4.0, "<system-reminder>that</system-reminder>\nand this")
    log.user(5.0, [{"type": "image", "source": {}}])
    got = read(log)
    assert [body(got, h) for h in of(got, HumanIntervention)] == ["go", "and this", ""]
    assert {
        "ignored_command": 1,
        "ignored_local_command": 2,
        "ignored_meta": 1,
        "ignored_empty_user": 1,
        "left_out_blocks": 1,
    }.items() <= got.diagnostics.items()


def test_a_slash_command_that_reaches_the_model_is_a_prompt():
    log = Log()
    log.user(0.0, "<command-message>init</command-message>\n<command-name>/init</command-name>")
    log.user(0.0, "Please analyse this", isMeta=True)
    log.says(3.0, "ok", stop="end_turn")
    got = read(log)
    (prompt,) = of(got, HumanIntervention)
    assert (prompt.labels["command"], prompt.initial, of(got, Turn)[0].t) == ("/init", True, 0.0)


def test_a_message_counts_as_delivered_only_where_the_receivers_log_shows_it():
    log = asked()
    log.says(1.0, task("T1", "p", name="ann"), task("T2", "q", name="bob"), task("T3", "r", name="cy"))
    log.says(
        5.0,
        *(use(f"c{n}", "SendMessage", to=to, message=f"hi {to}") for n, to in enumerate(("ann", "bob", "cy", "zoe"))),
    )
    log.result(5.1, "c0", '{"success":true}')
    ann = child("k1", "p", 1.5, 4.0)
    ann.user(6.0, '<teammate-message teammate_id="team-lead">\nhi ann\n</teammate-message>')
    ann.says(7.0, "hello")
    got = read(log, ann, child("k2", "q", 1.5, 4.0))
    assert {m.to: m.delivered for m in of(got, Message)} == {"k1": True, "k2": False, "T3": None, "zoe": None}
    edge = next(edge for edge in got.trace.edges if edge.type == "message")
    assert (edge.dst, edge.evidence) == (of(got, Turn, "k1")[-1].id, "matched")
    assert (got.diagnostics["message_acks"], got.diagnostics["strangers"]) == (1, 1)


def test_a_message_that_only_its_receiver_shows_is_an_event_of_its_sender():
    log = asked()
    log.says(1.0, task("T1", "p", name="ann", team_name="crew"))
    letter = '<teammate-message teammate_id="{}" color="x">{}</teammate-message>'
    log.user(2.0, letter.format("ann", "half done") + letter.format("ann", '{"type":"idle_notification"}'))
    log.user(3.0, letter.format("system", "ann joined"))
    log.user(4.0, letter.format("ann", '{"type":"shutdown_approved"}'))
    got = read(log)
    assert [(m.agent, m.to, m.delivered, body(got, m)) for m in of(got, Message)] == [("T1", "main", True, "half done")]
    assert [(d.to, d.reason) for d in of(got, Despawn)] == [("T1", "shutdown_approved")]
    assert got.diagnostics["ignored_teammate_idle_notification"] == 1


def test_a_broadcast_is_one_message_a_recipient_and_waking_an_agent_a_delegation():
    log = asked()
    log.says(1.0, task("T1", "p", name="ann"), task("T2", "q", name="bob"))
    log.says(5.0, use("c0", "SendMessage", to="*", message="all"), use("c1", "SendMessage", to="ann", message="again"))
    log.result(5.1, "c1", "Agent ann resumed in the background")
    got = read(log)
    assert [(m.to, m.channel) for m in of(got, Message)] == [("T1", "broadcast"), ("T2", "broadcast")]
    assert [(d.to, body(got, d)) for d in of(got, Delegate)] == [("T1", "again")]


def test_a_team_that_was_deleted_is_despawned_unless_that_failed():
    for told, n in (('{"success": true}', 1), ('{"success": false}', 0)):
        log = asked()
        log.says(1.0, task("T1", "p", name="ann", team_name="crew"))
        log.says(2.0, use("c1", "TeamDelete"))
        log.result(3.0, "c1", told)
        assert len(of(read(log), Despawn)) == n


def forked():
    first = asked()
    first.says(1.0, "a", stop="end_turn")
    second = Log(session=OTHER)
    second.records = [record | {"sessionId": OTHER, "forkedFrom": {"sessionId": SESSION}} for record in first.records]
    second.user(50.0, "try again", uuid="v1")
    second.says(51.0, "b", out=4, stop="end_turn", uuid="v2")
    return first, second


def test_in_a_folder_shared_records_belong_to_the_first_session_and_the_later_names_it():
    first, second = reads(*forked())
    assert second.diagnostics["copied_records"] == 2
    assert [turn.tokens.output for turn in of(second, Turn)] == [4]
    assert second.trace.parent.trace_id == first.trace.trace_id
    assert second.trace.parent.event_id == of(first, Turn)[0].id
    assert second.trace.task_id == first.trace.task_id
    assert not any(h.initial for h in of(second, HumanIntervention))


def test_of_one_file_all_records_count():
    data = forked()[1].bytes()
    (only,) = read_files(BytesFiles({f"{OTHER}.jsonl": data}, chosen=f"{OTHER}.jsonl"))
    assert len(of(only, Turn)) == 2
    assert only.trace.parent.trace_id == f"claude_code:{SESSION}"


def test_files_that_hold_no_event_say_why():
    titles = Log()
    titles.add("summary", summary="x", leafUuid="y")
    files = {"s.jsonl": titles.bytes(), "empty.jsonl": b"", "notes.txt": b"hello", "x.json": b"[1]"}
    outcomes = list(read_files(BytesFiles(files)))
    assert {skip.path: skip.reason for skip in outcomes} == {
        "s.jsonl": "holds no event",
        "empty.jsonl": "empty",
        "notes.txt": "no adapter knows its content",
        "x.json": "no adapter knows its content",
    }


def test_a_log_whose_lead_is_missing_has_a_root_that_is_known_by_name_only():
    got = read(child("k1", "p", 1.0, 2.0))
    assert {event.agent for event in got.trace.events} == {"k1"}
    assert [agent.id for agent in got.trace.agents] == ["main", "k1"]
    assert got.trace.trace_id == f"claude_code:{SESSION}"


def test_a_sub_agents_file_given_alone_does_not_pass_for_its_session():
    name = "agent-k1.jsonl"
    (got,) = read_files(BytesFiles({name: child("k1", "p", 1.0, 2.0).bytes()}, chosen=name))
    assert got.trace.trace_id == f"claude_code:{SESSION}/agent-k1"


def test_a_text_over_the_cap_keeps_its_hash_and_length(monkeypatch):
    monkeypatch.setattr(claude_code.importing, "MAX_TEXT", 100)
    got = read(asked(words="x" * 101))
    (prompt,) = of(got, HumanIntervention)
    assert (prompt.content.withheld, prompt.content.bytes, prompt.content.hash in got.blobs) == (True, 101, False)
    assert got.diagnostics["text_over_cap"] == 1


def test_every_record_is_an_event_or_counted():
    log = Log()
    kinds = (
        "summary",
        "last-prompt",
        "ai-title",
        "brand-new",
        "progress",
        "system",
        "attachment",
        "queue-operation",
        None,
    )
    for kind in kinds:
        log.add(kind, 1.0)
    log.add("user", 1.0, message=5)
    log.add("assistant", 1.0, message=[])
    log.says(1.0, "x", model="<synthetic>")
    log.records[-1]["message"]["model"] = "<synthetic>"
    log.user(1.0, "go")
    got = read(log)
    assert sum(got.diagnostics.values()) - got.diagnostics["unknown_records"] == len(kinds) + 3
    assert got.diagnostics["unknown_type_brand_new"] == 1


def test_a_log_cannot_make_endless_kinds_of_diagnostics():
    log = asked()
    for n in range(500):
        log.add(f"kind{n}")
    got = read(log)
    assert len(got.diagnostics) < 50
    assert got.diagnostics["unknown_records"] == 500


def test_times_that_are_none_are_counted_and_absent():
    log = Log()
    log.user(None, "go", timestamp="yesterday")
    log.says(None, "x", timestamp=5)
    got = read(log)
    assert got.diagnostics["bad_timestamps"] == 2
    assert (got.trace.clock, got.trace.started_at, {event.t for event in got.trace.events}) == (None, None, {None})


def test_an_unreadable_file_is_a_skip_and_the_rest_is_read(monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(lines, "import_module", absent)
    outcomes = reads(
        asked(), child("k1", "p", 1.0, 2.0), **{f"{SESSION}__subagents__agent-k2.jsonl.zst": b"\x28\xb5\x2f\xfd"}
    )
    assert any(isinstance(o, Skip) and "agent-k2" in o.path for o in outcomes)
    assert any(not isinstance(o, Skip) for o in outcomes)


def test_a_placeholder_for_output_tokens_is_counted():
    log = asked()
    log.says(1.0, "word " * 100, out=1)
    log.says(2.0, "word", out=1)
    assert read(log).diagnostics["doubtful_output_tokens"] == 1


def test_versions_without_stop_reasons_stop_where_the_log_shows_it():
    log = asked()
    log.says(1.0, "a")
    log.user(5.0, "b")
    log.says(6.0, use("c", "Bash"))
    log.result(7.0, "c")
    log.says(8.0, "c")
    assert [stop.t for stop in of(read(log), Stop)] == [1.0, 8.0]
    log.says(9.0, use("d", "Bash"), stop="tool_use")
    assert [stop.t for stop in of(read(log), Stop)] == [1.0]
