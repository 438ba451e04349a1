"""`codec_for`: how the records of a declared type become Arrow columns and back."""
# ruff: noqa: D102 (methods that a base class or protocol documents)

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import RecordCodec
from penstock.common.columns import (
    BooleanColumn,
    CharacterColumn,
    ColumnCodec,
    DateColumn,
    FloatColumn,
    InstantColumn,
    IntegerColumn,
    PickledColumn,
    ScalarColumn,
    TextFormColumn,
    ZonelessColumn,
    decimal_to_text,
    int_to_text,
    text_to_int,
)
from penstock.common.composite_columns import ListColumn, MapColumn, StructColumn, encode_fields, shape_of
from penstock.common.errors import TypeMismatchError, UnsupportedError
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    DateTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)

VALUE_COLUMN = "value"
"""The name of the one column of records that have no fields."""


class ObjectCodec:
    """Python objects of no declared type: no columns, pickled as they are."""

    @property
    def schema(self) -> pa.Schema | None:
        return None

    def to_columns(self, values: Sequence[Any]) -> list[pa.Array]:
        raise UnsupportedError("records of no declared type have no columns; declare a type where columns are needed")

    def to_values(self, columns: Sequence[pa.Array]) -> list[Any]:
        raise UnsupportedError("records of no declared type have no columns; declare a type where columns are needed")

    def __reduce__(self) -> tuple[Any, ...]:
        return codec_for, (None,)


class ValueCodec:
    """Records without fields: one column."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info
        self._schema = pa.schema([pa.field(VALUE_COLUMN, type_info.arrow_type())])
        self._column = _column_codec(type_info)

    @property
    def schema(self) -> pa.Schema | None:
        return self._schema

    def to_columns(self, values: Sequence[Any]) -> list[pa.Array]:
        return [self._column.encode(values)]

    def to_values(self, columns: Sequence[pa.Array]) -> list[Any]:
        return self._column.decode(columns[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return codec_for, (self._type_info,)


class CompositeCodec:
    """Records with fields: one column per field."""

    def __init__(self, type_info: CompositeTypeInfo) -> None:
        self._type_info = type_info
        self._schema = pa.schema(type_info.arrow_fields())
        self._names = type_info.get_field_names()
        self._shape = shape_of(type_info)
        self._columns = [_column_codec(field_type) for field_type in type_info.get_field_types()]

    @property
    def schema(self) -> pa.Schema | None:
        return self._schema

    def to_columns(self, values: Sequence[Any]) -> list[pa.Array]:
        if not values:
            return [pa.array([], type=field.type) for field in self._schema]
        try:
            return self._encoded(values)
        except TypeMismatchError as error:
            raise self._first_misfit(values, error) from None

    def to_values(self, columns: Sequence[pa.Array]) -> list[Any]:
        return self._shape.join([codec.decode(c) for codec, c in zip(self._columns, columns, strict=True)])

    def _encoded(self, values: Sequence[Any]) -> list[pa.Array]:
        return encode_fields(self._names, self._columns, self._shape.split(values))

    def _first_misfit(self, values: Sequence[Any], error: TypeMismatchError) -> TypeMismatchError:
        # A value of the wrong form hides earlier ones that have a wrong field.
        while error.index:
            try:
                self._encoded(values[: error.index])
            except TypeMismatchError as earlier:
                error = earlier
            else:
                break
        return error

    def __reduce__(self) -> tuple[Any, ...]:
        return codec_for, (self._type_info,)


def codec_for(type_info: TypeInformation | None) -> RecordCodec:
    """The codec of a type; None and pickled types have the codec without columns. Codecs are cached."""
    if type_info is None or type_info.is_pickled:
        return _OBJECT_CODEC
    return _cached_codec(type_info.exact_key(), type_info)


_OBJECT_CODEC = ObjectCodec()


@lru_cache(maxsize=1024)
def _cached_codec(exact_key: object, type_info: TypeInformation) -> RecordCodec:
    # The key is what tells apart rows that differ in the names of their fields only: such types are equal.
    return CompositeCodec(type_info) if isinstance(type_info, CompositeTypeInfo) else ValueCodec(type_info)


def _column_codec(type_info: TypeInformation) -> ColumnCodec:  # noqa: PLR0911 (a table)
    match type_info:
        case BasicTypeInfo():
            return _basic_column(type_info)
        case DateTypeInfo():
            return DateColumn(type_info)
        case TimeTypeInfo():
            return ZonelessColumn(type_info, time)
        case TimestampTypeInfo():
            return ZonelessColumn(type_info, datetime)
        case PickledBytesTypeInfo():
            return PickledColumn()
        case CompositeTypeInfo():
            return StructColumn(type_info, [_column_codec(field_type) for field_type in type_info.get_field_types()])
        case MapTypeInfo():
            return MapColumn(type_info, _column_codec(type_info.key_type), _column_codec(type_info.value_type))
        case PrimitiveArrayTypeInfo() if type_info.is_bytes:
            return ScalarColumn(type_info, (bytes, bytearray))
        case CollectionTypeInfo():
            return ListColumn(type_info, _column_codec(type_info.element_type))
        case _:
            raise UnsupportedError(f"no Arrow form is known for {type_info!r}")


def _basic_column(type_info: BasicTypeInfo) -> ColumnCodec:  # noqa: PLR0911 (a table)
    match type_info.basic_type:
        case BasicType.STRING:
            return ScalarColumn(type_info, (str,))
        case BasicType.BOOLEAN:
            return BooleanColumn(type_info)
        case BasicType.BYTE | BasicType.SHORT | BasicType.INT | BasicType.LONG:
            return IntegerColumn(type_info)
        case BasicType.FLOAT | BasicType.DOUBLE:
            return FloatColumn(type_info)
        case BasicType.CHAR:
            return CharacterColumn(type_info)
        case BasicType.BIG_INT:
            return TextFormColumn(type_info, (int, np.integer), int_to_text, text_to_int)
        case BasicType.BIG_DEC:
            return TextFormColumn(type_info, (Decimal, int, float), decimal_to_text, Decimal)
        case BasicType.INSTANT:
            return InstantColumn(type_info)
