"""`orchestrace train`: learn to orchestrate, and say how close to the optimum it came."""

import json
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from orchestrace.cli.draw.learning import draw_training, fail_on_alarm
from orchestrace.cli.files import GivenPath, write
from orchestrace.cli.progress import training_progress
from orchestrace.cli.screen import show_json, warn
from orchestrace.errors import InputError
from orchestrace.training import Recipe, begun_with, load

PAGE, PICTURE = "run.html", "curve.png"


@click.command()
@click.argument("recipe", required=False, type=GivenPath())
@click.option("--set", "overrides", multiple=True, metavar="K=V", help="Override a key: --set ppo.clip=0.1.")
@click.option("--out", type=GivenPath(), metavar="DIR", help="The run's folder.  [default: runs/NAME-N]")
@click.option("--resume", type=GivenPath(), metavar="DIR", help="Go on with the run in DIR; its recipe lies there too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def train(
    *, recipe: Path | None, overrides: tuple[str, ...], out: Path | None, resume: Path | None, as_json: bool
) -> None:
    """Train by RECIPE.toml. Ctrl-C keeps what was done; train --resume DIR goes on to the same bytes.

    Exit code 1 where the policy is worth more than the optimum: then the environment is wrong.
    """
    if out is not None and resume is not None and out != resume:
        raise click.UsageError("--out and --resume name two folders; a resumed run stays in its own")
    if recipe is not None:
        wanted, folder = load(recipe, overrides), resume or out or _fresh(recipe.stem)
    elif resume is not None:
        wanted, folder = begun_with(resume, overrides), resume
    else:
        raise click.UsageError("give a recipe, or --resume DIR")
    document = _trained(wanted, folder, resume=resume is not None)
    if as_json:
        show_json(document)
    else:
        draw_training(document)
    fail_on_alarm(document)


def _trained(recipe: Recipe, folder: Path, *, resume: bool) -> dict[str, Any]:
    """Train, or go on; the JSON contract of the result."""
    from orchestrace.training.loop import Progress
    from orchestrace.training.loop import train as trained

    updates = 0

    with training_progress(recipe.updates) as advance:

        def note(at: Progress) -> None:
            nonlocal updates
            updates += 1
            advance(at.update, at.gap_closed)

        result = trained(recipe, folder, clock=time.monotonic, resume=resume, progress=note)
    if not updates:
        warn(f"{folder} had made all of its {recipe.updates:,} updates: it was judged again, and nothing was trained")
    document: dict[str, Any] = msgspec.to_builtins(result)
    _picture(document, folder)
    return document


def _picture(document: dict[str, Any], folder: Path) -> None:
    """The curve as a PNG and the run as a page, beside its other files."""
    from orchestrace.viewer import curve_of, curve_png, run_page

    rows = [json.loads(line) for line in (folder / "curve.jsonl").read_text("utf-8").splitlines()]
    write(folder / PAGE, run_page(document, rows).encode())
    try:
        write(folder / PICTURE, curve_png(curve_of(document, rows)))
    except InputError as error:
        warn(f"no {PICTURE}: {error}")


def _fresh(name: str) -> Path:
    """The first free `runs/<name>-<n>`."""
    number = 1
    while (folder := Path("runs", f"{name}-{number}")).exists():
        number += 1
    return folder
