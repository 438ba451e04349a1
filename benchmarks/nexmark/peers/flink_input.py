"""The input as Flink reads it in the order of time: its readers take files in any order, so each gets one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

READERS = 2
RECORDS_IN_A_PIECE = 20_000


def one_file_per_reader(files: Sequence[Path], directory: Path, readers: int = READERS) -> Path:
    """A directory with as many files as there are readers: pieces of the table in turn, so that they keep pace."""
    directory.mkdir(parents=True)
    schema = pq.read_schema(files[0])
    writers = [pq.ParquetWriter(directory / f"reader-{reader}.parquet", schema) for reader in range(readers)]
    turn = 0
    for path in files:
        for batch in pq.ParquetFile(path).iter_batches(RECORDS_IN_A_PIECE):
            writers[turn % readers].write_batch(batch)
            turn += 1
    for writer in writers:
        writer.close()
    return directory
