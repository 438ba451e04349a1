"""The file sink by its older name."""

from __future__ import annotations

import warnings
from typing import Any

from penstock.common.serialization import BulkWriterFactory, Encoder
from penstock.connectors.files.sink.file_sink import (
    FileSink,
    bulk_format_settings,
    row_format_settings,
)
from penstock.connectors.files.sink.rolling_policy import RollingPolicy


class _BaseBuilder(FileSink.BaseBuilder):
    def with_rolling_policy(self, policy: RollingPolicy) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Sets when a file ends."""
        return super().with_rolling_policy(policy)

    def build(self) -> StreamingFileSink:
        """The sink."""
        return StreamingFileSink.of(self._settings)


class _DefaultRowFormatBuilder(_BaseBuilder, FileSink.RowFormatBuilder):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Builds a sink of encoded records."""


class _DefaultBulkFormatBuilder(_BaseBuilder, FileSink.BulkFormatBuilder):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Builds a sink of a bulk format."""


class StreamingFileSink(FileSink):
    """The file sink by the name that it had before Flink 1.15: use `FileSink`."""

    BaseBuilder = _BaseBuilder
    DefaultRowFormatBuilder = _DefaultRowFormatBuilder
    DefaultBulkFormatBuilder = _DefaultBulkFormatBuilder

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> _DefaultRowFormatBuilder:
        """Begins a sink whose files consist of what the encoder makes of each record."""
        _warn()
        return _DefaultRowFormatBuilder(row_format_settings(base_path, encoder))

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> _DefaultBulkFormatBuilder:
        """Begins a sink whose files are written in a format such as Parquet."""
        _warn()
        return _DefaultBulkFormatBuilder(bulk_format_settings(base_path, writer_factory))


def _warn() -> None:
    warnings.warn("StreamingFileSink is Flink's older name: use FileSink", DeprecationWarning, stacklevel=3)
