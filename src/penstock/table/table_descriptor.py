"""What a table is: a connector, its options, and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.config_options import ConfigOption
from penstock.datastream.arguments import check_instance, check_text
from penstock.table.schema import Schema


class TableDescriptor:
    """A table that a connector reads.

    >>> from penstock.table import Schema, TableDescriptor
    >>> schema = Schema.new_builder().column("id", "BIGINT").build()
    >>> TableDescriptor.for_connector("datagen").schema(schema).option("number-of-rows", "3").build()
    (`id` BIGINT) WITH ('connector' = 'datagen', 'number-of-rows' = '3')
    """

    def __init__(self, schema: Schema | None, options: Mapping[str, str]) -> None:
        self._schema = schema
        self._options = dict(options)

    @staticmethod
    def for_connector(connector: str) -> TableDescriptor.Builder:
        """Starts a descriptor."""
        return TableDescriptor.Builder(check_text("for_connector", "connector", connector))

    def get_schema(self) -> Schema | None:
        """The columns."""
        return self._schema

    def get_options(self) -> dict[str, str]:
        """The options, the connector among them."""
        return dict(self._options)

    def __repr__(self) -> str:
        options = ", ".join(f"'{key}' = '{value}'" for key, value in self._options.items())
        return f"{'' if self._schema is None else self._schema} WITH ({options})".lstrip()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableDescriptor) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    class Builder:
        """Collects columns and options."""

        def __init__(self, connector: str) -> None:
            self._schema: Schema | None = None
            self._options = {"connector": connector}

        def schema(self, schema: Schema) -> TableDescriptor.Builder:
            """Sets the columns."""
            check_instance("schema", "schema", schema, (Schema,), "a Schema")
            self._schema = schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> TableDescriptor.Builder:
            """Sets an option of the connector."""
            name = check_text("option", "key", key.key if isinstance(key, ConfigOption) else key)
            self._options[name] = str(value).lower() if isinstance(value, bool) else str(value)
            return self

        def build(self) -> TableDescriptor:
            """The descriptor."""
            return TableDescriptor(self._schema, self._options)
