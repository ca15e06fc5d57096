"""E3d, `what-to-include`: which facts go into a message of limited length.

Facts come one after another, each with a value and a length; what is included must fit into the budget L. This is the
knapsack problem, solved by dynamic programming over (fact, budget left). An episode draws one of `instances` lists,
which is shown; values are shares of what all facts together are worth. V_null is to skip everything.

    V(i, l) = max(V(i + 1, l), vᵢ + V(i + 1, l − lᵢ) if lᵢ ≤ l)
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Floats, Ints
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value

PARAMETERS: Mapping[str, Parameter] = {
    "facts": Parameter(8, 1, 20, "facts in a list", whole=True),
    "budget": Parameter(12, 1, 60, "longest message, L", whole=True),
    "instances": Parameter(16, 1, 64, "lists that an episode is drawn from", whole=True),
    "seed": Parameter(0, 0, 2**31 - 1, "what the lists are drawn from", whole=True),
}
SKIP, INCLUDE = 0, 1
LONGEST = 6


class Facts(NamedTuple):
    """One list of n facts."""

    values: Floats
    """[n] they sum to 1."""
    lengths: Ints
    """[n]"""


def what_to_include(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E3d. A policy sees [value · n / 2, length / 6, density, budget left / L, facts left / n, marginal density].

    The last two tell what is still to come: of the facts left, how many there are, and the density (value per length,
    scaled) of the one that would not fit any more if the densest came first.

    Args:
      settings: every key of `PARAMETERS`.
      grade: changes nothing.
    """
    lists, n, L = drawn_lists(settings), int(settings["facts"]), int(settings["budget"])
    size = n * (L + 1)
    starts = np.zeros(len(lists) * size)
    starts[np.arange(len(lists)) * size + L] = 1 / len(lists)

    def place(state: int) -> tuple[Facts, int, int]:
        which, rest = divmod(state, size)
        i, left = divmod(rest, L + 1)
        return lists[which], i, left

    return TableEnv(
        name="what-to-include",
        settings=settings,
        actions=("skip", "include"),
        decides=("O3", "O3"),
        process=process_of(_moves(lists, n, L), states=len(starts), actions=2),
        starts=starts,
        seen=np.array([_seen(*place(state), n, L) for state in range(len(starts))]),
        named=lambda state: f"list {state // size + 1}, fact {place(state)[1] + 1}, {place(state)[2]} left",
        told=lambda state: _told(*place(state)),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Report what you found.", tell=_tell
        ),
        compare=lambda env: _compared(env, lists, n, L),
        grade=grade,
    )


def drawn_lists(settings: Mapping[str, float]) -> tuple[Facts, ...]:
    """The lists: values from an exponential, lengths 1 to 6."""
    rng, n = np.random.default_rng(int(settings["seed"])), int(settings["facts"])
    found = []
    for _ in range(int(settings["instances"])):
        values = rng.exponential(size=n)
        found.append(Facts(values / values.sum(), rng.integers(1, LONGEST + 1, size=n)))
    return tuple(found)


def fractional_bound(facts: Facts, budget: float) -> float:
    """Dantzig's bound: the value of the best message if the last fact may be cut. No message is worth more."""
    order = np.argsort(-facts.values / facts.lengths, kind="stable")
    left, value = float(budget), 0.0
    for i in order:
        share = min(1.0, left / facts.lengths[i])
        value, left = value + share * facts.values[i], left - share * facts.lengths[i]
    return float(value)


def _moves(lists: tuple[Facts, ...], n: int, L: int) -> Iterator[Moves]:
    for which, facts in enumerate(lists):
        for i in range(n):
            for left in range(L + 1):
                here = (which * n + i) * (L + 1) + left
                last = i == n - 1
                yield Moves(here, SKIP, [END if last else here + L + 1], [1.0], [0.0])
                if facts.lengths[i] <= left:
                    after = here + L + 1 - int(facts.lengths[i])
                    yield Moves(here, INCLUDE, [END if last else after], [1.0], [float(facts.values[i])])


def _seen(facts: Facts, i: int, left: int, n: int, L: int) -> tuple[float, ...]:
    density = facts.values / facts.lengths
    rest = Facts(facts.values[i + 1 :], facts.lengths[i + 1 :])
    order = np.argsort(-rest.values / rest.lengths, kind="stable")
    cut = np.searchsorted(np.cumsum(rest.lengths[order]), left)
    marginal = (rest.values / rest.lengths)[order][cut] if cut < len(order) else 0.0
    scale = n / 2
    return (
        facts.values[i] * scale, facts.lengths[i] / LONGEST, density[i] * scale, left / L, (n - i) / n,
        float(marginal) * scale,
    )  # fmt: skip


def _compared(env: TableEnv, lists: tuple[Facts, ...], n: int, L: int) -> dict[str, float]:
    fits = env.process.legal[:, INCLUDE]
    dense = np.zeros(len(fits), dtype=np.int64)
    for which, facts in enumerate(lists):
        chosen, left = set(), L
        for i in np.argsort(-facts.values / facts.lengths, kind="stable").tolist():
            if facts.lengths[i] <= left:
                chosen.add(i)
                left -= int(facts.lengths[i])
        for i in chosen:
            first = (which * n + i) * (L + 1)
            dense[first : first + L + 1] = INCLUDE
    return {
        "in-order": plan_value(env, np.where(fits, INCLUDE, SKIP)),
        "densest-first": plan_value(env, np.where(fits, dense, SKIP)),
    }


def _told(facts: Facts, i: int, left: int) -> str:
    rest = "; ".join(
        f"value {v:.3f}, length {length}" for v, length in zip(facts.values[i:], facts.lengths[i:], strict=True)
    )
    return f"Your message has room for {left} more. Facts still to be decided on, this one first: {rest}."


def _tell(story: Story, move: Move) -> None:
    story.decided(move.choice)
    if move.action == INCLUDE:
        story.costs["facts"] = story.costs.get("facts", 0.0) + 1
    if move.target == END:
        story.ended("the message")
