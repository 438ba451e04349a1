"""Numbers as Flink hands them out by their declared type: a FLOAT is 0.1, and not the 64 bits next to its 32 bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.common.row import Row, restore_row
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


def short_floats_in(type_info: TypeInformation | None) -> Convert | None:
    """A copy of a value of the type, with its 32-bit floats made short; None: there is no such float in it."""
    return _numbers_in(type_info, {BasicType.FLOAT: short_float})


def declared_numbers_in(type_info: TypeInformation | None) -> Convert | None:
    """A copy of a value as a function returned it, in Flink's form: short floats, DOUBLE 1.0 for 1, INT 1 for True."""
    return _numbers_in(type_info, _DECLARED)


def _numbers_in(type_info: TypeInformation | None, converts: Mapping[BasicType, Convert]) -> Convert | None:
    match type_info:
        case BasicTypeInfo():
            convert = converts.get(type_info.basic_type)
            return convert and _or_none(convert)
        case CollectionTypeInfo():
            convert = _numbers_in(type_info.element_type, converts)
            return convert and _or_none(_of_collection(convert))
        case MapTypeInfo():
            parts = [_numbers_in(part, converts) for part in (type_info.key_type, type_info.value_type)]
            return _or_none(_of_map(*(convert or _same for convert in parts))) if any(parts) else None
        case RowTypeInfo() | TupleTypeInfo():
            parts = [_numbers_in(field_type, converts) for field_type in type_info.get_field_types()]
            convert_fields = _of_row if isinstance(type_info, RowTypeInfo) else _of_tuple
            return _or_none(convert_fields([convert or _same for convert in parts])) if any(parts) else None
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


_DECLARED: Mapping[BasicType, Convert] = {
    BasicType.FLOAT: short_float,
    BasicType.DOUBLE: float,
    BasicType.BOOLEAN: bool,
    **dict.fromkeys((BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG), int),
}


def _of_collection(convert: Convert) -> Convert:
    return lambda values: (tuple if isinstance(values, tuple) else list)(map(convert, values))


def _of_map(key: Convert, value: Convert) -> Convert:
    return lambda entries: {key(k): value(v) for k, v in entries.items()}


def _of_tuple(fields: list[Convert]) -> Convert:
    return lambda record: tuple(convert(value) for convert, value in zip(fields, record, strict=True))


def _of_row(fields: list[Convert]) -> Convert:
    def convert_row(row: Any) -> Any:
        if not isinstance(row, Row):
            return row  # a tuple, say, that stands for one
        values = [convert(value) for convert, value in zip(fields, row, strict=True)]
        names = row.get_field_names()
        return restore_row(None if names is None else tuple(names), values, row.get_row_kind().value)

    return convert_row


def _or_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value
