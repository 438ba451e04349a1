"""What the PyFlink contenders share: two subtasks, rows that the JVM has parsed, and the counted result."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from pyflink.common import Configuration, Duration, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, MapFunction, RuntimeContext, StreamExecutionEnvironment
from pyflink.table import StreamTableEnvironment

from common.contender import Arguments, Result
from common.flink_files import READERS, one_file_per_reader
from common.inputs import OUT_OF_ORDERNESS_MS, records_of

# Without it a local job runs all Python functions in threads of this process.
os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112 (the name that PyFlink reads)

RECORDS = """
CREATE TABLE records (
    k BIGINT, v BIGINT, ts BIGINT
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')
"""


class _Time(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return value[2]


class _Counter(MapFunction):
    """Counts and adds up what comes; writes what it had when the job ends."""

    def __init__(self, work: str, field: int) -> None:
        self._work = work
        self._field = field

    def open(self, runtime_context: RuntimeContext) -> None:
        self._path = Path(self._work) / f"worker-{runtime_context.get_index_of_this_subtask()}.json"
        self._started = time.time()
        self._outputs = self._checksum = 0

    def map(self, value: Any) -> int:
        self._outputs += 1
        self._checksum += value[self._field]
        return 0

    def close(self) -> None:
        self._path.write_text(json.dumps([self._started, time.time(), self._outputs, self._checksum]))


class PyFlinkJob:
    """A job of one contender."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        settings = Configuration()
        settings.set_string("python.fn-execution.bundle.size", "10000")
        settings.set_string("python.state.cache-size", "100000")
        settings.set_string("pipeline.object-reuse", "true")
        settings.set_string("table.local-time-zone", "UTC")
        self._env = StreamExecutionEnvironment.get_execution_environment(settings)
        self._env.set_parallelism(READERS)
        tables = StreamTableEnvironment.create(self._env)
        path = one_file_per_reader(arguments)
        tables.execute_sql(RECORDS.format(path=path))
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(OUT_OF_ORDERNESS_MS))
        self.records = tables.to_data_stream(tables.from_path("records")).assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(_Time())
        )
        """(k, v, ts) with event time."""

    def run_counted(self, results: DataStream, value_field: int) -> None:
        """Runs the job; nothing leaves it but counts."""
        counter = _Counter(str(self._arguments.work), value_field)
        results.map(counter, Types.INT()).filter(lambda value: value > 0).print()
        self._env.execute("benchmark")
        workers = [json.loads(path.read_text()) for path in sorted(self._arguments.work.glob("worker-*.json"))]
        if len(workers) != READERS:
            raise RuntimeError(f"{len(workers)} of {READERS} subtasks reported a result")
        started, ended, outputs, checksums = zip(*workers, strict=True)
        result = Result()
        result.add(sum(outputs), sum(checksums), max(ended) - min(started), records_of(self._arguments.input))
        result.write(self._arguments.result)
