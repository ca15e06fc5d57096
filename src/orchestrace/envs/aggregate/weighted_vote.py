"""E4a, E4c, E4e, `weighted-vote`: one answer of many, from voters of known competence, some of them copies.

Answer A or B, with prior π of A; voter i is right with chance pᵢ. After the first, each voter may be a copy of the one
before it: with chance `copying` it repeats that vote, unseen (a shared failure), else it votes by itself. The
orchestrator sees the votes and answers, or abstains for a sure `abstain`. With independent voters the optimum is the
sign of the weighted vote

    log(π / (1 − π)) + Σ xᵢ log(pᵢ / (1 − pᵢ)),     xᵢ = ±1     (Nitzan and Paroush 1982)

and it abstains where the likelier answer is less likely than `abstain` (Chow 1970). An episode draws one of `instances`
teams; competences are shown. A learner must find that copies count less than they seem.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from orchestrace.envs.aggregate.votes import (
    Ballot,
    answers,
    heaviest,
    log_odds_weights,
    plurality,
    posterior,
    tell_vote,
)
from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value

PARAMETERS: Mapping[str, Parameter] = {
    "voters": Parameter(5, 1, 8, "voters in a team, n", whole=True),
    "prior": Parameter(0.5, 0.01, 0.99, "chance that A is right"),
    "copying": Parameter(0.0, 0.0, 1.0, "chance that a voter repeats the one before it"),
    "abstain": Parameter(0.6, 0.0, 1.0, "what abstaining pays, where a right answer pays 1"),
    "instances": Parameter(8, 1, 64, "teams that an episode is drawn from", whole=True),
    "seed": Parameter(0, 0, 2**31 - 1, "what the teams are drawn from", whole=True),
}
A, B, ABSTAIN = 0, 1, 2


class Seat(NamedTuple):
    """A state: a team and its votes."""

    competences: tuple[float, ...]
    ballot: Ballot
    belief: Floats
    """[2] chance of A and B."""
    chance: float
    """That an episode is this one."""


def weighted_vote(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E4a with copies and abstention. A policy sees [each vote, log-odds of each voter, their product, prior, copying].

    Votes are +1 for A and −1 for B; log-odds are over 3.

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for an answer.
    """
    return weighted_vote_of(drawn_teams(settings), settings=settings, grade=grade)


def weighted_vote_of(
    teams: tuple[tuple[float, ...], ...], *, settings: Mapping[str, float], grade: Grade = "outcome"
) -> TableEnv:
    """The environment of given teams, each equally likely: competences of every voter, in (0, 1)."""
    prior = np.array([settings["prior"], 1 - settings["prior"]])
    seats = [
        Seat(team, ballot, posterior(ballot, prior), float(ballot.likelihoods @ prior) / len(teams))
        for team in teams
        for ballot in copied_ballots(team, settings["copying"])
        if ballot.likelihoods @ prior > 0
    ]
    return TableEnv(
        name="weighted-vote",
        settings=settings,
        actions=("A", "B", "abstain"),
        decides=("O4",) * 3,
        process=process_of(_moves(seats, settings["abstain"]), states=len(seats), actions=3),
        starts=np.array([seat.chance for seat in seats]),
        seen=np.array([_seen(seat, settings) for seat in seats]),
        named=lambda state: f"seat {state}: {_said(seats[state])}",
        told=lambda state: _told(seats[state], settings),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Which is right, A or B?",
            tell=lambda story, move: _tell(story, move, seats[move.state]),
        ),
        compare=lambda env: _compared(env, seats, prior),
        grade=grade,
    )  # fmt: skip


def drawn_teams(settings: Mapping[str, float]) -> tuple[tuple[float, ...], ...]:
    """The teams: competences uniform on [0.55, 0.9]."""
    rng, n = np.random.default_rng(int(settings["seed"])), int(settings["voters"])
    return tuple(tuple(rng.uniform(0.55, 0.9, n).tolist()) for _ in range(int(settings["instances"])))


def copied_ballots(team: tuple[float, ...], copying: float) -> list[Ballot]:
    """Every pattern of votes, when each voter after the first repeats the one before it with this chance."""
    found = []
    for votes in itertools.product((A, B), repeat=len(team)):
        likelihoods = np.ones(2)
        for truth in (A, B):
            for i, (p, vote) in enumerate(zip(team, votes, strict=True)):
                own = p if vote == truth else 1 - p
                repeats = float(i > 0 and vote == votes[i - 1])
                likelihoods[truth] *= own if not i else copying * repeats + (1 - copying) * own
        found.append(Ballot(votes, likelihoods))
    return found


def _moves(seats: list[Seat], abstain: float) -> list[Moves]:
    found = []
    for state, seat in enumerate(seats):
        found += answers(state, seat.belief)
        found.append(Moves(state, ABSTAIN, [END], [1.0], [abstain]))
    return found


def _seen(seat: Seat, settings: Mapping[str, float]) -> list[float]:
    signs = [1.0 if vote == A else -1.0 for vote in seat.ballot.votes]
    odds = [weight / 3 for weight in log_odds_weights(seat.competences)]
    products = [sign * weight for sign, weight in zip(signs, odds, strict=True)]
    return [*signs, *odds, *products, 2 * settings["prior"] - 1, settings["copying"], settings["abstain"]]


def _compared(env: TableEnv, seats: list[Seat], prior: Floats) -> dict[str, float]:
    bias = float(np.log(prior[A] / prior[B]))

    def independent(seat: Seat) -> int:
        weights = log_odds_weights(seat.competences)
        return heaviest([*seat.ballot.votes, A], [*weights, bias], 2)

    def best_single(seat: Seat) -> int:
        return seat.ballot.votes[int(np.argmax(seat.competences))]

    rules: dict[str, Callable[[Seat], int]] = {
        "majority": lambda seat: plurality(seat.ballot.votes, 2),
        "best-single": best_single,
        "as-if-independent": independent,
        "never-abstains": lambda seat: int(np.argmax(seat.belief)),
    }
    return {name: plan_value(env, np.array([rule(seat) for seat in seats])) for name, rule in rules.items()}


def _said(seat: Seat) -> str:
    pairs = zip(seat.ballot.votes, seat.competences, strict=True)
    return ", ".join(f"{'AB'[vote]} by one right {p:.3f} of the time" for vote, p in pairs)


def _told(seat: Seat, settings: Mapping[str, float]) -> str:
    return (
        f"A or B? A right answer pays 1, abstaining {settings['abstain']:g}. A is right with chance "
        f"{settings['prior']:g} before anyone speaks. Votes, in order: {_said(seat)}. A voter repeats the one before "
        f"it with chance {settings['copying']:g}."
    )


def _tell(story: Story, move: Move, seat: Seat) -> None:
    answer = "no answer" if move.action == ABSTAIN else "AB"[move.action]
    other = "AB"[1 - move.action] if move.action != ABSTAIN else ""
    truth = "" if move.action == ABSTAIN else answer if move.reward > 0 else other
    tell_vote(story, move, votes=["AB"[vote] for vote in seat.ballot.votes], answer=answer, truth=truth)
