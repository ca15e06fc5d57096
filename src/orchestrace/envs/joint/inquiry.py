"""E6, `inquiry`: one episode with all five decisions. Ours; the model is worked out in `inquiry_physics`.

Each round the orchestrator decides whether to go on (O5), which team to have (O1), which jobs to hand out and whether
to work itself (O2), and, once the short reports are in, whether to buy their details (O3). When it stops, it answers by
the log-odds of all that it heard, or abstains (O4). Contexts differ in the kind of the task, how much a report is
worth, and what details and rounds cost; they are shown.

The optimum is exact, by dynamic programming over log-odds in whole units. V_null is the best plan that is fixed before
anything is seen, the context included: how many rounds, one team, jobs spread evenly, details always or never. Larger
teams whose skills are not multiples of a unit are bounded from both sides, see `inquiry_bounds`.
"""

import itertools
from collections.abc import Mapping
from typing import cast

import numpy as np

from orchestrace.envs.joint.inquiry_baselines import fixed_plan, restricted_values
from orchestrace.envs.joint.inquiry_physics import Context, logistic
from orchestrace.envs.joint.inquiry_process import Built, Options, State, built, options
from orchestrace.envs.joint.inquiry_story import tell
from orchestrace.envs.parameters import Parameter
from orchestrace.envs.protocol import Constant, Floats
from orchestrace.envs.story import played
from orchestrace.envs.table_env import Grade, TableEnv
from orchestrace.envs.voting.rules import price_feature
from orchestrace.trace import SubDecision

PARAMETERS: Mapping[str, Parameter] = {
    "contexts": Parameter(8, 1, 16, "contexts: kind of task, then unit, detail price, round price (1, 2, 4, 8, 16)",
                          whole=True),
    "rounds": Parameter(3, 1, 6, "deadline, T", whole=True),
    "most": Parameter(2, 1, 3, "most agents of each kind, N", whole=True),
    "spawn": Parameter(0.02, 0.0, 1.0, "price of an agent"),
    "job": Parameter(0.01, 0.0, 1.0, "price of a job with its short report"),
    "own": Parameter(0.004, 0.0, 1.0, "price of working itself for a round"),
    "abstain": Parameter(0.65, 0.0, 1.0, "what abstaining pays, where a right answer pays 1"),
    "copying": Parameter(0.5, 0.0, 1.0, "chance that a further agent of a kind repeats the first one's source"),
}  # fmt: skip
KINDS, UNITS, DETAIL_PRICES, ROUND_PRICES = (0, 1), (0.75, 0.25), (0.01, 0.04), (0.005, 0.03)
"""What contexts differ in; fewer contexts leave the later ones at their first value."""
LEVELS = ("O5", "O1", "O2", "O3", "O4")


def contexts_of(settings: Mapping[str, float]) -> list[Context]:
    """The contexts, each equally likely: all combinations of the first so many of what they may differ in."""
    varied = int(np.ceil(np.log2(settings["contexts"])))
    factors = [values if i < varied else values[:1] for i, values in
               enumerate((KINDS, UNITS, DETAIL_PRICES, ROUND_PRICES))]  # fmt: skip
    every = [
        Context(
            kind=int(kind), unit=unit, round_price=round_price, detail_price=detail_price,
            rounds=int(settings["rounds"]), most=int(settings["most"]), spawn_price=settings["spawn"],
            job_price=settings["job"], own_price=settings["own"], abstain=settings["abstain"],
            copying=settings["copying"],
        )
        for kind, unit, detail_price, round_price in itertools.product(*factors)
    ]  # fmt: skip
    return every[: int(settings["contexts"])]


def inquiry(settings: Mapping[str, float], *, grade: Grade = "outcome") -> TableEnv:
    """E6. A policy sees [level (5), rounds left, team (2), margin, log-odds, report (6), kind, unit, three prices].

    The margin is 2 m − 1, m the chance that the likelier answer is right. Answers +1 and −1 are mirror images, so
    log-odds come without their sign and reports relative to it.

    Args:
      settings: every key of `PARAMETERS`.
      grade: what `step` pays for an answer.
    """
    contexts = contexts_of(settings)
    made, choices = built(contexts), options(int(settings["most"]))
    names = _action_names(choices)
    jobs = (len(names) - 4) - 2 - len(choices.teams)
    decides = ("O5", "O5", *["O1"] * len(choices.teams), *["O2"] * jobs, "O3", "O3", "O4", "O4")
    return TableEnv(
        name="inquiry",
        settings=settings,
        actions=names,
        decides=cast("tuple[SubDecision, ...]", decides),
        process=made.process,
        starts=made.starts,
        seen=_features(made, contexts),
        named=lambda state: _name(made.states[state]),
        told=lambda state: _told(made.states[state], contexts[made.states[state].context]),
        play=lambda env, policy, rng, trace_id: played(
            env, policy, rng=rng, trace_id=trace_id, task="Is it +1 or -1?",
            tell=lambda story, move: tell(story, move, states=made.states, choices=choices),
        ),
        compare=lambda env: restricted_values(env, made.states, choices),
        grade=grade,
        blind=lambda _: Constant(*fixed_plan(contexts)),
    )  # fmt: skip


