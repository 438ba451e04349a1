"""Records that wait in the checkpoint directory for a committer on the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import cloudpickle
import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.errors import StateCorruptionError
from penstock.common.pickled_records import pickled_records

_COLUMNS = b"C"
_OBJECTS = b"P"


def pack_records(batch: Batch) -> bytes:
    """The records as bytes: Arrow columns where their type has columns, else pickled."""
    schema = batch.codec.schema
    if schema is None:
        return _OBJECTS + pickled_records(batch.values, cloudpickle.dumps)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
    return _COLUMNS + sink.getvalue().to_pybytes()


def unpack_records(content: bytes, codec: RecordCodec) -> list[Any]:
    """The records of one packed batch; they are unpickled only where the program has declared no type for them."""
    if content[:1] == _OBJECTS:
        if codec.schema is not None:
            raise StateCorruptionError(
                f"staged records with the columns {codec.schema.names} are pickled objects instead: the file is not "
                "what the job has written. Restore it from a copy."
            )
        return pickle.loads(memoryview(content)[1:])
    return [value for batch in _batches(content) for value in codec.to_values(batch.columns)]


def _batches(content: bytes) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_stream(pa.py_buffer(content).slice(1)) as reader:
        yield from reader
