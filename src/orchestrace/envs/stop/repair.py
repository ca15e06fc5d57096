"""E5e, `repair`: a draft may be valid, a repair fixes or breaks it; repair, check, or stop?

State: the context and the belief b that the draft is valid. `stop` submits it: 1 if it is valid, else 0. `repair` costs
c, fixes an invalid draft with chance α and breaks a valid one with chance β. `verify` costs `check` and hears "valid"
or "invalid" from a verifier with false positives (FPR) and false negatives (FNR).

    repair     b' = b (1 − β) + (1 − b) α
    "valid"    b' = b (1 − FNR) / P,         P = b (1 − FNR) + (1 − b) FPR
    "invalid"  b' = b FNR / (1 − P)

Without a verifier and with α + β <= 1 the belief goes to α / (α + β) from one side, gains shrink, and looking one step
ahead is optimal: repair while (1 − b) α − b β > c. How often differs by context (b0, α, β), so no fixed number of
repairs is optimal; with a verifier it depends on what was heard as well.

Horizon: after `rounds` repairs and checks only `stop` is legal. Beliefs that are equal after equally many rounds are
one state, so the tree of histories is not spelled out twice.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from orchestrace.envs.dynamic_programming import Moves, process_of
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import END, Bools, Floats
from orchestrace.envs.story import Move, Story, played
from orchestrace.envs.table_env import Grade, TableEnv, plan_value
from orchestrace.errors import RecipeError

MOST_STATES = 100_000
EQUAL_DECIMALS = 12
"""Beliefs that agree in so many decimals are equal."""
PARAMETERS: Mapping[str, Parameter] = {
    "c": Parameter(0.02, 1e-6, 1.0, "price of a repair"),
    "check": Parameter(0.02, 1e-6, 1.0, "price of a verification"),
    "fpr": Parameter(0.1, 0.0, 0.5, "chance that the verifier calls an invalid draft valid"),
    "fnr": Parameter(0.1, 0.0, 0.5, "chance that the verifier calls a valid draft invalid"),
    "verifier": Parameter(1, 0, 1, "1: there is a verifier; 0: repairs are blind", whole=True),
    "rounds": Parameter(6, 1, 60, "most repairs and verifications in an episode", whole=True),
    "contexts": Parameter(10, 1, 2000, "random contexts (b0, α, β), m; an episode is in one of them", whole=True),
    "seed": Parameter(0, 0, 2**31 - 1, "draws the contexts", whole=True),
}
STOP, REPAIR, VERIFY = 0, 1, 2


class Draft(NamedTuple):
    """One state."""

    context: int
    rounds: int
    """Repairs and verifications so far."""
    belief: float
    """b"""


def repair(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E5e. A policy sees [b, α, β, log(1 + rounds left), 10 c, 10 check, FPR, FNR, there is a verifier].

    Contexts are drawn with b0 ~ U(0.1, 0.9), α ~ U(0.1, 0.6), β ~ U(0, 0.3).

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for a submitted draft.

    Raises:
      RecipeError: there are more than `MOST_STATES` states.
    """
    rng = np.random.default_rng(int(settings["seed"]))
    contexts = rng.uniform([0.1, 0.1, 0.0], [0.9, 0.6, 0.3], (int(settings["contexts"]), 3))
    drafts, moves = _tables(settings, contexts)
    first = np.array([draft.rounds == 0 for draft in drafts])
    return TableEnv(
        name="repair",
        settings=settings,
        actions=("stop", "repair", "verify"),
        decides=("O5", "O5", "O3"),
        process=process_of(moves, states=len(drafts), actions=3),
        starts=first / len(contexts),
        seen=_features(settings, contexts, drafts),
        named=lambda state: _name(drafts[state]),
        told=lambda state: _told(settings, contexts, drafts[state]),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Here is a draft. Make it valid.",
            tell=lambda story, move: _tell(story, move, drafts),
        ),
        compare=lambda env: _compared(env, contexts, drafts),
        grade=grade,
        spawns=(0, 1, 1),
    )  # fmt: skip


def _tables(settings: Mapping[str, float], contexts: Floats) -> tuple[list[Draft], list[Moves]]:
    """States by context, then by rounds, so that every move leads to a higher number."""
    drafts: list[Draft] = []
    moves: list[Moves] = []
    for number in range(len(contexts)):
        layer = {_rounded(contexts[number, 0]): len(drafts)}
        drafts.append(Draft(number, 0, float(contexts[number, 0])))
        for spent in range(int(settings["rounds"]) + 1):
            following: dict[float, int] = {}
            for state in layer.values():
                belief = drafts[state].belief
                moves.append(Moves(state, STOP, [END, END], [belief, 1 - belief], [1.0, 0.0]))
                if spent == settings["rounds"]:
                    continue
                for action, price, heard in _continued(settings, contexts[number], belief):
                    targets = []
                    for _, after in heard:
                        if following.setdefault(_rounded(after), len(drafts)) == len(drafts):
                            drafts.append(Draft(number, spent + 1, after))
                        targets.append(following[_rounded(after)])
                    chances = [chance for chance, _ in heard]
                    moves.append(Moves(state, action, targets, chances, [-price] * len(heard)))
            layer = following
            if len(drafts) > MOST_STATES:
                raise RecipeError(
                    f"there are more than {MOST_STATES} states", place="rounds", remedy="fewer rounds or contexts"
                )
    return drafts, moves


