"""`orchestrace eval`: judge a policy that exists, or credit methods on it. Nothing is trained here."""

from pathlib import Path
from typing import Any, NamedTuple

import click
import msgspec

from orchestrace.cli.credit_quality import POLICIES, compared_credit, draw_credit
from orchestrace.cli.draw.learning import draw_training, fail_on_alarm
from orchestrace.cli.env import numbers
from orchestrace.cli.files import GivenPath
from orchestrace.cli.screen import show_json
from orchestrace.envs import Grade, by_name
from orchestrace.errors import InputError


class Asked(NamedTuple):
    """The words of one call."""

    run: Path | None
    policy: str | None
    env_: str | None
    assignments: tuple[str, ...]
    episodes: int | None
    """None: 100,000, or with `credit` 256 a seed."""
    seed: int
    credit: bool
    seeds: int
    grade: Grade
    as_json: bool


@click.command("eval")
@click.argument("run", required=False, type=GivenPath())
@click.option("--policy", metavar="NAME", help="A hand-made policy by name, instead of a run; see env solve.")
@click.option("--env", "env_", metavar="NAME", help="Without RUN: the environment.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="K=V",
    help="A setting of the environment; with RUN in place of the one it was trained in.",
)
@click.option(
    "--episodes", type=click.IntRange(min=2), help="To simulate.  [default: 100000; with --credit 256 a seed]"
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Starts the simulation's dice.")
@click.option("--credit", is_flag=True, help="Judge every credit method against the true advantage of each decision.")
@click.option("--seeds", type=click.IntRange(2, 1_000), default=10, show_default=True, help="With --credit: samples.")
@click.option(
    "--grade",
    type=click.Choice(["outcome", "posterior"]),
    default="outcome",
    show_default=True,
    help="With --credit: what methods are given, the outcome or its mean.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def evaluate(**words: Any) -> None:
    """Judge the policy of RUN, or with --policy a hand-made one, beside the optimum and the baselines.

    With --credit: the credit methods, on episodes of RUN's policy or, with --env, of a `mixed` or `uniform` one.
    Exit code 1 where a policy is worth more than the optimum: then the environment is wrong.
    """
    asked = Asked(**words)
    document = _credit(asked) if asked.credit else _judged(asked)
    if asked.as_json:
        show_json(document)
    elif asked.credit:
        draw_credit(document)
    else:
        draw_training(document)
    fail_on_alarm(document)


def _judged(asked: Asked) -> dict[str, Any]:
    settings = numbers(asked.assignments)
    if (asked.run is None) == (asked.policy is None):
        raise click.UsageError("give the folder of a run, or --policy NAME --env NAME")
    if asked.run is None:
        if asked.env_ is None:
            raise click.UsageError("--policy needs --env NAME")
        return _hand_made(str(asked.policy), asked.env_, settings)
    from orchestrace.training import judged
    from orchestrace.training.loop import trained

    episodes = 100_000 if asked.episodes is None else asked.episodes
    document: dict[str, Any] = msgspec.to_builtins(
        judged(trained(asked.run, settings), episodes=episodes, seed=asked.seed)
    )
    return document


def _credit(asked: Asked) -> dict[str, Any]:
    settings, episodes = numbers(asked.assignments), 256 if asked.episodes is None else asked.episodes
    if (asked.run is None) == (asked.env_ is None):
        raise click.UsageError("give the folder of a run, or --env NAME")
    if asked.run is None:
        name = asked.policy or POLICIES[0]
        if name not in POLICIES:
            remedy = f"known: {', '.join(POLICIES)}"
            raise InputError(f"{name!r} cannot play for --credit", place="--policy", remedy=remedy)
        played = {str(asked.env_): (by_name(str(asked.env_), settings, grade=asked.grade), name)}
        return compared_credit(played, {}, episodes=episodes, seeds=asked.seeds, grade=asked.grade)
    from orchestrace.training import labels
    from orchestrace.training.loop import trained

    run = trained(asked.run, settings, grade=asked.grade)
    names = labels(run.recipe)
    played = {label: (env, f"the policy of {asked.run}") for label, env in zip(names, run.envs, strict=True)}
    tables = dict(zip(names, run.tables, strict=True))
    return compared_credit(played, tables, episodes=episodes, seeds=asked.seeds, grade=asked.grade)


def _hand_made(policy: str, env: str, settings: dict[str, float]) -> dict[str, object]:
    """The exact value of a baseline: nothing to simulate."""
    judged = by_name(env, settings)
    null, best = judged.null(), judged.optimal_value()
    values = {"optimal": best, "null": null.value, **judged.baselines()}
    if policy not in values:
        raise InputError(f"there is no policy {policy!r}", place="--policy", remedy=f"known: {', '.join(values)}")
    value = values[policy]
    gap = (value - null.value) / (best - null.value) if best > null.value else None
    return {
        "env": env, "policy": policy, "algorithm": "none", "updates": 0, "decisions": 0, "episodes": 0,
        "value": value, "value_ci": (value, value), "optimum": best, "null_value": null.value,
        "gap_closed": gap, "gap_closed_ci": (gap, gap), "baselines": dict(judged.baselines()), "seconds": 0.0,
    }  # fmt: skip
