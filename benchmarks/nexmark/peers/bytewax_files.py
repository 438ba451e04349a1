"""How the bytewax flows read the input, and count or keep their results.

Each of two processes reads its share of every table with pyarrow. No recovery is configured: bytewax runs without
writing any state, its fastest way.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from nexmark.checksums import MODULUS
from nexmark.schema import DECIMAL, LONG, QUERIES, TEXT, Query

BATCH = 10_000
QUERY = "NEXMARK_QUERY"
INPUT = "NEXMARK_INPUT"
WORK = "NEXMARK_WORK"
ROWS = "NEXMARK_ROWS"
SIDE_INPUT = "NEXMARK_SIDE_INPUT"
_ARROW_TYPES = {LONG: pa.int64(), TEXT: pa.string(), DECIMAL: pa.decimal128(23, 3)}
Tuple = tuple[Any, ...]


class _Rows(StatefulSourcePartition[Tuple, None]):
    """One file of a table; writes when it had read how many rows."""

    def __init__(self, table: str, columns: list[str], part: str) -> None:
        file = pq.ParquetFile(Path(os.environ[INPUT]) / table / f"reader-{part}.parquet")
        self._batches = file.iter_batches(BATCH, columns=columns)
        self._columns = columns
        self._progress = (Path(os.environ[WORK]) / f"read-{table}-{part}").open("w")

    def next_batch(self) -> list[Tuple]:
        batch = next(self._batches)  # StopIteration is bytewax's end of input
        print(time.time(), len(batch), file=self._progress)
        return list(zip(*(batch[name].to_pylist() for name in self._columns), strict=True))

    def snapshot(self) -> None:
        return None

    def close(self) -> None:
        self._progress.close()


class Rows(FixedPartitionedSource[Tuple, None]):
    """Columns of a table, as tuples."""

    def __init__(self, table: str, columns: str, parts: int) -> None:
        self._table = table
        self._columns = columns.split()
        self._parts = parts

    def list_parts(self) -> list[str]:
        return [str(number) for number in range(self._parts)]

    def build_part(self, step_id: str, for_part: str, resume_state: None) -> _Rows:
        return _Rows(self._table, self._columns, for_part)


class _Counter(StatelessSinkPartition[Tuple]):
    """Adds up rows; of a result that changes it knows the last version of every key."""

    def __init__(self, query: Query, path: Path) -> None:
        self._path = path
        self._rows = self._checksum = 0
        self._kinds = [kind for _, kind in query.result]
        names = [name for name, _ in query.result]
        self._key = [names.index(name) for name in query.key]
        self._last: dict[Tuple, int] = {}

    def write_batch(self, items: list[Tuple]) -> None:
        for row in items:
            total = 0
            for place, (kind, value) in enumerate(zip(self._kinds, row, strict=True), 1):
                total += place * (value if kind == LONG else len(value) if kind == TEXT else int(value * 1000))
            square = (total % MODULUS) ** 2
            if self._key:
                self._last[tuple(row[place] for place in self._key)] = square
            else:
                self._rows += 1
                self._checksum += square

    def close(self) -> None:
        rows, checksum = self._rows + len(self._last), self._checksum + sum(self._last.values())
        self._path.write_text(json.dumps([time.time(), rows, checksum]))


class _Writer(StatelessSinkPartition[Tuple]):
    """Writes rows to a file."""

    def __init__(self, query: Query, path: Path, report: Path) -> None:
        self._report = report
        fields = [pa.field(name, _ARROW_TYPES[kind]) for name, kind in query.result]
        self._schema = pa.schema(fields)
        self._writer = pq.ParquetWriter(path, self._schema)

    def write_batch(self, items: list[Tuple]) -> None:
        if items:
            values = zip(*items, strict=True)
            columns = [pa.array(each, field.type) for each, field in zip(values, self._schema, strict=True)]
            self._writer.write_table(pa.Table.from_arrays(columns, schema=self._schema))

    def close(self) -> None:
        self._writer.close()
        self._report.write_text(json.dumps([time.time(), None, None]))


class Results(DynamicSink[Tuple]):
    """Counts the rows of the result, or keeps them."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition[Tuple]:
        query = QUERIES[os.environ[QUERY]]
        report = Path(os.environ[WORK]) / f"worker-{worker_index}.json"
        if ROWS in os.environ:
            return _Writer(query, Path(os.environ[ROWS]) / f"worker-{worker_index}.parquet", report)
        return _Counter(query, report)
