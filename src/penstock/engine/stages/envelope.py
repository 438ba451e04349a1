"""The envelope: what travels between stages. Rows are buffers of many records, control events or driver messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

import pyarrow as pa

ENVELOPE_DDL = "target int, edge int, sender long, seq long, kind int, payload binary"
ENVELOPE_SCHEMA = pa.schema(
    [
        ("target", pa.int32()),
        ("edge", pa.int32()),
        ("sender", pa.int64()),
        ("seq", pa.int64()),
        ("kind", pa.int32()),
        ("payload", pa.binary()),
    ]
)

SOURCE_SENDER = 1 << 62
"""The sender number that speaks for a whole source; sorts behind every split."""

_FIRST_TASK_SENDER = 1 << 61


def is_split(sender: int) -> bool:
    """Whether a sender of a source is one of its splits: not the source itself, nor a task that ends it."""
    return sender < _FIRST_TASK_SENDER


NO_EDGE = -1
"""The edge number of rows that are addressed to the driver."""


class Kind(IntEnum):
    """What a row's payload is."""

    DATA = 0
    WATERMARK = 1
    IDLE = 2
    END = 3
    TICK = 5
    """Pipelined mode: time has passed; `seq` says for how long, in ms, the sender has listened in this epoch."""
    END_OF_EPOCH = 6
    """Pipelined mode: nothing more comes from this task in this epoch."""
    PUSH = 7
    """Pipelined mode: nobody looks at it. Spark hands a row to a Python task when the next one is there: here it is."""
    PARTIALS = 4
    """Records that were aggregated before they were sent, for windows."""
    MESSAGE = 16
    """For the driver; later stages pass it on untouched."""
    FAILURE = 17
    """For the driver: what went wrong in a task."""
    ABORT = 18
    """For the tasks of the next stage: the epoch is lost, do not work on it."""


class Envelope(NamedTuple):
    """One row of the exchange. (edge, sender) is the channel, seq the order in it, target the subtask."""

    target: int
    edge: int
    sender: int
    seq: int
    kind: int
    payload: bytes


def to_arrow(rows: list[Envelope]) -> pa.RecordBatch:
    """Envelopes as the Arrow batch that Spark shuffles."""
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, ENVELOPE_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=ENVELOPE_SCHEMA)


def from_arrow(batches: Iterable[pa.RecordBatch]) -> Iterator[Envelope]:
    """The envelopes of Arrow batches as Spark delivers them."""
    for batch in batches:
        yield from map(Envelope._make, zip(*(column.to_pylist() for column in batch.columns), strict=True))
