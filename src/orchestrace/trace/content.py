"""Texts as the trace names them: by hash, with a preview that is safe to show."""

import hashlib
import re
from collections.abc import Mapping
from typing import NamedTuple

from orchestrace.trace.events import Content

PREVIEW_CHARACTERS = 200

# Controls (C0, C1, DEL), line and paragraph separators, lone surrogates, and the format characters that hide or reorder
# text: soft hyphen, bidirectional marks and overrides, zero-width space and no-break space, tags. The zero-width joiner
# and non-joiner stay: emoji and several scripts need them, and they move nothing.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Described(NamedTuple):
    """A text and how a trace names it."""

    content: Content
    data: bytes
    """The bytes that `content.hash` names; an adapter keeps them beside the trace."""


def described(text: str | bytes, *, media: str = "text/plain") -> Described:
    """The content record of a text, and its bytes. Lone surrogates become "?"; bytes are taken as they are."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    shown = ""
    if isinstance(text, str):
        shown = preview(text)
    elif media.startswith("text/"):
        shown = preview(text[: 4 * PREVIEW_CHARACTERS].decode("utf-8", "replace"))
    return Described(Content(hash=hashlib.sha256(data).hexdigest(), bytes=len(data), media=media, preview=shown), data)


def known_text(content: Content, blobs: Mapping[str, bytes]) -> bytes | None:
    """The bytes of a text that are at hand: the blob, else a preview that holds all of it; None: neither."""
    shown = content.preview.encode()
    return blobs.get(content.hash, shown if shown and len(shown) == content.bytes else None)


def preview(text: str) -> str:
    """The first 200 characters at most, escaped."""
    return escaped(text[:PREVIEW_CHARACTERS])[:PREVIEW_CHARACTERS]


def escaped(text: str) -> str:
    r"""A text with every control, bidirectional and ANSI character made visible: ESC becomes `\x1b`, U+202E `\u202e`.

    What it gives is one line, holds no character that a terminal acts upon, and is no HTML escaping.
    """
    return _UNSAFE.sub(_visible, text)


def _visible(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
