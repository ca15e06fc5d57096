"""Token arrays as bytes, and what one model call sampled.

A `Generation` names its arrays by hash. Their bytes have one form (ours): an 8-byte head, then the numbers,
little-endian and without padding.

    kind       head               numbers
    ids        FF "tok<i4" LF     int32, token ids of any text: a prompt, a completion
    logprobs   FF "tok<f8" LF     float64, natural logs: nothing of what a model server says is lost
    mask       FF "tok|u1" LF     one byte a token, 1 where it trains

No UTF-8 text begins with the byte FF. So the blob that `prompt_hash` names may hold the prompt's token ids or its text,
and its first bytes say which.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from orchestrace.errors import InputError
from orchestrace.trace import Turn

Kind = Literal["ids", "logprobs", "mask"]
Ids = NDArray[np.int32]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

MEDIA: Mapping[Kind, str] = {
    "ids": "application/vnd.orchestrace.token-ids",
    "logprobs": "application/vnd.orchestrace.token-logprobs",
    "mask": "application/vnd.orchestrace.token-mask",
}
"""Media type of each kind of token array, for a store that wants one."""

_FORM: Mapping[Kind, str] = {"ids": "<i4", "logprobs": "<f8", "mask": "|u1"}
_MARK = b"\xfftok"
_HEAD_BYTES = 8
_ROUNDING = 1e-3
"""How far above 0 the rounding of a model server may take a log-probability."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sampled:
    """What one model call read and wrote, in tokens."""

    prompt: Ids | None
    """[P] the rendered prompt; None: its token ids were not recorded."""
    ids: Ids
    """[K] the completion."""
    logprobs: Floats | None
    """[K] natural logs under the sampling policy; None: not recorded."""
    mask: Bools
    """[K] True where a token may train."""
    lacking: tuple[str, ...] = ()
    """What was not recorded, in words."""


def packed(kind: Kind, values: ArrayLike) -> bytes:
    """A token array as the bytes of a blob.

    Args:
      kind: `ids` (whole numbers in 0..2³¹−1), `logprobs` (finite, at most 0 but for rounding) or `mask` (booleans).
      values: [K]; an empty list is an array of length 0.

    Raises:
      ValueError: values that the kind does not hold.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{kind} have shape {array.shape}, expected one axis: [tokens]")
    if array.size and array.dtype.kind not in {"ids": "iu", "logprobs": "fiu", "mask": "b"}[kind]:
        raise ValueError(f"{kind} have dtype {array.dtype}, expected {_FORM[kind]}")
    if problem := _problem(kind, array):
        raise ValueError(problem)
    return _head(kind) + array.astype(_FORM[kind]).tobytes()


def unpacked(kind: Kind, data: bytes, *, place: str | None = None) -> NDArray[Any]:
    """The array in a blob: [K] int32, float64 or bool, by its kind.

    Args:
      kind: what the blob should hold.
      data: its bytes.
      place: where they are from, for the message.

    Raises:
      InputError: the bytes hold something else.
    """
    form = np.dtype(_FORM[kind])
    if not data.startswith(_head(kind)):
        raise InputError(f"no {kind} blob: it begins with {data[:_HEAD_BYTES]!r}, not {_head(kind)!r}", place=place)
    if (len(data) - _HEAD_BYTES) % form.itemsize:
        body = len(data) - _HEAD_BYTES
        raise InputError(f"a broken {kind} blob: {body} bytes hold no whole number of {form.str}", place=place)
    array = np.frombuffer(data, form, offset=_HEAD_BYTES)
    if problem := _problem(kind, array):
        raise InputError(problem, place=place)
    return array.astype({"ids": np.int32, "logprobs": np.float64, "mask": np.bool_}[kind])


def sampled(turn: Turn, blobs: Mapping[str, bytes], *, place: str) -> Sampled | str:
    """The tokens of a turn, or why there are none; `place` says in messages where it stands.

    A prompt or logprobs that are not there are None and listed in `lacking`. A turn whose ids, or whose loss mask, are
    named and not there has no tokens: without its mask too much would train.

    Raises:
      InputError: a blob holds something else than its field says, or ids, logprobs and mask differ in length.
    """
    made = turn.generation
    if made is None:
        return "no generation recorded"
    if made.token_ids is None:
        return "no token ids recorded"
    if made.token_ids not in blobs:
        return "token ids not among the blobs"
    if made.loss_mask is not None and made.loss_mask not in blobs:
        return "loss mask not among the blobs"
    ids = unpacked("ids", blobs[made.token_ids], place=f"{place}, token_ids")
    mask = np.ones(len(ids), np.bool_)
    if made.loss_mask is not None:
        mask = unpacked("mask", blobs[made.loss_mask], place=f"{place}, loss_mask")
    prompt, logprobs = _prompt(made.prompt_hash, blobs, place), _logprobs(made.logprobs, blobs, place)
    for name, array in (("logprobs", logprobs), ("loss_mask", mask)):
        if not isinstance(array, str) and len(array) != len(ids):
            raise InputError(f"{name} has {len(array)} numbers, but token_ids has {len(ids)}", place=place)
    return Sampled(
        prompt=None if isinstance(prompt, str) else prompt,
        ids=ids,
        logprobs=None if isinstance(logprobs, str) else logprobs,
        mask=mask,
        lacking=tuple(why for why in (prompt, logprobs) if isinstance(why, str)),
    )


def _prompt(name: str | None, blobs: Mapping[str, bytes], place: str) -> Ids | str:
    if name is None:
        return "prompt not recorded"
    if name not in blobs:
        return "prompt not among the blobs"
    data = blobs[name]
    if not data.startswith(_MARK):
        return "prompt recorded as text, not as token ids"
    return unpacked("ids", data, place=f"{place}, prompt_hash")


def _logprobs(name: str | None, blobs: Mapping[str, bytes], place: str) -> Floats | str:
    if name is None:
        return "logprobs not recorded"
    if name not in blobs:
        return "logprobs not among the blobs"
    return unpacked("logprobs", blobs[name], place=f"{place}, logprobs")


def _head(kind: Kind) -> bytes:
    return _MARK + _FORM[kind].encode() + b"\n"


def _problem(kind: Kind, array: NDArray[Any]) -> str | None:
    """What an array of this kind must not hold: the first place that does."""
    match kind:
        case "ids":
            wrong, expected = (array < 0) | (array > np.iinfo(np.int32).max), "a token id in 0..2147483647"
        case "logprobs":
            wrong, expected = ~(np.isfinite(array) & (array <= _ROUNDING)), "a natural log, finite and at most 0"
        case "mask":
            wrong, expected = array > 1, "0 or 1"
    if not wrong.any():
        return None
    at = int(np.flatnonzero(wrong)[0])
    return f"{kind}[{at}] is {array[at]}, expected {expected}"
