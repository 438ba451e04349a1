"""Iceberg tables, by the library pyiceberg."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from penstock.common.errors import EnvironmentNotReadyError, SinkError, SourceError, UnsupportedError
from penstock.common.time import DurationLike
from penstock.connectors.arrow_types import type_of_schema
from penstock.connectors.declared_rows import RowDescription, row_type_of
from penstock.connectors.files.file_system import file_system_of
from penstock.connectors.in_time import in_time
from penstock.connectors.retries import retry_transient
from penstock.connectors.sink import Committer, CommitterContext, EpochId, Token
from penstock.connectors.source import Json
from penstock.connectors.tables.table_sink import TableCommitter, TableSink, check_columns
from penstock.connectors.tables.table_source import AppendedFiles, DataFile, TableSource

T = TypeVar("T")

_COMMIT_TIMEOUT_SECONDS = 60.0
"""How long other writers and a catalog that is not well are tried again."""
ANSWER_SECONDS = 60.0
"""How long one call to the catalog or the store may take: the clients of most catalogs would wait for ever."""


class IcebergTable:
    """A table of a catalog, by its name. Picklable: the catalog is opened where it is used."""

    def __init__(self, identifier: str, catalog: Mapping[str, str]) -> None:
        """`catalog` are the properties of pyiceberg's catalog: `type`, `uri`, `warehouse`, ..., and its `name`."""
        self.identifier = identifier
        self.catalog = dict(catalog)

    def open_catalog(self) -> Any:
        """The catalog."""
        try:
            from pyiceberg.catalog import load_catalog
        except ImportError as problem:
            raise EnvironmentNotReadyError(
                "Iceberg needs the package pyiceberg, which is not installed here: pip install 'penstock[iceberg]'"
            ) from problem
        properties = dict(self.catalog)
        return load_catalog(properties.pop("name", "default"), **properties)

    def load(self) -> Any:
        """The table; None where there is none."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        try:
            return self.asked(lambda: self.open_catalog().load_table(self.identifier))
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def opened(self) -> Any:
        """The table; raises where there is none."""
        table = self.load()
        if table is None:
            raise SourceError(f"there is no Iceberg table {self.identifier}")
        return table

    def create(self, schema: Any) -> Any:
        """The table, made if it is not there."""

        def created() -> Any:
            catalog = self.open_catalog()
            catalog.create_namespace_if_not_exists(self.identifier.rpartition(".")[0])
            return catalog.create_table_if_not_exists(self.identifier, schema=schema)

        return self.asked(created)

    def asked(self, call: Callable[[], T]) -> T:
        """What the catalog answers, in time."""
        return in_time(call, ANSWER_SECONDS, f"Iceberg table {self.identifier}")


class IcebergSink(TableSink):
    """Appends rows to an Iceberg table, which is made if it is not there; exactly once.

    `catalog` are pyiceberg's properties of the catalog: `{"type": "sql", "uri": "sqlite:///...", "warehouse": "..."}`.
    The table's properties have the last epoch, written by the same commit, so that no epoch is appended twice.
    Partitioned tables are refused.
    """

    def __init__(self, identifier: str, catalog: Mapping[str, str], row_type: RowDescription | None = None) -> None:
        super().__init__(row_type)
        self._table = IcebergTable(identifier, catalog)
        self._directory: str | None = None

    def data_directory(self) -> str:  # noqa: D102
        if self._directory is None:
            table = self._table.load()
            if table is None:
                table = self._table.create(self.file_schema)
            location = f"{table.location()}/data"
            self._directory = file_system_of(location).absolute(location)
        return self._directory

    def create_committer(self, context: CommitterContext) -> Committer:  # noqa: D102
        # Made here, on the driver: tasks that make it at the same time would be in each other's way.
        self.data_directory()
        return _IcebergCommitter(self, self._table, context)

    def describe(self) -> str:  # noqa: D102
        return f"Iceberg table {self._table.identifier}, exactly once"


class _IcebergCommitter(TableCommitter):
    def __init__(self, sink: IcebergSink, table: IcebergTable, context: CommitterContext) -> None:
        super().__init__(sink, context)
        self._table = table
        self._property = f"penstock.{context.job_id}.{context.uid}"

    def published(self) -> EpochId | None:
        table = self._table.load()
        noted = None if table is None else table.properties.get(self._property)
        return None if noted is None else _epoch(noted)

    def append(self, epoch: EpochId, files: Sequence[tuple[str, Token]]) -> None:
        from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, ServerError

        passing = (CommitFailedException, CommitStateUnknownException, ServerError, OSError)
        try:
            retry_transient(
                lambda: self._append(epoch, files),
                is_transient=lambda error: isinstance(error, passing),
                timeout_seconds=_COMMIT_TIMEOUT_SECONDS,
            )
        except (*passing, ValueError) as problem:
            raise SinkError(
                f"the Iceberg table {self._table.identifier} does not take epoch {epoch}: {problem}"
            ) from problem

    def _append(self, epoch: EpochId, files: Sequence[tuple[str, Token]]) -> None:
        table = self._table.opened()
        noted = table.properties.get(self._property)
        if noted is not None and _epoch(noted) >= epoch:
            return  # an attempt whose answer did not come
        if table.spec().fields:
            raise UnsupportedError(
                f"the Iceberg table {self._table.identifier} is partitioned, and IcebergSink appends to plain ones"
            )
        there = {field.name: str(field.field_type) for field in table.schema().fields}
        check_columns(f"the Iceberg table {self._table.identifier}", self._sink.file_schema, there)
        paths = [f"{table.location()}/data/{name}" for name, _ in files]

        def commit() -> None:
            with table.transaction() as transaction:
                transaction.add_files(
                    paths, snapshot_properties={"penstock.job": self._context.job_id, "penstock.epoch": str(epoch)}
                )
                transaction.set_properties({self._property: str(epoch)})

        self._table.asked(commit)


def _epoch(noted: str) -> EpochId:
    return EpochId(*map(int, noted.split(".")))


class _IcebergFiles(AppendedFiles):
    def __init__(self, table: IcebergTable, snapshot_id: int | None) -> None:
        self._table = table
        self._snapshot_id = snapshot_id

    def current(self) -> tuple[Json, list[DataFile]]:
        table = self._table.opened()
        snapshot = self._snapshot_id
        if snapshot is None and table.current_snapshot() is not None:
            snapshot = table.current_snapshot().snapshot_id
        if snapshot is None:
            return None, []
        return snapshot, self._files(table.scan(snapshot_id=snapshot))

    def after(self, version: Json) -> tuple[Json, list[DataFile]]:
        table = self._table.opened()
        newest = table.current_snapshot()
        if newest is None or newest.snapshot_id == version:
            return version, []
        if version is None:
            return newest.snapshot_id, self._files(table.scan(snapshot_id=newest.snapshot_id))
        self._check_appends_only(table, version, newest)
        scan = table.incremental_append_scan(
            from_snapshot_id_exclusive=version, to_snapshot_id_inclusive=newest.snapshot_id
        )
        return newest.snapshot_id, self._files(scan)

    def _check_appends_only(self, table: Any, version: int, newest: Any) -> None:
        snapshot = newest
        while snapshot is not None and snapshot.snapshot_id != version:
            operation = snapshot.summary.operation.value
            if operation not in ("append", "replace"):
                raise SourceError(
                    f"snapshot {snapshot.snapshot_id} of the Iceberg table {self._table.identifier} changes or deletes "
                    f"rows ({operation}); a stream reads what is appended. Read such a table without `watch`"
                )
            parent = snapshot.parent_snapshot_id
            snapshot = None if parent is None else table.snapshot_by_id(parent)

    def _files(self, scan: Any) -> list[DataFile]:
        files: list[DataFile] = []
        for task in scan.plan_files():
            if task.delete_files:
                raise UnsupportedError(
                    f"the Iceberg table {self._table.identifier} has delete files; read it as a Spark DataFrame instead"
                )
            path = task.file.file_path
            files.append(DataFile(file_system_of(path).absolute(path)))
        return files


class IcebergSource(TableSource):
    """The rows of an Iceberg table: of the newest snapshot, or of the one that is given.

    With `watch` (True, or the time between two looks) also what is appended later, for ever; a snapshot that changes or
    deletes rows fails the job. `row_type` picks columns by name; without it all are read. Columns are found by their
    names: a table whose columns were renamed is to be read as a Spark DataFrame.
    """

    def __init__(
        self,
        identifier: str,
        catalog: Mapping[str, str],
        row_type: RowDescription | None = None,
        *,
        snapshot_id: int | None = None,
        watch: bool | DurationLike = False,
    ) -> None:
        table = IcebergTable(identifier, catalog)
        if row_type is None:
            type_info = type_of_schema(table.opened().schema().as_arrow())
        else:
            type_info = row_type_of("IcebergSource", row_type)
        super().__init__(_IcebergFiles(table, snapshot_id), type_info, watch)
        self._identifier = identifier

    def describe(self) -> str:  # noqa: D102
        return f"Iceberg table {self._identifier}"
