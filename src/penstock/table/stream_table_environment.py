"""`StreamTableEnvironment`: declared tables beside the streams of an environment."""

from __future__ import annotations

from typing import Any, NoReturn

from penstock.common.errors import UnsupportedError
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.arguments import check_instance, check_text, refuse
from penstock.table.generated_rows import generated_rows
from penstock.table.table import Table
from penstock.table.table_descriptor import TableDescriptor

_CONNECTORS = {"datagen": generated_rows}


class StreamTableEnvironment:
    """Declares tables, and makes streams of them.

    >>> from penstock.datastream import StreamExecutionEnvironment
    >>> from penstock.table import DataTypes, Schema, StreamTableEnvironment, TableDescriptor
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> tables = StreamTableEnvironment.create(env)
    >>> schema = Schema.new_builder().column("id", DataTypes.INT()).build()
    >>> numbers = TableDescriptor.for_connector("datagen").schema(schema).option("fields.id.kind", "sequence")
    >>> numbers = numbers.option("fields.id.start", 1).option("fields.id.end", 3).build()
    >>> tables.create_temporary_table("numbers", numbers)
    >>> stream = tables.to_data_stream(tables.from_path("numbers"))
    >>> sorted(row.id for row in stream.execute_and_collect())
    [1, 2, 3]
    """

    def __init__(self, stream_execution_environment: StreamExecutionEnvironment) -> None:
        self._environment = stream_execution_environment
        self._tables: dict[str, Table] = {}

    @staticmethod
    def create(
        stream_execution_environment: StreamExecutionEnvironment | None = None, environment_settings: Any = None
    ) -> StreamTableEnvironment:
        """Tables beside the streams of an environment; a new one, where none is given."""
        if environment_settings is not None:
            raise UnsupportedError(
                "StreamTableEnvironment.create: `environment_settings`; give the StreamExecutionEnvironment a "
                "Configuration instead"
            )
        environment = stream_execution_environment or StreamExecutionEnvironment.get_execution_environment()
        check_instance(
            "create",
            "stream_execution_environment",
            environment,
            (StreamExecutionEnvironment,),
            "a StreamExecutionEnvironment",
        )
        return StreamTableEnvironment(environment)

    def create_temporary_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,  # noqa: N803 (PyFlink's name)
    ) -> None:
        """Declares a table; its options are checked here."""
        check_text("create_temporary_table", "path", path)
        check_instance("create_temporary_table", "descriptor", descriptor, (TableDescriptor,), "a TableDescriptor")
        if path in self._tables:
            if ignoreIfExists:
                return
            raise refuse(f"create_temporary_table: there is a table {path!r} already")
        schema, options = descriptor.get_schema(), descriptor.get_options()
        connector = options.pop("connector")
        if connector not in _CONNECTORS:
            raise UnsupportedError(
                f"create_temporary_table: the connector {connector!r} of the table {path!r}; tables are read from "
                f"{', '.join(_CONNECTORS)}. For files, Kafka and databases use `env.from_source(...)`"
            )
        if schema is None:
            raise refuse(f"create_temporary_table: the table {path!r} has no schema")
        self._tables[path] = Table(path, schema, _CONNECTORS[connector](path, schema, options))

    def from_path(self, path: str) -> Table:
        """A declared table."""
        if path not in self._tables:
            raise refuse(f"from_path: no table {path!r}; declared are: {', '.join(self._tables) or 'none'}")
        return self._tables[path]

    def to_data_stream(self, table: Table) -> DataStream:
        """A stream of the rows of a table."""
        check_instance("to_data_stream", "table", table, (Table,), "a Table")
        return self._environment.from_source(table.source, source_name=table.path)

    def execute_sql(self, stmt: str) -> NoReturn:
        """Refused."""
        raise UnsupportedError("execute_sql: there is no SQL yet; declare tables with a TableDescriptor")

    def sql_query(self, query: str) -> NoReturn:
        """Refused."""
        raise UnsupportedError("sql_query: there is no SQL yet; use the methods of DataStream")
