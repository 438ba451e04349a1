"""How the bytewax contenders read the input and count their output.

Each process reads its share of the files with pyarrow, as the other contenders do. No recovery is
configured: bytewax runs without writing any state, its fastest way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition

from common.contender import Result, parse_arguments
from common.inputs import input_files, records_of
from common.json_columns import read_columns

BATCH = 10_000
PROCESSES = 2
INPUT = "BENCHMARK_INPUT"
WORK = "BENCHMARK_WORK"
Record = tuple[int, ...]


class _FilesPartition(StatefulSourcePartition[Record, None]):
    def __init__(self, files: list[str], fields: Sequence[str]) -> None:
        self._batches = self._read(files, fields)

    def _read(self, files: list[str], fields: Sequence[str]) -> Iterator[list[Record]]:
        for path in files:
            for batch in read_columns(path).select(fields).to_batches(BATCH):
                yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))

    def next_batch(self) -> list[Record]:
        return next(self._batches)  # StopIteration is bytewax's end of input

    def snapshot(self) -> None:
        return None


class JsonFiles(FixedPartitionedSource[Record, None]):
    """The input, as tuples of its fields."""

    def __init__(self, *fields: str) -> None:
        self._fields = fields or ("k", "v", "ts")

    def list_parts(self) -> list[str]:
        return [str(number) for number in range(PROCESSES)]

    def build_part(self, step_id: str, for_part: str, resume_state: None) -> StatefulSourcePartition[Record, None]:
        files = input_files(Path(os.environ[INPUT]))
        return _FilesPartition(files[int(for_part) :: PROCESSES], self._fields)


class _Counter(StatelessSinkPartition[Any]):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._started = time.time()
        self._outputs = 0
        self._checksum = 0

    def write_batch(self, items: list[int]) -> None:
        self._outputs += len(items)
        self._checksum += sum(items)

    def close(self) -> None:
        self._path.write_text(json.dumps([self._started, time.time(), self._outputs, self._checksum]))


class CountingSink(DynamicSink[int]):
    """Counts and adds up what arrives; each worker writes what it had to a file."""

    def build(self, step_id: str, worker_index: int, worker_count: int) -> StatelessSinkPartition[int]:
        return _Counter(Path(os.environ[WORK]) / f"worker-{worker_index}.json")


def run_flow(flow: str) -> None:
    """Runs a flow (`module:name`) in two processes and writes what they measured together."""
    arguments = parse_arguments()
    environment = {**os.environ, INPUT: str(arguments.input), WORK: str(arguments.work)}
    command = [sys.executable, "-m", "bytewax.testing", "-p", str(PROCESSES), flow]
    subprocess.run(command, env=environment, check=True)
    workers = [json.loads(path.read_text()) for path in sorted(arguments.work.glob("worker-*.json"))]
    if len(workers) != PROCESSES:
        raise RuntimeError(f"{len(workers)} of {PROCESSES} bytewax workers reported a result")
    started, ended, outputs, checksums = zip(*workers, strict=True)
    result = Result()
    result.add(sum(outputs), sum(checksums), max(ended) - min(started), records_of(arguments.input))
    result.write(arguments.result)
