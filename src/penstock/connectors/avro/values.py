"""Between the dicts of fastavro and the records of a type."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.calendar_columns import is_within_calendar
from penstock.common.codecs import codec_for
from penstock.common.errors import TypeMismatchError
from penstock.common.row import Row
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    CollectionTypeInfo,
    CompositeTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    TimestampTypeInfo,
    TypeInformation,
)

Convert = Callable[[Any], Any]
_DIRECT = frozenset(
    {
        BasicType.BOOLEAN,
        BasicType.INT,
        BasicType.LONG,
        BasicType.SHORT,
        BasicType.BYTE,
        BasicType.FLOAT,
        BasicType.DOUBLE,
    }
)


class AvroColumns:
    """Columns of a type with fields, from dicts: fields that a dict lacks are None, others are ignored."""

    def __init__(self, type_info: CompositeTypeInfo) -> None:
        self._codec = codec_for(type_info)
        fields = zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
        self._fields = [(name, field_type.column_type(), _stored(field_type)) for name, field_type in fields]

    def of(self, records: Sequence[dict[str, Any]]) -> list[pa.Array]:
        """One column per field."""
        columns: list[pa.Array] = []
        for name, column_type, convert in self._fields:
            values = [record.get(name) for record in records]
            if convert is not None:
                values = [None if value is None else convert(value) for value in values]
            column = pa.array(values, column_type)
            if not is_within_calendar(column):
                raise ValueError(f"field {name} has a time beyond the years 1 and 9999, which is none of Python's")
            columns.append(column)
        return columns

    def batch(self, records: Sequence[dict[str, Any]], timestamps: list[int | None] | None = None) -> Batch:
        """The records."""
        return Batch(self._codec, columns=self.of(records), timestamps=timestamps)


def _stored(type_info: TypeInformation) -> Convert | None:  # noqa: PLR0911  one line per type
    """What makes fastavro's value one that Arrow stores for the type; None where it is one."""
    match type_info:
        case BasicTypeInfo() if type_info.basic_type in _DIRECT:
            return None
        case BasicTypeInfo():
            return _text
        case TimestampTypeInfo():
            return _zoneless
        case PrimitiveArrayTypeInfo() if type_info.is_bytes:
            return None
        case CompositeTypeInfo():
            names = type_info.get_field_names()
            converts = [_stored(field_type) for field_type in type_info.get_field_types()]
            fields = list(zip(names, converts, strict=True))
            return lambda record: {name: _converted(record.get(name), convert) for name, convert in fields}
        case CollectionTypeInfo():
            element = _stored(type_info.element_type)
            return None if element is None else lambda values: [_converted(value, element) for value in values]
        case MapTypeInfo():
            inner = _stored(type_info.value_type)
            return lambda value: [(key, _converted(each, inner)) for key, each in value.items()]
        case _:
            return None


def _converted(value: Any, convert: Convert | None) -> Any:
    return value if value is None or convert is None else convert(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _zoneless(value: Any) -> Any:
    """Avro's timestamps are instants: as UTC without saying so, which is what our type holds."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value


def avro_value(value: Any) -> Any:  # noqa: PLR0911  one line per type
    """A record, or a part of one, in the form that fastavro writes."""
    match value:
        case Row():
            names = value.get_field_names()
            if names is None:
                raise TypeMismatchError(f"a row without names cannot be written as Avro: {value!r}")
            return {name: avro_value(each) for name, each in zip(names, value, strict=True)}
        case tuple() if hasattr(value, "_fields"):
            fields: Any = value
            return {name: avro_value(each) for name, each in fields._asdict().items()}
        case dict():
            return {key: avro_value(each) for key, each in value.items()}
        case list() | tuple():
            return [avro_value(each) for each in value]
        case datetime.datetime() if value.tzinfo is None:
            return value.replace(tzinfo=datetime.UTC)
        case bytearray():
            return bytes(value)
        case None | str() | bytes() | int() | float() | Decimal() | datetime.date() | datetime.time() | UUID():
            return value
        case _ if hasattr(value, "__dataclass_fields__"):
            return {name: avro_value(getattr(value, name)) for name in value.__dataclass_fields__}
        case _:
            return value


class AvroRecords:
    """Makes dicts of the records of a batch, with the field names of a schema."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)

    def of(self, batch: Batch) -> list[dict[str, Any]]:
        """One dict per record; fields of records that have columns are matched by their place."""
        schema = batch.codec.schema
        if schema is None:
            return [avro_value(value) for value in batch.values]
        # By way of the columns: a program may give a dict or a tuple where it declared a row.
        return [self._named(value) for value in batch.codec.to_values(batch.columns)]

    def of_value(self, value: Any) -> dict[str, Any]:
        """The dict of one record: a dict, or anything with as many fields."""
        if isinstance(value, dict):
            return {name: avro_value(part) for name, part in value.items()}
        return self._named(value)

    def _named(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, Row | tuple) and not hasattr(value, "__dataclass_fields__"):
            raise TypeMismatchError(f"a record with the fields {self._names} is expected, got {value!r}")
        parts = (
            list(value) if isinstance(value, Row | tuple) else [getattr(value, n) for n in value.__dataclass_fields__]
        )
        if len(parts) != len(self._names):
            raise TypeMismatchError(f"a record with the fields {self._names} is expected, got {value!r}")
        return {name: avro_value(part) for name, part in zip(self._names, parts, strict=True)}
