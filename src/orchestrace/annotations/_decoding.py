"""JSON documents as structs, refused in one line."""

from typing import TypeVar

import msgspec

from orchestrace.errors import InputError

T = TypeVar("T")


def decoded(document: bytes, form: type[T], *, refusal: str, remedy: str | None = None) -> T:
    """The document as a struct.

    Args:
      document: JSON.
      form: the struct.
      refusal: what the message begins with: `not evidence`.
      remedy: how it should look; None: the message says it already.

    Raises:
      InputError: it is none.
    """
    try:
        return msgspec.json.decode(document, type=form)
    except (msgspec.ValidationError, msgspec.DecodeError) as fault:
        what, _, place = str(fault).partition(" - at `")
        place = place.rstrip("`").replace("`", "")
        raise InputError(f"{refusal}: {what}", place=place or None, remedy=remedy) from None
