"""E5a, `pandora`: attempts of known prospects, each at a price; which to order next, and when is the best good enough?

A box is a sub-agent's attempt (`boxes` has what it holds). Opening box i costs cᵢ and shows its value; `stop` pays the
best value seen, or 0 where none is better. State: the instance, which boxes are open, and the best value so far.

    V(open, best) = max { best,  maxᵢ closed −cᵢ + E V(open ∪ {i}, max(best, vᵢ)) }

The optimum is an index rule (Weitzman 1979): open the closed box of the highest reservation value σ while σ > best.

    V* = E[max(0, maxᵢ min(vᵢ, σᵢ))],     E[(vᵢ − σᵢ)⁺] = cᵢ

One setting is one random instance, drawn from `seed`. With `instances` m > 1 an episode starts in one of m instances
with equal chance, each with 1 to n boxes, and the policy sees which boxes there are.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from orchestrace.envs.dynamic_programming import Process, dense_process
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Bools, Floats, Ints
from orchestrace.envs.stop.boxes import Box, best_fixed_set, drawn_boxes, gain, reservation_value
from orchestrace.envs.story import Move, Story, Teller, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.errors import RecipeError
from orchestrace.trace import SubDecision

MOST_VALUES = 4
"""Columns of features that a box's values take, whatever the setting."""
MOST_STATES = 200_000
PARAMETERS: Mapping[str, Parameter] = {
    "boxes": Parameter(4, 1, 10, "most boxes of an instance, n", whole=True),
    "values": Parameter(3, 2, MOST_VALUES, "values a box may hold, M", whole=True),
    "instances": Parameter(1, 1, 200, "random instances, m; an episode is of one of them", whole=True),
    "seed": Parameter(0, 0, 2**31 - 1, "draws the instances", whole=True),
}
STOP = 0


class _Situations(NamedTuple):
    """The states of one or several instances, ordered by instance, then by the number of open boxes."""

    instance: Ints
    """[S]"""
    closed: Bools
    """[S, n] boxes that can be opened; False where an instance has no such box."""
    best: Floats
    """[S] best value so far, at least 0."""


