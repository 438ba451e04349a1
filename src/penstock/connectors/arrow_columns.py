"""Arrow data that somebody else made, in the columns of a declared type."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.common.errors import SourceError
from penstock.common.null_columns import widened


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


class WantedColumns:
    """All columns of a type, of which only some fields are read; the others are None."""

    def __init__(self, schema: pa.Schema, fields: Sequence[str] | None) -> None:
        self._schema = schema
        self._places = [place for place, field in enumerate(schema) if fields is None or field.name in fields]
        self._read = pa.schema([schema.field(place) for place in self._places])

    @property
    def names(self) -> list[str]:
        """The names of the columns that are read."""
        return self._read.names

    def columns_of(self, data: pa.RecordBatch | pa.Table) -> list[pa.Array]:
        """The columns in the order and types of the schema."""
        columns = columns_of(data, self._read)
        return columns if len(columns) == len(self._schema) else widened(columns, self._places, self._schema)


def require_columns(wanted: pa.Schema, given: pa.Schema) -> None:
    """Raises `SourceError` when a column is missing."""
    missing = [name for name in wanted.names if name not in given.names]
    if missing:
        raise SourceError(f"the Arrow data has no column {', '.join(missing)}: its columns are {given.names}")
