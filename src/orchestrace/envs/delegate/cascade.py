"""E2c, `cascade`: whom to try next, and when to give up.

Agent i solves the task with chance pᵢ and costs cᵢ; a solution is worth v, once. The orchestrator tries agents one at a
time, each once at most, and an episode ends with the first success or when it stops. The optimum orders the agents by
pᵢ / cᵢ and goes on while v pᵢ > cᵢ: Weitzman's (1979) rule for boxes of value v or 0, whose index is v − cᵢ / pᵢ.

    V(order) = Σₖ Πⱼ﹤ₖ (1 − pⱼ) · (v pₖ − cₖ)

An episode draws one of `instances` teams, all of p and c known. State: the team, and the agents tried in vain. V_null
is to stop at once. The best set of agents asked in parallel, fixed for each team, is a baseline: it pays for agents
that the cascade would not have needed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.trace import SubDecision

PARAMETERS: Mapping[str, Parameter] = {
    "agents": Parameter(5, 1, 8, "agents in a team, m", whole=True),
    "v": Parameter(1.0, 0.01, 100.0, "what a solution is worth"),
    "instances": Parameter(16, 1, 128, "teams that an episode is drawn from", whole=True),
    "seed": Parameter(0, 0, 2**31 - 1, "what the teams are drawn from", whole=True),
}
STOP = 0
"""The action that gives up; action 1 + i tries agent i."""
TRIES: SubDecision = "O2"


class Team(NamedTuple):
    """The agents that there are to try."""

    chances: Floats
    """[m] pᵢ, in (0, 1)."""
    costs: Floats
    """[m] cᵢ, positive."""


def cascade(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E2c. A policy sees [p, c / v, tried] of each agent, the second at most 2, then ln(1 + v).

    Of an action it sees [whether it stops, p, c / v, p / (p + c / v), tried]; of stopping, [1, 0, 0, 0, 0].

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays: what came of the try, or its mean.
    """
    m, v, teams = int(settings["agents"]), settings["v"], drawn_teams(settings)
    tried = sorted(range(1 << m), key=lambda agents: (agents.bit_count(), agents))
    situations = [(team, agents) for agents in tried for team in range(len(teams))]
    starts = np.zeros(len(situations))
    starts[: len(teams)] = 1 / len(teams)
    options = np.array([_options(teams[team], agents, v) for team, agents in situations])
    return TableEnv(
        name="cascade",
        settings=settings,
        actions=("stop", *(f"agent {i + 1}" for i in range(m))),
        decides=("O5", *(TRIES,) * m),
        process=process_of(_moves(situations, teams, v), states=len(situations), actions=m + 1),
        starts=starts,
        seen=np.column_stack(
            [options[:, 1:, [1, 2, 4]].reshape(len(situations), -1), np.full(len(situations), np.log1p(v))]
        ),
        options_seen=options,
        named=lambda state: f"team {situations[state][0] + 1} after {_listed(situations[state][1]) or 'nobody'}",
        told=lambda state: _told(teams[situations[state][0]], situations[state][1], v),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Solve this, if it is worth it.",
            tell=partial(_tell, costs=[teams[team].costs for team, _ in situations]),
        ),
        compare=partial(_compared, situations=situations, teams=teams),
        grade=grade,
    )  # fmt: skip


def drawn_teams(settings: Mapping[str, float]) -> tuple[Team, ...]:
    """The teams: pᵢ uniform on [0.05, 0.9], cᵢ on [0.01, 0.5]."""
    rng, m = np.random.default_rng(int(settings["seed"])), int(settings["agents"])
    return tuple(Team(rng.uniform(0.05, 0.9, m), rng.uniform(0.01, 0.5, m)) for _ in range(int(settings["instances"])))


def index_order(team: Team, v: float) -> tuple[int, ...]:
    """The agents that are worth trying, by p / c, highest first: the optimal order."""
    order = np.argsort(-team.chances / team.costs, kind="stable")
    return tuple(int(i) for i in order if v * team.chances[i] > team.costs[i])