def pandora(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E5a. What a policy sees does not depend on the number of boxes, so that it transfers to more of them.

    Of a state: [best b, log(1 + closed boxes), largest one-step gain and largest value above b over the closed boxes].
    Of an action: [opens a box, b, then of its box: 5c, mean − b, gain E[(v − b)⁺] − c, P(v > b), MOST_VALUES times
    v − b, MOST_VALUES times the chance of v (both from the highest value, zeros where there is none); then of the
    other closed boxes: log(1 + how many), largest gain, largest v − b, largest mean − b, zeros where there are none].
    For `stop` all closed boxes are others. The rows of illegal actions are zero.

    Args:
      settings: every key of `PARAMETERS`.
      grade: changes nothing here, since only values are paid.

    Raises:
      RecipeError: the instances have more than `MOST_STATES` states together.
    """
    rng, n, m = np.random.default_rng(int(settings["seed"])), int(settings["boxes"]), int(settings["instances"])
    counts = rng.integers(1, n + 1, m) if m > 1 else [n]
    instances = [drawn_boxes(int(count), int(settings["values"]), rng=rng) for count in counts]
    return pandora_of(instances, settings=settings, most=n, grade=grade)


def pandora_of(
    instances: Sequence[Sequence[Box]], *, settings: Mapping[str, float], most: int, grade: Grade = "outcome"
) -> TableEnv:
    """The environment over instances that are given; `most` is the number of actions that open a box.

    Raises:
      RecipeError: the instances have more than `MOST_STATES` states together.
    """
    tables = [_table(boxes, most) for boxes in instances]
    offsets = np.cumsum([0, *(len(table.best) for table in tables)])
    if offsets[-1] > MOST_STATES:
        raise RecipeError(
            f"{len(instances)} instances of up to {most} boxes have {offsets[-1]} states, above {MOST_STATES}",
            place="instances",
            remedy="fewer instances or boxes",
        )
    places = _situations(tables)
    starts = np.zeros(len(places.best))
    starts[offsets[:-1]] = 1 / len(instances)
    digits = _digits(places.best)
    actions = ("stop", *(f"open {i + 1}" for i in range(most)))
    return TableEnv(
        name="pandora",
        settings=settings,
        actions=actions,
        decides=cast("tuple[SubDecision, ...]", ("O5", *("O2" for _ in range(most)))),
        process=_process(tables, offsets, places),
        starts=starts,
        seen=_features(instances, places),
        options_seen=_option_features(instances, places),
        named=lambda state: _name(places, state, digits),
        told=lambda state: _told(instances, places, state),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Find the best result that you can.",
            tell=_teller(instances, places),
        ),
        compare=lambda env: _compared(env, instances, places),
        grade=grade,
        spawns=(0, *(1 for _ in range(most))),
    )  # fmt: skip


def index_plan(instances: Sequence[Sequence[Box]], *, most: int) -> Ints:
    """[S] Weitzman's rule in `pandora_of` those instances: open the closed box of the highest σ while σ > best."""
    places = _situations([_table(boxes, most) for boxes in instances])
    return _highest_first(instances, places, lambda box, best: np.full(len(best), reservation_value(box)) - best)


class _Table(NamedTuple):
    """One instance: its states, and where each outcome of each box leads."""

    closed: Bools
    """[S, n]"""
    best: Floats
    """[S]"""
    targets: Ints
    """[S, n, M] states reached; what stands at open boxes is not read."""
    boxes: Sequence[Box]


def _table(boxes: Sequence[Box], most: int) -> _Table:
    """States are (mask of open boxes, rank of the best value): those ranks that the open boxes can have made best."""
    grid = np.unique(np.concatenate([np.zeros(1), *(np.maximum(box.values, 0.0) for box in boxes)]))
    masks = np.arange(1 << len(boxes))
    opened = (masks[:, None] >> np.arange(len(boxes)) & 1).astype(np.bool_)
    held = np.array([np.isin(grid, np.maximum(box.values, 0.0)) for box in boxes])
    least = np.array([max(box.values[0], 0.0) for box in boxes])
    floor = np.max(np.where(opened, least, 0.0), axis=1)
    possible = opened.astype(np.int64) @ held > 0
    possible[0, 0] = True
    mask, rank = np.nonzero(possible & (grid >= floor[:, None]))
    order = np.lexsort((rank, mask, opened[mask].sum(axis=1)))
    mask, rank = mask[order], rank[order]
    number = np.full(possible.shape, -1)
    number[mask, rank] = np.arange(len(mask))
    targets = np.full((len(mask), most, max(len(box.values) for box in boxes)), END)
    for i, box in enumerate(boxes):
        found = np.searchsorted(grid, np.maximum(box.values, 0.0))
        targets[:, i, : len(found)] = number[(mask | 1 << i)[:, None], np.maximum(rank[:, None], found)]
    closed = np.zeros((len(mask), most), dtype=np.bool_)
    closed[:, : len(boxes)] = ~opened[mask]
    return _Table(closed, grid[rank], targets, boxes)


def _situations(tables: Sequence[_Table]) -> _Situations:
    return _Situations(
        np.repeat(np.arange(len(tables)), [len(table.best) for table in tables]),
        np.concatenate([table.closed for table in tables]),
        np.concatenate([table.best for table in tables]),
    )


def _process(tables: Sequence[_Table], offsets: Ints, places: _Situations) -> Process:
    S, n = places.closed.shape
    width = max(table.targets.shape[2] for table in tables)
    targets, chances = np.full((S, 1 + n, width), END), np.zeros((S, 1 + n, width))
    rewards = np.zeros((S, 1 + n))
    chances[:, STOP, 0], rewards[:, STOP] = 1.0, places.best
    for table, start, end in zip(tables, offsets[:-1], offsets[1:], strict=True):
        M = table.targets.shape[2]
        targets[start:end, 1:, :M] = np.where(table.targets == END, END, table.targets + start)
        for i, box in enumerate(table.boxes):
            chances[start:end, 1 + i, : len(box.chances)] = box.chances
            rewards[start:end, 1 + i] = -box.cost
    legal = np.column_stack([np.ones(S, dtype=np.bool_), places.closed])
    return dense_process(targets, chances, rewards=rewards, legal=legal)


def _seen_boxes(instances: Sequence[Sequence[Box]], places: _Situations) -> Floats:
    """[S, n, 4 + 2 MOST_VALUES] what is seen of each closed box, as in `pandora`; zeros elsewhere."""
    seen = np.zeros((*places.closed.shape, 4 + 2 * MOST_VALUES))
    for number, boxes in enumerate(instances):
        here = np.flatnonzero(places.instance == number)
        best = places.best[here]
        for i, box in enumerate(boxes):
            M = len(box.values)
            above = box.values[::-1] - best[:, None]
            seen[here, i, :4] = np.column_stack(
                [np.full(len(here), 5 * box.cost), box.mean - best, gain(box, best), (above > 0) @ box.chances[::-1]]
            )
            seen[here, i, 4 : 4 + M] = above
            seen[here, i, 4 + MOST_VALUES : 4 + MOST_VALUES + M] = box.chances[::-1]
    return seen * places.closed[:, :, None]


def _features(instances: Sequence[Sequence[Box]], places: _Situations) -> Floats:
    boxes = _seen_boxes(instances, places)
    return np.column_stack([places.best, _summary(boxes, places.closed)[:, :3]])


def _summary(boxes: Floats, closed: Bools) -> Floats:
    """[S, 4] of the closed boxes: log(1 + how many), largest gain, largest v − b, largest mean − b."""
    columns = [2, 4, 1]
    largest = np.max(np.where(closed[:, :, None], boxes[:, :, columns], -np.inf), axis=1, initial=-np.inf)
    return np.column_stack([np.log1p(closed.sum(axis=1)), np.where(np.isfinite(largest), largest, 0.0)])


def _option_features(instances: Sequence[Sequence[Box]], places: _Situations) -> Floats:
    boxes = _seen_boxes(instances, places)
    S, n = places.closed.shape
    own = boxes.shape[2]
    seen = np.zeros((S, 1 + n, 2 + own + 4))
    seen[:, STOP, 1], seen[:, STOP, 2 + own :] = places.best, _summary(boxes, places.closed)
    for i in range(n):
        others = places.closed.copy()
        others[:, i] = False
        row = np.column_stack([np.ones(S), places.best, boxes[:, i], _summary(boxes, others)])
        seen[:, 1 + i] = row * places.closed[:, i, None]
    return seen


def _compared(env: TableEnv, instances: Sequence[Sequence[Box]], places: _Situations) -> dict[str, float]:
    everything = np.where(places.closed.any(axis=1), 1 + np.argmax(places.closed, axis=1), STOP)
    by_mean = _highest_first(instances, places, lambda box, best: np.where(gain(box, best) > 0, box.mean, 0.0))
    return {
        "best-fixed-set": float(np.mean([best_fixed_set(boxes) for boxes in instances])),
        "myopic": plan_value(env, _highest_first(instances, places, gain)),
        "by-mean": plan_value(env, by_mean),
        "open-all": plan_value(env, everything),
    }


def _highest_first(
    instances: Sequence[Sequence[Box]], places: _Situations, score: Callable[[Box, Floats], Floats]
) -> Ints:
    """[S] open the closed box of the highest score, given the best so far, while it is positive; else stop."""
    scores = np.full(places.closed.shape, -np.inf)
    for number, boxes in enumerate(instances):
        here = np.flatnonzero(places.instance == number)
        for i, box in enumerate(boxes):
            scores[here, i] = score(box, places.best[here])
    scores = np.where(places.closed, scores, -np.inf)
    plan: Ints = np.where(scores.max(axis=1) > 0, 1 + np.argmax(scores, axis=1), STOP)
    return plan


def _digits(values: Floats) -> int:
    """The fewest significant digits, at least 3, that tell different values apart."""
    different = np.unique(values).tolist()
    return next(digits for digits in range(3, 18) if len({f"{v:.{digits}g}" for v in different}) == len(different))


def _name(places: _Situations, state: int, digits: int) -> str:
    closed = ", ".join(str(i + 1) for i in np.flatnonzero(places.closed[state])) or "none"
    where = f"instance {places.instance[state]}, " if places.instance[-1] else ""
    return f"{where}closed: {closed}; best {places.best[state]:.{digits}g}"


def _told(instances: Sequence[Sequence[Box]], places: _Situations, state: int) -> str:
    boxes = instances[int(places.instance[state])]
    rows = [
        f"Attempt {i + 1} costs {boxes[i].cost:.3f} and returns "
        + ", ".join(f"{v:.3f} with chance {p:.3f}" for v, p in zip(boxes[i].values, boxes[i].chances, strict=True))
        + "."
        for i in np.flatnonzero(places.closed[state]).tolist()
    ]
    return "\n".join(
        [
            "Sub-agents can attempt the task, one after another. When you stop, the best result so far is paid.",
            f"The best result so far is worth {places.best[state]:.3f}.",
            *(rows or ["No attempt is left."]),
        ]
    )


def _teller(instances: Sequence[Sequence[Box]], places: _Situations) -> Teller:
    """Tells one episode: each attempt is an agent that returns a value; at the end they are compared."""
    returned: dict[str, str] = {}

    def tell(story: Story, move: Move) -> None:
        if move.action == STOP:
            best = f"{places.best[move.state]:.3f}"
            if returned:
                story.aggregated(list(returned.values()), best, method="judge")
            story.ended(best, choice=move.choice)
            return
        process = story.env.process
        found = move.outcome - process.first[process.pairs[move.state, move.action]]
        box, name = instances[int(places.instance[move.state])][move.action - 1], f"attempt{move.action}"
        story.spawned(name, role="worker", choice=move.choice)
        story.delegated(name, "Attempt the task.")
        returned.update(story.worked({name: f"{box.values[found]:.3f}"}, seconds=story.drawn_seconds(1)))
        story.costs["agents"] = float(len(returned))

    return tell
