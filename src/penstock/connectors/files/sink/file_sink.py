"""Writes files, exactly once."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

from penstock.common.errors import ArgumentError, ConfigurationError
from penstock.common.serialization import BulkWriterFactory, Encoder
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.avro.file_writers import AvroWriters
from penstock.connectors.declared_rows import DeclaredRow, RowDescription
from penstock.connectors.files.file_system import file_system_of
from penstock.connectors.files.sink.bucket_assigner import BucketAssigner
from penstock.connectors.files.sink.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.files.sink.file_committer import FileCommitter
from penstock.connectors.files.sink.file_merger import FileMerger
from penstock.connectors.files.sink.file_writer import FileWriter
from penstock.connectors.files.sink.output_file_config import OutputFileConfig
from penstock.connectors.files.sink.partition_commit import PartitionCommit
from penstock.connectors.files.sink.rolling_policy import (
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    RollingPolicy,
)
from penstock.connectors.files.sink.settings import COMPRESSION_SUFFIXES, FileSinkSettings
from penstock.connectors.files.writers.columnar import ArrowWriters, CsvWriters, OrcWriters, ParquetWriters
from penstock.connectors.files.writers.lines import EncoderWriters, JsonLinesWriters, LineWriterFactory, TextWriters
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    PublisherContext,
    Sink,
    SinkWriter,
    SinkWriterContext,
    TokenPublisher,
)

_FORMATS = ("json", "csv", "text", "parquet", "orc", "arrow", "avro")


class _BaseBuilder:
    def __init__(self, settings: FileSinkSettings) -> None:
        self._settings = settings

    def with_bucket_check_interval(self, interval: int) -> Any:
        """Sets how often, in ms, it is looked whether a file has to end though nothing was written to it."""
        if interval <= 0:
            raise ConfigurationError(f"with_bucket_check_interval: expected milliseconds above 0, got {interval!r}")
        self._settings = replace(self._settings, bucket_check_interval=interval)
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Any:
        """Sets which directory a record goes to; one for each hour of processing time otherwise."""
        self._settings = replace(self._settings, buckets=bucket_assigner)
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Any:
        """Sets what the names of files begin and end with."""
        self._settings = replace(self._settings, names=output_file_config)
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Any:
        """Sets when a file ends."""
        self._settings = replace(self._settings, rolling=rolling_policy)
        return self

    def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Any:
        """Makes large files of small ones before readers see them."""
        self._settings = replace(self._settings, compact_strategy=strategy, compactor=compactor)
        return self

    def disable_compact(self) -> Any:
        """Publishes files as they are written."""
        self._settings = replace(self._settings, compact_strategy=None, compactor=None)
        return self

    def with_partition_commit(self, partition_commit: PartitionCommit) -> Any:
        """Marks a bucket as complete when no more records are expected there."""
        self._settings = replace(self._settings, partition_commit=partition_commit)
        return self

    def with_compression(self, compression: str) -> Any:
        """Compresses whole files: gzip, bz2, zstd or lz4."""
        self._settings = replace(self._settings, compression=_compression(compression))
        return self

    def build(self) -> FileSink:
        """The sink."""
        return FileSink.of(self._settings)


class _RowFormatBuilder(_BaseBuilder):
    """Builds a sink whose files consist of encoded records, and may go on for many epochs."""


class _BulkFormatBuilder(_BaseBuilder):
    """Builds a sink whose files are complete with their footer, and end with their epoch."""

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Any:
        """Sets when a file ends: with its epoch, or before when it is large."""
        _check_bulk(rolling_policy)
        return super().with_rolling_policy(rolling_policy)

    def with_compression(self, compression: str) -> Any:
        """Refused: a bulk format compresses its parts itself."""
        raise ConfigurationError(
            f"with_compression({compression!r}): a bulk format compresses its parts itself; say it where its writers "
            "are made"
        )


class FileSink(Sink):
    """Writes records into files of a directory that the driver and all workers see; exactly once.

    A file is written under a hidden name and appears complete, by a rename, when the epoch that completes it is
    committed; a file that is visible is never changed or removed again. Its name is
    `<prefix>-<uid>-<incarnation>-<epoch>-<subtask>` and a suffix. The directory also gets a hidden folder `.penstock`
    with what is being written and which epoch was published last.

    `FileSink(directory, "parquet")` ends every file with its epoch. Formats: `json` (one document per line), `csv`,
    `parquet`, `orc`, `arrow`, `avro`, `text` (the `str` of each record). `header` and `delimiter` are for CSV;
    `row_type` names the columns where they are not the fields of the records. `FileSink.for_row_format` and
    `.for_bulk_format` build one with PyFlink's names.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        file_format: str = "json",
        *,
        prefix: str = "part",
        suffix: str = "",
        header: bool = False,
        delimiter: str = ",",
        compression: str | None = None,
        row_type: RowDescription | None = None,
        buckets: BucketAssigner | None = None,
        rolling: RollingPolicy | None = None,
        partition_commit: PartitionCommit | None = None,
    ) -> None:
        whole_file = compression if file_format in ("json", "csv", "text") else None
        self._settings = _checked(
            FileSinkSettings(
                _directory(directory),
                _writers(file_format, header, delimiter, compression, row_type),
                rolling=rolling or OnCheckpointRollingPolicy(),
                buckets=buckets or BucketAssigner.base_path_bucket_assigner(),
                names=OutputFileConfig(prefix, suffix),
                compression=None if whole_file is None else _compression(whole_file),
                partition_commit=partition_commit,
            )
        )

    BaseBuilder = _BaseBuilder
    RowFormatBuilder = _RowFormatBuilder
    BulkFormatBuilder = _BulkFormatBuilder

    @classmethod
    def of(cls, settings: FileSinkSettings) -> Self:
        """The sink with these settings."""
        sink = cls.__new__(cls)
        sink._settings = _checked(settings)
        return sink

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> _RowFormatBuilder:
        """Begins a sink whose files consist of what the encoder makes of each record.

        Files may go on for many epochs: they end by Flink's default rolling policy (128 MB, a minute, a minute without
        records) unless told otherwise, and are in a directory for each hour.
        """
        return _RowFormatBuilder(row_format_settings(base_path, encoder))

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> _BulkFormatBuilder:
        """Begins a sink whose files are written in a format such as Parquet, and end with their epoch."""
        return _BulkFormatBuilder(bulk_format_settings(base_path, writer_factory))

    @property
    def guarantee(self) -> DeliveryGuarantee:  # noqa: D102
        return DeliveryGuarantee.EXACTLY_ONCE

    @property
    def output_kind(self) -> str:
        """Names the directory: files are staged in it."""
        merged = ", merged" if self._settings.merges_files else ""
        return f"{super().output_kind}, files in {self._settings.directory}{merged}"

    @property
    def settings(self) -> FileSinkSettings:
        """All that the sink was told."""
        return self._settings

    def for_records(self, record_type: TypeInformation) -> Sink:  # noqa: D102
        settings = self._settings
        return type(self).of(
            replace(
                settings,
                writers=settings.writers.for_records(record_type),
                buckets=settings.buckets.for_records(record_type),
            )
        )

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:  # noqa: D102
        return FileWriter(self._settings, context)

    def create_committer(self, context: CommitterContext) -> Committer:  # noqa: D102
        return FileCommitter(self._settings, context)

    def create_publisher(self, context: PublisherContext) -> TokenPublisher | None:  # noqa: D102
        return FileMerger(self._settings, context) if self._settings.merges_files else None

    def describe(self) -> str:  # noqa: D102
        return f"{self._settings.suffix.lstrip('.') or 'encoded'} files in {self._settings.directory}, exactly once"


