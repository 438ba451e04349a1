"""Data buffers as bytes: an Arrow IPC stream of keys, timestamps and typed columns, or keys and pickled objects.

Layout: u64 length of the IPC part | IPC stream | pickled list of records (only where the type is not declared).
Keys are dictionary encoded: a buffer holds each of its keys once, and the receiver makes one bytes object per key.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.pickled_records import pickled_records

_LENGTH = struct.Struct("<Q")
"""As wide as the numbers in columns: behind less, Arrow finds these where it says that it may crash."""
_KEY = "__key"
_TIMESTAMP = "__timestamp"
_RECORDS = "__records"
_ROWS = "__rows"


def encode(
    codec: RecordCodec,
    count: int,
    columns: Sequence[pa.Array] | None,
    values: list[Any] | None,
    timestamps: pa.Array | None,
    keys: DictionaryKeys | None,
    record_counts: pa.Array | None = None,
) -> bytes:
    """The bytes of `count` records, given as columns (typed) or values (undeclared types).

    `record_counts` says how many records each was made of, where they were combined before they are sent.
    """
    arrays: list[pa.Array] = []
    names: list[str] = []
    if keys is not None:
        arrays.append(keys.to_arrow())
        names.append(_KEY)
    if timestamps is not None:
        arrays.append(timestamps)
        names.append(_TIMESTAMP)
    if record_counts is not None:
        arrays.append(record_counts)
        names.append(_RECORDS)
    pickled = b""
    if columns is not None:
        assert codec.schema is not None
        arrays += columns
        names += codec.schema.names
    else:
        pickled = pickled_records(values or [], pickle.dumps)
    if not arrays:
        arrays, names = [pa.nulls(count)], [_ROWS]
    batch = pa.RecordBatch.from_arrays(arrays, names)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    body = sink.getvalue()
    return b"".join((_LENGTH.pack(body.size), memoryview(body), pickled))


class Buffer(NamedTuple):
    """A data buffer as it lies in memory after its journey; records are columns or, of undeclared types, values."""

    keys: pa.DictionaryArray | None
    timestamps: pa.Array | None
    columns: list[pa.Array] | None
    values: list[Any] | None
    record_counts: pa.Array | None


def open_buffer(codec: RecordCodec, payload: bytes) -> Buffer:
    """What `encode` made bytes of."""
    (length,) = _LENGTH.unpack_from(payload)
    end = _LENGTH.size + length
    batch = pa.ipc.open_stream(pa.py_buffer(payload)[_LENGTH.size : end]).read_next_batch()
    names = batch.schema.names
    keys = batch.column(names.index(_KEY)) if _KEY in names else None
    timestamps = batch.column(names.index(_TIMESTAMP)) if _TIMESTAMP in names else None
    if end < len(payload):
        return Buffer(keys, timestamps, None, pickle.loads(memoryview(payload)[end:]), None)
    record_counts = batch.column(names.index(_RECORDS)) if _RECORDS in names else None
    first = len(names) - len(codec.schema.names if codec.schema is not None else ())
    return Buffer(keys, timestamps, batch.columns[first:], None, record_counts)


def decode(codec: RecordCodec, payload: bytes) -> Batch:
    """The batch that `encode` made bytes of."""
    buffer = open_buffer(codec, payload)
    keys = None if buffer.keys is None else DictionaryKeys.from_arrow(buffer.keys)
    return Batch(
        codec,
        values=buffer.values,
        columns=buffer.columns,
        timestamps=buffer.timestamps,
        keys=keys,
        record_counts=buffer.record_counts,
    )
