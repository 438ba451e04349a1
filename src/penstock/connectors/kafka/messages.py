"""Messages on their way to Kafka: columns, and the bytes of those that wait in the checkpoint directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pyarrow as pa

from penstock.common.kernels import pc

MESSAGES = pa.schema(
    [
        pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
        pa.field("partition", pa.int32()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("timestamp", pa.int64()),
        pa.field("headers", pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))),
    ]
)

Headers = Sequence[tuple[str, bytes | None]] | None
ANY_PARTITION = -1
NOW = 0

# Columns that nobody uses are all nulls: compressed they are nothing.
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", emit_dictionary_deltas=False)


@dataclass(frozen=True)
class Messages:
    """Messages column by column, each in the form at hand: what all have in common costs nothing per message."""

    topics: str | Sequence[str]
    """One for all, or one for each."""
    values: Sequence[bytes | None] | pa.Array
    keys: Sequence[bytes | None] | pa.Array | None = None
    partitions: Sequence[int] | pa.Array | None = None
    timestamps: Sequence[int] | pa.Array | None = None
    headers: Sequence[Headers] | None = None

    def __len__(self) -> int:
        return len(self.values)

    @staticmethod
    def of_staged(batch: pa.RecordBatch) -> Messages:
        """Messages that were staged."""
        topics = batch.column("topic")
        headers = batch.column("headers")
        return Messages(
            # All of one topic is the rule.
            topics=topics.dictionary[0].as_py() if len(topics.dictionary) == 1 else topics.to_pylist(),
            values=batch.column("value"),
            keys=_unless_empty(batch.column("key")),
            partitions=_unless_empty(batch.column("partition")),
            timestamps=_unless_empty(batch.column("timestamp")),
            headers=None
            if headers.null_count == len(headers)
            else [
                None if of_message is None else [(header["name"], header["value"]) for header in of_message]
                for of_message in headers.to_pylist()
            ],
        )

    def to_record_batch(self) -> pa.RecordBatch:
        """The same as columns of Arrow."""
        count = len(self)
        if isinstance(self.topics, str):
            topics = pa.DictionaryArray.from_arrays(
                pa.repeat(pa.scalar(0, pa.int32()), count), pa.array([self.topics], pa.string())
            )
        else:
            topics = pa.array(self.topics, pa.string()).dictionary_encode()
        columns = {
            "topic": topics,
            "partition": self.partitions,
            "key": self.keys,
            "value": self.values,
            "timestamp": self.timestamps,
            "headers": self.headers,
        }
        return pa.RecordBatch.from_arrays(
            [_column(columns[field.name], field.type, count) for field in MESSAGES], schema=MESSAGES
        )

    def arguments(self) -> list[repeat[Any] | Sequence[Any]]:
        """What the client's `produce` takes, in its order: topic, value, key, partition, two callbacks, time, headers.

        Arguments at the end that no message has are left out.
        """
        columns: list[Any] = [
            self.topics,
            _listed(self.values),
            None if self.keys is None else _listed(self.keys),
            None if self.partitions is None else _listed(self.partitions, ANY_PARTITION),
            None,
            None,
            None if self.timestamps is None else _listed(self.timestamps, NOW),
            self.headers,
        ]
        while columns[-1] is None:
            columns.pop()
        return [
            repeat(_UNSET[place] if column is None else column) if column is None or isinstance(column, str) else column
            for place, column in enumerate(columns)
        ]


_AROUND_MESSAGE = 36
"""The most bytes that a message's times, lengths and flags take."""
_UNSET = (None, None, None, ANY_PARTITION, None, None, NOW, None)
"""What `produce` takes for none."""


def sizes_of(messages: pa.RecordBatch) -> pa.Array:
    """How large the client takes each message for: its parts, and what may stand around them."""
    key, value, headers = (messages.column(name) for name in ("key", "value", "headers"))
    sizes = pc.add(pc.fill_null(pc.binary_length(key), 0), pc.fill_null(pc.binary_length(value), 0))
    sizes = pc.add(sizes.cast(pa.int64()), _AROUND_MESSAGE)
    if headers.null_count < len(headers):
        sizes = pc.add(sizes, pa.array(list(map(_size_of_headers, headers.to_pylist())), pa.int64()))
    return sizes


def _size_of_headers(headers: Sequence[Mapping[str, Any]] | None) -> int:
    parts = [part for header in headers or () for part in (header["name"].encode(), header["value"])]
    return sum(_size_of_length(len(part or b"")) + len(part or b"") for part in parts)


def _size_of_length(length: int) -> int:
    """The bytes of a number with a sign, seven bits in each."""
    return max(1, -(-(2 * length).bit_length() // 7))


def pack_messages(batches: Sequence[pa.RecordBatch]) -> bytes:
    """The bytes of some messages; the same messages give the same bytes."""
    table = pa.Table.from_batches(batches, MESSAGES).unify_dictionaries()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, MESSAGES, options=_OPTIONS) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def unpack_messages(content: bytes) -> Iterator[pa.RecordBatch]:
    """The messages again, in their order."""
    with pa.ipc.open_stream(pa.py_buffer(content)) as reader:
        yield from reader


def _unless_empty(column: pa.Array) -> pa.Array | None:
    return None if column.null_count == len(column) else column


def _column(column: Any, arrow_type: pa.DataType, count: int) -> pa.Array:
    if column is None:
        return pa.nulls(count, arrow_type)
    return column if isinstance(column, pa.Array) else pa.array(column, arrow_type)


def _listed(column: Any, unset: int | None = None) -> Sequence[Any]:
    if not isinstance(column, pa.Array):
        return column
    if unset is not None and column.null_count:
        column = column.fill_null(unset)
    return column.to_pylist()
