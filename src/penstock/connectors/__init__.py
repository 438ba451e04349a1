"""Where records come from and where they go: the contracts and their implementations."""

from penstock.connectors.collect_sink import CollectSink
from penstock.connectors.collection import CollectionSource
from penstock.connectors.dataframe import ArrowTableSource, dataframe_source
from penstock.connectors.datagen import DataGeneratorSource
from penstock.connectors.deserialization import (
    ByteArraySchema,
    DeserializationSchema,
    JsonDeserializationSchema,
    SimpleStringSchema,
)
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
from penstock.connectors.function_sink import FunctionSink
from penstock.connectors.hybrid import HybridSource, HybridSourceBuilder, SourceSwitchContext
from penstock.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from penstock.connectors.polling_source import Page, PollingSource
from penstock.connectors.print_sink import PrintSink
from penstock.connectors.sequence import NumberSequenceSource
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    EpochId,
    PublisherContext,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
    TokenPublisher,
)
from penstock.connectors.socket import SocketTextSource
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.connectors.spark_dataframe import SparkDataFrameSource

__all__ = [
    "ArrowTableSource",
    "Boundedness",
    "ByteArraySchema",
    "CollectSink",
    "CollectionSource",
    "Committer",
    "CommitterContext",
    "CsvFormat",
    "DataGeneratorSource",
    "DeliveryGuarantee",
    "DeserializationSchema",
    "EnumeratorContext",
    "EpochBudget",
    "EpochId",
    "FileFormat",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FunctionSink",
    "HybridSource",
    "HybridSourceBuilder",
    "JsonDeserializationSchema",
    "JsonLinesFormat",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecordSerializationSchema",
    "KafkaSink",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "NumberSequenceSource",
    "Page",
    "ParquetFormat",
    "PollingSource",
    "PrintSink",
    "PublisherContext",
    "SimpleStringSchema",
    "Sink",
    "SinkWriter",
    "SinkWriterContext",
    "SocketTextSource",
    "Source",
    "SourceSwitchContext",
    "SparkDataFrameSource",
    "SplitEnumerator",
    "SplitRead",
    "SplitReader",
    "StreamFormat",
    "TextLineFormat",
    "Token",
    "TokenPublisher",
    "dataframe_source",
]
