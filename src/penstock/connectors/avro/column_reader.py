"""Reads many Avro messages of one schema at once, field by field: no Python per record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.avro.schema import AvroSchema
from penstock.connectors.messages_in_step import IrregularError, MessagesInStep

_DECIMAL_BYTES = 16
_DECIMAL_DIGITS = 38
_PROMOTED = {
    ("int", "long"),
    ("int", "float"),
    ("int", "double"),
    ("long", "float"),
    ("long", "double"),
    ("float", "double"),
}
# The times that Python has: days, and milliseconds, from the year 1 to the year 9999.
_DAYS = (-719_162, 2_932_896)
_MILLIS = (-62_135_596_800_000, 253_402_300_799_999)
_DAY_MILLIS = (0, 86_399_999)


class _Unsupported(Exception):
    """A schema with something that is not read in step."""


Read = Callable[[MessagesInStep], pa.Array]


class AvroColumnReader:
    """Reads messages of a writer's schema as the columns of a type; `of` says whether it can."""

    def __init__(self, read: Callable[[MessagesInStep], list[pa.Array]]) -> None:
        self._read = read

    @staticmethod
    def of(writer: AvroSchema, reader: AvroSchema, type_info: CompositeTypeInfo) -> AvroColumnReader | None:
        """None where the schemas have arrays, maps, or anything that needs a closer look."""
        try:
            return AvroColumnReader(_record_columns(writer.parsed, reader.parsed, type_info))
        except _Unsupported:
            return None

    def columns(self, messages: Sequence[bytes], start: int = 0) -> list[pa.Array] | None:
        """The columns; None when not every message is one whole record, behind `start` bytes of something else."""
        places = MessagesInStep.of(messages, start)
        try:
            if (places.positions > places.ends).any():
                return None
            columns = self._read(places)
        except (IrregularError, pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return None
        return columns if (places.positions == places.ends).all() else None


def _record_columns(
    writer: Any, reader: Any, type_info: CompositeTypeInfo
) -> Callable[[MessagesInStep], list[pa.Array]]:
    if not isinstance(writer, dict) or writer.get("type") != "record" or reader.get("type") != "record":
        raise _Unsupported
    wanted = {field["name"]: field for field in reader["fields"]}
    if any("aliases" in field for field in wanted.values()):
        raise _Unsupported
    types = dict(zip(type_info.get_field_names(), type_info.get_field_types(), strict=True))
    written = [field["name"] for field in writer["fields"]]
    reads: list[tuple[str, Read]] = []
    for field in writer["fields"]:
        name = field["name"]
        if name in wanted:
            reads.append((name, _resolved(field["type"], wanted[name]["type"], types.get(name))))
        else:
            reads.append((name, _read_of(field["type"], None)))
    missing = {name: _default(field, types.get(name)) for name, field in wanted.items() if name not in written}
    columns = [(name, each.column_type()) for name, each in types.items()]

    def read(messages: MessagesInStep) -> list[pa.Array]:
        found = {name: read_field(messages) for name, read_field in reads}
        return [
            found[name].cast(column_type)
            if name in found
            else pa.repeat(pa.scalar(missing.get(name), column_type), len(messages))
            for name, column_type in columns
        ]

    return read


def _resolved(writer: Any, reader: Any, type_info: TypeInformation | None) -> Read:
    """A field whose writer's type is the reader's, but for numbers that widen, and for null that is allowed too."""
    plain_writer, plain_reader = _without_null(writer), _without_null(reader)
    if _is_nullable(writer) and not _is_nullable(reader):
        raise _Unsupported
    if plain_writer != plain_reader and (_name(plain_writer), _name(plain_reader)) not in _PROMOTED:
        raise _Unsupported
    return _read_of(writer, type_info)


def _read_of(schema: Any, type_info: TypeInformation | None) -> Read:  # noqa: PLR0911, PLR0912  one line per type
    if _is_nullable(schema):
        return _nullable(_read_of(_without_null(schema), type_info), schema.index("null"))
    if isinstance(schema, list):
        raise _Unsupported
    kind = schema["type"] if isinstance(schema, dict) else schema
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    if logical is not None:
        return _logical(kind, logical, schema)
    match kind:
        case "null":
            return lambda messages: pa.nulls(len(messages))
        case "boolean":
            return _boolean
        case "int":
            return lambda messages: pa.array(messages.signed()).cast(pa.int32())
        case "long":
            return lambda messages: pa.array(messages.signed())
        case "float":
            return lambda messages: pa.array(messages.fixed(4).view("<f4").ravel())
        case "double":
            return lambda messages: pa.array(messages.fixed(8).view("<f8").ravel())
        case "bytes":
            return lambda messages: messages.texts(messages.signed())
        case "string":
            # The cast looks whether it is UTF-8.
            return lambda messages: messages.texts(messages.signed()).cast(pa.string())
        case "fixed":
            return lambda messages: messages.texts(np.full(len(messages), schema["size"], np.int64))
        case "enum":
            return _enum(schema["symbols"])
        case "record" if isinstance(type_info, CompositeTypeInfo):
            return _nested(schema, type_info)
        case _:
            raise _Unsupported


def _boolean(messages: MessagesInStep) -> pa.Array:
    found = messages.byte()
    if (found > 1).any():
        raise IrregularError
    return pa.array(found.astype(bool))


def _enum(symbols: Sequence[str]) -> Read:
    names = pa.array(symbols, pa.string())

    def read(messages: MessagesInStep) -> pa.Array:
        places = messages.signed()
        if ((places < 0) | (places >= len(symbols))).any():
            raise IrregularError
        return names.take(pa.array(places))

    return read


def _nullable(read_value: Read, null: int) -> Read:
    def read(messages: MessagesInStep) -> pa.Array:
        branches = messages.signed()
        if ((branches < 0) | (branches > 1)).any():
            raise IrregularError
        places = np.flatnonzero(branches != null)
        if len(places) == len(messages):
            return read_value(messages)
        there = messages.at(places)
        values = read_value(there)
        messages.positions[places] = there.positions
        taken = np.zeros(len(messages), np.int64)
        taken[places] = np.arange(len(places))
        return values.take(pa.array(taken, mask=branches == null))

    return read


def _nested(schema: Mapping[str, Any], type_info: CompositeTypeInfo) -> Read:
    read_fields = _record_columns(schema, schema, type_info)
    fields = list(type_info.column_type())
    return lambda messages: pa.StructArray.from_arrays(read_fields(messages), fields=fields)


def _logical(kind: str, logical: str, schema: Mapping[str, Any]) -> Read:
    match logical:
        case "date":
            return _times(pa.int32(), pa.date32(), _DAYS, 1)
        case "time-millis":
            return _times(pa.int32(), pa.time32("ms"), _DAY_MILLIS, 1)
        case "time-micros":
            return _times(pa.int64(), pa.time64("us"), _DAY_MILLIS, 1000)
        case "timestamp-millis" | "local-timestamp-millis":
            return _times(pa.int64(), pa.timestamp("ms"), _MILLIS, 1)
        case "timestamp-micros" | "local-timestamp-micros":
            return _times(pa.int64(), pa.timestamp("us"), _MILLIS, 1000)
        case "decimal" if schema["precision"] <= _DECIMAL_DIGITS:
            return _decimal(schema.get("size") if kind == "fixed" else None, schema)
        case _:
            raise _Unsupported


def _times(stored: pa.DataType, meaning: pa.DataType, limits: tuple[int, int], per_unit: int) -> Read:
    least, greatest = limits[0] * per_unit, (limits[1] + 1) * per_unit - 1

    def read(messages: MessagesInStep) -> pa.Array:
        numbers = messages.signed()
        if ((numbers < least) | (numbers > greatest)).any():
            raise IrregularError
        return pa.array(numbers).cast(stored).view(meaning)

    return read


def _decimal(size: int | None, schema: Mapping[str, Any]) -> Read:
    """Big-endian two's complement of any length, as Arrow's sixteen bytes, the least first."""
    decimals = pa.decimal128(schema["precision"], schema.get("scale", 0))

    def read(messages: MessagesInStep) -> pa.Array:
        sizes = np.full(len(messages), size, np.int64) if size is not None else messages.signed()
        if ((sizes < 1) | (sizes > _DECIMAL_BYTES)).any():
            raise IrregularError
        starts = messages.positions
        messages.advance(sizes)
        is_negative = messages.data[starts] >= 0x80
        content = np.empty((len(messages), _DECIMAL_BYTES), np.uint8)
        for place in range(_DECIMAL_BYTES):
            content[:, place] = np.where(
                place < sizes, messages.data[np.maximum(starts + sizes - 1 - place, 0)], np.where(is_negative, 0xFF, 0)
            )
        return pa.Array.from_buffers(decimals, len(messages), [None, pa.py_buffer(content)])

    return read


def _default(field: Mapping[str, Any], type_info: TypeInformation | None) -> Any:
    """What a field has that the writer does not know."""
    if "default" not in field:
        raise _Unsupported
    default = field["default"]
    if default is None:
        return None
    kind = _without_null(field["type"])
    if not isinstance(kind, str) or kind == "bytes" or type_info is None:
        raise _Unsupported
    return default


def _is_nullable(schema: Any) -> bool:
    return isinstance(schema, list) and len(schema) == 2 and "null" in schema


def _without_null(schema: Any) -> Any:
    if _is_nullable(schema):
        return next(each for each in schema if each != "null")
    if isinstance(schema, dict) and set(schema) == {"type"}:
        return schema["type"]
    return schema


def _name(schema: Any) -> str:
    return schema if isinstance(schema, str) else ""
