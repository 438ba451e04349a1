"""The input as Spark reads it: for every micro-batch two files of each table, which cover the same piece of time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nexmark.peers.arguments import Arguments
from nexmark.schema import LONG, TABLES

FILES_PER_EPOCH = 2
LONG_AFTER_MS = 10 * 24 * 3600 * 1000


@dataclass(frozen=True)
class SlicedInput:
    """The input in a directory for each table."""

    directory: Path
    longest_auction_ms: int


def slice_input(arguments: Arguments, *, end_time: bool) -> SlicedInput:
    """Cuts the input; with `end_time` a last row, far in the future, lets all windows close."""
    target = arguments.work / "input"
    epochs = max(1, round(arguments.records() / arguments.records_per_epoch))
    files = epochs * FILES_PER_EPOCH
    events = arguments.meta()["events"]
    ends = [events * (number + 1) // files for number in range(files)]
    longest = 0
    for table in arguments.description.reads:
        (target / table).mkdir(parents=True)
        latest = 0
        for number, rows in enumerate(_pieces(arguments.files_of(table), ends)):
            _write(rows, target / table, number)
            if len(rows):
                latest = max(latest, pc.max(rows["dateTime"]).as_py())
            if len(rows) and table == "auctions":
                longest = max(longest, pc.max(pc.subtract(rows["expires"], rows["dateTime"])).as_py())
        if end_time:
            _write(_last_row(table, latest + LONG_AFTER_MS), target / table, files)
    return SlicedInput(target, longest)


def _pieces(files: list[Path], ends: list[int]) -> Iterator[pa.Table]:
    """The rows up to each of the ends, in order of arrival."""
    schema = pq.read_schema(files[0])
    batches = (batch for path in files for batch in pq.ParquetFile(path).iter_batches(50_000))
    rest = schema.empty_table()
    for end in ends:
        parts = [rest]
        while len(rest) == 0 or rest["seq"][-1].as_py() < end:
            batch = next(batches, None)
            if batch is None:
                break
            rest = pa.Table.from_batches([batch])
            parts.append(rest)
        rows = pa.concat_tables(parts)
        place = int(rows["seq"].to_numpy().searchsorted(end))
        yield rows.slice(0, place)
        rest = rows.slice(place)


def _write(rows: pa.Table, directory: Path, number: int) -> None:
    path = directory / f"part-{number:05d}.parquet"
    pq.write_table(rows, path)
    # Spark takes files in the order of their times.
    os.utime(path, (number + 1, number + 1))


def _last_row(table: str, time: int) -> pa.Table:
    row = {name: -1 if kind == LONG else "" for name, kind in TABLES[table]}
    row |= {name: time for name in ("dateTime", "expires") if name in row}
    return pa.Table.from_pylist([row])
