"""A running sum per key, by hand: the least that an epoch with Python state costs on Spark.

Files -> mapInArrow: read, hash, group by target -> repartitionById -> mapInArrow: a Python loop over a
dict that reads through to LMDB, the changes of the epoch in a delta file. No manifest, no recovery, no
checks, one key type, one state.
"""

from __future__ import annotations

import pickle
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import lmdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from common.contender import Result, parse_arguments
from common.inputs import input_files
from common.json_columns import read_columns
from common.spark import PARALLELISM, make_session

BUFFER_RECORDS = 50_000
BUFFERS = "target int, payload binary"
ANSWER = "outputs long, checksum long"
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def send_buffers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for path in batch.column(0).to_pylist():
            table = read_columns(path).select(["k", "v"])
            key_groups = (table.column("k").to_numpy().astype(np.uint64) * GOLDEN) >> np.uint64(57)
            targets = (key_groups.astype(np.int64) * PARALLELISM) >> 7
            for target in range(PARALLELISM):
                part = table.filter(pa.array(targets == target))
                for start in range(0, part.num_rows, BUFFER_RECORDS):
                    yield buffer_row(target, part.slice(start, BUFFER_RECORDS))


def buffer_row(target: int, records: pa.Table) -> pa.RecordBatch:
    stream = pa.BufferOutputStream()
    with pa.ipc.new_stream(stream, records.schema) as writer:
        writer.write_table(records)
    payload = stream.getvalue().to_pybytes()
    columns = [pa.array([target], pa.int32()), pa.array([payload], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["target", "payload"])


class SumPerKey:
    """The keyed stage of one epoch."""

    def __init__(self, state: str, epoch: int) -> None:
        self.state = state
        self.epoch = epoch

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        pack_key, value_format = struct.Struct(">q").pack, struct.Struct("<q")
        partition = TaskContext.get().partitionId()
        store = lmdb.open(f"{self.state}/{partition}", map_size=1 << 32, sync=False, metasync=False, writemap=True)
        previous = Path(f"{self.state}/{partition}.{self.epoch - 1}.delta")
        if previous.exists():
            with store.begin(write=True) as transaction:
                transaction.cursor().putmulti(pickle.loads(previous.read_bytes()), overwrite=True)
            previous.unlink()
        sums: dict[int, int] = {}
        outputs = checksum = 0
        with store.begin() as transaction:
            for batch in batches:
                for payload in batch.column(1):
                    records = pa.ipc.open_stream(payload.as_buffer()).read_all()
                    results: list[int] = []
                    keys, values = records.column(0).to_pylist(), records.column(1).to_pylist()
                    for key, value in zip(keys, values, strict=True):
                        total = sums.get(key)
                        if total is None:
                            stored = transaction.get(pack_key(key))
                            total = 0 if stored is None else value_format.unpack(stored)[0]
                        total += value
                        sums[key] = total
                        results.append(total)
                    output = pa.RecordBatch.from_arrays(
                        [records.column(0).combine_chunks(), pa.array(results)], ["k", "s"]
                    )
                    outputs += output.num_rows
                    checksum += pc.sum(output.column(1)).as_py()
        store.close()
        delta = sorted((pack_key(key), value_format.pack(total)) for key, total in sums.items())
        Path(f"{self.state}/{partition}.{self.epoch}.delta").write_bytes(pickle.dumps(delta))
        yield pa.RecordBatch.from_arrays([pa.array([outputs]), pa.array([checksum])], ["outputs", "checksum"])


def main() -> None:
    arguments = parse_arguments()
    spark = make_session()
    files = input_files(arguments.input)
    result = Result()
    for epoch, first in enumerate(range(0, len(files), arguments.files_per_epoch)):
        started = time.perf_counter()
        paths = [(path,) for path in files[first : first + arguments.files_per_epoch]]
        answers = (
            spark.createDataFrame(paths, "path string")
            .repartition(PARALLELISM)
            .mapInArrow(send_buffers, BUFFERS)
            .repartitionById(PARALLELISM, "target")
            .mapInArrow(SumPerKey(str(arguments.work), epoch), ANSWER)
            .collect()
        )
        seconds = time.perf_counter() - started
        result.add(sum(a.outputs for a in answers), sum(a.checksum for a in answers), seconds)
    result.write(arguments.result)


if __name__ == "__main__":
    main()
