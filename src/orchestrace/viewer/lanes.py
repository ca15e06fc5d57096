"""Swim lanes: one row an agent, time to the right, what it did as blocks, who called whom as arrows. SVG, no script."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

from orchestrace.report import clock, duration
from orchestrace.viewer.markup import Markup, cut, element, joined
from orchestrace.viewer.scale import Scale, clock_ticks

BlockKind = Literal["turn", "tool", "failed", "compaction", "human", "decision", "aggregate", "stop"]
"""turn to compaction take time; the rest are instants and drawn as marks."""
ArrowKind = Literal["spawn", "return", "unread", "message", "undelivered"]

MOST_LANES = 80
MOST_BLOCKS = 4_000
MOST_ARROWS = 600

_WIDTH, _LABELS, _RIGHT = 1160.0, 178.0, 14.0
_TOP, _PITCH, _BOTTOM = 30.0, 34.0, 26.0
_HEIGHTS = {"turn": 16.0, "compaction": 16.0, "tool": 9.0, "failed": 9.0}
MARKS: dict[str, str] = {
    "human": "M-5 -13H5L0 -5Z",
    "decision": "M0 -7L7 0L0 7L-7 0Z",
    "aggregate": "M-7 -6H7L0 7Z",
    "stop": "M-6 -6H6V6H-6Z",
}
"""The shape of each mark, around its own centre."""


class Lane(NamedTuple):
    """An agent's row."""

    name: str
    note: str
    """A few words for the hover: `general-purpose, 12 turns, 294k tokens, 4 min`."""
    start_s: float
    end_s: float
    status: str
    """completed, failed, running...; shown with the name where it is no plain success."""
    under: str
    """Fewer words, under the name: `12 turns, 294k tokens`."""


class Block(NamedTuple):
    """A stretch of time in which an agent was busy, or an instant (end_s = start_s)."""

    lane: int
    start_s: float
    end_s: float
    kind: BlockKind
    title: str


class Arrow(NamedTuple):
    """From one lane to another."""

    source: int
    target: int
    start_s: float
    end_s: float
    kind: ArrowKind
    title: str


class Segment(NamedTuple):
    """A piece of the critical path."""

    lane: int
    start_s: float
    end_s: float
    waiting: bool
    title: str


class Lanes(NamedTuple):
    """All that one picture shows. Seconds since the trace began."""

    title: str
    lanes: Sequence[Lane]
    blocks: Sequence[Block] = ()
    arrows: Sequence[Arrow] = ()
    critical: Sequence[Segment] = ()


class Drawn(NamedTuple):
    """A picture, and what it had to leave out."""

    svg: Markup
    left_out: tuple[str, ...]
    """`2,310 of 6,310 blocks, the shortest`; empty when all is drawn."""


def lanes_svg(picture: Lanes) -> Drawn:
    """Draw swim lanes. Beyond MOST_LANES rows, MOST_BLOCKS blocks and MOST_ARROWS arrows the least are left out."""
    shown, left_out = _capped(picture)
    rows = len(shown.lanes)
    high = _TOP + _PITCH * rows + _BOTTOM
    last = max([0.0, *(x.end_s for x in shown.lanes), *(x.end_s for x in shown.blocks)])
    scale = Scale(0.0, last, _LABELS, _WIDTH - _RIGHT)
    parts = [
        element("title", picture.title),
        element("desc", f"{rows} agents over {duration(last)}; the tables beside it say the same in numbers."),
        *(_stripe(i) for i in range(1, rows, 2)),
        _axis(scale, rows),
        *(_lane(i, lane, scale) for i, lane in enumerate(shown.lanes)),
        _path(shown.critical, scale),
        *(_block(block, scale) for block in shown.blocks),
        *(_arrow(arrow, scale) for arrow in shown.arrows),
    ]
    svg = element("svg", *parts, viewBox=f"0 0 {_WIDTH:g} {high:g}", role="img", class_="lanes",
                  aria_label=picture.title, width=_WIDTH, height=high)  # fmt: skip
    return Drawn(svg, left_out)


def _capped(picture: Lanes) -> tuple[Lanes, tuple[str, ...]]:
    left_out = []
    lanes = picture.lanes[:MOST_LANES]
    if len(lanes) < len(picture.lanes):
        left_out.append(f"{len(picture.lanes) - len(lanes):,} of {len(picture.lanes):,} agents, the last to start")
    n = len(lanes)
    blocks = [b for b in picture.blocks if b.lane < n]
    if len(blocks) > MOST_BLOCKS:
        left_out.append(f"{len(blocks) - MOST_BLOCKS:,} of {len(blocks):,} blocks, the shortest")
        longest = sorted(range(len(blocks)), key=lambda i: blocks[i].start_s - blocks[i].end_s)[:MOST_BLOCKS]
        blocks = [blocks[i] for i in sorted(longest)]
    arrows = [a for a in picture.arrows if a.source < n and a.target < n]
    if len(arrows) > MOST_ARROWS:
        left_out.append(f"{len(arrows) - MOST_ARROWS:,} of {len(arrows):,} arrows, the latest")
    critical = [s for s in picture.critical if s.lane < n]
    return Lanes(picture.title, lanes, blocks, arrows[:MOST_ARROWS], critical), tuple(left_out)


