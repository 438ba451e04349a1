"""What sinks of tables share: data files are staged like those of a file sink, and appended in one commit an epoch."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from urllib.parse import quote

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.errors import SinkError, UnsupportedError
from penstock.common.fail_points import reach
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.declared_rows import DeclaredRow, RowDescription, check_fits
from penstock.connectors.files.file_system import file_system_of
from penstock.connectors.files.sink.file_writer import FileWriter
from penstock.connectors.files.sink.rolling_policy import RollingPolicy
from penstock.connectors.files.sink.settings import FileSinkSettings
from penstock.connectors.files.writers.columnar import ParquetWriters
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    EpochId,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
)

_FILE_BYTES = 128 << 20


class TableSink(Sink):
    """Appends rows to a table; exactly once: each epoch is one commit, which names the job and the epoch."""

    def __init__(self, row_type: RowDescription | None = None) -> None:
        self._declared = None if row_type is None else DeclaredRow.of(type(self).__name__, row_type)

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return DeliveryGuarantee.EXACTLY_ONCE

    @property
    def output_kind(self) -> str:
        """Names the table: files are staged in its directory."""
        return self.describe()

    def for_records(self, record_type: TypeInformation) -> Sink:  # noqa: D102
        check_fits(type(self).__name__, record_type, self._declared)
        if self._declared is not None:
            return self
        if not isinstance(record_type, CompositeTypeInfo):
            raise UnsupportedError(f"{type(self).__name__}: rows have fields, and the records are {record_type!r}")
        sink = copy.copy(self)
        sink._declared = DeclaredRow(record_type, pa.schema(record_type.arrow_fields()))
        return sink

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        return _TableWriter(self, context)

    @property
    def file_schema(self) -> pa.Schema:
        """The columns of the data files."""
        assert self._declared is not None
        return self._declared.file_schema

    def settings(self) -> FileSinkSettings:
        """How data files are written: Parquet, below the table's own directory."""
        return FileSinkSettings(
            self.data_directory(),
            ParquetWriters(self._declared),
            rolling=RollingPolicy.on_checkpoint_rolling_policy(_FILE_BYTES),
        )

    @abstractmethod
    def data_directory(self) -> str:
        """Where the data files of the table are."""


class _TableWriter(SinkWriter):
    """Writes data files; without records nobody is asked where they belong."""

    def __init__(self, sink: TableSink, context: SinkWriterContext) -> None:
        self._sink = sink
        self._context = context
        self._files: FileWriter | None = None

    def write(self, batch: Batch) -> None:
        if not len(batch):
            return
        if self._files is None:
            self._files = FileWriter(self._sink.settings(), self._context)
        self._files.write(batch)

    def prepare_commit(self) -> list[Token]:
        return [] if self._files is None else self._files.prepare_commit()

    def close(self) -> None:
        if self._files is not None:
            self._files.close()


class TableCommitter(Committer):
    """Moves the staged files to the table's and appends them; what an epoch has appended already it leaves alone."""

    def __init__(self, sink: TableSink, context: CommitterContext) -> None:
        self._sink = sink
        self._context = context

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:  # noqa: D102
        if not tokens:
            return
        published = self.published()
        if published is not None and published >= epoch:
            return
        settings = self._sink.settings()
        file_system = file_system_of(settings.directory)
        files: list[tuple[str, Token]] = []
        for token in tokens:
            name = f"{quote(self._context.job_id, safe='')}-{token['name']}"
            target = f"{settings.directory}/{name}"
            if file_system.status(target) is None:
                try:
                    file_system.move(f"{settings.directory}/{token['staged']}", target)
                except FileNotFoundError as problem:
                    # Another process, such as a driver that has been replaced, may have been faster.
                    if file_system.status(target) is None:
                        told = f"records of epoch {epoch} are lost: a staged file is gone: {problem}"
                        raise SinkError(told) from None
            files.append((name, token))
        file_system.sync_names([settings.directory])
        reach("sink.table.moved")
        self.append(epoch, files)
        reach("sink.table.appended")
        file_system.remove_tree(
            f"{settings.directory}/{settings.staging_of(self._context.uid, self._context.job_id, epoch)}"
        )

    def recover(self, newest: EpochId | None) -> None:  # noqa: D102
        published = self.published()
        if published is not None and (newest is None or published > newest):
            raise SinkError(
                f"{self._sink.describe()}: the table has epoch {published} of the sink {self._context.uid!r}, but the "
                f"checkpoint knows {'none' if newest is None else newest}: it is an older copy, and going on from it "
                "would write records twice. Use the newest checkpoint of the job, or write to another table"
            )

    @abstractmethod
    def published(self) -> EpochId | None:
        """The last epoch of this sink in the table; None where there is none, or no table."""

    @abstractmethod
    def append(self, epoch: EpochId, files: Sequence[tuple[str, Token]]) -> None:
        """Adds data files, by their names, to the table, and notes the epoch in the same commit."""


def check_columns(what: str, given: pa.Schema, there: Mapping[str, str]) -> None:
    """Refuses records whose columns are not those of the table."""
    missing = [name for name in given.names if name not in there]
    if missing:
        raise SinkError(f"{what} has no column {', '.join(missing)}: its columns are {list(there)}")
