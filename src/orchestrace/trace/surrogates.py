"""Lone surrogates: halves of characters that JSON can escape, Python can hold and UTF-8 cannot. Each becomes "?"."""

import json
import re
from typing import Generic, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")
_LONE = re.compile("[\ud800-\udfff]")


class JsonDocument(NamedTuple, Generic[T]):
    """A JSON document, decoded."""

    value: T
    data: bytes
    """What it was decoded from: the bytes that were given, or the same document in UTF-8 and mended."""
    surrogates: int
    """How many lone surrogates became "?"."""


def without_surrogates(text: str) -> tuple[str, int]:
    """The text with "?" for each lone surrogate, and how many there were."""
    return (text, 0) if text.isascii() else _LONE.subn("?", text)


def json_document(data: bytes, decoder: msgspec.json.Decoder[T]) -> JsonDocument[T]:
    """A JSON document in UTF-8, UTF-16 or UTF-32, with or without a byte order mark; lone surrogates become "?".

    Raises:
      msgspec.ValidationError: it is JSON, but not of the decoder's type.
      msgspec.MsgspecError, ValueError: it is no JSON, or holds a number that no float holds.
      RecursionError: it is nested too deeply.
    """
    try:
        return JsonDocument(decoder.decode(data), data, 0)
    except msgspec.ValidationError:
        raise
    except (msgspec.MsgspecError, UnicodeError):  # the fast decoder takes UTF-8 alone
        text = json.dumps(json.loads(data), ensure_ascii=False, allow_nan=False)
    text, replaced = without_surrogates(text)
    mended = text.encode()
    return JsonDocument(decoder.decode(mended), mended, replaced)
