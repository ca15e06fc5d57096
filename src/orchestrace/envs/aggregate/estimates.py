"""E4d, `estimates`: how to combine numbers from agents of different, and dependent, precision.

θ ~ N(0, 1); agent i reports θ + noise, the noise jointly normal with covariance Σ. The orchestrator chooses how to
weigh the reports; weights w give the mean squared error of the best linear use of w · x:

    reward = −MSE,     MSE(w) = 1 − (Σ w)² / ((Σ w)² + wᵀ Σ w)

The rules offered: the plain mean, the best single agent, by precision (as if independent), by Σ⁻¹ 1 (which knows that
agents err alike), and no report at all. With independent noise the last two agree and are optimal: for
σ = (.5, 1, 2) the error is .160. With dependence, only Σ⁻¹ 1 is. An episode draws one of `instances` teams, shown by
its covariance. V_null is one rule for all teams.
"""

from collections.abc import Callable, Mapping

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.trace import SubDecision

DECIDES: SubDecision = "O4"
PARAMETERS: Mapping[str, Parameter] = {
    "agents": Parameter(3, 2, 8, "agents, n", whole=True),
    "instances": Parameter(16, 1, 128, "teams that an episode is drawn from", whole=True),
    "dependence": Parameter(0.8, 0.0, 0.95, "largest correlation of two agents' errors"),
    "rule_price": Parameter(0.01, 0.0, 1.0, "price of finding out how errors depend, for the rule that needs it"),
    "seed": Parameter(0, 0, 2**31 - 1, "what the teams are drawn from", whole=True),
}
RULES: Mapping[str, Callable[[Floats], Floats]] = {
    "none": lambda covariance: np.zeros(len(covariance)),
    "mean": lambda covariance: np.ones(len(covariance)),
    "best single": lambda covariance: (np.arange(len(covariance)) == np.argmin(np.diag(covariance))).astype(np.float64),
    "by precision": lambda covariance: 1 / np.diag(covariance),
    "by dependence": lambda covariance: np.linalg.solve(covariance, np.ones(len(covariance))).astype(np.float64),
}


def estimates(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E4d. A policy sees [each σ² / 4, each correlation, price of the rule that knows dependence · 10].

    Args:
      settings: every key of `PARAMETERS`.
      grade: changes nothing, for the reward is the mean squared error itself.
    """
    teams, names = drawn_teams(settings), tuple(RULES)
    price = settings["rule_price"]
    rewards = [[-squared_error(team, rule(team)) for rule in RULES.values()] for team in teams]
    for row in rewards:
        row[names.index("by dependence")] -= price
    moves = (Moves(s, a, [END], [1.0], [rewards[s][a]]) for s in range(len(teams)) for a in range(len(names)))
    return TableEnv(
        name="estimates",
        settings=settings,
        actions=names,
        decides=(DECIDES,) * len(names),
        process=process_of(moves, states=len(teams), actions=len(names)),
        starts=np.full(len(teams), 1 / len(teams)),
        seen=np.array([_seen(team, price) for team in teams]),
        named=lambda state: f"team {state + 1}",
        told=lambda state: _told(teams[state], price),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="What is the number?",
            tell=lambda story, move: _tell(story, move, len(teams[move.state])),
        ),
        compare=_compared,
        grade=grade,
    )  # fmt: skip


def squared_error(covariance: Floats, weights: Floats) -> float:
    """MSE of the best linear use of w · x; 1 where nobody is heard."""
    signal, noise = float(weights.sum()) ** 2, float(weights @ covariance @ weights)
    return 1 - signal / (signal + noise) if signal + noise > 0 else 1.0


def drawn_teams(settings: Mapping[str, float]) -> tuple[Floats, ...]:
    """The covariances: σ log-uniform from ½ to 2, every two agents' errors correlated alike, by up to `dependence`."""
    rng, n = np.random.default_rng(int(settings["seed"])), int(settings["agents"])
    found = []
    for _ in range(int(settings["instances"])):
        sigma, rho = 2.0 ** rng.uniform(-1, 1, n), rng.uniform(0, settings["dependence"])
        correlation = np.full((n, n), rho) + (1 - rho) * np.eye(n)
        found.append(correlation * np.outer(sigma, sigma))
    return tuple(found)


def _compared(env: TableEnv) -> dict[str, float]:
    names = list(RULES)
    return {name.replace(" ", "-"): plan_value(env, np.full(len(env.starts), names.index(name))) for name in names[1:]}


def _seen(team: Floats, price: float) -> list[float]:
    sigma = np.sqrt(np.diag(team))
    correlation = team / np.outer(sigma, sigma)
    return [*(np.diag(team) / 4).tolist(), *correlation[np.triu_indices(len(team), 1)].tolist(), 10 * price]


def _told(team: Floats, price: float) -> str:
    sigma = np.sqrt(np.diag(team))
    rho = team[0, 1] / (sigma[0] * sigma[1])
    return (
        f"A number from N(0, 1) is to be estimated from {len(team)} reports with errors of deviation "
        f"{', '.join(f'{s:.3f}' for s in sigma)}, correlated by {rho:.3f}. You lose the squared error. The rule by "
        f"dependence costs {price:g} more."
    )


def _tell(story: Story, move: Move, agents: int) -> None:
    names = [f"a{i + 1}" for i in range(agents)]
    for name in names:
        story.spawned(name, role="observer")
    returned = story.worked(dict.fromkeys(names, "what I saw"), seconds=story.drawn_seconds(agents))
    story.aggregated(
        list(returned.values()), f"combined: {story.env.actions[move.action]}", method="custom", choice=move.choice
    )
    story.ended("the estimate")
