"""HTML and SVG that no text from a log can break: a plain string is escaped, only `Markup` is taken as it is."""

import html
from collections.abc import Iterable

from orchestrace.trace import escaped

Attribute = str | float | None


class Markup(str):
    """Text that is HTML already. Made by `element` and `joined`, or from a constant of ours; never from a log."""

    __slots__ = ()


def shown(text: str) -> Markup:
    """A text as a page may show it: controls and bidirectional marks made visible, then `& < > " '` escaped."""
    return text if isinstance(text, Markup) else Markup(html.escape(escaped(text)))


def element(tag: str, /, *children: str, **attributes: Attribute) -> Markup:
    """`<tag name="value">children</tag>`.

    Attribute names: `class_` is `class`, and any other underscore is a hyphen; None leaves the attribute out. Numbers
    are rounded to a tenth, which is less than a reader can see.
    """
    inside = "".join(map(shown, children))
    said = "".join(f' {_name(name)}="{_value(value)}"' for name, value in attributes.items() if value is not None)
    return Markup(f"<{tag}{said}>{inside}</{tag}>")


def joined(parts: Iterable[str]) -> Markup:
    """The parts one after the other, plain strings escaped."""
    return Markup("".join(map(shown, parts)))


def cut(text: str, characters: int) -> str:
    """The text, its end replaced by an ellipsis where it is longer."""
    return text if len(text) <= characters else text[: characters - 1] + "…"


def _name(name: str) -> str:
    return name.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return shown(value)
    return f"{value:.1f}".removesuffix(".0")
