"""What the pictures show, leave out, and never do."""

import xml.etree.ElementTree as ET
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from orchestrace.viewer import curve as curves
from orchestrace.viewer import lanes as swim
from orchestrace.viewer.curve import Curve, Line, curve_svg
from orchestrace.viewer.lanes import Arrow, Block, Lane, Lanes, Segment, lanes_svg
from orchestrace.viewer.tables import MOST_NODES, Node, Row, document, section, table, tree
from viewer.test_markup import HOSTILE


def lane(name: str = "lead", *, end_s: float = 10.0) -> Lane:
    return Lane(name, "worker, 3 turns", 0.0, end_s, "completed", "3 turns")


def parts(svg: str, tag: str, kind: str) -> list[ET.Element]:
    return [e for e in ET.fromstring(svg).iter(tag) if kind in (e.get("class") or "").split()]


def test_each_block_has_its_place_and_its_words() -> None:
    blocks = [Block(0, 0.0, 4.0, "turn", "turn lead.1"), Block(1, 4.0, 10.0, "tool", "Bash"),
              Block(0, 2.0, 2.0, "human", "a prompt")]  # fmt: skip
    svg = lanes_svg(Lanes("Team", [lane(), lane("helper")], blocks)).svg
    [turn], [tool] = parts(svg, "rect", "turn"), parts(svg, "rect", "tool")
    assert float(tool.get("x") or 0) >= float(turn.get("x") or 0) + float(turn.get("width") or 0) - 0.2
    assert float(tool.get("y") or 0) > float(turn.get("y") or 0)
    assert turn[0].text == "turn lead.1"
    assert len(parts(svg, "path", "human")) == 1


def test_arrows_and_the_critical_path() -> None:
    arrows = [Arrow(0, 1, 1.0, 1.0, "spawn", "spawn helper"), Arrow(1, 0, 9.0, 9.0, "return", "helper returns"),
              Arrow(0, 1, 5.0, 5.0, "undelivered", "never read")]  # fmt: skip
    critical = [Segment(0, 0.0, 1.0, False, "model"), Segment(1, 1.0, 9.0, True, "waiting for helper")]
    svg = lanes_svg(Lanes("Team", [lane(), lane("helper")], arrows=arrows, critical=critical)).svg
    assert [len(parts(svg, "g", kind)) for kind in ("spawn", "return", "undelivered")] == [1, 1, 1]
    assert len(parts(svg, "line", "critical")) == 2
    assert len(parts(svg, "line", "waiting")) == 1
    assert len(parts(svg, "line", "riser")) == 1


def test_what_is_left_out_is_said() -> None:
    many = swim.MOST_LANES + 5
    blocks = [Block(i % many, float(i), i + 1.0 + (i % 3), "turn", str(i)) for i in range(swim.MOST_BLOCKS * 2)]
    arrows = [Arrow(0, 1, 1.0, 1.0, "message", "m")] * (swim.MOST_ARROWS + 1)
    drawn = lanes_svg(Lanes("Team", [lane(str(i)) for i in range(many)], blocks, arrows))
    agents, shortest, latest = drawn.left_out
    assert agents == f"5 of {many} agents, the last to start"
    assert shortest.endswith("blocks, the shortest")
    assert latest == f"1 of {swim.MOST_ARROWS + 1} arrows, the latest"
    assert len(parts(drawn.svg, "rect", "turn")) == swim.MOST_BLOCKS


def test_nothing_at_all_is_no_error() -> None:
    ET.fromstring(lanes_svg(Lanes("Empty", [])).svg)
    assert "No point" in curve_svg(Curve("Empty", "updates", "gap closed", []))


@given(st.lists(st.tuples(st.floats(0, 1e7), st.floats(0, 1e7)), max_size=8))
def test_any_times_give_a_well_formed_picture(times: list[tuple[float, float]]) -> None:
    blocks = [Block(0, min(t), max(t), "tool", HOSTILE) for t in times]
    critical = [Segment(0, min(t), max(t), False, HOSTILE) for t in times]
    ET.fromstring(lanes_svg(Lanes(HOSTILE, [lane(HOSTILE)], blocks, critical=critical)).svg)


def test_a_curve_has_a_line_and_a_level_for_each_setting() -> None:
    lines = [Line(f"setting {i}", [(0.0, -0.5), (200.0, 0.9), (400.0, 0.99)], 0.92, "best one-shot") for i in range(3)]
    svg = curve_svg(Curve("Learning", "updates", "gap closed", lines, top=1.0))
    assert len(parts(svg, "polyline", "series")) == 3
    assert len(parts(svg, "line", "level")) == 3
    assert len(parts(svg, "line", "top")) == 1
    assert [e.text for e in parts(svg, "text", "series-name")] == [f"setting {i}  0.990" for i in range(3)]
    heights = [float(e.get("y") or 0) for e in parts(svg, "text", "series-name")]
    assert all(b - a >= 20 for a, b in pairwise(heights)), "labels must not hide each other"


def test_a_long_curve_is_thinned_and_keeps_its_end() -> None:
    points = [(float(i), i / 10_000) for i in range(10_001)]
    svg = curve_svg(Curve("Long", "updates", "gap closed", [Line("one", points)]))
    [line] = parts(svg, "polyline", "series")
    assert len((line.get("points") or "").split()) <= curves.MOST_POINTS + 1
    assert "1.000 after 10000" in svg


def test_a_page_holds_no_script_and_asks_for_nothing() -> None:
    row = table("Values", ("policy", HOSTILE), [Row(HOSTILE, (HOSTILE,), strong=True)])
    page = document(HOSTILE, [], [section(HOSTILE, row, anchor="x"), tree([Node(HOSTILE, HOSTILE, HOSTILE)])])
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http-equiv", "")
    assert "\x1b" not in page
    assert "\u202e" not in page


def test_a_deep_tree_does_not_exhaust_the_stack_and_a_wide_one_is_cut() -> None:
    node = Node("leaf", "", "completed")
    for i in range(5_000):
        node = Node(str(i), "", "completed", (node,))
    assert f"{5_001 - MOST_NODES:,} more agents" in tree([node])
    assert tree([Node("root", "", "", tuple(Node(str(i), "", "") for i in range(10)))]).count("<li>") == 11