def row_format_settings(base_path: str, encoder: Encoder) -> FileSinkSettings:
    """What a sink of encoded records begins with."""
    if not isinstance(encoder, Encoder):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"for_row_format: `encoder` is {encoder!r}; expected an Encoder")
    return FileSinkSettings(
        _directory(base_path),
        EncoderWriters(encoder),
        rolling=DefaultRollingPolicy(),
        buckets=BucketAssigner.date_time_bucket_assigner(),
    )


def bulk_format_settings(base_path: str, writer_factory: BulkWriterFactory) -> FileSinkSettings:
    """What a sink of a bulk format begins with."""
    if not isinstance(writer_factory, BulkWriterFactory):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            f"for_bulk_format: `writer_factory` is {writer_factory!r}; expected one such as "
            "ParquetBulkWriters.for_row_type(...)"
        )
    return FileSinkSettings(_directory(base_path), writer_factory, buckets=BucketAssigner.date_time_bucket_assigner())


def _directory(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    return file_system_of(text).absolute(text)


def _compression(compression: str) -> str:
    if compression not in COMPRESSION_SUFFIXES:
        raise ConfigurationError(f"files are compressed by {', '.join(COMPRESSION_SUFFIXES)}, got {compression!r}")
    return compression


def _check_bulk(rolling_policy: RollingPolicy) -> None:
    if not isinstance(rolling_policy, OnCheckpointRollingPolicy):
        raise ArgumentError(
            f"the files of a bulk format end with their epoch: `rolling_policy` is {rolling_policy!r}; expected "
            "RollingPolicy.on_checkpoint_rolling_policy()"
        )


def _checked(settings: FileSinkSettings) -> FileSinkSettings:
    if settings.partition_commit is not None:
        settings.partition_commit.check(settings.buckets)
    if not isinstance(settings.writers, LineWriterFactory):
        _check_bulk(settings.rolling)
    return settings


def _writers(  # noqa: PLR0911  one line per format
    file_format: str, header: bool, delimiter: str, compression: str | None, row_type: RowDescription | None
) -> BulkWriterFactory:
    if file_format not in _FORMATS:
        raise ConfigurationError(f"a file sink writes {', '.join(_FORMATS)}, got {file_format!r}")
    if len(delimiter) != 1:
        raise ConfigurationError(f"a CSV delimiter is one character, got {delimiter!r}")
    declared = None if row_type is None else DeclaredRow.of("FileSink", row_type)
    match file_format:
        case "csv":
            return CsvWriters(declared, header=header, delimiter=delimiter)
        case "parquet":
            return ParquetWriters(declared, compression)
        case "orc":
            return OrcWriters(declared, compression)
        case "arrow":
            return ArrowWriters(declared, compression)
        case "text":
            return TextWriters()
        case "json":
            return JsonLinesWriters()
        case _:
            return AvroWriters(declared, compression)
