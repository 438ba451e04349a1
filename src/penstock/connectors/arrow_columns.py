"""Arrow data that somebody else made, in the columns of a declared type."""

from __future__ import annotations

import pyarrow as pa

from penstock.common.errors import SourceError


def columns_of(data: pa.RecordBatch | pa.Table, schema: pa.Schema | None) -> list[pa.Array]:
    """The columns of `data` in the order and types of `schema`."""
    if schema is None:
        raise SourceError("Arrow data needs a declared type with columns: pass a type_info such as Types.ROW_NAMED")
    require_columns(schema, data.schema)
    columns: list[pa.Array] = []
    for field in schema:
        column = data.column(field.name)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if not column.type.equals(field.type):
            try:
                column = column.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
                raise SourceError(
                    f"column {field.name} is {column.type} in the Arrow data and {field.type} in the declared type, "
                    f"and cannot be converted: {problem}"
                ) from problem
        columns.append(column)
    return columns


def require_columns(wanted: pa.Schema, given: pa.Schema) -> None:
    """Raises `SourceError` when a column is missing."""
    missing = [name for name in wanted.names if name not in given.names]
    if missing:
        raise SourceError(f"the Arrow data has no column {', '.join(missing)}: its columns are {given.names}")