def _action_names(choices: Options) -> tuple[str, ...]:
    teams = (f"have {a}A {b}B" for a, b in choices.teams)
    jobs = (f"ask {ask.a}A {ask.b}B{' and work' if ask.own else ''}" for ask in choices.asks)
    return ("stop", "go", *teams, *jobs, "keep", "detail", "answer", "abstain")


def _features(made: Built, contexts: list[Context]) -> Floats:
    most, rounds = contexts[0].most, contexts[0].rounds
    columns = [_columns(state, contexts[state.context]) for state in made.states]
    table = np.array(columns)
    table[:, 5] = (rounds - table[:, 5]) / rounds
    table[:, 6:8] /= most
    return table


def _columns(state: State, context: Context) -> tuple[float, ...]:
    report, gains = state.report, context.agent_weights
    signed, sources = [0.0, 0.0, 0.0], (0, 0)
    if report is not None:
        sources = (report.sources_a, report.sources_b)
        signed = [2.0 * report.up_a - report.sources_a, 2.0 * report.up_b - report.sources_b, float(report.own)]
    shift = signed[0] * gains[0] + signed[1] * gains[1] + signed[2] * context.weights[2]
    sign = np.sign(state.x) or np.sign(shift) or np.sign(signed[0] or signed[1] or signed[2]) or 1.0
    odds = context.unit * state.x * sign
    after = context.unit * (state.x + shift) * sign
    return (
        *(float(state.level == level) for level in LEVELS),
        state.round, *state.team,
        2 * float(logistic(abs(odds))) - 1, odds / 4, after / 4,
        *(part * sign / 2 for part in signed), *(n / 2 for n in sources),
        context.kind, context.unit, price_feature(context.round_price), price_feature(context.detail_price),
        context.abstain,
    )  # fmt: skip


def _name(state: State) -> str:
    said = f"context {state.context}, round {state.round}, {state.level}, team {state.team[0]}A {state.team[1]}B, "
    said += f"log-odds {state.x:+d}"
    if state.report is not None:
        r = state.report
        said += f", heard A {r.up_a} of {r.sources_a}, B {r.up_b} of {r.sources_b}, own {r.own:+d}"
    return said


def _told(state: State, context: Context) -> str:
    kinds = "AB"
    asked = {
        "O5": "Stop, or go on for another round?",
        "O1": "Which team do you want to have?",
        "O2": "Which jobs do you hand out, and do you work yourself?",
        "O3": "Keep the short reports, or buy their details?",
        "O4": "Answer, or abstain?",
    }[state.level]
    heard = ""
    if state.report is not None:
        r = state.report
        heard = (
            f" This round {r.up_a} of {r.sources_a} sources of kind A and {r.up_b} of {r.sources_b} of kind B say +1"
        )
        heard += f", you yourself {r.own:+d}." if r.own else "."
    strong, weak, own = context.weights
    return (
        f"The answer is +1 or -1; a right answer pays 1, abstaining {context.abstain:g}. The task is of kind "
        f"{kinds[context.kind]}: agents of that kind are worth {strong} units, others {weak}, you {own}; a unit is "
        f"{context.unit:g} of log-odds.\n"
        f"Prices: a round {context.round_price:g}, an agent {context.spawn_price:g}, a job {context.job_price:g}, "
        f"your own work {context.own_price:g}, the details of a source {context.detail_price:g}. An agent may repeat "
        f"the source of another of its kind with chance {context.copying:g}.\n"
        f"Rounds left: {context.rounds - state.round}. Team: {state.team[0]} of kind A, {state.team[1]} of kind B. "
        f"Log-odds of +1 so far: {state.x:+d} units.{heard} {asked}"
    )
