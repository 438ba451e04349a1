"""Records that wait in the checkpoint directory for a committer on the driver."""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.by_value import pickled_by_value
from penstock.common.errors import StateCorruptionError
from penstock.common.pickled_records import pickled_records
from penstock.connectors.gathered_batches import GatheredBatches

_COLUMNS = b"C"
_OBJECTS = b"P"


class GatheredRecords:
    """Records that wait to be packed together: in pipelined mode many come alone, and a file waits for the disk."""

    def __init__(self) -> None:
        self._columns = GatheredBatches()
        self._objects: list[bytes] = []
        self._object_bytes = 0

    def __bool__(self) -> bool:
        return bool(self._objects or self._columns)

    @property
    def nbytes(self) -> int:
        """How much there is."""
        return self._columns.nbytes + self._object_bytes

    def append(self, batch: Batch) -> None:
        """Adds records; all are of one type."""
        if batch.codec.schema is None:
            self._objects.append(pickled_records(batch.values, pickled_by_value))
            self._object_bytes += len(self._objects[-1])
        else:
            self._columns.append(_rows_of(batch, batch.codec.schema))

    def take(self) -> bytes:
        """All of them, packed; none is left."""
        objects, self._objects, self._object_bytes = self._objects, [], 0
        return _OBJECTS + b"".join(objects) if objects else _packed(self._columns.take())


def pack_records(batch: Batch) -> bytes:
    """The records as bytes: Arrow columns where their type has columns, else pickled."""
    schema = batch.codec.schema
    if schema is None:
        return _OBJECTS + pickled_records(batch.values, pickled_by_value)
    return _packed([_rows_of(batch, schema)])


def unpack_records(content: bytes, codec: RecordCodec) -> list[Any]:
    """The records that were packed; they are unpickled only where the program has declared no type for them."""
    if content[:1] == _OBJECTS:
        if codec.schema is not None:
            raise StateCorruptionError(
                f"staged records with the columns {codec.schema.names} are pickled objects instead: the file is not "
                "what the job has written. Restore it from a copy."
            )
        return list(_unpickled(content))
    return [value for batch in _batches(content) for value in codec.to_values(batch.columns)]


def _batches(content: bytes) -> Iterator[pa.RecordBatch]:
    with pa.ipc.open_stream(pa.py_buffer(content).slice(1)) as reader:
        yield from reader


def _unpickled(content: bytes) -> Iterator[Any]:
    file = io.BytesIO(content)
    file.seek(len(_OBJECTS))
    while file.tell() < len(content):
        yield from pickle.load(file)


def _rows_of(batch: Batch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def _packed(batches: Sequence[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return _COLUMNS + sink.getvalue().to_pybytes()
