"""The columns of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from penstock.common.errors import UnsupportedError
from penstock.common.typeinfo import RowTypeInfo
from penstock.connectors.ddl import columns_of_ddl
from penstock.datastream.arguments import check_instance, check_text, refuse
from penstock.table.data_types import DataType


class Schema:
    """Names and types of columns, in their order.

    >>> from penstock.table import DataTypes, Schema
    >>> Schema.new_builder().column("id", DataTypes.BIGINT()).column("name", "STRING").build()
    (`id` BIGINT, `name` STRING)
    """

    def __init__(self, columns: Mapping[str, str]) -> None:
        self._columns = dict(columns)
        self.row_type: RowTypeInfo = columns_of_ddl(self._text)[0]
        """What the rows of the table are in a stream."""

    @staticmethod
    def new_builder() -> Schema.Builder:
        """Starts a schema."""
        return Schema.Builder()

    @property
    def columns(self) -> Mapping[str, str]:
        """The type of each column, as SQL writes it."""
        return self._columns

    @property
    def _text(self) -> str:
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in self._columns.items())

    def __repr__(self) -> str:
        return f"({self._text})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and list(self._columns.items()) == list(other._columns.items())

    def __hash__(self) -> int:
        return hash(self._text)

    class Builder:
        """Collects columns."""

        def __init__(self) -> None:
            self._columns: dict[str, str] = {}

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """Adds a column; its type is a `DataType` or the text that declares it."""
            check_text("column", "column_name", column_name)
            check_instance(
                "column", "data_type", data_type, (str, DataType), "a type such as DataTypes.INT(), or its text"
            )
            if column_name in self._columns:
                raise refuse(f"column: there is a column {column_name!r} already")
            text = data_type if isinstance(data_type, str) else data_type.ddl
            columns_of_ddl(f"c {text}")  # refuses what is no type, here
            self._columns[column_name] = text
            return self

        def from_fields(self, field_names: Sequence[str], field_data_types: Sequence[str | DataType]) -> Schema.Builder:
            """Adds columns."""
            if len(field_names) != len(field_data_types):
                raise refuse(f"from_fields: {len(field_names)} names and {len(field_data_types)} types")
            for name, data_type in zip(field_names, field_data_types, strict=True):
                self.column(name, data_type)
            return self

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Adds the columns of another schema."""
            for name, data_type in unresolved_schema.columns.items():
                self.column(name, data_type)
            return self

        def column_by_expression(self, column_name: str, expr: Any) -> NoReturn:
            """Refused."""
            raise _refused("column_by_expression", "`map` the stream")

        def column_by_metadata(
            self, column_name: str, data_type: Any, metadata_key: str | None = None, is_virtual: bool = False
        ) -> NoReturn:
            """Refused."""
            raise _refused("column_by_metadata", "the source's own classes, such as KafkaSource")

        def watermark(self, column_name: str, watermark_expr: Any) -> NoReturn:
            """Refused."""
            raise _refused("watermark", "`assign_timestamps_and_watermarks` on the stream")

        def build(self) -> Schema:
            """The schema."""
            if not self._columns:
                raise refuse("build: a schema needs a column")
            return Schema(self._columns)


def _refused(method: str, instead: str) -> UnsupportedError:
    return UnsupportedError(f"Schema.{method}: tables have plain columns only, for now; use {instead}")
