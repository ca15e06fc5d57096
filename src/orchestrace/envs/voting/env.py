"""Voting problems as environments."""

from collections.abc import Callable, Mapping

import numpy as np

from orchestrace.envs.protocol import Floats
from orchestrace.envs.table_env import Grade, TableEnv
from orchestrace.envs.voting.rules import Voting
from orchestrace.envs.voting.trace import voting_episode
from orchestrace.trace import SubDecision


def voting_env(
    voting: Voting, seen: Floats, *, compare: Callable[[TableEnv], Mapping[str, float]], grade: Grade
) -> TableEnv:
    """An environment made of a voting problem.

    Its best constant policy is to stop at once, since one that always asks is cut off or is not legal at last.

    Args:
      voting: the problem.
      seen: [S, F] what a policy sees.
      compare: exact values of hand-made policies.
      grade: what `step` pays for an answer.
    """
    starts = np.zeros(len(voting.posterior))
    starts[voting.start] = 1.0
    decides: tuple[SubDecision, ...] = ("O5", *[voting.ask] * (len(voting.actions) - 1))
    return TableEnv(
        name=voting.name,
        settings=voting.settings,
        actions=voting.actions,
        decides=decides,
        process=voting.process,
        starts=starts,
        seen=seen,
        named=lambda state: voting.state_names[state],
        told=voting.described,
        play=lambda _, policy, rng, trace_id: voting_episode(voting, policy, rng=rng, trace_id=trace_id),
        compare=compare,
        grade=grade,
        spawns=voting.sizes,
    )
