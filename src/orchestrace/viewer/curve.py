"""A learning curve: lines over updates, dashed levels to beat, axes with ticks. SVG, no script."""

from collections.abc import Sequence
from typing import NamedTuple

from orchestrace.viewer.markup import Markup, element
from orchestrace.viewer.scale import Scale, number, ticks

_WIDTH, _HEIGHT = 1160.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 250.0, 18.0, 48.0
_DASHES = ("", "9 4", "2 4", "12 3 2 3", "6 2")
MOST_POINTS = 600


class Line(NamedTuple):
    """One series."""

    name: str
    points: Sequence[tuple[float, float]]
    """(update, value), updates ascending; not empty."""
    level: float | None = None
    """A value to compare with, drawn dashed in the line's colour; absent: none."""
    level_name: str = ""


class Curve(NamedTuple):
    """A chart."""

    title: str
    x_name: str
    y_name: str
    lines: Sequence[Line]
    top: float | None = None
    """A value that no line can pass (the optimum); absent: the largest value."""


def curve_svg(curve: Curve) -> Markup:
    """Draw the chart. Colours and line marks differ, so that the lines can be told apart without colour.

    A long line is thinned to MOST_POINTS, its first and last kept. The lower end of the axis leaves out what lies far
    below: it is the smallest value after the first tenth of the updates, so that an untrained start does not flatten
    the rest; lines are cut off there.
    """
    lines = [line for line in curve.lines if line.points]
    if not lines:
        return element("p", "No point of the curve was recorded.")
    x, y = _scales(curve, lines)
    inside = element("rect", x=x.start, y=0, width=x.end - x.start, height=y.start)
    clip = element("clipPath", inside, id="plot")
    parts = [element("title", curve.title), element("desc", _described(lines)), clip, _axes(curve, x, y)]
    labels = _label_places([(line.points[-1][1], i) for i, line in enumerate(lines)], y)
    for i, line in enumerate(lines):
        if line.level is not None:
            at = y(line.level)
            said = element("title", f"{line.level_name}: {line.level:.3f}")
            parts.append(element("line", said, x1=x.start, y1=at, x2=x.end, y2=at, class_=f"level s{i % 5}"))
    for i, line in enumerate(lines):
        parts += _series(i, line, x, y, labels[i])
    return element("svg", *parts, viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}", role="img", class_="curve",
                   aria_label=curve.title, width=_WIDTH, height=_HEIGHT)  # fmt: skip


def _scales(curve: Curve, lines: Sequence[Line]) -> tuple[Scale, Scale]:
    last = max(line.points[-1][0] for line in lines)
    settled = [v for line in lines for u, v in line.points if u >= last / 10]
    levels = [line.level for line in lines if line.level is not None]
    high = max([curve.top if curve.top is not None else max(settled), *levels, *settled])
    low = min([*settled, *levels])
    low -= 0.08 * ((high - low) or 1.0)
    return Scale(0.0, last or 1.0, _LEFT, _WIDTH - _RIGHT), Scale(low, high, _HEIGHT - _BOTTOM, _TOP)


def _axes(curve: Curve, x: Scale, y: Scale) -> Markup:
    parts = []
    for value in ticks(y.low, y.high, 7):
        at = y(value)
        parts += [
            element("line", x1=x.start, y1=at, x2=x.end, y2=at, class_="grid"),
            element("text", number(value), x=x.start - 8, y=at + 4, class_="tick right"),
        ]
    for value in ticks(x.low, x.high, 10):
        at = x(value)
        parts += [
            element("line", x1=at, y1=y.start, x2=at, y2=y.start + 5, class_="axis"),
            element("text", number(value), x=at, y=y.start + 19, class_="tick"),
        ]
    middle = (y.start + y.end) / 2
    turned = f"rotate(-90 14 {middle:g})"
    parts += [
        element("line", x1=x.start, y1=y.start, x2=x.end, y2=y.start, class_="axis"),
        element("text", curve.x_name, x=(x.start + x.end) / 2, y=_HEIGHT - 8, class_="axis-name"),
        element("text", curve.y_name, x=14, y=middle, class_="axis-name", transform=turned),
    ]
    if curve.top is not None:
        at = y(curve.top)
        parts.append(element("line", x1=x.start, y1=at, x2=x.end, y2=at, class_="top"))
    return element("g", *parts)


def _series(i: int, line: Line, x: Scale, y: Scale, label_y: float) -> list[Markup]:
    points = _thinned(line.points)
    path = " ".join(f"{x(u):.1f},{y.beyond(v):.1f}" for u, v in points)
    u, v = points[-1]
    said = element("title", f"{line.name}: {v:.3f} after {u:g}")
    kind = f"s{i % 5}"
    note = "" if line.level is None else f"{line.level_name} {line.level:.3f}, dashed"
    return [
        element(
            "polyline",
            said,
            points=path,
            class_=f"series {kind}",
            stroke_dasharray=_DASHES[i % 5] or None,
            clip_path="url(#plot)",
        ),
        element("circle", said, cx=x(u), cy=y(v), r=4, class_=f"dot {kind}"),
        element("line", x1=x(u) + 4, y1=y(v), x2=x.end + 14, y2=label_y - 8, class_=f"leader {kind}"),
        element("text", f"{line.name}  {v:.3f}", x=x.end + 18, y=label_y - 4, class_="series-name"),
        element("text", note, x=x.end + 18, y=label_y + 11, class_="note"),
    ]


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    if len(points) <= MOST_POINTS:
        return points
    stride = -(-len(points) // (MOST_POINTS - 1))
    return [*points[:-1:stride], points[-1]]


def _label_places(ends: Sequence[tuple[float, int]], y: Scale) -> dict[int, float]:
    """Where each label stands: at its line's end, pushed down where the one above needs the room."""
    places, floor = {}, _TOP
    for value, i in sorted(ends, key=lambda e: (-e[0], e[1])):
        floor = max(y(value) + 4, floor + 10)
        places[i] = floor
        floor += 26
    return places


def _described(lines: Sequence[Line]) -> str:
    return "; ".join(f"{line.name} ends at {line.points[-1][1]:.3f}" for line in lines) + "."
