"""Swim lanes in characters: one row an agent, one column a stretch of time."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rich.text import Text

from orchestrace.cli.screen import said
from orchestrace.report import Block, Lane, clock
from orchestrace.viewer import clock_ticks

MOST_LANES = 24


class Glyph(NamedTuple):
    """How a kind of block is drawn; told apart without colour too."""

    character: str
    style: str
    meaning: str
    ascii: str


GLYPHS: Mapping[str, Glyph] = {
    "model": Glyph("█", "cyan", "model", "#"),
    "tool": Glyph("▒", "yellow", "tool", "="),
    "wait": Glyph("·", "bright_black", "waiting", "."),
    "human": Glyph("░", "magenta", "waiting for a person", "~"),
}
_NOTHING = Glyph(" ", "", "", " ")
_PLAIN = {ord(glyph.character): glyph.ascii for glyph in GLYPHS.values()} | {ord("╵"): "|"}


def plain(text: Text) -> Text:
    """The same row for a terminal that has ASCII alone."""
    changed = text.copy()
    changed.plain = text.plain.translate(_PLAIN)
    return changed


def swim_lanes(lanes: Sequence[Lane], names: Mapping[str, str], *, width: int) -> list[Text]:
    """The lanes, an axis under them and a legend. Empty where no time is known.

    Args:
      lanes: from `report.timeline`.
      names: agent -> what to call it.
      width: columns in all.
    """
    drawn = [lane for lane in lanes if lane.blocks]
    if not drawn:
        return []
    longest = max(said(names.get(lane.agent, lane.agent)).cell_len for lane in drawn[:MOST_LANES])
    left = min(22, width // 4, longest) + 3
    columns = max(10, width - left - 2)
    first = min(lane.blocks[0].start_s for lane in drawn)
    last = max(lane.blocks[-1].end_s for lane in drawn)
    column_s = (last - first) / columns or 1.0
    rows = [
        _label(names.get(lane.agent, lane.agent), left).append_text(
            _row(lane.blocks, first=first, column_s=column_s, columns=columns)
        )
        for lane in drawn[:MOST_LANES]
    ]
    if len(drawn) > MOST_LANES:
        rows.append(Text(f"  and {len(drawn) - MOST_LANES} more agents", style="dim"))
    rows.append(_axis(first, last, left=left, columns=columns))
    rows += _legend({block.kind for lane in drawn for block in lane.blocks}, left, width=width)
    return rows


def _label(name: str, left: int) -> Text:
    label = said(name)
    label.truncate(left - 3, overflow="ellipsis", pad=True)
    return Text("  ").append_text(label).append(" ")


def _row(blocks: Sequence[Block], *, first: float, column_s: float, columns: int) -> Text:
    """Each column shows what took most of it; busy moments win over waiting, so that short ones stay visible."""
    share: list[dict[str, float]] = [{} for _ in range(columns)]
    for block in blocks:
        start, end = (block.start_s - first) / column_s, (block.end_s - first) / column_s
        for column in range(max(0, int(start)), min(columns, int(end) + 1)):
            covered = min(end, column + 1) - max(start, column)
            if covered > 0:
                share[column][block.kind] = share[column].get(block.kind, 0.0) + covered
    row = Text()
    for kinds in share:
        busy = {kind: kinds[kind] for kind in ("model", "tool") if kind in kinds}
        shown = busy if sum(busy.values()) >= 0.15 or not set(kinds) - set(busy) else kinds
        kind = max(shown, key=lambda k: (shown[k], k), default="")
        glyph = GLYPHS.get(kind, _NOTHING)
        row.append(glyph.character, style=glyph.style)
    return row


def _axis(first: float, last: float, *, left: int, columns: int) -> Text:
    line = [" "] * (columns + left + 2)
    end = 0
    for tick in clock_ticks(last - first, max(2, columns // 14)):
        place = left + round(tick / ((last - first) or 1.0) * (columns - 1))
        label = clock(first + tick) if first else clock(tick)
        if place >= end and place + len(label) + 1 <= len(line):
            line[place : place + len(label) + 1] = ["╵", *label]
            end = place + len(label) + 2
    return Text("".join(line).rstrip(), style="dim")


def _legend(kinds: set[str], left: int, *, width: int) -> list[Text]:
    """What the characters mean: in one line, or a line each where that is too long."""
    entries = [
        Text(glyph.character, style=glyph.style).append(f" {glyph.meaning}", style="dim")
        for kind, glyph in GLYPHS.items()
        if kind in kinds
    ]
    line = Text(" " * left).append_text(Text("   ").join(entries))
    if line.cell_len <= width:
        return [line]
    return [Text("  ").append_text(entry) for entry in entries]