def order_value(team: Team, order: Sequence[int], *, v: float) -> float:
    """V(order): trying these agents one at a time until the first success."""
    value, alive = 0.0, 1.0
    for i in order:
        value += alive * (v * team.chances[i] - team.costs[i])
        alive *= 1 - team.chances[i]
    return float(value)


def parallel_value(team: Team, v: float) -> float:
    """The best set of agents asked at once: max over S of v (1 − Π (1 − pᵢ)) − Σ cᵢ, both over i in S."""
    m = len(team.chances)
    sets = [list(chosen) for size in range(m + 1) for chosen in combinations(range(m), size)]
    return float(max(v * (1 - np.prod(1 - team.chances[S])) - team.costs[S].sum() for S in sets))


def _bits(agents: int) -> list[int]:
    return [i for i in range(agents.bit_length()) if agents >> i & 1]


def _moves(situations: list[tuple[int, int]], teams: tuple[Team, ...], v: float) -> Iterator[Moves]:
    """Outcomes of a try: success, failure."""
    number = {situation: state for state, situation in enumerate(situations)}
    for state, (team, tried) in enumerate(situations):
        yield Moves(state, STOP, [END], [1.0], [0.0])
        for i, (p, c) in enumerate(zip(*teams[team], strict=True)):
            if not tried >> i & 1:
                yield Moves(state, 1 + i, [END, number[team, tried | 1 << i]], [p, 1 - p], [v - c, -c])


def _options(team: Team, tried: int, v: float) -> list[list[float]]:
    """[A, 5]"""
    price = team.costs / v
    return [[1.0, 0.0, 0.0, 0.0, 0.0]] + [
        [0.0, p, min(c, 2.0), p / (p + c), float(tried >> i & 1)]
        for i, (p, c) in enumerate(zip(team.chances, price, strict=True))
    ]


def _listed(agents: int) -> str:
    return " ".join(str(i + 1) for i in _bits(agents))


def _told(team: Team, tried: int, v: float) -> str:
    lines = [
        f"Agent {i + 1}: chance {p:.3f}, cost {c:.3f}{', tried in vain' if tried >> i & 1 else ''}."
        for i, (p, c) in enumerate(zip(*team, strict=True))
    ]
    rules = f"A solution pays {v:g}, once. Agents are tried one at a time, each once at most; a solution ends it."
    return "\n".join([rules, *lines])


def _compared(env: TableEnv, *, situations: list[tuple[int, int]], teams: tuple[Team, ...]) -> dict[str, float]:
    v = env.settings["v"]

    def tried(rank: Callable[[Team], Floats], *, everyone: bool = False) -> float:
        """Value of trying agents by rank, highest first; those that are not worth their cost only if `everyone`."""
        plan = []
        for number, before in situations:
            team = teams[number]
            left = [
                i
                for i in range(len(team.chances))
                if not before >> i & 1 and (everyone or v * team.chances[i] > team.costs[i])
            ]
            plan.append(1 + max(left, key=rank(team).__getitem__) if left else STOP)
        return plan_value(env, np.array(plan))

    return {
        "best-parallel-set": float(np.mean([parallel_value(team, v) for team in teams])),
        "most-able-first": tried(lambda team: team.chances),
        "cheapest-first": tried(lambda team: -team.costs),
        "never-give-up": tried(lambda team: team.chances / team.costs, everyone=True),
    }


def _tell(story: Story, move: Move, *, costs: list[Floats]) -> None:
    if move.action == STOP:
        story.ended("no solution", choice=move.choice)
        return
    agent = move.action - 1
    name, solved = f"a{agent + 1}", move.target == END
    story.spawned(name, role="agent", choice=move.choice)
    story.delegated(name, "solve this")
    story.worked({name: "solved" if solved else "failed"}, seconds=story.drawn_seconds(1))
    story.costs["price"] = story.costs.get("price", 0.0) + float(costs[move.state][agent])
    story.costs["agents"] = story.costs.get("agents", 0.0) + 1
    story.metrics["solved"] = float(solved)
    if solved:
        story.ended(f"solved by {name}")
