"""E5b, `search`: offers come one after another and a declined one is gone; when to accept?

An offer is what a sub-agent's attempt is worth. Offers are independent: X = Uᵖᵒʷᵉʳ with U uniform over `grid` midpoints
of [0, 1]. At most n come, each but the first for a price c. State: offers seen, and the one at hand. With k more to
come, waiting is worth wₖ:

    w₁ = E X − c,     wₖ₊₁ = E max(X, wₖ) − c,     accept where x >= wₖ

With c = 0 and a uniform X, the value w₁, w₂, ... is .5, .625, .6953, .7417, ... as the grid grows (Moser 1956). The
last offer has to be accepted.
"""

from collections.abc import Mapping

import numpy as np

from orchestrace.envs.dynamic_programming import Process, dense_process
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats, Ints
from orchestrace.envs.story import Move, Story, Teller, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value

PARAMETERS: Mapping[str, Parameter] = {
    "offers": Parameter(10, 1, 50, "most offers, n", whole=True),
    "grid": Parameter(100, 2, 200, "different offers", whole=True),
    "power": Parameter(1.0, 0.1, 10.0, "offers are U to this power: above 1, good ones are rare"),
    "c": Parameter(0.0, 0.0, 1.0, "price of one more offer"),
}
ACCEPT, SEARCH = 0, 1


def search(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E5b. A policy sees [offer x, P(X > x), mean and standard deviation of X, 10 c, log(1 + offers left)].

    Args:
      settings: every key of `PARAMETERS`.
      grade: changes nothing here, since only values are paid.
    """
    offers, n = offer_grid(settings), int(settings["offers"])
    seen, rank = np.divmod(np.arange(n * len(offers)), len(offers))
    left = n - 1 - seen
    return TableEnv(
        name="search",
        settings=settings,
        actions=("accept", "search"),
        decides=("O5", "O5"),
        process=_process(offers, left=left, price=settings["c"]),
        starts=np.where(seen == 0, 1 / len(offers), 0.0),
        seen=_features(settings, offers, rank=rank, left=left),
        named=lambda state: f"offer {seen[state] + 1}: number {rank[state] + 1} of {len(offers)}",
        told=lambda state: _told(settings, offer=float(offers[rank[state]]), left=int(left[state])),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Find a good result.", tell=_teller(offers)
        ),
        compare=lambda env: _compared(env, offers, left=left, rank=rank),
        grade=grade,
        spawns=(0, 1),
    )


def offer_grid(settings: Mapping[str, float]) -> Floats:
    """[grid] the offers, equally likely, increasing."""
    g = int(settings["grid"])
    offers: Floats = ((np.arange(g) + 0.5) / g) ** settings["power"]
    return offers


def _process(offers: Floats, *, left: Ints, price: float) -> Process:
    S, g = len(left), len(offers)
    targets, chances, rewards = np.full((S, 2, g), END), np.zeros((S, 2, g)), np.zeros((S, 2))
    chances[:, ACCEPT, 0], rewards[:, ACCEPT] = 1.0, np.tile(offers, S // g)
    following = (np.arange(S) // g + 1) * g
    targets[:, SEARCH] = following[:, None] + np.arange(g)
    chances[:, SEARCH], rewards[:, SEARCH] = 1 / g, -price
    return dense_process(
        targets, chances, rewards=rewards, legal=np.column_stack([np.ones(S, dtype=np.bool_), left > 0])
    )


def _features(settings: Mapping[str, float], offers: Floats, *, rank: Ints, left: Ints) -> Floats:
    better = 1 - (rank + 1) / len(offers)
    known = np.tile([offers.mean(), offers.std(), 10 * settings["c"]], (len(rank), 1))
    return np.column_stack([offers[rank], better, known, np.log1p(left)])


def _told(settings: Mapping[str, float], *, offer: float, left: int) -> str:
    return (
        "Sub-agents attempt the task, one after another. You can use the last result or wait for the next; a result "
        f"that you decline is lost.\nThe last result is worth {offer:.3f}; {left} more can come, each for "
        f"{settings['c']:g}. Results are u to the power {settings['power']:g}, u uniform between 0 and 1."
    )


def _compared(env: TableEnv, offers: Floats, *, left: Ints, rank: Ints) -> dict[str, float]:
    above = np.where((offers[rank] < offers.mean()) & (left > 0), SEARCH, ACCEPT)
    return {
        "best-constant-threshold": float(threshold_values(env.settings).max()),
        "above-the-mean": plan_value(env, above),
        "last-offer": plan_value(env, np.where(left > 0, SEARCH, ACCEPT)),
    }


def threshold_values(settings: Mapping[str, float]) -> Floats:
    """[grid] value of accepting every offer that is at least x, for each x of the grid.

    v₁ = E X,     vₖ₊₁ = E X 1[X >= x] + P(X < x) (vₖ − c)
    """
    offers = offer_grid(settings)
    accepted = np.cumsum(offers[::-1])[::-1] / len(offers)
    declined = np.arange(len(offers)) / len(offers)
    values = np.full(len(offers), offers.mean())
    for _ in range(int(settings["offers"]) - 1):
        values = accepted + declined * (values - settings["c"])
    return values


def _teller(offers: Floats) -> Teller:
    """Tells one episode: each offer is an agent's return; the accepted one is taken up."""

    def attempt(story: Story, state: int) -> str:
        number, rank = divmod(state, len(offers))
        name = f"attempt{number + 1}"
        story.delegated(name, "Attempt the task.")
        return story.worked({name: f"{offers[rank]:.3f}"}, seconds=story.drawn_seconds(1))[name]

    held: list[str] = []

    def tell(story: Story, move: Move) -> None:
        if not held:
            story.spawned("attempt1", role="worker")
            held.append(attempt(story, move.state))
        if move.action == SEARCH:
            story.spawned(f"attempt{move.target // len(offers) + 1}", role="worker", choice=move.choice)
            held.append(attempt(story, move.target))
            return
        worth = f"{offers[move.state % len(offers)]:.3f}"
        story.aggregated([held[-1]], worth, method="judge")
        story.ended(worth, choice=move.choice)
        story.costs["agents"] = float(len(held))

    return tell
