"""The stream classes, under PyFlink's module path."""

from __future__ import annotations

from penstock.datastream.streams.closeable_iterator import CloseableIterator
from penstock.datastream.streams.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.streams.data_stream_sink import DataStreamSink
from penstock.datastream.streams.keyed_stream import KeyedStream

__all__ = [
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CloseableIterator",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "KeyedStream",
]
