"""Where results go: counted and forgotten, or, where later rows replace earlier ones, into files of each epoch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nexmark.checksums import checksum, decimal_thousandths
from nexmark.schema import DECIMAL, Query
from penstock.common.batch import Batch
from penstock.common.typeinfo import CompositeTypeInfo, TypeInformation
from penstock.connectors.sink import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    EpochId,
    Sink,
    SinkWriter,
    SinkWriterContext,
    Token,
)


class _ResultSink(Sink):
    def __init__(self, query: Query, path: Path) -> None:
        self._query = query
        self._path = str(path)

    @property
    def guarantee(self) -> DeliveryGuarantee:
        return DeliveryGuarantee.AT_LEAST_ONCE

    def for_records(self, record_type: TypeInformation) -> Sink:
        names = record_type.get_field_names() if isinstance(record_type, CompositeTypeInfo) else record_type
        expected = [name for name, _ in self._query.result]
        if names != expected:
            raise ValueError(f"the results have {names}; expected {expected}")
        return self


class ChecksumSink(_ResultSink):
    """Keeps nothing but the number of rows and their checksum."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        return _Sums(self._query)

    def create_committer(self, context: CommitterContext) -> Committer:
        return _SumsOfEpochs(Path(self._path))


class _Sums(SinkWriter):
    def __init__(self, query: Query) -> None:
        self._decimals = [kind == DECIMAL for _, kind in query.result]
        self._rows = self._checksum = 0

    def write(self, batch: Batch) -> None:
        columns = zip(batch.columns, self._decimals, strict=True)
        self._rows += len(batch)
        self._checksum += checksum([decimal_thousandths(each) if decimal else each for each, decimal in columns])

    def prepare_commit(self) -> list[Token]:
        return [{"rows": self._rows, "checksum": self._checksum}]


class _SumsOfEpochs(Committer):
    def __init__(self, path: Path) -> None:
        self._path = path

    def commit(self, epoch: EpochId, tokens: Sequence[Token]) -> None:
        with self._path.open("a") as file:
            for token in tokens:
                file.write(json.dumps(dict(token)) + "\n")


def read_sums(path: Path) -> tuple[int, int]:
    """Rows and checksum of all epochs."""
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return sum(line["rows"] for line in lines), sum(line["checksum"] for line in lines)


class LatestVersionsSink(_ResultSink):
    """Writes a file for each epoch and subtask: of rows with the same key, the last one."""

    def create_writer(self, context: SinkWriterContext) -> SinkWriter:
        epoch = context.epoch
        name = f"run-{epoch.incarnation}-epoch-{epoch.number}-subtask-{context.subtask}.parquet"
        return _LatestVersions(self._query, Path(self._path) / name)


class _LatestVersions(SinkWriter):
    def __init__(self, query: Query, path: Path) -> None:
        names = [name for name, _ in query.result]
        self._names = names
        self._key = [names.index(name) for name in query.key]
        self._path = path
        self._batches: list[pa.RecordBatch] = []

    def write(self, batch: Batch) -> None:
        self._batches.append(pa.RecordBatch.from_arrays(batch.columns, self._names))

    def prepare_commit(self) -> list[Token]:
        if self._batches:
            self._write_last()
        return []

    def _write_last(self) -> None:
        table = pa.Table.from_batches(self._batches).combine_chunks()
        key_names = [self._names[place] for place in self._key]
        keys = table.select(key_names).append_column("place", pa.array(np.arange(len(table))))
        last = keys.group_by(key_names, use_threads=False).aggregate([("place", "max")])["place_max"]
        # As fast as files of this kind are written: they are read once, to be checked.
        pq.write_table(table.take(last), self._path, compression="none", use_dictionary=False, write_statistics=False)
