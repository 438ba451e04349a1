"""The input with timestamps and watermarks, for the Penstock programs."""

from __future__ import annotations

from common.contender import Arguments
from common.inputs import OUT_OF_ORDERNESS_MS, WINDOW_MS
from common.penstock_job import RECORD_TYPE
from penstock.common import WatermarkStrategy
from penstock.datastream import DataStream, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat

WINDOW = f"{WINDOW_MS} ms"


def timed_records(env: StreamExecutionEnvironment, arguments: Arguments) -> DataStream:
    """(k, v, ts) with event time."""
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(RECORD_TYPE))
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(OUT_OF_ORDERNESS_MS).with_timestamp_assigner("ts")
    return env.from_source(source, strategy, "records")
