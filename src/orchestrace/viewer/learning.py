"""The learning half of a page, drawn from the JSON contract of `train` and the rows of `curve.jsonl`.

A figure of the contract is a number with one setting, and an object keyed by the setting with several; `by_setting`
makes both the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

from orchestrace.viewer.curve import Curve, Line, curve_svg
from orchestrace.viewer.markup import Markup, element, joined
from orchestrace.viewer.tables import Row, picture, section, table

ONLY = ""
"""The key of the one setting where there is no other."""
MOST_LINES = 5
"""Settings that a curve shows one by one."""
LEVEL = "best-one-shot"
"""The baseline that the curve is drawn against, where the environment has it."""


def by_setting(value: Any) -> dict[str, Any]:
    """A figure of the contract as an object keyed by setting."""
    return dict(value) if isinstance(value, Mapping) else {ONLY: value}


def settings(training: Mapping[str, Any]) -> tuple[str, ...]:
    """The settings of a result, in the order of the recipe."""
    return tuple(by_setting(training["optimum"]))


def gap_closed(training: Mapping[str, Any], values: Any) -> dict[str, float | None]:
    """(V - V_null) / (V* - V_null) of each setting; None where there is no gap or no value.

    Args:
      training: the contract of `train`.
      values: a figure of it, such as one of the baselines.
    """
    null, best = by_setting(training["null_value"]), by_setting(training["optimum"])
    found: dict[str, float | None] = {}
    for key, value in by_setting(values).items():
        gap = best[key] - null[key]
        found[key] = None if value is None or gap <= 0 else (value - null[key]) / gap
    return found


class Cell(NamedTuple):
    """How a policy does in one setting."""

    value: float | None
    """Mean reward of an episode; absent: not known."""
    gap_closed: float | None
    value_ci: tuple[float, float] | None = None
    """95% interval; absent: the value is exact."""
    gap_closed_ci: tuple[float, float] | None = None


class Standing(NamedTuple):
    """A policy, and how it does in each setting."""

    name: str
    cells: tuple[Cell, ...]
    """In the order of `settings`."""
    learned: bool = False


def standings(training: Mapping[str, Any]) -> tuple[Standing, ...]:
    """The optimum, the learned policy, every baseline (best first), and the best constant policy.

    The learned policy stands there as it is worth exactly, where the result says so, and then as simulated episodes
    found it, with an interval.
    """
    baselines = sorted(training["baselines"].items(), key=lambda item: -_mean(by_setting(item[1]).values()))
    return (
        Standing("optimum V*", _exact(training, training["optimum"])),
        *_learned_rows(training),
        *(Standing(_words(name), _exact(training, values)) for name, values in baselines),
        Standing("best constant, V_null", _exact(training, training["null_value"])),
    )


def curve_of(training: Mapping[str, Any], curve: Iterable[Mapping[str, Any]]) -> Curve:
    """Gap closed over updates, a line a setting, each against the best one-shot policy.

    Beyond `MOST_LINES` settings: the median and the worst of them.
    """
    rows, keys = list(curve), settings(training)
    level = gap_closed(training, training["baselines"][LEVEL]) if LEVEL in training["baselines"] else {}
    series = {key: [(r, v) for r in rows if (v := by_setting(r["gap_closed"]).get(key)) is not None] for key in keys}
    points = {key: [(float(r["update"]), float(v)) for r, v in pairs] for key, pairs in series.items()}
    title = f"Gap closed while learning {training['env']}"
    if len(keys) > MOST_LINES:
        lines = _summary_lines(points)
    else:
        lines = [Line(key or training["env"], points[key], level.get(key), _words(LEVEL)) for key in keys]
    return Curve(title, "updates", "share of the gap closed", lines, top=1.0)


def _summary_lines(points: Mapping[str, Sequence[tuple[float, float]]]) -> list[Line]:
    by_update: dict[float, list[float]] = {}
    for pairs in points.values():
        for update, value in pairs:
            by_update.setdefault(update, []).append(value)
    return [
        Line(f"median of {len(points)} settings", [(update, median(values)) for update, values in by_update.items()]),
        Line("the worst of them", [(update, min(values)) for update, values in by_update.items()]),
    ]


def learning_sections(training: Mapping[str, Any], curve: Iterable[Mapping[str, Any]]) -> tuple[Markup, ...]:
    """The curve and the comparison, each a section."""
    said = (
        f"Environment {training['env']}: {training['updates']:,} updates of {training['algorithm']}, "
        f"{training['decisions']:,} decisions, {training.get('seconds', 0.0):.0f} s. The optimum is known, so the "
        "gap is exact: 0 is the best policy that takes one action whatever it sees, 1 is the optimum. An untrained "
        "start may lie below the picture."
    )
    drawn = picture(curve_svg(curve_of(training, curve)), "learning curve")
    caption = (
        "Mean reward of an episode and, under it, the share of the gap that it closes. In brackets 95% intervals of "
        "what was simulated; all else is exact."
    )
    rows = (Row(s.name, [_shown(cell) for cell in s.cells], s.learned) for s in standings(training))
    columns = ("Policy", *(key or "value" for key in settings(training)))
    return (
        section("How it learned to orchestrate", element("p", said), drawn, anchor="learning"),
        section("Beside the optimum and strong hand-made policies", table(caption, columns, rows), anchor="comparison"),
    )


def number(value: float | None, interval: Sequence[float] | None, digits: int) -> str:
    """`0.8847`, `0.8809 [0.8799, 0.8819]`, `unknown`."""
    if value is None:
        return "unknown"
    ci = "" if interval is None else f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"
    return f"{value:.{digits}f}{ci}"


def _shown(cell: Cell) -> Markup:
    closed = element("div", "gap " + number(cell.gap_closed, cell.gap_closed_ci, 3), class_="soft")
    return joined([number(cell.value, cell.value_ci, 4), closed])


def _learned_rows(training: Mapping[str, Any]) -> Sequence[Standing]:
    name = f"learned ({training['algorithm']})"
    if "exact_value" not in training:
        return [Standing(name, _learned(training), learned=True)]
    exact = Standing(name, _exact(training, training["exact_value"]), learned=True)
    return [exact, Standing("the same, simulated", _learned(training))]


def _exact(training: Mapping[str, Any], values: Any) -> tuple[Cell, ...]:
    value, closed = by_setting(values), gap_closed(training, values)
    return tuple(Cell(value.get(key), closed.get(key)) for key in settings(training))


def _learned(training: Mapping[str, Any]) -> tuple[Cell, ...]:
    value, value_ci = by_setting(training["value"]), by_setting(training["value_ci"])
    closed, closed_ci = by_setting(training["gap_closed"]), by_setting(training["gap_closed_ci"])
    return tuple(
        Cell(value[key], closed[key], _interval(value_ci[key]), _interval(closed_ci[key])) for key in settings(training)
    )


def _interval(ends: Sequence[float | None] | None) -> tuple[float, float] | None:
    if ends is None or ends[0] is None or ends[1] is None:
        return None
    return ends[0], ends[1]


def _words(name: str) -> str:
    return name.replace("-", " ")


def _mean(values: Iterable[float | None]) -> float:
    known = [v for v in values if v is not None]
    return sum(known) / len(known) if known else float("-inf")
