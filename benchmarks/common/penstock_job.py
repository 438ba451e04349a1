"""What the Penstock contenders share: the environment on two cores, the source, and the counted result."""

from __future__ import annotations

import time

from common.contender import Arguments
from common.counting_sink import CountingSink, read_counts
from common.inputs import input_files, records_of
from penstock.common import Configuration, Types
from penstock.datastream import DataStream, StreamExecutionEnvironment

RECORD_TYPE = Types.ROW_NAMED(["k", "v", "ts"], [Types.LONG(), Types.LONG(), Types.LONG()])
KEY_AND_VALUE = Types.ROW_NAMED(["k", "v"], [Types.LONG(), Types.LONG()])
"""What a sum per key needs of a record."""
PARALLELISM = 2


def make_environment(arguments: Arguments) -> StreamExecutionEnvironment:
    """Two cores, a durable checkpoint, epochs as large as the other contenders'."""
    records_per_file = records_of(arguments.input) // len(input_files(arguments.input))
    configuration = Configuration()
    configuration.set_string("spark.master", f"local[{PARALLELISM}]")
    configuration.set_string("execution.checkpointing.dir", str(arguments.work / "checkpoint"))
    configuration.set_string("state.local-dir", str(arguments.work / "local"))
    configuration.set_integer("execution.epoch.max-records", records_per_file * arguments.files_per_epoch)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    return env


def run_counted(env: StreamExecutionEnvironment, results: DataStream, arguments: Arguments) -> None:
    """Runs the job into a sink that counts, and writes what it counted."""
    counts = arguments.work / "counts"
    results.sink_to(CountingSink(counts))
    started = time.time()
    env.execute("benchmark")
    result = read_counts(counts, started)
    share = records_of(arguments.input) / result.outputs
    result.samples = [(round(outputs * share), seconds) for outputs, seconds in result.samples]
    result.write(arguments.result)
