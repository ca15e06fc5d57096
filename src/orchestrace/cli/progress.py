"""The progress of long work: a bar or a count on a terminal, elsewhere a line now and then."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from orchestrace.cli.screen import notes, warn

EVERY_S = 10.0
"""Where no terminal shows a bar, a line is written this often."""
Advance = Callable[[int, Mapping[str, float | None]], None]


@contextlib.contextmanager
def training_progress(updates: int, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Advance]:
    """A bar or lines on stderr; call what it yields with the update made and the gap closed by setting."""
    console = notes()
    if not console.is_terminal:
        yield _lines(updates, clock)
        return
    columns = (
        TextColumn("training"),
        BarColumn(bar_width=24 if console.width >= 100 else 8),
        MofNCompleteColumn(),
        TextColumn("gap closed {task.fields[gap]}"),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("training", total=updates, gap="–", rate="–/s")

        def advance(update: int, gaps: Mapping[str, float | None]) -> None:
            speed = progress.tasks[task].speed
            rate = "–/s" if speed is None else f"{speed:.1f}/s"
            progress.update(task, completed=update, gap=_shown(gaps), rate=rate)

        yield advance


@contextlib.contextmanager
def counting(what: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[], None]]:
    """A count on stderr; call what it yields once for each thing done. `what` names the things."""
    console = notes()
    done, told = 0, clock()
    status = console.status(f"0 {what}") if console.is_terminal else None

    def one_more() -> None:
        nonlocal done, told
        done += 1
        if status is not None:
            if done % 100 == 0:
                status.update(f"{done:,} {what}")
        elif clock() - told >= EVERY_S:
            told = clock()
            warn(f"{done:,} {what}")

    with status or contextlib.nullcontext():
        yield one_more


def _lines(updates: int, clock: Callable[[], float]) -> Advance:
    """Writes a line where the last one, or the start, is EVERY_S or more ago."""
    told = clock()

    def advance(update: int, gaps: Mapping[str, float | None]) -> None:
        nonlocal told
        if clock() - told >= EVERY_S:
            told = clock()
            warn(f"training: {update:,} of {updates:,} updates, gap closed {_shown(gaps)}")

    return advance


def _shown(gaps: Mapping[str, float | None]) -> str:
    known = [gap for gap in gaps.values() if gap is not None]
    return (" ".join(f"{gap:.3f}" for gap in known[:4]) or "–") + (" …" if len(known) > 4 else "")
