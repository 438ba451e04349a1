"""The contracts of sources and sinks, under PyFlink's module path."""

from __future__ import annotations

from penstock.connectors.broken_records import BROKEN_RECORD_TYPE, BrokenRecord
from penstock.connectors.polling_source import Page, PollingSource
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    EpochEnd,
    EpochId,
    PublisherContext,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
    TokenPublisher,
)
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)

__all__ = [
    "BROKEN_RECORD_TYPE",
    "Boundedness",
    "BrokenRecord",
    "Committer",
    "CommitterContext",
    "DeliveryGuarantee",
    "EnumeratorContext",
    "EpochBudget",
    "EpochEnd",
    "EpochId",
    "Page",
    "PollingSource",
    "PublisherContext",
    "Sink",
    "SinkWriter",
    "SinkWriterContext",
    "Source",
    "SplitEnumerator",
    "SplitRead",
    "SplitReader",
    "Token",
    "TokenPublisher",
]
