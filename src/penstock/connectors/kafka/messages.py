"""Messages on their way to Kafka: columns, and the bytes of those that wait in the checkpoint directory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

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

# Columns that nobody uses are all nulls: compressed they are nothing.
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", emit_dictionary_deltas=False)


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
