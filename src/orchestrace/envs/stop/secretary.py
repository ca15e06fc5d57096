"""E5b, `secretary`: attempts can only be compared, and a declined one is gone; when to take the best so far?

n attempts come in random order; taking one is worth 1 if it is the best of all n, else 0. State: attempts seen, k, and
whether the last is the best of them, a record. The next is a record with chance 1 / (k + 1), whatever came before.

    taking a record pays k / n on average; the optimum lets r − 1 attempts pass and takes the next record

    P(r) = (r − 1) / n · Σₖ₌ᵣⁿ 1 / (k − 1),     P(1) = 1 / n,     r* = argmax P(r)

r* / n and P(r*) go to 1 / e (Lindley 1961). The last attempt has to be taken.
"""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END
from orchestrace.envs.story import Move, Story, Teller, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value

PARAMETERS: Mapping[str, Parameter] = {
    "attempts": Parameter(10, 1, 1000, "attempts that come, n", whole=True),
}
TAKE, WAIT = 0, 1


def secretary(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E5b by ranks. A policy sees [last attempt is a record, share of attempts seen, 1 / n].

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for a taken attempt.
    """
    n = int(settings["attempts"])
    seen, record = np.divmod(np.arange(1, 2 * n), 2)  # state 2 (k - 1) + record, less 1: the first is a record
    seen += 1
    starts = np.zeros(2 * n - 1)
    starts[0] = 1.0
    return TableEnv(
        name="secretary",
        settings=settings,
        actions=("take", "wait"),
        decides=("O5", "O5"),
        process=process_of(_moves(n), states=2 * n - 1, actions=2),
        starts=starts,
        seen=np.column_stack([record, seen / n, np.full(len(seen), 1 / n)]),
        named=lambda state: f"attempt {seen[state]}, {'a record' if record[state] else 'no record'}",
        told=lambda state: (
            f"{n} sub-agents attempt the task in random order. Taking a result pays 1 if it is the best of all {n}; "
            f"one that you decline is lost.\nYou have seen {seen[state]}; the last is "
            f"{'the best of them' if record[state] else 'not the best of them'}."
        ),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Find the best result.", tell=_teller()
        ),
        compare=lambda env: {
            "first-record-after-n/e": first_record(env, skipped=round(n / math.e)),
            "first-record-after-half": first_record(env, skipped=n // 2),
            "first-record": first_record(env, skipped=min(1, n - 1)),
        },
        grade=grade,
        spawns=(0, 1),
    )


def first_record(env: TableEnv, *, skipped: int) -> float:
    """Value of letting so many attempts pass and taking the next record, or the last attempt."""
    state = np.arange(1, len(env.starts) + 1)
    seen, record = state // 2 + 1, state % 2
    takes = (seen > skipped) & (record == 1) | (seen == seen[-1])
    return plan_value(env, np.where(takes, TAKE, WAIT))


def _moves(n: int) -> Iterator[Moves]:
    for state in range(2 * n - 1):
        k, record = (state + 1) // 2 + 1, (state + 1) % 2
        best = k / n if record else 0.0
        yield Moves(state, TAKE, [END, END], [best, 1 - best], [1.0, 0.0])
        if k < n:
            yield Moves(state, WAIT, [2 * k - 1, 2 * k], [k / (k + 1), 1 / (k + 1)], [0.0, 0.0])


def _teller() -> Teller:
    """Tells one episode: each attempt is an agent's return, compared with those before."""
    held: list[str] = []

    def attempt(story: Story, *, record: bool) -> None:
        name = f"attempt{len(held) + 1}"
        story.delegated(name, "Attempt the task.")
        said = "better than all before" if record else "not the best so far"
        held.append(story.worked({name: said}, seconds=story.drawn_seconds(1))[name])

    def tell(story: Story, move: Move) -> None:
        if not held:
            story.spawned("attempt1", role="worker")
            attempt(story, record=True)
        if move.action == WAIT:
            story.spawned(f"attempt{len(held) + 1}", role="worker", choice=move.choice)
            attempt(story, record=move.target % 2 == 0)
            return
        story.aggregated([held[-1]], f"attempt {len(held)}", method="judge")
        story.ended(f"attempt {len(held)}", choice=move.choice, truth="best" if move.reward else "not the best")
        story.costs["agents"] = float(len(held))

    return tell
