"""What training came to, as a table: one column a setting, one row a policy."""

from collections.abc import Iterable, Mapping
from typing import Any

import click
from rich import box
from rich.table import Table
from rich.text import Text

from orchestrace.cli.screen import results, said
from orchestrace.viewer import Cell, settings, standings


def draw_training(training: Mapping[str, Any]) -> None:
    """Print the result of `train` or `eval`."""
    console = results()
    for part in training_parts(training, width=console.width):
        console.print(part)


def fail_on_alarm(training: Mapping[str, Any]) -> None:
    """Leave with exit code 1 where a policy is too good to be true: none beats the optimum, so a table is wrong."""
    if training.get("alarm"):
        raise click.exceptions.Exit(1)


def training_parts(training: Mapping[str, Any], *, width: int) -> Iterable[Table | Text]:
    """The table, what the numbers are, and where the run lies. Where it is narrow, the values give way to the gaps."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    columns = settings(training)
    hand_made = training["algorithm"] == "none"
    with_values = width >= 26 + 24 * len(columns)
    table.add_column("Gap closed (value)" if with_values else "Gap closed", no_wrap=True, min_width=20)
    for setting in columns:
        table.add_column(said(setting.replace(",", ", ") or training["env"]), justify="right", no_wrap=True)
    for standing in standings(training):
        style = "bold green" if standing.learned else ""
        name = f"judged: {training['policy']}" if standing.learned and hand_made else standing.name
        table.add_row(said(name, style), *(_cell(cell, style, with_value=with_values) for cell in standing.cells))
    yield table
    yield Text()
    episodes = training.get("episodes")
    if episodes:
        note = f"Simulated: mean of {episodes:,} episodes a setting, with its 95% interval; all else is exact."
        yield Text(note, style="dim")
    for setting, why in training.get("alarm", {}).items():
        yield said(f"Too good to be true, {setting}: {why}", "bold red")
    if training.get("updates"):
        done = f"{training['updates']:,} updates, {training['decisions']:,} decisions"
        if training.get("seconds"):
            done += f", {training['seconds']:.0f} s"
        yield said(done + (f"; the run is in {training['run_dir']}" if training.get("run_dir") else ""), "dim")


def _cell(cell: Cell, style: str, *, with_value: bool) -> Text:
    if cell.value is None:
        return Text("–", style="dim")
    gap = "no gap" if cell.gap_closed is None else f"{cell.gap_closed:.3f}"
    low, high = cell.gap_closed_ci or (0.0, 0.0)
    if low < high:
        gap += f" ±{(high - low) / 2:.3f}"
    shown = Text(gap, style=style)
    return shown.append(f"  ({cell.value:.4f})", style="dim") if with_value else shown
