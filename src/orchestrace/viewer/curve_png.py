"""A learning curve as a PNG, for papers and slides, drawn by matplotlib, which comes with `orchestrace[train]`."""

import io

from orchestrace.errors import InputError
from orchestrace.viewer.curve import Curve

_DASHES = ("-", "--", "-.", ":", (0, (6, 2)))


def curve_png(curve: Curve) -> bytes:
    """The chart as a PNG of 1200 by 675 pixels; equal curves give equal bytes under one version of matplotlib.

    Raises:
      InputError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise InputError("a PNG needs matplotlib", remedy='pip install "orchestrace[train]"') from None
    figure = Figure(figsize=(8, 4.5), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    for i, line in enumerate(line for line in curve.lines if line.points):
        x, y = zip(*line.points, strict=True)
        (drawn,) = axes.plot(x, y, label=line.name, linestyle=_DASHES[i % len(_DASHES)])
        if line.level is not None:
            axes.axhline(line.level, color=drawn.get_color(), linewidth=0.8, alpha=0.6)
    axes.set(title=curve.title, xlabel=curve.x_name, ylabel=curve.y_name)
    if curve.top is not None:
        axes.axhline(curve.top, color="black", linewidth=0.8)
        axes.set_ylim(_floor(curve), curve.top + 0.02)
    axes.grid(visible=True, alpha=0.3)
    if any(line.points for line in curve.lines):
        axes.legend(fontsize="small")
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _floor(curve: Curve) -> float:
    """The lower end of the axis: an untrained start may lie below it."""
    values = [value for line in curve.lines for _, value in line.points[len(line.points) // 10 :]]
    levels = [line.level for line in curve.lines if line.level is not None]
    return min([*values, *levels, 0.9]) - 0.02
