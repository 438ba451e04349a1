"""A table of an environment."""

from __future__ import annotations

from penstock.connectors.source import Source
from penstock.table.schema import Schema


class Table:
    """The rows of a declared table; `StreamTableEnvironment.to_data_stream` makes a stream of them."""

    def __init__(self, path: str, schema: Schema, source: Source) -> None:
        self._path = path
        self._schema = schema
        self.source = source
        """What reads the rows."""

    def get_schema(self) -> Schema:
        """The columns."""
        return self._schema

    def __repr__(self) -> str:
        return f"Table({self._path}: {self._schema!r})"

    @property
    def path(self) -> str:
        """The name under which it was declared."""
        return self._path
