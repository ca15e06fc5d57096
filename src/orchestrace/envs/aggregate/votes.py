"""What the environments of voting share: vote patterns, what they say, and rules that answer from them."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves
from orchestrace.envs.protocol import END, Floats, Ints
from orchestrace.envs.story import Move, Story


class Ballot(NamedTuple):
    """A pattern of votes and how likely it is under each answer."""

    votes: tuple[int, ...]
    """[n] option that each voter names."""
    likelihoods: Floats
    """[K] chance of these votes, given that answer k is right."""


def independent_ballots(competences: Sequence[float], options: int) -> list[Ballot]:
    """Every pattern of n voters who are right with chance pᵢ and else name a wrong option evenly."""
    found = []
    for votes in itertools.product(range(options), repeat=len(competences)):
        likelihoods = np.array([
            math.prod(p if vote == k else (1 - p) / (options - 1) for p, vote in zip(competences, votes, strict=True))
            for k in range(options)
        ])  # fmt: skip
        found.append(Ballot(votes, likelihoods))
    return found


def posterior(ballot: Ballot, prior: Floats) -> Floats:
    """[K] chance of each answer, given the votes."""
    joint = ballot.likelihoods * prior
    found: Floats = joint / joint.sum()
    return found


def answers(state: int, belief: Floats) -> list[Moves]:
    """Answering k pays 1 with the chance that k is right."""
    return [Moves(state, k, [END, END], [float(p), float(1 - p)], [1.0, 0.0]) for k, p in enumerate(belief)]


def plurality(votes: Sequence[int], options: int) -> int:
    """The option with most votes; among ties the first."""
    return int(np.argmax(np.bincount(votes, minlength=options)))


def heaviest(votes: Sequence[int], weights: Sequence[float], options: int) -> int:
    """The option whose voters weigh most; among ties the first."""
    return int(np.argmax(np.bincount(votes, weights, minlength=options)))


def tell_vote(story: Story, move: Move, *, votes: Sequence[str], answer: str, truth: str) -> None:
    """Voters vote in parallel, the votes are aggregated, the orchestrator answers or abstains."""
    names = [f"v{i + 1}" for i in range(len(votes))]
    for name in names:
        story.spawned(name, role="voter")
    returned = story.worked(dict(zip(names, votes, strict=True)), seconds=story.drawn_seconds(len(names)))
    story.aggregated(list(returned.values()), f"the votes say {answer}", method="weighted_vote", choice=move.choice)
    if truth:
        story.metrics["correct"] = float(answer == truth)
    story.ended(answer, truth=truth)


def log_odds_weights(competences: Sequence[float], options: int = 2) -> list[float]:
    """wᵢ = log((K − 1) pᵢ / (1 − pᵢ)) (Nitzan and Paroush 1982; Shapley and Grofman 1984)."""
    return [math.log((options - 1) * p / (1 - p)) for p in competences]


def ints(values: Sequence[int]) -> Ints:
    """A plan as an array."""
    return np.array(values, dtype=np.int64)
