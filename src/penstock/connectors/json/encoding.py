"""Records as lines of JSON."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from enum import Enum
from operator import attrgetter
from pathlib import PurePath
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import CompositeCodec
from penstock.common.errors import SinkError
from penstock.common.row import Row
from penstock.common.time import Instant
from penstock.connectors.json.column_text import is_flat, object_lines


def json_lines(batch: Batch) -> bytes:
    """One line per record.

    A record with fields is an object; a record without is the value itself. Numbers, texts, booleans and None are
    JSON's own; `Decimal` is text with all its digits; dates, times and instants are ISO 8601; bytes are base64; NaN
    and the infinities are the texts "NaN", "Infinity" and "-Infinity"; the keys of a dict are text.
    """
    schema = batch.codec.schema
    if not isinstance(batch.codec, CompositeCodec) or schema is None or not len(batch):
        return _lines(map(jsonable, batch.values))
    names, columns = schema.names, batch.columns
    if is_flat(schema) and not any(map(_is_unclear, columns)):
        (first,) = batch.codec.to_values([column.slice(0, 1) for column in columns])
        return object_lines(names, columns, _fields_of(first, names)(first))
    # Not the batch's own values: a program may give a dict or a tuple where it declared a row.
    values = batch.codec.to_values(columns)
    fields_of = _fields_of(values[0], names)
    return _lines(jsonable(dict(zip(names, fields_of(value), strict=True))) for value in values)


def _lines(values: Iterable[Any]) -> bytes:
    return "".join([f"{_encode(value)}\n" for value in values]).encode()


def _is_unclear(column: pa.Array) -> bool:
    """Whether the first record does not tell what the texts of a column stand for."""
    return pa.types.is_string(column.type) and not column[0].is_valid and column.null_count < len(column)


def _fields_of(example: Any, names: Sequence[str]) -> Callable[[Any], Sequence[Any]]:
    if isinstance(example, Row):
        return list
    if isinstance(example, tuple):
        return tuple
    if len(names) == 1:
        get = attrgetter(names[0])
        return lambda value: (get(value),)
    return attrgetter(*names)


def jsonable(value: Any) -> Any:  # noqa: PLR0911, PLR0912  one line per type
    """The value in terms of JSON; raises `SinkError` where it has none."""
    match value:
        case Enum():
            return jsonable(value.value)
        case None | bool() | int() | str():
            return value
        case float():
            return float(value) if math.isfinite(value) else _special(value)
        case Decimal() | UUID() | PurePath():
            return str(value)
        case datetime.date() | datetime.time():
            return value.isoformat()
        case datetime.timedelta():
            return f"PT{value.total_seconds():g}S"
        case Instant():
            return _instant(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(value).decode()
        case Row():
            names = value.get_field_names()
            fields = [jsonable(each) for each in value]
            return fields if names is None else dict(zip(names, fields, strict=True))
        case dict():
            return {_key(key): jsonable(each) for key, each in value.items()}
        case tuple() if hasattr(value, "_fields"):
            return {name: jsonable(getattr(value, name)) for name in _names_of(value)}
        case list() | tuple():
            return [jsonable(each) for each in value]
        case set() | frozenset():
            # Sorted: a retry must write the same bytes.
            return sorted(map(jsonable, value), key=_encode)
        case np.generic():
            return jsonable(value.item())
        case np.ndarray():
            return jsonable(value.tolist())
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: jsonable(getattr(value, field.name)) for field in dataclasses.fields(value)}
        case _:
            raise SinkError(
                f"{value!r} of class {type(value).__qualname__} cannot be written as JSON: map it to a dict, a row, a "
                "dataclass or a text first"
            )


def _names_of(named_tuple: Any) -> tuple[str, ...]:
    return named_tuple._fields


def _key(key: Any) -> str:
    plain = jsonable(key)
    return plain if isinstance(plain, str) else _encode(plain)


def _special(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _instant(value: Instant) -> str:
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    fraction = f".{value.nanos:09d}".rstrip("0") if value.nanos else ""
    return f"{moment.isoformat()}{fraction}Z"


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
