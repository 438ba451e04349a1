"""Files: sources, formats and the exactly-once sink."""

from penstock.connectors.files.file_sink import FileSink
from penstock.connectors.files.file_source import FileSource, FileSourceBuilder
from penstock.connectors.files.formats.csv import CsvFormat
from penstock.connectors.files.formats.file_format import FileFormat
from penstock.connectors.files.formats.json_lines import JsonLinesFormat
from penstock.connectors.files.formats.parquet import ParquetFormat
from penstock.connectors.files.formats.stream_format import StreamFormat
from penstock.connectors.files.formats.text import TextLineFormat

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
