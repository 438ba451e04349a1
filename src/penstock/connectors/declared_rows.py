"""Rows as a program declares them: by a type, a dataclass or named tuple, or the text of a table's columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SinkError, UnsupportedError
from penstock.common.type_inference import infer_type
from penstock.common.typeinfo import CompositeTypeInfo, RowTypeInfo, TypeInformation
from penstock.connectors.ddl import columns_of_ddl

RowDescription = TypeInformation | type[Any] | str
"""`Types.ROW_NAMED(...)`, a dataclass or NamedTuple, or DDL text: `"id BIGINT, price DECIMAL(10, 2)"`."""


@dataclass(frozen=True)
class DeclaredRow:
    """A type with fields, and the columns that a file of such rows has.

    They differ in decimal numbers: a field of DDL's `DECIMAL(10, 2)` is a `Decimal`, which travels as text, and a
    decimal number in a Parquet file.
    """

    type_info: CompositeTypeInfo
    file_schema: pa.Schema

    @staticmethod
    def of(what: str, description: RowDescription) -> DeclaredRow:
        """The row that a program describes; `what` begins the message where it cannot be one."""
        if isinstance(description, str):
            type_info, schema = columns_of_ddl(description)
            return DeclaredRow(type_info, schema)
        type_info = infer_type(description)
        if not isinstance(type_info, CompositeTypeInfo):
            raise ConfigurationError(
                f"{what}: expected a type with fields (Types.ROW_NAMED, a dataclass, a NamedTuple, or DDL text such as "
                f"'id BIGINT, name STRING'), got {description!r}"
            )
        return DeclaredRow(type_info, pa.schema(type_info.arrow_fields()))


def row_type_of(what: str, description: RowDescription) -> CompositeTypeInfo:
    """The type with fields that a program describes."""
    return DeclaredRow.of(what, description).type_info


def row_of_fields(record_type: TypeInformation, fields: Collection[str]) -> RowTypeInfo:
    """The type of rows of some fields of a type, in their order there."""
    assert isinstance(record_type, CompositeTypeInfo)
    types = dict(zip(record_type.get_field_names(), record_type.get_field_types(), strict=True))
    names = [name for name in types if name in fields]
    return RowTypeInfo([types[name] for name in names], names)


def check_fits(what: str, record_type: TypeInformation, declared: DeclaredRow | None) -> None:
    """Refuses records that have no columns, or others than those declared."""
    schema = codec_for(record_type).schema
    if schema is None:
        raise UnsupportedError(
            f"records of no declared type cannot be written as {what}: declare one before the sink, e.g. "
            "map(..., output_type=Types.ROW_NAMED(...))"
        )
    if declared is not None and len(schema) != len(declared.file_schema):
        raise ConfigurationError(
            f"{what}: the files have the columns {declared.file_schema.names}, and the records the fields "
            f"{schema.names}"
        )


def file_records(batch: Batch, declared: DeclaredRow | None) -> pa.RecordBatch:
    """The records as the columns of a file: fields by their place, converted where the file's type is another."""
    schema = batch.codec.schema
    if schema is None:
        raise UnsupportedError(
            "records of no declared type have no columns: declare one before the sink, e.g. "
            "map(..., output_type=Types.ROW_NAMED(...))"
        )
    if declared is None:
        return pa.RecordBatch.from_arrays(batch.columns, schema=schema)
    wanted = declared.file_schema
    return pa.RecordBatch.from_arrays(cast_columns(batch.columns, schema.names, wanted), schema=wanted)


def cast_columns(columns: Sequence[pa.Array], names: Sequence[str], wanted: pa.Schema) -> list[pa.Array]:
    """The columns in other types."""
    result: list[pa.Array] = []
    for column, name, field in zip(columns, names, wanted, strict=True):
        if not column.type.equals(field.type):
            try:
                column = column.cast(field.type)  # noqa: PLW2901
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
                raise SinkError(
                    f"field {name} is {column.type} and cannot be written as {field.type}, the type of column "
                    f"{field.name}: {problem}"
                ) from problem
        result.append(column)
    return result
