"""A batch as columns of plain Python values, which any writer of Parquet, Arrow or JSON lines takes."""

from dataclasses import fields
from typing import Any

import numpy as np

from orchestrace.rows.batch import RowBatch
from orchestrace.rows.rows import Row


def table(batch: RowBatch) -> dict[str, list[Any]]:
    """Field of `Row` -> its value in each row, in order.

    Arrays are lists of int, float or bool; spans are lists of [start, end]; absent is None. All columns are as long as
    the batch has rows, and an empty batch has all columns.
    """
    return {field.name: [_plain(getattr(row, field.name)) for row in batch.rows] for field in fields(Row)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [_plain(item) for item in value] if isinstance(value, tuple) else value
