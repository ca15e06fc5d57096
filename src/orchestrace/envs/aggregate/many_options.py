"""E4b, `many-options`: one of K answers, from voters of different competence.

Voter i names the right option with chance pᵢ and else a wrong one, evenly. The optimum weighs votes by

    wᵢ = log((K − 1) pᵢ / (1 − pᵢ))

which plurality does not: a few good voters may outweigh many poor ones. The competences are those of `seed`, or with
seed 0 the team (.7, .5, .5, .4, .4), for which V* is .73633 and plurality .67733 at K = 4.
"""

import itertools
from collections.abc import Mapping

import numpy as np

from orchestrace.envs.aggregate.votes import (
    answers,
    heaviest,
    independent_ballots,
    log_odds_weights,
    plurality,
    posterior,
    tell_vote,
)
from orchestrace.envs.dynamic_programming import process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.trace import SubDecision

DECIDES: SubDecision = "O4"
PARAMETERS: Mapping[str, Parameter] = {
    "options": Parameter(4, 2, 6, "answers, K", whole=True),
    "voters": Parameter(5, 1, 6, "voters, n", whole=True),
    "seed": Parameter(0, 0, 2**31 - 1, "what the competences are drawn from; 0: the team of the module", whole=True),
}
KNOWN = (0.7, 0.5, 0.5, 0.4, 0.4, 0.35)


def many_options(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E4b. A policy sees, for each voter and option, that voter's weight / 3 where it names the option, and else 0.

    Of an option it sees [its weight / 3, its votes / n].

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for an answer.
    """
    K, team = int(settings["options"]), competences(settings)
    ballots, weights, even = independent_ballots(team, K), log_odds_weights(team, K), np.full(K, 1 / K)
    named = np.array([[[vote == k for k in range(K)] for vote in ballot.votes] for ballot in ballots], dtype=np.float64)
    heavy = named * (np.array(weights) / 3)[None, :, None]
    moves = itertools.chain.from_iterable(answers(s, posterior(b, even)) for s, b in enumerate(ballots))
    said = [", ".join(str(vote + 1) for vote in ballot.votes) for ballot in ballots]
    return TableEnv(
        name="many-options",
        settings=settings,
        actions=tuple(f"answer {k + 1}" for k in range(K)),
        decides=(DECIDES,) * K,
        process=process_of(moves, states=len(ballots), actions=K),
        starts=np.array([ballot.likelihoods.mean() for ballot in ballots]),
        seen=heavy.reshape(len(ballots), -1),
        options_seen=np.stack([heavy.sum(axis=1), named.mean(axis=1)], axis=2),
        named=lambda state: f"votes {said[state]}",
        told=lambda state: (
            f"Which of {K} answers is right? Votes, in order: {said[state]}. The voters are right with chance "
            f"{', '.join(f'{p:.3f}' for p in team)}; a wrong one names any other answer."
        ),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Which answer is right?",
            tell=lambda story, move: _tell(story, move, ballots[move.state].votes),
        ),
        compare=lambda env: {
            "plurality": plan_value(env, np.array([plurality(b.votes, K) for b in ballots])),
            "weighted": plan_value(env, np.array([heaviest(b.votes, weights, K) for b in ballots])),
            "best-single": plan_value(env, np.array([b.votes[int(np.argmax(team))] for b in ballots])),
        },
        grade=grade,
    )  # fmt: skip


def competences(settings: Mapping[str, float]) -> tuple[float, ...]:
    """[n] of the voters: uniform on [1.2 / K, 0.8], or the known team."""
    n, K = int(settings["voters"]), settings["options"]
    if not settings["seed"]:
        return KNOWN[:n]
    return tuple(np.random.default_rng(int(settings["seed"])).uniform(1.2 / K, 0.8, n).tolist())


def _tell(story: Story, move: Move, votes: tuple[int, ...]) -> None:
    answer = str(move.action + 1)
    truth = answer if move.reward > 0 else "another"
    tell_vote(story, move, votes=[str(vote + 1) for vote in votes], answer=answer, truth=truth)
