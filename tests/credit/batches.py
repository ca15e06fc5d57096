"""Batches of rollouts, and every published advantage that compares rows, each fed with what it needs of a batch.

What a method needs beyond the columns is read off them (lengths, steps, marginals), so that it follows the rows
wherever a law moves them.
"""

from dataclasses import fields
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from orchestrace.credit.columns import Rows, rows
from orchestrace.credit.methods import agents, orchestrators, outcome, roles

KEYS = tuple(f.name for f in fields(Rows) if f.name != "rewards")


@st.composite
def batches(draw):
    """Rollouts of tasks with one reward each. The first row of each is the planner's, the others' parent."""
    table, parents = [], []
    for task in range(draw(st.integers(1, 3))):
        for rollout in range(draw(st.integers(1, 4))):
            reward = draw(st.integers(-20, 20)) / 4
            first = len(table)
            for turn, agent in enumerate([0, *draw(st.lists(st.integers(1, 2), max_size=2))]):
                context = draw(st.integers(0, 2))
                table.append((reward, task, 10 * task + rollout, agent, agent % 2, turn, context))
                parents.append(-1 if turn == 0 else first)
    reward, *columns = map(np.array, zip(*table, strict=True))
    given = rows(reward, **dict(zip(KEYS, [*columns, np.array(parents)], strict=True)))
    return at(given, np.array(draw(st.permutations(range(len(table))))))


def keys_of(given):
    return {name: getattr(given, name) for name in KEYS}


def at(given, index, **changed):
    """Rows in another order, some perhaps twice; parents go along. A row that stands twice is the parent once."""
    place = {int(row): new for new, row in reversed(list(enumerate(index)))}
    keys = {name: column[index] for name, column in keys_of(given).items()}
    keys["parent"] = np.array([place.get(int(p), -1) for p in keys["parent"]], np.int64)
    return rows(given.rewards[index], **{**keys, **changed})


def moved(given, shift=0.0, factor=1.0):
    return rows(given.rewards * factor + shift, **keys_of(given))


def lengths(given):
    return 1 + given.context % 3


def of_step(given):
    """A number for each step of a rollout."""
    return (7 * given.turn % 4).astype(float)


def graded(given):
    """Rewards in [0, 1], in the same order."""
    return rows(1 / (1 + np.exp(-np.clip(given.rewards, -30, 30))), **keys_of(given))


class Preset(NamedTuple):
    """A method on a batch, and which laws it obeys."""

    of: object
    key: tuple[str, ...] | None = ("task",)
    """Within groups of these columns its advantages sum to zero; None: they need not."""
    votes: str = "rollout"
    """Who counts once in that sum: rollout, row, or root (the planner's rows)."""
    shift: bool = True
    """A constant on all rewards changes nothing."""
    scale: bool = False
    """Nor does a factor."""


def _sharp(given, method, weight):
    marginals, tools = lengths(given) / 4, (given.context % 2).astype(float)
    return method(given, marginals, tools=tools, weights=(weight, weight / 2))


PRESETS = {
    "grpo": Preset(outcome.grpo, scale=True),
    "dr_grpo": Preset(outcome.dr_grpo),
    "dapo": Preset(outcome.dapo, scale=True),
    "gspo": Preset(outcome.gspo, scale=True),
    "rloo": Preset(outcome.rloo),
    "lite_ppo": Preset(outcome.lite_ppo, scale=True),
    "reinforce_pp_baseline": Preset(outcome.reinforce_pp_baseline, scale=True),
    "opo": Preset(lambda given: outcome.opo(given, lengths(given)), key=None),
    "pass_at_k": Preset(outcome.pass_at_k, key=None),
    "agent_lightning": Preset(outcome.agent_lightning, scale=True),
    "gigpo": Preset(lambda given: outcome.gigpo(given, of_step(given), discount=0.9), key=None),
    "gigpo, w = 0": Preset(lambda given: outcome.gigpo(given, of_step(given), discount=0.9, weight=0.0)),
    "dr_mas": Preset(agents.dr_mas, key=("task", "agent"), votes="row", scale=True),
    "dr_mas, rollouts": Preset(
        lambda given: agents.dr_mas(given, weighting="rollout"), key=("task", "agent"), scale=True
    ),
    "magrpo": Preset(agents.magrpo, key=("task", "context", "agent")),
    "sharp_loo": Preset(lambda given: _sharp(given, agents.sharp_loo, 0.5), key=("task", "agent")),
    "sharp_shapley": Preset(lambda given: _sharp(given, agents.sharp_shapley, 0.5), key=("task", "agent")),
    "soft_rank_po": Preset(agents.soft_rank_po),
    "matpo": Preset(roles.matpo, votes="root", scale=True),
    "rema": Preset(roles.rema, key=("task", "role"), scale=True),
    "marshal": Preset(roles.marshal, key=("task", "role"), votes="row", shift=False),
    "mars_rl": Preset(roles.mars_rl, key=("task", "role", "context"), votes="row", scale=True),
    "kimi_parl": Preset(orchestrators.kimi_parl, votes="root"),
    "open_parl": Preset(
        lambda given: orchestrators.open_parl(given, final=given.context == 2), key=None, votes="row", scale=True
    ),
    "wideseek_r1": Preset(orchestrators.wideseek_r1, scale=True),
    "fold_grpo": Preset(
        lambda given: orchestrators.fold_grpo(graded(given), -0.2 * (given.context % 2)), key=None, shift=False
    ),
}
"""Those that remember (SPIRAL), draw lots (M-GRPO) or take other tables (MAGRPO cross, CCPO) have their own tests."""

ONE_VOTE = [name for name, preset in PRESETS.items() if preset.votes != "row" and name not in ("opo", "gigpo")]
"""Where a rollout has one vote however many rows it has. OPO weighs by length, GiGPO's states count each meeting."""
