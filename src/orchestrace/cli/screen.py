"""The two consoles: results on stdout, progress and warnings on stderr."""

import json
import os
import sys
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.text import Text

from orchestrace.cli.environment import asks_for_a_width
from orchestrace.trace import escaped


class _Results(Console):
    def print(self, *objects: Any, **options: Any) -> None:
        """As the console does; outside a terminal without the spaces that fill up a line."""
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as captured:
            super().print(*objects, **options)
        self.file.write("\n".join(line.rstrip(" ") for line in captured.get().split("\n")))

    def on_broken_pipe(self) -> None:
        """The reader has gone. What to do about it is the entry point's to say, not rich's (which exits with 1)."""
        raise


def results() -> Console:
    """Where results go. Nothing is read as markup and nothing is guessed at: texts come from strangers."""
    console = _Results(highlight=False, markup=False, emoji=False, soft_wrap=False)
    if not (asks_for_a_width() or any(map(os.isatty, (0, 1, 2)))):
        console.width = 100  # nothing says how wide lines may be; this fits the tables
    return console


def ascii_only(console: Console) -> bool:
    """Whether the console cannot show more than ASCII."""
    return not console.encoding.startswith("utf")


def notes() -> Console:
    """Where progress and warnings go."""
    return Console(file=sys.stderr, highlight=False, markup=False, emoji=False)


def warn(message: str) -> None:
    """One line on stderr."""
    click.echo(f"orchestrace: {escaped(message)}", err=True)


def show_json(document: Any) -> None:
    """One JSON document on stdout, indented; texts escape what a terminal would act upon."""
    plain = msgspec.to_builtins(document)
    click.echo(json.dumps(plain, indent=2, ensure_ascii=True, allow_nan=False))


def said(text: str, style: str = "") -> Text:
    """A text from anywhere, made safe for a terminal."""
    return Text(escaped(text), style=style)
