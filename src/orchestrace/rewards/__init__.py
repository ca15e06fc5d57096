"""Rewards R1 to R8: pure functions of a trace and the evidence about it.

One module a family: `team` (R1), `agent` (R2), `role` (R3), `process` (R4), `tool` (R5), `debate` (R6),
`orchestration` (R7), `compose` (R8); published mixtures: `parl`, `fold`, `wideseek`. Reading order: `absence` (what a
reward function gives), a family, `compose`, `schedules`, `balance`, `hacking` (how a team earns without working).
"""

from orchestrace.rewards import (
    agent,
    balance,
    compose,
    debate,
    drift,
    fold,
    graders,
    hacking,
    orchestration,
    parl,
    process,
    role,
    schedules,
    team,
    tool,
    waste,
    wideseek,
)
from orchestrace.rewards.absence import Rewards, Unavailable, rows
from orchestrace.rewards.balance import Moments, Spread
from orchestrace.rewards.by_name import CHANNELS
from orchestrace.rewards.compose import Channel, Composed, Term, composed
from orchestrace.rewards.findings import Finding
from orchestrace.rewards.hacking import detect

__all__ = [
    "CHANNELS",
    "Channel",
    "Composed",
    "Finding",
    "Moments",
    "Rewards",
    "Spread",
    "Term",
    "Unavailable",
    "agent",
    "balance",
    "compose",
    "composed",
    "debate",
    "detect",
    "drift",
    "fold",
    "graders",
    "hacking",
    "orchestration",
    "parl",
    "process",
    "role",
    "rows",
    "schedules",
    "team",
    "tool",
    "waste",
    "wideseek",
]
