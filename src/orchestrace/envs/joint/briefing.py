"""`briefing`: delegation pays only for who knows what to delegate. The smallest env in which orchestrators collapse.

Ours. A task is of one of m types, hidden and equally likely. The orchestrator may `answer` at once (right with chance
g), do the work `alone`, `look` into the task itself, which costs d and shows the type, or `spawn k` agents and then
`assign` them one of m plans. Only the plan of the task's type makes their work count; `answer` is possible to the last.

    alone            1 − w
    answer           g
    spawn k, right   1 − c0 − a k − w / k
    spawn k, wrong   g − c0 − a k − w / k

Once the type is known, the best team is argmin over k of c0 + a k + w / k. Two things make learners fail here. Until
the plans are learned, spawning looks worse than working alone, so it is given up (serial collapse). And with `direct`
= 0, neither `look` nor `alone` is allowed (an orchestrator that must delegate): plans are then guesses, right once in m
times, and not to delegate at all is optimal.
"""

from collections.abc import Iterator, Mapping
from typing import cast

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.story import ORCHESTRATOR, Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.trace import SubDecision

PARAMETERS: Mapping[str, Parameter] = {
    "types": Parameter(8, 2, 32, "types of task, m", whole=True),
    "max_agents": Parameter(6, 1, 16, "most agents, K", whole=True),
    "work": Parameter(0.6, 0.0, 2.0, "what the work costs one who does it alone, w"),
    "fixed": Parameter(0.02, 0.0, 1.0, "price of having a team at all, c0"),
    "agent": Parameter(0.03, 0.0, 1.0, "price of each agent, a"),
    "look": Parameter(0.05, 0.0, 1.0, "price of looking into the task, d"),
    "guess": Parameter(0.2, 0.0, 1.0, "chance that an answer without work is right, g"),
    "direct": Parameter(1, 0, 1, "1: the orchestrator may look and work itself; 0: it must delegate or answer",
                        whole=True),
}  # fmt: skip
ANSWER, ALONE, LOOK = 0, 1, 2


def briefing(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """The environment. A policy sees [chose a team, its size over K, type known, one column a type, the six prices].

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for an answer.
    """
    m, K = int(settings["types"]), int(settings["max_agents"])
    actions = ("answer", "alone", "look", *(f"spawn {k}" for k in range(1, K + 1)), *(f"assign {j}" for j in range(m)))
    decides = ("O5", "O5", "O3", *("O1" for _ in range(K)), *("O2" for _ in range(m)))
    states = (1 + m) * (1 + K)
    starts = np.zeros(states)
    starts[0] = 1.0
    return TableEnv(
        name="briefing",
        settings=settings,
        actions=actions,
        decides=cast("tuple[SubDecision, ...]", decides),
        process=process_of(_moves(settings, m, K), states=states, actions=len(actions)),
        starts=starts,
        seen=_features(settings, m, K),
        named=lambda state: _name(state, m),
        told=lambda state: _told(state, settings),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Here is a task.", tell=_tell
        ),
        compare=_compared,
        grade=grade,
        spawns=(0, 0, 0, *range(1, K + 1), *[0] * m),
    )


def _state(known: int, team: int, m: int) -> int:
    """Number of the state: `known` is 0 where the type is hidden, else type + 1; `team` is 0 before one is chosen."""
    return team * (1 + m) + known


def _moves(s: Mapping[str, float], m: int, K: int) -> Iterator[Moves]:
    for known in range(1 + m):
        here = _state(known, 0, m)
        yield _paid(here, ANSWER, s["guess"], 0.0)
        if s["direct"]:
            yield _paid(here, ALONE, 1.0, s["work"])
            if not known:
                shown = [_state(z + 1, 0, m) for z in range(m)]
                yield Moves(here, LOOK, shown, [1 / m] * m, [-s["look"]] * m)
        for k in range(1, K + 1):
            yield Moves(here, LOOK + k, [_state(known, k, m)], [1.0], [-s["fixed"] - s["agent"] * k])
            yield _paid(_state(known, k, m), ANSWER, s["guess"], 0.0)
            for j in range(m):
                right = 1 / m if not known else float(known == j + 1)
                success = right + (1 - right) * s["guess"]
                yield _paid(_state(known, k, m), 3 + K + j, success, s["work"] / k)


def _paid(state: int, action: int, success: float, price: float) -> Moves:
    return Moves(state, action, [END, END], [success, 1 - success], [1 - price, -price])


def _features(s: Mapping[str, float], m: int, K: int) -> Floats:
    team, known = np.divmod(np.arange((1 + m) * (1 + K)), 1 + m)
    types = (known[:, None] == np.arange(1, m + 1)).astype(np.float64)
    prices = np.tile([s[key] for key in ("work", "fixed", "agent", "look", "guess", "direct")], (len(team), 1))
    return np.column_stack([team > 0, team / K, known > 0, types, prices])


def _name(state: int, m: int) -> str:
    team, known = divmod(state, 1 + m)
    return f"type {known - 1 if known else 'hidden'}, " + (f"{team} agents" if team else "no team")


def _told(state: int, s: Mapping[str, float]) -> str:
    m = int(s["types"])
    team, known = divmod(state, 1 + m)
    kind = f"The task is of type {known - 1}." if known else f"The task is of one of {m} types; you do not know which."
    agents = f"You have {team} agents; assign them a plan." if team else "You have no team yet."
    return (
        f"{kind} {agents}\nA right answer pays 1. Without work it is right with chance {s['guess']:g}. The work costs "
        f"{s['work']:g}, shared by those who do it; a team costs {s['fixed']:g} and {s['agent']:g} for each agent; "
        f"looking into the task costs {s['look']:g}."
    )


def _compared(env: TableEnv) -> dict[str, float]:
    m, K = int(env.settings["types"]), int(env.settings["max_agents"])
    team, known = np.divmod(np.arange((1 + m) * (1 + K)), 1 + m)
    assign = 3 + K + np.maximum(known - 1, 0)

    def value(first: int, then: int) -> float:
        opening = np.where(known > 0, then, first)
        return plan_value(env, np.where(team > 0, assign, opening))

    found = {"spawn-unbriefed": max(value(LOOK + k, LOOK + k) for k in range(1, K + 1))}
    if env.settings["direct"]:
        found["alone"] = value(ALONE, ALONE)
        found["look-then-largest-team"] = value(LOOK, LOOK + K)
    return found


def _tell(story: Story, move: Move) -> None:
    action = story.env.actions[move.action]
    word, _, number = action.partition(" ")
    if word == "spawn":
        story.decided(move.choice)
        for i in range(int(number)):
            story.spawned(f"worker{i}", role="worker")
        story.costs["agents"] = float(number)
        return
    if word == "look":
        story.decided(move.choice)
        story.t += 0.5
        return
    if word == "assign":
        workers = sorted(story.agents)
        story.decided(move.choice)
        for name in workers:
            story.delegated(name, f"Your part of plan {number}.")
        right = move.reward > 0
        returned = story.worked(dict.fromkeys(workers, "done"), seconds=story.drawn_seconds(len(workers)))
        story.aggregated(list(returned.values()), "right" if right else "wrong", method="concat")
        story.ended("done")
        return
    story.t += 1.0 if word == "alone" else 0.0
    story.ended(f"{ORCHESTRATOR} answers {'after working alone' if word == 'alone' else 'at once'}", choice=move.choice)
