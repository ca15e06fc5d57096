"""The parts of a page that are not pictures: tables, lists, trees, the document around them."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from orchestrace.report import Figure
from orchestrace.viewer.lanes import MARKS
from orchestrace.viewer.markup import Markup, element, joined
from orchestrace.viewer.style import CSS


class Node(NamedTuple):
    """An agent in the spawn tree."""

    name: str
    note: str
    status: str
    children: "tuple[Node, ...]" = ()


class Row(NamedTuple):
    """A line of a table: its heading, its cells, and whether it is the one that matters."""

    name: str
    cells: Sequence[str]
    strong: bool = False


MOST_NODES = 400
"""Agents that a tree shows; the rest is counted."""

GOOD = frozenset({"", "completed", "answered", "running", "ended"})


def document(title: str, header: Iterable[Markup], body: Iterable[Markup]) -> str:
    """A whole page. The policy in its head forbids all scripts and every request."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        element("title", title),
        element("style", Markup(CSS)),
    )
    note = "Written by orchestrace. This file holds all that it shows; it loads nothing."
    foot = element("footer", element("p", note))
    page = element("body", element("header", *header), element("main", *body), foot)
    return f"<!doctype html>\n{element('html', head, page, lang='en')}\n"


def section(heading: str, *parts: str, anchor: str) -> Markup:
    """A card with a heading; `anchor` is its id, ours."""
    head = element("h2", heading, id=f"{anchor}-h")
    return element("section", head, *parts, id=anchor, aria_labelledby=f"{anchor}-h")


def stats(figures: Iterable[Figure]) -> Markup:
    """A row of large numbers."""
    return element("dl", *(element("div", element("dt", f.name), element("dd", f.value), title=f.meaning or None)
                           for f in figures), class_="stats")  # fmt: skip


def figures_table(caption: str, figures: Iterable[Figure]) -> Markup:
    """Name, value, meaning."""
    rows = (element("tr", element("th", f.name, scope="row"), element("td", f.value, class_="n"),
                    element("td", element("span", f.meaning, class_="soft"))) for f in figures)  # fmt: skip
    return _table(caption, (_TH("Figure"), _TH("Value", "n"), _TH("What it is")), rows)


def table(caption: str, columns: Sequence[str], rows: Iterable[Row]) -> Markup:
    """A table of numbers; `columns` names the row headings too."""
    lines = (element("tr", element("th", r.name, scope="row"), *(element("td", c, class_="n") for c in r.cells),
                     class_="best" if r.strong else None) for r in rows)  # fmt: skip
    return _table(caption, [_TH(c, "n" if i else None) for i, c in enumerate(columns)], lines)


class _TH(NamedTuple):
    name: str
    kind: str | None = None


def _table(caption: str, columns: Sequence[_TH], rows: Iterable[Markup]) -> Markup:
    head = (element("th", c.name, scope="col", class_=c.kind) for c in columns)
    inside = element("table", element("caption", caption), element("thead", element("tr", *head)),
                     element("tbody", *rows))  # fmt: skip
    return element("div", inside, class_="wide", tabindex="0", role="region", aria_label=caption)


def tree(roots: Sequence[Node]) -> Markup:
    """Who spawned whom, as nested lists. Iterative: a chain of spawns may be deeper than Python's stack."""
    made: dict[int, Markup] = {}
    budget = MOST_NODES
    order, queue = [], list(reversed(roots))
    while queue:
        node = queue.pop()
        order.append(node)
        queue.extend(reversed(node.children))
    left_out = max(len(order) - budget, 0)
    for node in reversed(order[:budget]):
        inner = [made[id(child)] for child in node.children if id(child) in made]
        made[id(node)] = _leaf(node, inner)
    parts = [element("ul", *(made[id(r)] for r in roots if id(r) in made), class_="tree")]
    if left_out:
        parts.append(element("p", f"{left_out:,} more agents.", class_="left-out"))
    return joined(parts)


def _leaf(node: Node, children: Sequence[Markup]) -> Markup:
    badge = element("span", node.status, class_="badge" if node.status in GOOD else "badge bad")
    parts = [element("span", node.name, class_="who"), " ", badge, " ", element("span", node.note, class_="soft")]
    if children:
        parts.append(element("ul", *children))
    return element("li", *parts)


def picture(svg: Markup, name: str) -> Markup:
    """A drawing that scrolls sideways where the page is narrower."""
    return element("div", svg, class_="wide", tabindex="0", role="region", aria_label=name)


def legend(*entries: tuple[str, str]) -> Markup:
    """Swatches: pairs of a swatch's kind and what it stands for."""
    return element("ul", *(element("li", _swatch(kind), name) for kind, name in entries), class_="legend")


def _swatch(kind: str) -> Markup:
    if kind in ("spawn", "return", "unread", "message", "undelivered"):
        path = {"undelivered": "M1 4L11 12M1 12L11 4", "unread": "M0 8H16M14 4L22 12M14 12L22 4"}.get(kind, "M0 8H26")
        inside = element("g", element("path", d=path, class_="wire"), class_=f"arrow {kind}")
    elif kind in MARKS:
        lower = 17 if kind == "human" else 8
        inside = element("path", d=MARKS[kind], class_=kind, transform=f"translate(12 {lower})")
    elif kind.startswith("critical"):
        inside = element("line", x1=0, y1=8, x2=26, y2=8, class_=kind)
    else:
        high = 10.0 if kind in ("turn", "compaction") else 6.0
        inside = element("rect", x=1, y=8 - high / 2, width=22, height=high, rx=2, class_=kind)
    return element("svg", inside, width=26, height=16, viewBox="0 0 26 16", aria_hidden="true")


def left_out(what: Sequence[str]) -> Markup:
    """The notice of what a picture leaves out; empty where it leaves out nothing."""
    return element("p", "; ".join(what) + ".", class_="left-out") if what else Markup("")
