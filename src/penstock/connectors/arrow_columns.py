"""Arrow data that somebody else made, in the columns of a declared type."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from penstock.common.calendar_columns import is_within_calendar
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
            missing = _missing_field(field.name, field.type, column.type)
            if missing is not None:
                raise SourceError(
                    f"column {field.name} has no field {missing}: it is {column.type} in the Arrow data and "
                    f"{field.type} in the declared type"
                )
            try:
                column = column.cast(field.type)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as problem:
                raise SourceError(
                    f"column {field.name} is {column.type} in the Arrow data and {field.type} in the declared type, "
                    f"and cannot be converted: {problem}"
                ) from problem
        if not is_within_calendar(column):
            raise SourceError(
                f"column {field.name} has a time beyond the years 1 and 9999, which is none of Python's; declare the "
                "field as text: STRING"
            )
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


def _missing_field(place: str, wanted: pa.DataType, given: pa.DataType) -> str | None:
    """The first field of rows in a column that is not there; a cast would make None of it in all records."""
    if pa.types.is_struct(wanted) and pa.types.is_struct(given):
        inner = [(f"{place}.{field.name}", field, given.get_field_index(field.name)) for field in wanted]
        of_fields = (
            name if at < 0 else _missing_field(name, field.type, given.field(at).type) for name, field, at in inner
        )
        return next((name for name in of_fields if name is not None), None)
    if pa.types.is_map(wanted) and pa.types.is_map(given):
        of_keys = _missing_field(f"{place}'s keys", wanted.key_type, given.key_type)
        return of_keys or _missing_field(f"{place}'s values", wanted.item_type, given.item_type)
    if pa.types.is_list(wanted) and hasattr(given, "value_type"):
        return _missing_field(f"{place}[]", wanted.value_type, given.value_type)
    return None


def require_columns(wanted: pa.Schema, given: pa.Schema) -> None:
    """Raises `SourceError` when a column is missing."""
    missing = [name for name in wanted.names if name not in given.names]
    if missing:
        raise SourceError(f"the Arrow data has no column {', '.join(missing)}: its columns are {given.names}")
