"""Columns of flat records as lines of JSON, put together by Arrow: no Python per record where it can be avoided."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.common.kernels import pc

# What a JSON string must escape; everything else is written as it is.
_ESCAPED = r'[\x00-\x1f"\\]'
_quoted = json.encoder.encode_basestring
_BOOLEANS = {True: "true", False: "false"}
_FEW = 16
"""The texts of so many records are sooner put together one by one."""


def is_flat(schema: pa.Schema) -> bool:
    """Whether every column is a number, a boolean, a text, a date or a time."""
    return not any(pa.types.is_nested(field.type) or pa.types.is_binary(field.type) for field in schema)


def object_lines(names: Sequence[str], columns: Sequence[pa.Array], example: Sequence[Any]) -> bytes:
    """One object per record and line; `example` are the Python values of the first record's fields.

    The example tells numbers that travel as text (`Decimal`, integers of any size) from text.
    """
    if len(columns[0]) <= _FEW:
        return _few_lines(names, columns, example)
    pieces: list[Any] = []
    separator = "{"
    for name, column, value in zip(names, columns, example, strict=True):
        pieces += [f"{separator}{_quoted(name)}:", _texts(column, value)]
        separator = ","
    joined = pc.binary_join_element_wise(*pieces, "}\n", "")
    # The texts of an Arrow array lie one after the other: that is the file already.
    offsets, data = joined.buffers()[1:3]
    ends = memoryview(offsets).cast("i")
    first, last = ends[joined.offset], ends[joined.offset + len(joined)]
    return data.slice(first, last - first).to_pybytes()


def _few_lines(names: Sequence[str], columns: Sequence[pa.Array], example: Sequence[Any]) -> bytes:
    texts = [_few_texts(column, value) for column, value in zip(columns, example, strict=True)]
    starts = [f"{_quoted(name)}:" for name in names]
    rows = (",".join([*map(str.__add__, starts, row)]) for row in zip(*texts, strict=True))
    return "".join([f"{{{row}}}\n" for row in rows]).encode()


def _few_texts(column: pa.Array, example: Any) -> list[str]:
    values = column.to_pylist()
    if pa.types.is_boolean(column.type):
        write = _BOOLEANS.__getitem__
    elif pa.types.is_integer(column.type) or (pa.types.is_string(column.type) and isinstance(example, int)):
        write = str
    elif pa.types.is_floating(column.type):
        write = _number
    elif pa.types.is_string(column.type):
        write = _quoted
    else:
        write = _iso_text
    return ["null" if value is None else write(value) for value in values]


def _texts(column: pa.Array, example: Any) -> pa.Array:
    if pa.types.is_integer(column.type) or pa.types.is_boolean(column.type):
        return column.cast(pa.string()).fill_null("null")
    if pa.types.is_floating(column.type):
        return pa.array(["null" if value is None else _number(value) for value in column.to_pylist()], pa.string())
    if pa.types.is_string(column.type):
        return _string_texts(column, example)
    return pa.array(map(_iso_text, column.to_pylist()), pa.string())


def _string_texts(column: pa.Array, example: Any) -> pa.Array:
    if isinstance(example, int):
        return column.fill_null("null")
    if pc.any(pc.match_substring_regex(column, _ESCAPED)).as_py():
        return pa.array(["null" if value is None else _quoted(value) for value in column.to_pylist()], pa.string())
    return pc.binary_join_element_wise('"', column, '"', "").fill_null("null")


def _number(value: float) -> str:
    if value - value == 0:
        return repr(value)
    if value != value:  # noqa: PLR0124  only NaN is not itself
        return '"NaN"'
    return '"Infinity"' if value > 0 else '"-Infinity"'


def _iso_text(value: datetime.date | datetime.time | None) -> str:
    return "null" if value is None else f'"{value.isoformat()}"'
