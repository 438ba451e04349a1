"""The stream classes, under PyFlink's module path."""

from __future__ import annotations

from penstock.datastream.streams.cached_stream import CachedDataStream
from penstock.datastream.streams.closeable_iterator import CloseableIterator
from penstock.datastream.streams.co_grouped_streams import CoGroupedStreams, WindowedCoGroup
from penstock.datastream.streams.connected_streams import (
    BroadcastConnectedStream,
    BroadcastStream,
    ConnectedStreams,
)
from penstock.datastream.streams.data_stream import DataStream
from penstock.datastream.streams.data_stream_sink import DataStreamSink
from penstock.datastream.streams.interval_join import IntervalJoin, IntervalJoined
from penstock.datastream.streams.joined_streams import JoinedStreams, WindowedJoin
from penstock.datastream.streams.keyed_stream import KeyedStream
from penstock.datastream.streams.lookup_join import LookupJoin
from penstock.datastream.streams.paired_streams import EqualTo, Where
from penstock.datastream.streams.temporal_join import TemporalJoin
from penstock.datastream.streams.windowed_stream import AllWindowedStream, WindowedStream

__all__ = [
    "AllWindowedStream",
    "BroadcastConnectedStream",
    "BroadcastStream",
    "CachedDataStream",
    "CloseableIterator",
    "CoGroupedStreams",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "EqualTo",
    "IntervalJoin",
    "IntervalJoined",
    "JoinedStreams",
    "KeyedStream",
    "LookupJoin",
    "TemporalJoin",
    "Where",
    "WindowedCoGroup",
    "WindowedJoin",
    "WindowedStream",
]
