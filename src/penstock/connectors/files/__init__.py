"""Files: sources, formats and the exactly-once sink."""

from penstock.connectors.avro.file_format import AvroFormat
from penstock.connectors.files.enumerator_providers import FileEnumeratorProvider, FileSplitAssignerProvider
from penstock.connectors.files.file_source import FileSource, FileSourceBuilder
from penstock.connectors.files.formats.columnar import ArrowFormat, OrcFormat
from penstock.connectors.files.formats.csv import CsvFormat
from penstock.connectors.files.formats.file_format import BulkFormat, FileFormat
from penstock.connectors.files.formats.json_lines import JsonLinesFormat
from penstock.connectors.files.formats.parquet import ParquetFormat
from penstock.connectors.files.formats.stream_format import StreamFormat
from penstock.connectors.files.formats.text import TextLineFormat
from penstock.connectors.files.sink.bucket_assigner import BucketAssigner
from penstock.connectors.files.sink.compaction import FileCompactor, FileCompactStrategy
from penstock.connectors.files.sink.file_sink import FileSink
from penstock.connectors.files.sink.output_file_config import OutputFileConfig
from penstock.connectors.files.sink.partition_commit import PartitionCommit
from penstock.connectors.files.sink.rolling_policy import (
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    RollingPolicy,
)
from penstock.connectors.files.sink.streaming_file_sink import StreamingFileSink

__all__ = [
    "ArrowFormat",
    "AvroFormat",
    "BucketAssigner",
    "BulkFormat",
    "CsvFormat",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileFormat",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "JsonLinesFormat",
    "OnCheckpointRollingPolicy",
    "OrcFormat",
    "OutputFileConfig",
    "ParquetFormat",
    "PartitionCommit",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
    "TextLineFormat",
]
