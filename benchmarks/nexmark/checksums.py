"""The checksum of results, as README.md has it, for many rows at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MODULUS = 65_521


def checksum(columns: Sequence[pa.Array], *, by_length: bool = False) -> int:
    """The sum over all rows; columns in the order of the result. Texts count by their contents, or their length."""
    mixed: Any = np.zeros(len(columns[0]), np.int64)
    for place, column in enumerate(columns, 1):
        mixed += place * _values(column, by_length)
    mixed %= MODULUS
    return int((mixed * mixed).sum())


def _values(column: pa.Array, by_length: bool) -> Any:
    if pa.types.is_string(column.type):
        if not by_length:
            return text_numbers(column)
        column = pc.utf8_length(column)
    column = pc.fill_null(column, 0) if pa.types.is_integer(column.type) else column
    return column.to_numpy(zero_copy_only=False).astype(np.int64)


def text_numbers(texts: pa.StringArray) -> Any:
    """For each text, its length and its first, middle and last character: digits of a number to the base 128."""
    texts = pc.fill_null(texts, "") if texts.null_count else texts
    _, offsets, characters = texts.buffers()
    if not characters:  # there are empty texts only
        return np.zeros(len(texts), np.int64)
    codes = np.frombuffer(characters, np.uint8)
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    starts, ends = bounds[:-1], bounds[1:]
    numbers = lengths = ends - starts
    for places in (starts, starts + lengths // 2, ends - 1):
        # An empty text has no character, and may stand behind all others: what is read for it does not count.
        numbers = numbers * 128 + codes[np.minimum(places, len(codes) - 1)]
    return np.where(lengths > 0, numbers, 0)


def decimal_thousandths(decimals: pa.Array) -> pa.Array:
    """Decimals, perhaps written as texts, times 1000."""
    return pc.multiply(decimals.cast(pa.decimal128(20, 3)), pa.scalar(1000, pa.int32())).cast(pa.int64())
