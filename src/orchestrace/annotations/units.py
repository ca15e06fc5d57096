"""The units that a result can be about, from the whole team down to a token."""

from typing import Literal

UnitKind = Literal["team", "orchestrator", "role", "agent", "turn", "message", "tool_call", "token"]
"""The eight credit units of the survey (arXiv 2605.02801). Their ids: the team's is the trace id; the orchestrator's is
`orchestrator:<agent>`; role, agent, turn, message and tool call have their own; a token's is `<turn>:<i>`."""

LedgerKind = Literal[
    "team", "orchestrator", "role", "agent", "turn", "message", "tool_call", "token", "decision", "remainder"
]
"""The units, and two more leaves of a turn in the ledger: one orchestration decision (`spawn`, `delegate`, `aggregate`,
`stop`, by its event id), and what else the turn wrote (`<turn>:rest`)."""
