"""JSON on columns: all texts at once by Arrow's reader, and one by one by Python where one of them is out of line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.json as pa_json

from penstock.common.json_depth import DEEPEST_JSON, is_too_deep
from penstock.common.kernels import pc
from penstock.expressions.bound import Value
from penstock.expressions.text_kernels import by_distinct, joined

Steps = Sequence[str | int]
_NO_VALUE = object()
_INT64 = range(-(1 << 63), 1 << 63)
_ALL_IN_ONE_BLOCK = 1 << 30
_NOT_FOR_THE_READER = r"[\n\r]|(^|[\[:,-]\s*)(NaN|Inf)"
"""Ends of lines, which it goes by, and numbers that JSON does not have, but the reader."""
_MAY_BE_MORE_THAN_A_VALUE = r"^\s*[^{\s]|\}\s*,"
"""No object, or one that may be followed by a comma."""


def values_at(texts: pa.Array, steps: Steps, target: pa.DataType) -> pa.Array:
    """The value at a path of each text; null where there is none of that type."""
    read = _read_together(texts, _schema(steps, target)) if steps and all(isinstance(s, str) for s in steps) else None
    if read is None:
        return by_distinct(texts, lambda text: _value_at(text, steps, target), target)
    for _ in steps:
        # Not `field()`: it leaves out the nulls of the struct itself.
        read = read.flatten()[0]
    return pc.if_else(pc.is_valid(texts), read, pa.scalar(None, target))


def are_json(texts: pa.Array) -> pa.Array:
    """Whether each text is JSON."""
    if _read_together(texts, pa.schema([pa.field("-", pa.bool_())])) is not None:
        return pc.if_else(pc.is_valid(texts), True, pa.scalar(None, pa.bool_()))
    return by_distinct(texts, lambda text: _parsed(text) is not _NO_VALUE, pa.bool_())


def _schema(steps: Steps, target: pa.DataType) -> pa.Schema:
    nested = target
    for step in reversed(steps):
        nested = pa.struct([pa.field(str(step), nested)])
    return pa.schema([pa.field("v", nested)])


def _read_together(texts: pa.Array, schema: pa.Schema) -> pa.Array | None:
    """The texts as a column, where all of them are JSON that fits; None where one is not."""
    if not len(texts) or pc.any(pc.match_substring_regex(texts, _NOT_FOR_THE_READER)).as_py() or _may_be_deep(texts):
        return None
    # A text that is more than one value breaks its line, or makes two rows of it; no line makes none. `1,"x":2` does
    # neither as a member of an object, but does as an element of a list.
    values = pc.coalesce(texts, pa.scalar("null"))
    again: Sequence[Value] = ()
    if pc.any(pc.match_substring_regex(texts, _MAY_BE_MORE_THAN_A_VALUE)).as_py():
        again = (pa.scalar(',"again":['), values, pa.scalar("]"))
    lines = joined(pa.scalar('{"v":'), values, *again, pa.scalar("}"))
    data = "\n".join(lines.to_pylist()).encode()
    if len(data) >= _ALL_IN_ONE_BLOCK:
        return None
    try:
        table = pa_json.read_json(
            pa.BufferReader(data),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
            parse_options=pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except pa.ArrowException:
        return None
    return table.column(0).combine_chunks() if table.num_rows == len(texts) else None


def _may_be_deep(texts: pa.Array) -> bool:
    longest = pc.max(pc.binary_length(texts)).as_py()
    if longest is None or longest <= 2 * DEEPEST_JSON:
        return False
    opened = pc.add(pc.count_substring(texts, "["), pc.count_substring(texts, "{"))
    return pc.max(opened).as_py() > DEEPEST_JSON


def _refused(_: str) -> NoReturn:
    raise ValueError


class _Number(str):
    """A number as it is written."""


_DECODER = json.JSONDecoder(parse_float=_Number, parse_int=_Number, parse_constant=_refused)


def _parsed(text: str) -> Any:
    if is_too_deep(text):
        return _NO_VALUE
    try:
        return _DECODER.decode(text)
    except ValueError:
        return _NO_VALUE


def _value_at(text: str, steps: Steps, target: pa.DataType) -> Any:
    value = _parsed(text)
    for step in steps:
        if isinstance(step, str):
            value = value.get(step) if isinstance(value, dict) else None
        else:
            value = value[step] if isinstance(value, list) and step < len(value) else None
    return _as(value, target)


def _as(value: Any, target: pa.DataType) -> Any:  # noqa: PLR0911 (a table)
    """What a value of JSON is in a type; None where it is none of that type."""
    if isinstance(value, bool):
        if pa.types.is_string(target):
            return "true" if value else "false"
        return value if pa.types.is_boolean(target) else None
    if not isinstance(value, str):
        return None
    if pa.types.is_string(target):
        return value if value.isascii() or _is_text(value) else None
    if not isinstance(value, _Number):
        return None
    if pa.types.is_floating(target):
        return float(value)
    is_integer = pa.types.is_integer(target) and re.fullmatch("-?[0-9]{1,19}", value)
    return int(value) if is_integer and int(value) in _INT64 else None


def _is_text(value: str) -> bool:
    """Whether there is a column for it: an escape may name half of a character."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True
