"""Stored values as one Arrow column and back: typed where the declared type has such a column, else the bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.common.batch import RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.errors import StateCorruptionError, TypeMismatchError
from penstock.common.type_json import OBJECT
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    TypeInformation,
    Types,
    VariadicTupleTypeInfo,
)
from penstock.state.state_schema import StateSchema, stored_type
from penstock.state.value_serializers import ValueSerializer, serializer_for

COLUMNS = "columns"
ENCODED = "encoded"
_WIDER = {BasicType.FLOAT: BasicType.DOUBLE, BasicType.CHAR: BasicType.STRING}


class ValueColumn:
    """From the stored bytes of single values to a column and back."""

    def __init__(self, schema: StateSchema) -> None:
        self._type: TypeInformation | None = None
        self._stored: ValueSerializer | None = None
        self._codec: RecordCodec | None = None
        if schema.value != OBJECT:
            stored = self._type = stored_type(schema.value)
            self._stored = serializer_for(stored)
            self._codec = codec_for(Types.TUPLE([_column_type(stored)]))

    @property
    def has_columns(self) -> bool:
        """Whether the type has a column."""
        return self._codec is not None

    def arrow_type(self, form: str) -> pa.DataType:
        """The type of the column."""
        if form == ENCODED or self._codec is None or self._codec.schema is None:
            return pa.binary()
        return self._codec.schema.field(0).type

    def column(self, form: str, stored: Sequence[bytes]) -> pa.Array:
        """The column of stored values; raises `TypeMismatchError` where values are not what was declared."""
        if form == ENCODED or self._codec is None or self._stored is None:
            return pa.array(stored, pa.binary())
        column = _fast_column(self._type, stored)
        if column is not None:
            return column
        loads = self._stored.loads
        return self._codec.to_columns([(loads(data),) for data in stored])[0]

    def stored(self, form: str, column: pa.Array) -> list[bytes]:
        """The stored values of a column."""
        if form == ENCODED or self._codec is None or self._stored is None:
            if column.null_count:
                raise StateCorruptionError("a value is missing")
            return column.to_pylist()
        dumps = self._stored.dumps
        try:
            return [dumps(value) for (value,) in self._codec.to_values([column])]
        except TypeMismatchError as error:
            raise StateCorruptionError(f"a value does not fit: {error}") from None


_NUMBERS = {BasicType.LONG: "<i8", BasicType.DOUBLE: "<f8", BasicType.INT: "<i4"}


def _fast_column(type_info: TypeInformation | None, stored: Sequence[bytes]) -> pa.Array | None:
    """The column of numbers and text, all of which are there, without looking at each; None where that cannot be."""
    if not isinstance(type_info, BasicTypeInfo) or not stored or any(data[0] != 1 for data in stored):
        return None
    if type_info.basic_type is BasicType.STRING:
        return pa.array([data[1:] for data in stored], pa.binary()).cast(pa.string())
    code = _NUMBERS.get(type_info.basic_type)
    if code is None:
        return None
    number = np.dtype([("tag", "u1"), ("value", code)])
    if set(map(len, stored)) != {number.itemsize}:
        return None
    return pa.array(np.frombuffer(b"".join(stored), number)["value"])


def _column_type(stored: TypeInformation) -> TypeInformation:
    """The type of the column: with room for every value that is stored."""
    match stored:
        case BasicTypeInfo():
            return BasicTypeInfo(_WIDER.get(stored.basic_type, stored.basic_type))
        case CompositeTypeInfo():
            return CompositeTypeInfo(stored.get_field_names(), list(map(_column_type, stored.get_field_types())))
        case MapTypeInfo():
            return MapTypeInfo(_column_type(stored.key_type), _column_type(stored.value_type))
        case PrimitiveArrayTypeInfo(is_bytes=True):
            return stored
        case CollectionTypeInfo():
            cls = VariadicTupleTypeInfo if isinstance(stored, VariadicTupleTypeInfo) else ListTypeInfo
            return cls(_column_type(stored.element_type))
        case _:
            return stored
