"""`orchestrace credit`: who earned the result."""

from pathlib import Path
from typing import Any, get_args

import click

from orchestrace.annotations import (
    UnitKind,
)

NEEDS = (
    "credit needs a reward (--reward CHANNEL, or --outcome ANSWER) and, for the shares of one team, a value of "
    "coalitions (--value mask, or --value FILE)"
)


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="TRACE...", type=click.Path(path_type=Path))
@click.option("--unit", required=True, type=click.Choice(get_args(UnitKind)), help="Who is credited.")
@click.option(
    "--method",
    required=True,
    metavar="M",
    help="winter, shapley, banzhaf, grpo, rloo...: see docs/reference/credit.md.",
)
@click.option("--reward", metavar="CHANNEL", help="A reward channel that the traces carry.")
@click.option(
    "--outcome", metavar="X", help="The right answer: 1 for a team that gives it, else 0. Or the outcome, a number."
)
@click.option(
    "--value", metavar="mask|FILE", help="What a coalition is worth: votes counted again without the rest, or a table."
)
@click.option(
    "--nobody", type=float, default=0.0, show_default=True, help="With mask: the value of an election without votes."
)
@click.option(
    "--orders",
    type=click.IntRange(min=2),
    default=200,
    show_default=True,
    help="Shuffled orders, where exact is too much.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Starts the shuffling.")
@click.option("--format", "format_", metavar="F", help="Name of the log format, where its content does not decide.")
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write annotations: one JSON document a line, one line a trace.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def credit(
    *,
    paths: tuple[Path, ...],
    unit: UnitKind,
    method: str,
    out: Path | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Who earned the result: shares of one team's reward, or advantages among rollouts of one task.

    Shares (winter, shapley, owen...) need the value of coalitions: what the team earns when only some units are there.
    Advantages (grpo, rloo, dr-mas...) compare traces of one task, and need a reward that each of them carries.
    """
