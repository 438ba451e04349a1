"""Numbers of the type FLOAT as Flink hands them out: 0.1, and not the 64 bits next to the 32 bits of 0.1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.common.row import restore_row
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)

Convert = Callable[[Any], Any]


def short_floats_in(type_info: TypeInformation | None) -> Convert | None:  # noqa: PLR0911  one per type
    """A copy of a value of the type, with its 32-bit floats made short; None: there is no such float in it."""
    match type_info:
        case BasicTypeInfo(basic_type=BasicType.FLOAT):
            return _or_none(short_float)
        case CollectionTypeInfo():
            convert = short_floats_in(type_info.element_type)
            return convert and _or_none(lambda values: type(values)(map(convert, values)))
        case MapTypeInfo():
            key, value = (short_floats_in(part) or _same for part in (type_info.key_type, type_info.value_type))
            if key is _same and value is _same:
                return None
            return _or_none(lambda entries: {key(k): value(v) for k, v in entries.items()})
        case RowTypeInfo() | TupleTypeInfo():
            converts = [short_floats_in(field_type) for field_type in type_info.get_field_types()]
            if not any(converts):
                return None
            fields = [convert or _same for convert in converts]
            return _or_none(_of_row(fields) if isinstance(type_info, RowTypeInfo) else _of_tuple(fields))
        case _:
            return None


def short_float(value: float) -> float:
    """The number with the fewest digits that is the same as `value` in 32 bits; as in Java, two digits at least.

    >>> short_float(0.10000000149011612)
    0.1
    """
    number = np.float32(value)
    two_digits = float(f"{value:.1e}")
    return two_digits if np.float32(two_digits) == number else float(str(number))


def _of_tuple(fields: list[Convert]) -> Convert:
    return lambda record: tuple(convert(value) for convert, value in zip(fields, record, strict=True))


def _of_row(fields: list[Convert]) -> Convert:
    def convert_row(row: Any) -> Any:
        values = [convert(value) for convert, value in zip(fields, row, strict=True)]
        names = row.get_field_names()
        return restore_row(None if names is None else tuple(names), values, row.get_row_kind().value)

    return convert_row


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value
