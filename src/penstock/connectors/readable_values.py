"""Records that came as Python values, in the columns of their type: what does not fit is a broken record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.errors import TypeMismatchError
from penstock.common.serialization import DeserializationError
from penstock.connectors.broken_records import BrokenRecords
from penstock.connectors.tolerant_reading import readable_parts

ToColumns = Callable[[Sequence[Any]], list[pa.Array]]
"""Raises `TypeMismatchError`, with the place of the value that does not fit where it knows it."""


def readable_values(
    codec: RecordCodec,
    values: Sequence[Any],
    broken: BrokenRecords,
    located: Callable[[int], str],
    *,
    to_columns: ToColumns | None = None,
    timestamps: Sequence[int | None] | None = None,
) -> Iterator[Batch]:
    """The values that are of the codec's type, many at a time; the others go to `broken`, which may raise.

    `located` says where the value of a place came from.
    """
    convert = to_columns or codec.to_columns
    parts, misfits = readable_parts(len(values), lambda start, end: _columns(convert, values[start:end]))
    for place, reason in misfits:
        broken.add(as_bytes(values[place]), located(place), reason)
    for start, end, columns in parts:
        yield Batch(codec, columns=columns, timestamps=None if timestamps is None else list(timestamps[start:end]))


def as_bytes(value: Any) -> bytes:
    """A value as somebody reads it who looks at broken records: bytes and text as they are, else JSON."""
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    text = value if isinstance(value, str) else json.dumps(value, default=repr, ensure_ascii=False)
    return text.encode("utf-8", "backslashreplace")


def _columns(convert: ToColumns, values: Sequence[Any]) -> list[pa.Array]:
    try:
        return convert(values)
    except TypeMismatchError as problem:
        if problem.index is not None:
            raise DeserializationError(problem.index, str(problem)) from problem
    # It does not say which: the first that does not fit alone.
    for place, value in enumerate(values):
        try:
            convert([value])
        except TypeMismatchError as problem:
            raise DeserializationError(place, str(problem)) from problem
    return convert(values)
