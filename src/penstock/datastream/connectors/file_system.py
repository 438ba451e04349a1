"""File sources, formats and the file sink, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.files import (
    CsvFormat,
    FileFormat,
    FileSink,
    FileSource,
    FileSourceBuilder,
    JsonLinesFormat,
    ParquetFormat,
    StreamFormat,
    TextLineFormat,
)

__all__ = [
    "CsvFormat",
    "FileFormat",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "JsonLinesFormat",
    "ParquetFormat",
    "StreamFormat",
    "TextLineFormat",
]
