"""The job of `standalone_job` in pipelined mode: `standalone_pipelined_job.py DIRECTORY KEY=VALUE...`.

Its input are lines that come into the files that are there; its Spark jobs last seconds, not ten minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import cloudpickle

from cluster import followed_lines, standalone_job
from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.engine.pipelined import engine, executor

for module in (followed_lines, standalone_job):
    cloudpickle.register_pickle_by_value(module)  # executors have them under no name

SECONDS_OF_A_SPARK_JOB = 2.0


def main(directory: Path, *options: str) -> None:
    executor._JOB_SECONDS = SECONDS_OF_A_SPARK_JOB
    engine.PIPELINED_MIN_EPOCH_MS = 0
    configuration = Configuration()
    for option in ("execution.latency=pipelined", "execution.pipelined.epoch=300 ms", *options):
        configuration.set_string(*option.split("=", 1))
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(4)
    source = followed_lines.FollowedLines(*sorted((directory / "in").iterdir()))
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").set_parallelism(2)
    counts = lines.key_by("k", Types.LONG()).process(standalone_job.Count(directory), standalone_job.OUTPUT)
    counts.sink_to(FileSink(str(directory / "out"), "json"))
    standalone_job.watch(env.execute_async("counts"), directory)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
