"""Avro schemas, and which types of ours their values have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.common.errors import ConfigurationError, UnsupportedError
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
    Types,
)
from penstock.connectors.avro.library import fastavro
from penstock.connectors.declared_rows import DeclaredRow

_PRIMITIVES = {
    "boolean": Types.BOOLEAN,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "string": Types.STRING,
    "bytes": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "fixed": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "enum": Types.STRING,
}
_LOGICAL = {
    "decimal": Types.BIG_DEC,
    "date": Types.SQL_DATE,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "timestamp-millis": Types.SQL_TIMESTAMP,
    "timestamp-micros": Types.SQL_TIMESTAMP,
    "local-timestamp-millis": Types.SQL_TIMESTAMP,
    "local-timestamp-micros": Types.SQL_TIMESTAMP,
    "uuid": Types.STRING,
}
_AVRO_OF_BASIC: dict[BasicType, Any] = {
    BasicType.STRING: "string",
    BasicType.CHAR: "string",
    BasicType.BOOLEAN: "boolean",
    BasicType.BYTE: "int",
    BasicType.SHORT: "int",
    BasicType.INT: "int",
    BasicType.LONG: "long",
    BasicType.FLOAT: "float",
    BasicType.DOUBLE: "double",
    BasicType.BIG_INT: "string",
    BasicType.BIG_DEC: "string",
}


class AvroSchema:
    """The schema of Avro records."""

    def __init__(self, schema: Mapping[str, Any] | list[Any] | str) -> None:
        """`schema` is what the JSON of the schema holds."""
        self._schema = schema
        try:
            self._parsed = fastavro().parse_schema(schema)
        except (ValueError, KeyError, TypeError, _problems()) as problem:
            raise ConfigurationError(f"no Avro schema: {problem}: {json.dumps(schema)[:300]}") from problem

    def __reduce__(self) -> tuple[type[AvroSchema], tuple[Any]]:
        return type(self), (self._schema,)

    def __str__(self) -> str:
        return json.dumps(self._schema, separators=(",", ":"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AvroSchema) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    @staticmethod
    def parse_string(json_schema: str) -> AvroSchema:
        """The schema that JSON text describes."""
        try:
            return AvroSchema(json.loads(json_schema))
        except ValueError as problem:
            if isinstance(problem, ConfigurationError):
                raise
            raise ConfigurationError(f"an Avro schema is JSON: {problem}") from None

    @staticmethod
    def parse_file(file_path: str) -> AvroSchema:
        """The schema in a file."""
        return AvroSchema.parse_string(Path(file_path).read_text())

    @staticmethod
    def of_row(declared: DeclaredRow, name: str = "Record") -> AvroSchema:
        """The schema for rows of a declared type: every field may be null; decimals of DDL are decimals."""
        return AvroSchema(_record_of(name, declared.type_info, pa.struct(list(declared.file_schema))))

    @property
    def parsed(self) -> Any:
        """The schema in the form that fastavro works with."""
        return self._parsed

    @property
    def type_info(self) -> TypeInformation:
        """The type of values of the schema."""
        return _type_of(self._parsed, "the schema", {})


class GenericRecordAvroTypeInfo(PickledBytesTypeInfo):
    """Records as dicts that a schema describes; its fields are those of the schema, arrays lists and maps dicts."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema

    @property
    def schema(self) -> AvroSchema:
        """The schema of the records."""
        return self._schema


def _problems() -> type[Exception]:
    return fastavro().schema.SchemaParseException


def _type_of(node: Any, where: str, named: dict[str, TypeInformation]) -> TypeInformation:  # noqa: PLR0911
    if isinstance(node, list):
        kinds = [each for each in node if each != "null"]
        if len(kinds) != 1:
            raise UnsupportedError(f"{where}: an Avro union may be one type and null, got {node}")
        return _type_of(kinds[0], where, named)
    if isinstance(node, str):
        if node in _PRIMITIVES:
            return _PRIMITIVES[node]()
        if node in named:
            return named[node]
        raise UnsupportedError(f"{where}: the Avro type {node!r} refers to itself or is not known")
    logical = node.get("logicalType")
    if logical in _LOGICAL:
        return _LOGICAL[logical]()
    kind = node["type"]
    if kind in ("record", "error"):
        fields = node["fields"]
        if not fields:
            raise UnsupportedError(f"{where}: an Avro record needs at least one field")
        names = [field["name"] for field in fields]
        types = [_type_of(field["type"], f"field {field['name']!r} of {where}", named) for field in fields]
        named[node["name"]] = Types.ROW_NAMED(names, types)
        return named[node["name"]]
    if kind == "array":
        return Types.LIST(_type_of(node["items"], f"the items of {where}", named))
    if kind == "map":
        return Types.MAP(Types.STRING(), _type_of(node["values"], f"the values of {where}", named))
    if kind in _PRIMITIVES:
        if "name" in node:
            named[node["name"]] = _PRIMITIVES[kind]()
        return _PRIMITIVES[kind]()
    return _type_of(kind, where, named)


def _record_of(name: str, type_info: CompositeTypeInfo, file_type: pa.StructType) -> dict[str, Any]:
    fields: list[dict[str, Any]] = []
    for index, (field, field_type) in enumerate(
        zip(type_info.get_field_names(), type_info.get_field_types(), strict=True)
    ):
        avro = _avro_of(f"{name}_{field}", field_type, file_type.field(index).type)
        fields.append({"name": field, "type": ["null", avro], "default": None})
    return {"type": "record", "name": name, "fields": fields}


def _avro_of(name: str, type_info: TypeInformation, file_type: pa.DataType) -> Any:  # noqa: PLR0911  one line per type
    if pa.types.is_decimal(file_type):
        precision, scale = file_type.precision, file_type.scale
        return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    match type_info:
        case BasicTypeInfo() if type_info.basic_type in _AVRO_OF_BASIC:
            return _AVRO_OF_BASIC[type_info.basic_type]
        case DateTypeInfo():
            return {"type": "int", "logicalType": "date"}
        case TimeTypeInfo():
            return {"type": "long", "logicalType": "time-micros"}
        case TimestampTypeInfo():
            return {"type": "long", "logicalType": "timestamp-micros"}
        case PrimitiveArrayTypeInfo() if type_info.is_bytes:
            return "bytes"
        case CollectionTypeInfo():
            return {"type": "array", "items": ["null", _avro_of(name, type_info.element_type, file_type.value_type)]}
        case MapTypeInfo() if type_info.key_type == Types.STRING():
            return {"type": "map", "values": ["null", _avro_of(name, type_info.value_type, file_type.item_type)]}
        case CompositeTypeInfo():
            return _record_of(name, type_info, file_type)
        case _:
            raise UnsupportedError(f"{name}: {type_info!r} has no Avro type")