def _rounded(belief: float) -> float:
    return round(float(belief), EQUAL_DECIMALS)


def _continued(
    s: Mapping[str, float], context: Floats, belief: float
) -> Iterator[tuple[int, float, Sequence[tuple[float, float]]]]:
    """Action, price, and what may come of it as (chance, belief); `valid` comes before `invalid`."""
    yield REPAIR, s["c"], [(1.0, repaired(belief, fixes=float(context[1]), breaks=float(context[2])))]
    if s["verifier"]:
        valid = belief * (1 - s["fnr"]), (1 - belief) * s["fpr"]
        invalid = belief * s["fnr"], (1 - belief) * (1 - s["fpr"])  # no 1 − P: it would lose digits where P is near 1
        heard = [(fine + broken, fine) for fine, broken in (valid, invalid)]
        yield VERIFY, s["check"], [(chance, fine / chance) for chance, fine in heard if chance > 0]


def repaired(belief: float, *, fixes: float, breaks: float) -> float:
    """b (1 − β) + (1 − b) α"""
    return belief * (1 - breaks) + (1 - belief) * fixes


def _features(s: Mapping[str, float], contexts: Floats, drafts: Sequence[Draft]) -> Floats:
    context = contexts[[draft.context for draft in drafts]]
    left = s["rounds"] - np.array([draft.rounds for draft in drafts])
    prices = np.tile([10 * s["c"], 10 * s["check"], s["fpr"], s["fnr"], s["verifier"]], (len(drafts), 1))
    return np.column_stack([[draft.belief for draft in drafts], context[:, 1:], np.log1p(left), prices])


def _name(draft: Draft) -> str:
    return f"context {draft.context}, {draft.rounds} rounds, valid with chance {draft.belief:.{EQUAL_DECIMALS}g}"


def _told(s: Mapping[str, float], contexts: Floats, draft: Draft) -> str:
    _, fixes, breaks = contexts[draft.context]
    verifier = (
        f" A verification costs {s['check']:g}; it calls an invalid draft valid with chance {s['fpr']:g} and a valid "
        f"one invalid with chance {s['fnr']:g}."
        if s["verifier"]
        else ""
    )
    return (
        f"The draft is valid with chance {draft.belief:.6g}. A valid draft pays 1 when you stop, an invalid one 0.\n"
        f"A repair costs {s['c']:g}; it fixes an invalid draft with chance {fixes:.3f} and breaks a valid one with "
        f"chance {breaks:.3f}.{verifier} {int(s['rounds']) - draft.rounds} rounds are left."
    )


def _compared(env: TableEnv, contexts: Floats, drafts: Sequence[Draft]) -> dict[str, float]:
    belief, spent = np.array([draft.belief for draft in drafts]), np.array([draft.rounds for draft in drafts])
    _, fixes, breaks = contexts[[draft.context for draft in drafts]].T

    def repairing(where: Bools) -> float:
        return plan_value(env, np.where(where & env.process.legal[:, REPAIR], REPAIR, STOP))

    return {
        "best-fixed-count": max(repairing(spent < count) for count in range(int(env.settings["rounds"]) + 1)),
        "best-threshold": max(repairing(belief < level) for level in np.linspace(0, 1, 51)),
        "myopic-blind": repairing((1 - belief) * fixes - belief * breaks > env.settings["c"]),
    }


def _tell(story: Story, move: Move, drafts: Sequence[Draft]) -> None:
    if move.action == STOP:
        story.ended("the draft", choice=move.choice, truth="valid" if move.reward > 0 else "invalid")
        return
    name, task = ("repairer", "Repair the draft.") if move.action == REPAIR else ("verifier", "Is the draft valid?")
    story.spawned(name, role="worker" if move.action == REPAIR else "verifier", choice=move.choice)
    story.delegated(name, task)
    process = story.env.process
    said = "a repaired draft"
    if move.action == VERIFY:
        first = move.outcome == process.first[process.pairs[move.state, VERIFY]]
        surely_invalid = drafts[move.state].belief == 0 and story.env.settings["fpr"] == 0
        said = "valid" if first and not surely_invalid else "invalid"
    returned = story.worked({name: said}, seconds=story.drawn_seconds(1))
    belief = f"valid with chance {drafts[move.target].belief:.3f}"
    story.aggregated(list(returned.values()), belief, method="judge")
