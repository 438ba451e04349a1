"""Delta Lake tables, by the library deltalake."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

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

_COMMIT_TIMEOUT_SECONDS = 60.0
"""How long other writers and a store that is not well are tried again."""
ANSWER_SECONDS = 300.0
"""How long one call may take: deltalake itself tries again for some minutes."""


def deltalake() -> Any:
    """The module; raises an error that says how to get it."""
    try:
        import deltalake as module
        import deltalake.exceptions
        import deltalake.transaction

        assert deltalake.exceptions
        assert deltalake.transaction
    except ImportError as problem:
        raise EnvironmentNotReadyError(
            "Delta Lake needs the package deltalake, which is not installed here: pip install 'penstock[delta]'"
        ) from problem
    return module


class DeltaSink(TableSink):
    """Appends rows to a Delta table, which is made if it is not there; exactly once.

    The table's log has the epoch as the version of an application transaction, so that no epoch is appended twice.
    `row_type` names the columns where they are not the fields of the records. Partitioned tables are refused.
    """

    def __init__(
        self,
        table_uri: str,
        row_type: RowDescription | None = None,
        *,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(row_type)
        deltalake()
        self._uri = file_system_of(table_uri).absolute(table_uri)
        self._storage_options = dict(storage_options or {})

    def data_directory(self) -> str:  # noqa: D102
        return self._uri

    def create_committer(self, context: CommitterContext) -> Committer:  # noqa: D102
        return _DeltaCommitter(self, context, self._storage_options)

    def describe(self) -> str:  # noqa: D102
        return f"Delta table {self._uri}, exactly once"


class _DeltaCommitter(TableCommitter):
    def __init__(self, sink: DeltaSink, context: CommitterContext, storage_options: dict[str, str]) -> None:
        super().__init__(sink, context)
        self._uri = sink.data_directory()
        self._storage_options = storage_options
        self._application = f"penstock/{context.job_id}/{context.uid}"

    def published(self) -> EpochId | None:
        table = _table(self._uri, self._storage_options)
        if table is None:
            return None
        number = table.transaction_version(self._application)
        # Numbers of epochs never restart: one is enough to tell them apart.
        return None if number is None else EpochId(1 << 30, number)

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        super().commit(EpochId(1 << 30, epoch.number), tokens)

    def recover(self, newest: EpochId | None) -> None:
        super().recover(None if newest is None else EpochId(1 << 30, newest.number))

    def append(self, epoch: EpochId, files: Sequence[tuple[str, Token]]) -> None:
        exceptions = deltalake().exceptions
        passing = (exceptions.CommitFailedError, OSError)
        try:
            retry_transient(
                lambda: self._append(epoch, files),
                is_transient=lambda error: isinstance(error, passing),
                timeout_seconds=_COMMIT_TIMEOUT_SECONDS,
            )
        except (exceptions.DeltaError, OSError) as problem:
            published = self.published()
            if published is not None and published >= epoch:
                # Another process, such as a driver that has been replaced, was faster with the same epoch.
                return
            raise SinkError(f"the Delta table {self._uri} does not take epoch {epoch.number}: {problem}") from problem

    def _append(self, epoch: EpochId, files: Sequence[tuple[str, Token]]) -> None:
        library = deltalake()
        schema = self._sink.file_schema
        table = _table(self._uri, self._storage_options)
        if table is None:
            table = library.DeltaTable.create(
                self._uri, schema=schema, mode="ignore", storage_options=self._storage_options or None
            )
        noted = table.transaction_version(self._application)
        if noted is not None and noted >= epoch.number:
            return  # an attempt whose answer did not come
        if table.metadata().partition_columns:
            raise UnsupportedError(f"{self._uri}: the Delta table is partitioned, and DeltaSink appends to plain ones")
        there = {field.name: str(field.type) for field in table.schema().fields}
        check_columns(f"the Delta table {self._uri}", schema, there)
        actions = [
            library.transaction.AddAction(
                path=name,
                size=token["bytes"],
                partition_values={},
                modification_time=0,
                data_change=True,
                stats=json.dumps({"numRecords": token["records"]}),
            )
            for name, token in files
        ]
        properties = library.CommitProperties(
            app_transactions=[library.Transaction(self._application, epoch.number)],
            custom_metadata={"penstock.job": self._context.job_id, "penstock.epoch": str(epoch.number)},
        )
        in_time(
            lambda: table.create_write_transaction(actions, "append", table.schema(), commit_properties=properties),
            ANSWER_SECONDS,
            f"Delta table {self._uri}",
        )


class _DeltaFiles(AppendedFiles):
    def __init__(self, uri: str, version: int | None, storage_options: dict[str, str]) -> None:
        self._uri = uri
        self._version = version
        self._storage_options = storage_options

    def current(self) -> tuple[Json, list[DataFile]]:
        table = _opened(self._uri, self._storage_options, self._version)
        actions = pa.table(table.get_add_actions(flatten=False)).to_pylist()
        return table.version(), [self._file(action["path"], action.get("partition") or {}) for action in actions]

    def after(self, version: Json) -> tuple[Json, list[DataFile]]:
        newest = _opened(self._uri, self._storage_options, None).version()
        files: list[DataFile] = []
        for number in range(version + 1, newest + 1):
            files += self._appended_in(number)
        return newest, files

    def _file(self, path: str, partition: Mapping[str, Any]) -> DataFile:
        constants = {name: None if value is None else _partition_text(value) for name, value in partition.items()}
        # Paths in the log are those of URIs.
        return DataFile(f"{self._uri}/{unquote(path)}", constants)

    def _appended_in(self, version: int) -> list[DataFile]:
        log = f"{self._uri}/_delta_log/{version:020d}.json"
        content = file_system_of(log).read(log)
        if content is None:
            raise SourceError(f"{log}: the log of the Delta table has been cleaned up before the job has read it")
        files: list[DataFile] = []
        for line in content.splitlines():
            action = json.loads(line)
            if action.get("remove", {}).get("dataChange"):
                raise SourceError(
                    f"{self._uri}: version {version} of the Delta table changes or deletes rows; a stream reads what "
                    "is appended. Read such a table as a whole, without `watch`"
                )
            if action.get("add", {}).get("dataChange"):
                files.append(self._file(action["add"]["path"], action["add"].get("partitionValues") or {}))
        return files


def _partition_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


class DeltaSource(TableSource):
    """The rows of a Delta table: of the newest version, or of the one that is given.

    With `watch` (True, or the time between two looks) also what is appended later, for ever; a version that changes or
    deletes rows fails the job. `row_type` picks columns by name; without it all are read. Tables with deletion vectors
    are refused.
    """

    def __init__(
        self,
        table_uri: str,
        row_type: RowDescription | None = None,
        *,
        version: int | None = None,
        watch: bool | DurationLike = False,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        uri = file_system_of(table_uri).absolute(table_uri)
        options = dict(storage_options or {})
        table = _opened(uri, options, version)
        if "deletionVectors" in (table.protocol().reader_features or []):
            raise UnsupportedError(f"{uri}: the Delta table has deletion vectors; read it as a Spark DataFrame instead")
        if row_type is None:
            type_info = type_of_schema(pa.schema(table.schema().to_arrow()))
        else:
            type_info = row_type_of("DeltaSource", row_type)
        super().__init__(_DeltaFiles(uri, version, options), type_info, watch, table.metadata().partition_columns)
        self._uri = uri

    def describe(self) -> str:  # noqa: D102
        return f"Delta table {self._uri}"


def _table(uri: str, storage_options: dict[str, str], version: int | None = None) -> Any:
    library = deltalake()
    try:
        return in_time(
            lambda: library.DeltaTable(uri, version=version, storage_options=storage_options or None),
            ANSWER_SECONDS,
            f"Delta table {uri}",
        )
    except library.exceptions.TableNotFoundError:
        return None


def _opened(uri: str, storage_options: dict[str, str], version: int | None) -> Any:
    table = _table(uri, storage_options, version)
    if table is None:
        raise SourceError(f"{uri}: there is no Delta table")
    return table
