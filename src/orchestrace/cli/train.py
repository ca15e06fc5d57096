"""`orchestrace train`: learn to orchestrate, and say how close to the optimum it came."""

import time
from pathlib import Path

import click
import msgspec

from orchestrace.cli.draw.learning import draw_training
from orchestrace.cli.progress import training_bar
from orchestrace.cli.screen import show_json
from orchestrace.training import load


@click.command()
@click.argument("recipe", type=click.Path(path_type=Path))
@click.option("--set", "overrides", multiple=True, metavar="K=V", help="Override a key: --set ppo.clip=0.1.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="The run's folder.  [default: runs/NAME-N]")
@click.option("--resume", type=click.Path(path_type=Path), metavar="DIR", help="Go on with the run in DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def train(*, recipe: Path, overrides: tuple[str, ...], out: Path | None, resume: Path | None, as_json: bool) -> None:
    """Train by RECIPE.toml. Ctrl-C keeps what was done; --resume goes on to the same bytes."""
    if out is not None and resume is not None and out != resume:
        raise click.UsageError("--out and --resume name two folders; a resumed run stays in its own")
    wanted = load(recipe, overrides)
    from orchestrace.training.loop import train as trained

    folder = resume or out or _fresh(recipe.stem)
    with training_bar(wanted.updates) as advance:
        result = trained(
            wanted,
            folder,
            clock=time.monotonic,
            resume=resume is not None,
            progress=lambda at: advance(at.update, at.gap_closed),
        )
    document = msgspec.to_builtins(result)
    if as_json:
        show_json(document)
    else:
        draw_training(document)


def _fresh(name: str) -> Path:
    """The first free `runs/<name>-<n>`."""
    number = 1
    while (folder := Path("runs", f"{name}-{number}")).exists():
        number += 1
    return folder
