"""Every bid into files, a directory for each minute; it is marked complete a minute after its end."""

from __future__ import annotations

from pathlib import Path

from nexmark.events import Events
from penstock.datastream.connectors.file_system import BucketAssigner, FileSink, PartitionCommit


def write(events: Events, directory: Path) -> None:
    bids = events.bids(in_event_time=True).select("auction", "bidder", "price", "dateTime", "extra")
    buckets = BucketAssigner.event_time_bucket_assigner("'dt='yyyy-MM-dd'/hm='HH:mm", "UTC")
    sink = FileSink(str(directory), "parquet", buckets=buckets, partition_commit=PartitionCommit.by_watermark("1 min"))
    bids.sink_to(sink)
