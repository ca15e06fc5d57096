"""Team games small enough to be solved by hand, as environments."""

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.protocol import END
from orchestrace.envs.story import played
from orchestrace.envs.table_env import TableEnv

MATCHING = ((1.0, 0.0, 0.0), (0.0, 0.6, 0.0), (0.0, 0.0, 0.3))
"""Both do the same; the first is best."""
CLIMBING = ((11.0, -30.0, 0.0), (-30.0, 7.0, 6.0), (0.0, 0.0, 5.0))
"""The climbing game (Claus and Boutilier 1998), in tenths: the best is guarded by penalties."""


def joint(a, b, size):
    return a * size + b


def game(name, moves, *, states, size, terms=None):
    """A game of two agents with `size` options each."""
    seen = np.eye(states)
    return TableEnv(
        name=name,
        settings={},
        actions=tuple(f"one {a}, two {b}" for a in range(size) for b in range(size)),
        decides=("O2",) * size**2,
        process=process_of(moves, states=states, actions=size**2),
        starts=np.eye(states)[0] if terms is None else np.array(terms),
        seen=seen,
        named=lambda s: f"state {s}",
        told=lambda s: f"state {s}",
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Play.", tell=lambda story, move: story.decided(move.choice)
        ),
        compare=lambda env: {},
        factors={"one": tuple(map(str, range(size))), "two": tuple(map(str, range(size)))},
    )


def matrix_game(payoffs, *, scale=1.0):
    size = len(payoffs)
    moves = [
        Moves(0, joint(a, b, size), [END], [1.0], [payoffs[a][b] * scale]) for a in range(size) for b in range(size)
    ]
    return game("matrix", moves, states=1, size=size)


def two_step_game():
    """Rashid et al. 2018: agent one chooses the game; in 2A every joint action pays 7, in 2B the best pays 8."""
    second = {1: ((7, 7), (7, 7)), 2: ((0, 1), (1, 8))}
    moves = [Moves(0, joint(a, b, 2), [1 + a], [1.0], [0.0]) for a in (0, 1) for b in (0, 1)]
    moves += [
        Moves(s, joint(a, b, 2), [END], [1.0], [pays[a][b] / 10])
        for s, pays in second.items()
        for a in (0, 1)
        for b in (0, 1)
    ]
    return game("two-step", moves, states=3, size=2)


def context_game():
    """Two contexts, each with its own best joint action: what is learned must depend on what is seen."""
    best = {0: (0, 1), 1: (2, 2)}

    def pays(s, a, b):
        right = (a == best[s][0], b == best[s][1])
        return float(all(right)) + 0.3 * sum(right)

    moves = [Moves(s, joint(a, b, 3), [END], [1.0], [pays(s, a, b)]) for s in best for a in range(3) for b in range(3)]
    return game("contexts", moves, states=2, size=3, terms=(0.5, 0.5))
