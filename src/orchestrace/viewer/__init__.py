"""The viewer: a trace and its report as one self-contained page.

Pictures are SVG, there is no script, and every text of a log is escaped (`markup`). Reading order: `markup`, `scale`,
`lanes` and `curve` (pictures of plain structs), `tables`, `team` and `long_tables` (from trace and report to those
structs), `learning`, `page`.
"""

from orchestrace.viewer.curve_png import curve_png
from orchestrace.viewer.learning import Cell, Standing, curve_of, settings, standings
from orchestrace.viewer.page import MADE_UP, Episode, Session, demo_page, report_page, run_page
from orchestrace.viewer.scale import clock_ticks

__all__ = [
    "MADE_UP",
    "Cell",
    "Episode",
    "Session",
    "Standing",
    "clock_ticks",
    "curve_of",
    "curve_png",
    "demo_page",
    "report_page",
    "run_page",
    "settings",
    "standings",
]
