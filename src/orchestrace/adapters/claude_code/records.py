"""Narrow reading of one record: whatever type a field has, these give the expected one or nothing."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from orchestrace.trace import Tokens

_LARGEST = 1 << 53
_NO_SLUG = re.compile(r"[^a-z0-9]+")
MAX_SLUGS = 32
"""Distinct unknown names that are counted under their own name."""


def text(value: object) -> str:
    """The string, or ""."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> Sequence[Any]:
    """The list, or an empty one."""
    return value if isinstance(value, list) else ()


def whole(value: object) -> int | None:
    """A count that other readers can hold (0 to 2^53), or None."""
    return value if type(value) is int and 0 <= value < _LARGEST else None


def seconds(value: object) -> float | None:
    """Unix seconds of an ISO 8601 time; one without a zone means UTC. None where it is none."""
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def iso(unix_s: float) -> str:
    """ISO 8601 UTC with milliseconds, `2026-07-01T09:08:20.000Z`."""
    return datetime.fromtimestamp(round(unix_s, 3), UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


class Flat(NamedTuple):
    """The text of a content field."""

    text: str
    left_out: int
    """Blocks that are no text: images, documents."""


def flat(content: object) -> Flat:
    """The texts of a content field (a string, or blocks), one below the other."""
    if isinstance(content, str):
        return Flat(content, 0)
    parts, left_out = [], 0
    for block in items(content):
        if isinstance(block, str):
            parts.append(block)
            continue
        fields = mapping(block)
        if isinstance(fields.get("text"), str):
            parts.append(fields["text"])
        elif fields.get("type") == "tool_reference":
            parts.append(text(fields.get("tool_name")))
        elif fields.get("type") == "web_search_result":
            parts.append(f"{text(fields.get('title'))} {text(fields.get('url'))}")
        else:
            left_out += 1
    return Flat("\n".join(parts), left_out)


_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}


def merged_tokens(held: Tokens | None, usage: object, counts: Counter[str]) -> Tokens | None:
    """Field by field the larger of what is held and what one more line of the same message says."""
    fields = mapping(usage)
    if not fields:
        return held
    merged: dict[str, int | None] = {}
    for ours, theirs in _USAGE.items():
        value = fields.get(theirs)
        number = whole(value)
        if number is None and value is not None:
            counts["bad_usage"] += 1
        before = getattr(held, ours) if held is not None else None
        known = [n for n in (before, number) if n is not None]
        merged[ours] = max(known) if known else None
    return Tokens(**merged)


class Slugs:
    """Names from a log as diagnostics; a log cannot make more than MAX_SLUGS of them."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts, self._known = counts, set[str]()

    def count(self, prefix: str, name: object) -> None:
        """Count `<prefix>_<name>`."""
        slug = _NO_SLUG.sub("_", text(name)[:100].lower()).strip("_")[:40] or "untyped"
        key = f"{prefix}_{slug}"
        if key not in self._known:
            if len(self._known) >= MAX_SLUGS:
                key = f"{prefix}_other"
            else:
                self._known.add(key)
        self._counts[key] += 1
