"""Arrays as the credit arithmetic takes them: checked once, at the door."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def floats(name: str, values: ArrayLike, *, like: tuple[str, int] | None = None, ndim: int = 1) -> Floats:
    """`values` as finite float64.

    Args:
      name: how the caller calls it, for the message.
      values: anything numpy takes.
      like: (name, length) of the array that its first axis must agree with; None: any length.
      ndim: how many axes it must have.

    Raises:
      ValueError: wrong shape, or a value that is NaN or infinite.
    """
    array = np.asarray(values, dtype=np.float64)
    _shaped(name, array, like, ndim)
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name}[{', '.join(map(str, place))}] is {array[place]}; it must be finite")
    return array


def ints(name: str, values: ArrayLike, *, like: tuple[str, int] | None = None, ndim: int = 1) -> Ints:
    """`values` as int64, for keys and counts.

    Raises:
      ValueError: wrong shape, or values that are no whole numbers of 64 bits with a sign.
    """
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iub":
        raise ValueError(f"{name} has dtype {array.dtype}; it must hold whole numbers")
    if array.size and array.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} holds {array.max()}; a key is less than 2^63")
    array = array.astype(np.int64)
    _shaped(name, array, like, ndim)
    return array


def bools(name: str, values: ArrayLike, *, like: tuple[str, int] | None = None, ndim: int = 1) -> Bools:
    """`values` as booleans.

    Raises:
      ValueError: wrong shape, or values that are neither booleans nor 0 and 1.
    """
    array = np.asarray(values)
    if array.size and array.dtype.kind != "b" and not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} must hold True and False")
    array = array.astype(np.bool_)
    _shaped(name, array, like, ndim)
    return array


def _shaped(name: str, array: NDArray[np.generic], like: tuple[str, int] | None, ndim: int) -> None:
    if array.ndim != ndim:
        raise ValueError(f"{name} has shape {array.shape}; it must have {ndim} axes")
    if like is not None and len(array) != like[1]:
        raise ValueError(f"{name} has length {len(array)}, but {like[0]} has {like[1]}")
