"""The progress bar of a training run, with the gap closed so far."""

import contextlib
from collections.abc import Callable, Iterator, Mapping

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from orchestrace.cli.screen import notes


@contextlib.contextmanager
def training_bar(updates: int) -> Iterator[Callable[[int, Mapping[str, float | None]], None]]:
    """A bar on stderr; call what it yields with the update made and the gap closed by setting."""
    console = notes()
    columns = (
        TextColumn("training"),
        BarColumn(bar_width=24 if console.width >= 100 else 8),
        MofNCompleteColumn(),
        TextColumn("gap closed {task.fields[gap]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("training", total=updates, gap="–", rate="–/s")

        def advance(update: int, gaps: Mapping[str, float | None]) -> None:
            known = [gap for gap in gaps.values() if gap is not None]
            shown = " ".join(f"{gap:.3f}" for gap in known[:4]) or "–"
            speed = progress.tasks[task].speed
            rate = "–/s" if speed is None else f"{speed:.1f}/s"
            progress.update(task, completed=update, gap=shown + (" …" if len(known) > 4 else ""), rate=rate)

        yield advance
