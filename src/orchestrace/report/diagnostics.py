"""What the counts of an import mean, in a plain sentence each."""

from collections.abc import Mapping

MEANINGS: Mapping[str, str] = {
    "bad_blobs": "texts whose bytes do not give the hash that they are kept under; they were left out",
    "bad_meta": "sidecar files of sub-agents that could not be read",
    "bad_timestamps": "records whose time could not be read; they have none here",
    "bad_usage": "token counts that are no numbers; they count as not known",
    "cleared_turn": "events that named a turn which the trace does not hold; they name none here",
    "compaction_helpers": "helper calls that folded the context; each became a turn of the agent whose context it was",
    "concatenated": "lines that hold several records; all were read",
    "control_chars": "lines with raw control characters; they were read all the same",
    "copied_records": "records that an earlier session owns, as after a resume; they were not counted twice",
    "corrupt_middle": "lines that are no JSON; they were skipped",
    "doubtful_output_tokens": "turns whose output count is a placeholder, far below what was written",
    "dropped_edges": "links that contradict the order of events; they were left out",
    "dropped_extras": "fields of a survey file that have no place in a trace of ours",
    "dropped_inputs": "inputs of an aggregate that the trace does not hold; they were left out",
    "duplicate_records": "records that stand in the log twice; they were taken once",
    "guessed_sidechain": "sub-agent records without a parent; they went to the only sub-agent there was",
    "incomplete_sub_agent_logs": "sub-agents whose log holds another number of tool calls than was reported",
    "launch_acks": "notes that an agent was started; the spawn says it already",
    "left_out_blocks": "blocks that are no text, such as images; they were left out of the texts",
    "line_over_cap": "lines too long to read; they were skipped",
    "malformed_assistant": "model records without a message; they were skipped",
    "malformed_notification": "notices that could not be read; they were skipped",
    "malformed_teammate_message": "letters between agents that could not be read; they were skipped",
    "malformed_user": "user records without a message; they were skipped",
    "message_acks": "notes that a message was sent; the message says it already",
    "messages_to_self": "messages of an agent to itself; they are no messages here",
    "negative_duration": "things that ended before they began; how long they took is not known",
    "not_finite": "numbers that are infinite or none; they count as not known",
    "not_objects": "JSON values that are no records; they were skipped",
    "out_of_order_timestamps": "records dated before the record above them",
    "polls": "looks at a background task that brought nothing new",
    "reordered": "events that moved, since what caused them was written after them",
    "repeated_blocks": "blocks that a model call's records hold again; they were taken once",
    "repeated_calls": "calls that the log holds again; they were taken once",
    "repeated_notices": "notices of an end that another had told before",
    "results_without_call": "tool results whose call is not in the log; they were left out",
    "returns_unseen": "sub-agents that ended and whose result never shows in their parent's log",
    "shell_notices": "notices about background commands, not about agents",
    "strangers": "agents that are only named as senders or receivers, and have no log",
    "surrogates": 'lines with half characters; each became "?"',
    "task_prompts": "tasks at the top of sub-agents' logs; the spawns hold them already",
    "task_prompts_without_spawn": "tasks at the top of sub-agents' logs whose spawn was not found",
    "text_over_cap": "texts too long to keep; their lengths and hashes stay",
    "too_deep": "lines nested too deeply to read; they were skipped",
    "truncated_tail": "a last line that breaks off, as of a session that goes on; it was skipped",
    "unattributed_prompts": "texts that reached a sub-agent, and nobody is known to have sent them",
    "undeclared": "agents that events name and no record introduces",
    "unknown_notice_status": "notices of an end with a status that is not known here",
    "unknown_records": "records of a type that is not known here; they were skipped",
    "unlinked": "agents of which the log does not say who spawned them",
    "unreadable_files": "files that could not be read",
    "utf8_replaced": "lines with bytes that are no UTF-8; each such byte became a replacement mark",
}
_PREFIXES: Mapping[str, str] = {
    "ignored_": "housekeeping of the product; it says nothing about the team",
    "dropped_": "events of this kind that would break a law of traces; they were left out",
    "unknown_": "of a kind that is not known here; skipped, and counted by its name",
}


def explained(kind: str) -> str:
    """What a count of an import means; empty for a kind that is not listed, as of an adapter of your own."""
    return MEANINGS.get(kind, next((said for prefix, said in _PREFIXES.items() if kind.startswith(prefix)), ""))
