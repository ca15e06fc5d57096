"""The rules that voting environments share: who is asked, what it costs, what is known after each vote.

A question has two answers, A and B. The orchestrator asks voters, alone or in parallel rounds, and stops with the
answer that the votes make more probable; a tie goes to A. The reward is 1 if the answer is right, minus the prices.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Process, dense_process
from orchestrace.envs.probability import binomial_pmf
from orchestrace.envs.protocol import END, Floats
from orchestrace.trace import SubDecision

STOP = 0
"""The action that ends an episode with an answer; every other action asks voters."""
CERTAIN = 1e-9
"""Past this chance of being wrong no voter can be worth a price that settings allow."""


class Truth(NamedTuple):
    """What the voters of one episode know and the orchestrator does not."""

    answer: str
    """`A` or `B`."""
    chance_a: float
    """Chance that a voter says A."""


@dataclass(frozen=True, eq=False)
class Voting:
    """One voting problem, as arrays. S states, A actions, M outcomes of a round (how many of its voters say A)."""

    name: str
    settings: Mapping[str, float]
    actions: tuple[str, ...]
    sizes: tuple[int, ...]
    """[A] voters that each action asks at once; 0 for stop."""
    prices: Floats
    """[A] what each action costs; 0 for stop."""
    state_names: tuple[str, ...]
    start: int
    posterior: Floats
    """[S] chance that A is right, given the votes."""
    process: Process
    """The outcomes of a round are ordered by the number of voters who say A; those of stop are right, wrong."""
    truth: Callable[[np.random.Generator], Truth]
    ask: SubDecision
    """What an asking action decides: O1 (how many to spawn) or O5 (whether to go on)."""
    weighted: bool
    """True: votes count by known competence; False: each counts the same."""

    @property
    def confidence(self) -> Floats:
        """[S] chance that the more probable answer is right."""
        return np.maximum(self.posterior, 1 - self.posterior)

    def described(self, state: int) -> str:
        """What the orchestrator knows in a state, in words: the votes so far, the prices, how good voters are."""
        cost = ", ".join(
            f"{name} costs {price:g}" for name, price in zip(self.actions[1:], self.prices[1:], strict=True)
        )
        return (
            f"Which answer is right, A or B? A right answer pays 1. {self._voters()}\n"
            f"Votes so far: {self.state_names[state]}.\nPrices: {cost}."
        )

    def _voters(self) -> str:
        s = self.settings
        if "p" in s:
            return f"A voter is right with chance {s['p']:g}."
        return (
            "Nobody knows how good the voters are: the chance that one of them says A was drawn from "
            f"Beta({s['a0']:g}, {s['b0']:g}), and right is what most voters would say. "
            f"At most {s['max_votes']:g} can vote."
        )


def lead_limit(p: float, largest: int) -> int:
    """The lead at which an episode is cut off without an answer: its horizon.

    It is `largest`, the largest round, above the first lead whose majority is wrong with chance at most `CERTAIN`.
    From below that lead no round reaches the limit, and above it stopping is optimal at every price of 1e-6 and more.
    So the limit does not move the optimum at all, while a policy that never stops earns nothing and ends.
    """
    return math.ceil(math.log(1 / CERTAIN - 1) / math.log(p / (1 - p))) + largest


def lead_posterior(p: float, leads: Floats) -> Floats:
    """Chance that A is right when A leads by `leads` votes of competence p: 1 / (1 + ((1 − p) / p)^lead)."""
    return 1 / (1 + np.exp(-leads * math.log(p / (1 - p))))


def lead_process(p: float, *, sizes: tuple[int, ...], prices: Floats) -> Process:
    """Voters of known competence p: the state is A's lead, −(D − 1)..D − 1 with D the lead limit.

        P(j of k say A | lead) = q Bin(j; k, p) + (1 − q) Bin(j; k, 1 − p),     q = posterior of A
        lead' = lead + 2j − k, or END where |lead'| >= D

    Args:
      p: chance that a voter is right, in (½, 1).
      sizes: [A] voters that each action asks; 0 stops.
      prices: [A]
    """
    largest = max(sizes)
    limit = lead_limit(p, largest)
    leads = np.arange(1 - limit, limit)
    q = lead_posterior(p, leads.astype(np.float64))[:, None]
    S, A, M = len(leads), len(sizes), largest + 1
    targets, chances = np.full((S, A, M), END), np.zeros((S, A, M))
    for a, k in enumerate(sizes):
        chances[:, a, : k + 1] = q * binomial_pmf(k, p) + (1 - q) * binomial_pmf(k, 1 - p)
        if k:
            reached = leads[:, None] + 2 * np.minimum(np.arange(M), k) - k
            targets[:, a] = np.where(np.abs(reached) < limit, reached + limit - 1, END)
    rewards = np.broadcast_to(-prices[None, :, None], chances.shape).copy()
    chances[:, STOP], rewards[:, STOP] = answered(q[:, 0], width=M)
    return dense_process(targets, chances, rewards=rewards, legal=np.ones((S, A), dtype=np.bool_))


def answered(posterior: Floats, *, width: int) -> tuple[Floats, Floats]:
    """What stopping with the likelier answer comes to: chances and rewards, each [S, width].

    It pays 1 with the chance that the answer is right, and else 0.
    """
    right = np.maximum(posterior, 1 - posterior)
    chances, rewards = np.zeros((len(posterior), width)), np.zeros((len(posterior), width))
    chances[:, 0], chances[:, 1], rewards[:, 0] = right, 1 - right, 1.0
    return chances, rewards


def lead_truth(p: float) -> Callable[[np.random.Generator], Truth]:
    """Draws the right answer by a fair coin; voters then say it with chance p."""

    def drawn(rng: np.random.Generator) -> Truth:
        return Truth("A", p) if rng.random() < 0.5 else Truth("B", 1 - p)

    return drawn


def lead_voting(*, name: str, settings: Mapping[str, float], actions: tuple[str, ...], prices: Floats) -> Voting:
    """A voting problem with voters of known competence `settings["p"]`; action a asks a voters."""
    p, sizes = settings["p"], tuple(range(len(actions)))
    process = lead_process(p, sizes=sizes, prices=prices)
    limit = (len(process.pairs) + 1) // 2
    leads = np.arange(1 - limit, limit)
    return Voting(
        name=name,
        settings=settings,
        actions=actions,
        sizes=sizes,
        prices=prices,
        state_names=tuple(f"lead {lead}" for lead in leads),
        start=limit - 1,
        posterior=lead_posterior(p, leads.astype(np.float64)),
        process=process,
        truth=lead_truth(p),
        ask="O1" if len(actions) > 2 else "O5",
        weighted=True,
    )


def price_feature(price: float) -> float:
    """A price on a log scale of order one: log₁₀(price) + 2, prices below 1e-4 taken as 1e-4."""
    return math.log10(max(price, 1e-4)) + 2


def lead_features(voting: Voting) -> Floats:
    """[S, 3] margin 2m − 1; log odds of m over 5, capped at 2; log odds of one voter.

    m is the chance that the more probable answer is right. A and B are mirror images, so a policy sees no sign.
    """
    one = math.log(voting.settings["p"] / (1 - voting.settings["p"]))
    leads = np.abs(np.arange(len(voting.posterior)) - voting.start).astype(np.float64)
    margin = 2 * lead_posterior(voting.settings["p"], leads) - 1
    return np.column_stack([margin, np.minimum(leads * one, 10.0) / 5, np.full(len(leads), one)])
