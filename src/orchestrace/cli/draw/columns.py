"""Tables that fit: where a screen is narrow, whole columns give way, not the letters of every one."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich import box
from rich.table import Table
from rich.text import Text

GAP = 3
"""Characters between columns: two of padding, and the one where a box would draw its line."""


class Column(NamedTuple):
    """One column of a table, with all its cells."""

    title: str
    cells: Sequence[Text]
    justify: Literal["left", "right"] = "right"
    gives_way: int = 0
    """The higher, the sooner it is left out where there is no room; 0: never."""
    least: int | None = None
    """It may shrink to this many characters; absent: it is shown whole, or not at all."""
    wraps: bool = False
    """A text too long goes on in the next line; else it is cut short."""

    @property
    def whole(self) -> int:
        """The width that shows every cell whole."""
        return max((Text(self.title).cell_len, *(cell.cell_len for cell in self.cells)))

    @property
    def narrowest(self) -> int:
        """The width that it cannot do without."""
        return self.whole if self.least is None else min(self.least, self.whole)


def shortened(text: Text, most: int) -> Text:
    """The text in at most so many characters, so that one long cell does not push other columns out."""
    short = text.copy()
    short.truncate(most, overflow="ellipsis")
    return short


def fitting(columns: Sequence[Column], *, width: int) -> list[Column]:
    """The columns that fit side by side into `width`; those that give way first are left out first."""
    kept = list(columns)
    while sum(column.narrowest + GAP for column in kept) - GAP > width:
        first = max((column.gives_way for column in kept), default=0)
        if not first:
            break
        kept = [column for column in kept if column.gives_way != first]
    return kept


def table(columns: Sequence[Column], *, width: int) -> Table:
    """A table no wider than `width`. At most one column has a `least`: it gets the room that the others leave."""
    kept = fitting(columns, width=width)
    room = width - sum(column.whole + GAP for column in kept if column.least is None)
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), header_style="dim", show_edge=False)
    for column in kept:
        most = column.whole if column.least is None else max(1, min(column.whole, room))
        drawn.add_column(
            column.title,
            justify=column.justify,
            no_wrap=not column.wraps,
            overflow="fold" if column.wraps else "ellipsis",
            max_width=most,
        )
    for row in zip(*(column.cells for column in kept), strict=True):
        drawn.add_row(*row)
    return drawn
