"""Wide records through keyed state in one process; prints its peak memory: `wide_job.py KEYS EPOCH_RECORDS`."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.common import Configuration, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.datastream.functions import KeyedProcessFunction
from penstock.datastream.state import ValueStateDescriptor

RECORDS = 1_000_000
TEXT = "x" * 300
TYPE = Types.ROW_NAMED(["k", "text"], [Types.LONG(), Types.STRING()])


class CountToTheEnd(KeyedProcessFunction):
    """Yields the number of a key's records with the last of them."""

    def __init__(self, keys: int) -> None:
        self._keys = keys

    def open(self, runtime_context):
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        if count == RECORDS // self._keys:
            yield count


def peak_megabytes() -> int:
    """The most memory that this process ever had.

    `ru_maxrss` alone is not it on Linux: a process inherits the figure of the one that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) >> 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 20  # bytes on macOS


def main(keys: int, epoch_records: int) -> None:
    def batch(start: int, stop: int) -> pa.RecordBatch:
        numbers = pa.array(np.arange(start, stop) % keys, pa.int64())
        return pa.RecordBatch.from_arrays([numbers, pa.repeat(TEXT, stop - start)], ["k", "text"])

    configuration = Configuration()
    configuration.set_string("execution.engine", "local")
    configuration.set_string("execution.epoch.max-records", str(epoch_records))
    with tempfile.TemporaryDirectory() as checkpoint:
        configuration.set_string("execution.checkpointing.dir", checkpoint)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        env.set_parallelism(2)
        counts = (
            env.from_source(DataGeneratorSource(count=RECORDS, type_info=TYPE, batch_function=batch))
            .key_by("k")
            .process(CountToTheEnd(keys), output_type=Types.LONG())
            .execute_and_collect()
        )
        total = sum(counts)
    print(json.dumps({"total": total, "peak": peak_megabytes()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
