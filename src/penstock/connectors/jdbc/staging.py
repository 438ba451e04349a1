"""Rows that wait in the checkpoint directory until their epoch is published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.fail_points import reach
from penstock.common.row import Row
from penstock.common.typeinfo import CompositeTypeInfo
from penstock.connectors.gathered_batches import GatheredBatches
from penstock.connectors.jdbc.database import Database
from penstock.connectors.sink import SinkWriter, SinkWriterContext, Token
from penstock.state.storage import CheckpointStorage

_PART_BYTES = 16 << 20


class DeclaredColumns:
    """Records of a stream as the columns of the sink's type."""

    def __init__(self, database: Database, type_info: CompositeTypeInfo) -> None:
        self._database = database
        self._codec = codec_for(type_info)
        self._names = type_info.get_field_names()
        assert self._codec.schema is not None
        self.schema: pa.Schema = self._codec.schema

    def of(self, batch: Batch) -> pa.RecordBatch:
        """The columns; raises `TypeMismatchError` with the index of the first record that does not fit."""
        columns = self._columns(batch)
        self._database.refuse_values(self._names, columns)
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _columns(self, batch: Batch) -> list[pa.Array]:
        """Fields are found by their names where the records have the same ones, else by their places."""
        given = batch.codec.schema
        if given is None or len(given) != len(self.schema):
            return self._codec.to_columns(batch.values)
        places = range(len(given))
        if set(given.names) == set(self._names):
            places = [given.get_field_index(name) for name in self._names]
        if [given.field(place).type for place in places] == self.schema.types:
            return [batch.columns[place] for place in places]
        return self._codec.to_columns([_in_order(value, places) for value in batch.values])


def _in_order(value: Any, places: Sequence[int]) -> Any:
    return tuple(value[place] for place in places) if isinstance(value, Row | tuple | list) else value


class StagingWriter(SinkWriter):
    """Writes Arrow files into the checkpoint directory: the same records, the same tokens."""

    def __init__(self, columns: DeclaredColumns, context: SinkWriterContext) -> None:
        self._columns = columns
        self._context = context
        self._waiting = GatheredBatches()
        self._tokens: list[Token] = []

    def write(self, batch: Batch) -> None:
        """Takes records, and stages them when they are enough for a file."""
        if not len(batch):
            return
        self._waiting.append(self._columns.of(batch))
        if self._waiting.nbytes >= _PART_BYTES:
            self._stage()

    def prepare_commit(self) -> list[Token]:
        """Stages what is left."""
        if self._waiting:
            self._stage()
        reach("sink.jdbc.staged")
        return self._tokens

    def _stage(self) -> None:
        rows = pa.Table.from_batches(self._waiting.take()).combine_chunks()
        file = pa.BufferOutputStream()
        with pa.ipc.new_stream(file, self._columns.schema) as writer:
            writer.write_table(rows)
        path = self._context.storage.write_staged(
            f"{self._context.staging}-{len(self._tokens)}", file.getvalue().to_pybytes()
        )
        self._tokens.append({"path": path, "rows": rows.num_rows})


def staged_rows(storage: CheckpointStorage, tokens: Sequence[Token]) -> Iterator[list[pa.Array]]:
    """The columns of what was staged, in order and piece by piece."""
    for token in tokens:
        with pa.ipc.open_stream(storage.read_verified(token["path"])) as reader:
            for batch in reader:
                if batch.num_rows:
                    yield batch.columns
