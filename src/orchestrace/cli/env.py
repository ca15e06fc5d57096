"""`orchestrace env`: environments with a known optimum."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from orchestrace.cli.files import GivenPath, write
from orchestrace.cli.screen import results, said, show_json, warn
from orchestrace.envs import ENVIRONMENTS, Env, by_name, optimal_policy
from orchestrace.errors import RecipeError
from orchestrace.trace import encode

MOST_RUNS = 24
"""Runs of states with one action that are shown."""
NAMED = 4
"""States of a run that are named."""


@click.group()
def env() -> None:
    """Environments with a known optimum."""


@env.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def list_(*, as_json: bool) -> None:
    """Every environment and its settings."""
    if as_json:
        show_json({name: {"about": entry.about, "parameters": {k: p._asdict() for k, p in entry.parameters.items()}}
                   for name, entry in ENVIRONMENTS.items()})  # fmt: skip
        return
    console = results()
    for name, entry in ENVIRONMENTS.items():
        console.print(Text(name, style="bold").append(f"  {entry.about}", style="dim"))
        for key, parameter in entry.parameters.items():
            limits = f"{parameter.low:g} to {parameter.high:g}"
            console.print(f"    {key} = {parameter.default:g}   {parameter.about} ({limits})")


@env.command()
@click.argument("name")
@click.option("--set", "assignments", multiple=True, metavar="K=V", help="A setting: --set cr=0.05.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def solve(*, name: str, assignments: tuple[str, ...], as_json: bool) -> None:
    """The optimum of environment NAME, its baselines, and what to do in each state."""
    solved = by_name(name, numbers(assignments))
    null = solved.null()
    start = int(np.argmax(solved.starts))
    states = sorted(range(len(solved.features())), key=lambda state: (abs(state - start), -state))
    policy = {solved.state_name(state): solved.actions[solved.optimal_action(state)] for state in states}
    document = {
        "env": name,
        "params": dict(solved.settings),
        "optimum": solved.optimal_value(),
        "null_value": null.value,
        "null_policy": null.action,
        "baselines": dict(solved.baselines()),
        "policy": policy,
    }
    if as_json:
        show_json(document)
    else:
        _draw(solved, policy)


@env.command()
@click.argument("name")
@click.option("--set", "assignments", multiple=True, metavar="K=V", help="A setting: --set cr=0.05.")
@click.option("--policy", type=click.Choice(["optimal", "uniform"]), default="optimal", show_default=True,
              help="Who decides.")  # fmt: skip
@click.option("--episodes", type=click.IntRange(1, 100_000), default=8, show_default=True, help="How many.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Starts the dice.")
@click.option("-o", "--out", required=True, type=GivenPath(), metavar="FOLDER", help="Where to write.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document: {env, params, policy, traces}.")
def play(*, name: str, assignments: tuple[str, ...], policy: str, episodes: int, seed: int, out: Path,
         as_json: bool) -> None:  # fmt: skip
    """Write episodes of environment NAME as traces, for `report` and `credit`: equal seed, equal bytes."""
    played = by_name(name, numbers(assignments))
    table = _policy(played, policy)
    files = []
    for episode in range(episodes):
        rng = np.random.default_rng((seed, episode))
        trace = played.episode(table, rng=rng, trace_id=f"{name}-{policy}-{seed}-{episode:05}")
        files.append(str(write(out / f"{trace.trace_id}.json", encode(trace))))
    if as_json:
        show_json({"env": name, "params": dict(played.settings), "policy": policy, "traces": files})
    else:
        warn(f"wrote {episodes} {'trace' if episodes == 1 else 'traces'} to {out}")


def _policy(played: Env, name: str) -> NDArray[np.float64]:
    """[S, A] probabilities."""
    if name == "optimal":
        return optimal_policy(played)
    legal = played.legal().astype(np.float64)
    spread: NDArray[np.float64] = legal / legal.sum(axis=1, keepdims=True)
    return spread


def numbers(assignments: Sequence[str]) -> dict[str, float]:
    """`cr=0.05` words as numbers by key.

    Raises:
      RecipeError: a word is no assignment of a number.
    """
    found: dict[str, float] = {}
    for word in assignments:
        key, equals, text = word.partition("=")
        value = _number(text) if equals else None
        if not key or value is None:
            raise RecipeError(f"{word!r} sets nothing", place="--set", remedy="write key=number, as in --set cr=0.05")
        found[key.strip()] = value
    return found


def _number(text: str) -> float | None:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return None


def _draw(solved: Env, policy: dict[str, str]) -> None:
    console = results()
    for line in _lines(solved):
        console.print(line)
    console.print(Text("What to do", style="bold underline"))
    runs = [(action, [state for state, _ in run]) for action, run in groupby(policy.items(), key=itemgetter(1))]
    for action, states in runs[:MOST_RUNS]:
        rest = f" and {len(states) - NAMED:,} more" if len(states) > NAMED else ""
        console.print(said(f"  {action:<11} in {', '.join(states[:NAMED])}{rest}"))
    if len(runs) > MOST_RUNS:
        more = sum(len(states) for _, states in runs[MOST_RUNS:])
        console.print(f"  and so on for {more:,} more states; --json lists them all")


def _lines(solved: Env) -> Iterator[Text]:
    best, null = solved.optimal_value(), solved.null()
    settings = ", ".join(f"{key}={value:g}" for key, value in solved.settings.items())
    yield Text(solved.name, style="bold").append(f"  {settings}", style="dim")
    yield Text(f"  {'optimum V*':<32}{best:9.5f}   gap closed 1.000")
    for name, value in sorted(solved.baselines().items(), key=lambda item: -item[1]):
        gap = f"{(value - null.value) / (best - null.value):.3f}" if best > null.value else "none to close"
        yield Text(f"  {name:<32}{value:9.5f}   gap closed {gap}")
    yield Text(f"  {f'best constant ({null.action})':<32}{null.value:9.5f}   gap closed 0.000")
