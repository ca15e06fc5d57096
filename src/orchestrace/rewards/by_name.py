"""Channels that a trace and its evidence can feed without further settings, by name."""

from collections.abc import Callable, Mapping

from orchestrace.annotations import Evidence
from orchestrace.rewards import agent, debate, orchestration, role, team, tool
from orchestrace.rewards.absence import Rewards
from orchestrace.trace import Trace

CHANNELS: Mapping[str, Callable[[Trace, Evidence], Rewards]] = {
    "outcome": team.outcome,
    "own_outcome": agent.own_outcome,
    "role_grade": role.role_grade,
    "tool_status": tool.tool_status,
    "tool_used": tool.tool_used,
    "verdict": debate.verdict,
    "parallel_instantiation": orchestration.parallel_instantiation,
    "parallel_speedup": orchestration.parallel_speedup,
    "serial_speedup": orchestration.serial_speedup,
    "finish_rate": orchestration.finish_rate,
    "critical_steps": orchestration.critical_steps,
    "split_correctness": orchestration.split_correctness,
    "aggregation_quality": orchestration.aggregation_quality,
}
