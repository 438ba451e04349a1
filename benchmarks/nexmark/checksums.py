"""The checksum of results, as README.md has it, for many rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MODULUS = 65_521


def checksum(columns: Sequence[pa.Array]) -> int:
    """The sum over all rows; columns in the order of the result."""
    mixed: Any = np.zeros(len(columns[0]), np.int64)
    for place, column in enumerate(columns, 1):
        mixed += place * _values(column).to_numpy(zero_copy_only=False).astype(np.int64)
    mixed %= MODULUS
    return int((mixed * mixed).sum())


def _values(column: pa.Array) -> pa.Array:
    column = pc.fill_null(column, 0) if pa.types.is_integer(column.type) else column
    if pa.types.is_string(column.type):
        return pc.fill_null(pc.utf8_length(column), 0)
    return column


def decimal_thousandths(texts: pa.Array) -> pa.Array:
    """Decimals that are written as texts, times 1000."""
    return pc.multiply(texts.cast(pa.decimal128(20, 3)), pa.scalar(1000, pa.int32())).cast(pa.int64())