def _middle(lane: int) -> float:
    return _TOP + _PITCH * (lane + 0.5)


def _stripe(lane: int) -> Markup:
    return element("rect", x=0, y=_middle(lane) - _PITCH / 2, width=_WIDTH, height=_PITCH, class_="stripe")


def _axis(scale: Scale, rows: int) -> Markup:
    bottom = _TOP + _PITCH * rows
    parts = []
    for t in clock_ticks(scale.high, 10):
        x, label = scale(t), clock(t) if t or scale.high < 10 else "0:00"
        parts += [
            element("line", x1=x, y1=_TOP - 6, x2=x, y2=bottom + 6, class_="grid"),
            element("text", label, x=x, y=_TOP - 12, class_="tick"),
            element("text", label, x=x, y=bottom + 19, class_="tick"),
        ]
    return element("g", *parts, aria_hidden="true")


def _lane(i: int, lane: Lane, scale: Scale) -> Markup:
    y = _middle(i)
    x1, x2 = scale(lane.start_s), scale(lane.end_s)
    status = "" if lane.status in ("", "completed", "answered") else f" ({lane.status})"
    said = f"{lane.name}{status}: {clock(lane.start_s)} to {clock(lane.end_s)}; {lane.note}"
    return element(
        "g",
        element("title", said),
        element("rect", x=0, y=y - _PITCH / 2, width=_LABELS - 8, height=_PITCH, class_="hover"),
        element("text", cut(lane.name + status, 25), x=6, y=y - 2, class_="name"),
        element("text", cut(lane.under, 29), x=6, y=y + 11, class_="note"),
        element("line", x1=x1, y1=y, x2=max(x2, x1 + 1), y2=y, class_="life"),
    )


def _block(block: Block, scale: Scale) -> Markup:
    y = _middle(block.lane)
    if block.kind in MARKS:
        place = f"translate({scale(block.start_s):.1f} {y:.1f})"
        return element("path", element("title", block.title), d=MARKS[block.kind], class_=block.kind, transform=place)
    height = _HEIGHTS[block.kind]
    x1, x2 = scale(block.start_s), scale(block.end_s)
    width = max(x2 - x1, 1.6)
    return element("rect", element("title", block.title), x=x1, y=y - height / 2, width=width, height=height,
                   rx=2, class_=block.kind)  # fmt: skip


def _arrow(arrow: Arrow, scale: Scale) -> Markup:
    x1, x2 = scale(arrow.start_s), scale(arrow.end_s)
    y1, y2 = _middle(arrow.source), _middle(arrow.target)
    down = 1.0 if y2 >= y1 else -1.0
    if arrow.kind == "undelivered":
        y2 = y1 + down * _PITCH * 0.42
        cross = f"M{x1 - 4:.1f} {y2 - 4:.1f}l8 8m0 -8l-8 8"
        line = f"M{x1:.1f} {y1:.1f}V{y2:.1f}"
        return _group(arrow, element("path", d=line, class_="wire"), element("path", d=cross, class_="cross"))
    if arrow.kind == "unread":
        line = f"M{x1:.1f} {y1:.1f}V{y2 - down * 8:.1f}"
        cross = f"M{x2 - 4:.1f} {y2 - down * 12 - 4:.1f}l8 8m0 -8l-8 8"
        return _group(arrow, element("path", d=line, class_="wire"), element("path", d=cross, class_="cross"))
    tip = y2 - down * (9 if arrow.kind == "spawn" else 8)
    # a curve that leaves and arrives vertically: parallel spawns of one instant fan out instead of hiding each other
    line = f"M{x1:.1f} {y1:.1f}C{x1:.1f} {(y1 + tip) / 2:.1f} {x2:.1f} {(y1 + tip) / 2:.1f} {x2:.1f} {tip:.1f}"
    head = f"M{x2 - 3.5:.1f} {tip - down * 5:.1f}L{x2:.1f} {tip:.1f}L{x2 + 3.5:.1f} {tip - down * 5:.1f}"
    return _group(arrow, element("path", d=line, class_="wire"), element("path", d=head, class_="head"))


def _group(arrow: Arrow, *parts: Markup) -> Markup:
    return element("g", element("title", arrow.title), *parts, class_=f"arrow {arrow.kind}")


def _path(critical: Sequence[Segment], scale: Scale) -> Markup:
    """The critical path as one staircase under the blocks; the waiting on it is dashed."""
    parts = []
    ordered = sorted(critical, key=lambda s: s.start_s)
    for before, after in pairwise(ordered):
        if before.lane != after.lane:
            x = scale(after.start_s)
            y1, y2 = _middle(before.lane) + 12, _middle(after.lane) + 12
            parts.append(element("line", x1=x, y1=y1, x2=x, y2=y2, class_="riser"))
    for s in ordered:
        y = _middle(s.lane) + 12
        x1, x2 = scale(s.start_s), scale(s.end_s)
        kind = "critical waiting" if s.waiting else "critical"
        line = element("line", element("title", s.title), x1=x1, y1=y, x2=max(x2, x1 + 1), y2=y, class_=kind)
        parts.append(line)
    return joined(parts)
