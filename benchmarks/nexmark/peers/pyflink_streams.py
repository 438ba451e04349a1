"""The input of the PyFlink programs as data streams."""

from __future__ import annotations

from pyflink.common import Types
from pyflink.common.typeinfo import TypeInformation
from pyflink.datastream import DataStream
from pyflink.table import StreamTableEnvironment

from nexmark.peers.arguments import Arguments
from nexmark.schema import DECIMAL, LONG, TEXT, Columns

_TYPES = {LONG: Types.LONG, TEXT: Types.STRING, DECIMAL: Types.BIG_DEC}


class Streams:
    """The input as data streams, and the type of the result."""

    def __init__(self, tables: StreamTableEnvironment, arguments: Arguments) -> None:
        self._tables = tables
        self.side_input = str(arguments.input / "side_input.csv")
        self.result = row_type(arguments.description.result)

    def of(self, table: str, columns: str, where: str = "TRUE") -> DataStream:
        """Rows with these columns of a table: one subtask reads them, both work on them."""
        rows = self._tables.sql_query(f"SELECT {columns} FROM {table} WHERE {where}")
        return self._tables.to_data_stream(rows).rebalance()

    def timed(self, table: str, columns: str) -> DataStream:
        """Rows with these columns, event time and watermarks; the last column is the time that the JVM has set."""
        return self.of(table, f"{columns}, ts")


def row_type(columns: Columns) -> TypeInformation:
    """The type of rows with these columns."""
    return Types.ROW_NAMED([name for name, _ in columns], [_TYPES[kind]() for _, kind in columns])
