"""Counts per key what comes into a directory, and says on which machine: `standalone_job.py DIRECTORY KEY=VALUE...`.

After every epoch `metrics.json` is written anew; when there is a file `stop`, the job is cancelled.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.common import Configuration, Row, Types
from penstock.common.fail_points import reach
from penstock.connectors.files import FileSink, FileSource, JsonLinesFormat
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor
from penstock.execution.job_client import JobClient

INPUT = Types.ROW_NAMED(["k", "file"], [Types.LONG(), Types.LONG()])
OUTPUT = Types.ROW_NAMED(
    ["k", "file", "n", "subtask", "machine", "process"], [*[Types.LONG()] * 4, Types.STRING(), Types.LONG()]
)


class Count(KeyedProcessFunction):
    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self._subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: Any, ctx: Any) -> Iterator[Row]:
        reach("program.record")
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        machine = Path(os.environ["MACHINE_DISK"]).name
        yield Row(k=value.k, file=value.file, n=count, subtask=self._subtask, machine=machine, process=os.getpid())

    def close(self) -> None:
        (self._directory / f"closed-{self._subtask}-{os.getpid()}").touch()


def main(directory: Path, *options: str) -> None:
    configuration = Configuration()
    for option in options:
        configuration.set_string(*option.split("=", 1))
    configuration.set_string("execution.checkpointing.dir", str(directory / "checkpoint"))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(4)
    source = FileSource.for_record_stream_format(JsonLinesFormat(INPUT), str(directory / "in"))
    files = env.from_source(source.monitor_continuously(100).build(), None, "numbers")
    files.key_by("k").process(Count(directory), OUTPUT).sink_to(FileSink(str(directory / "out"), "json"))
    watch(env.execute_async("counts"), directory)


def watch(job: JobClient, directory: Path) -> None:
    """Says how far a job is until it has ended, or is to end."""
    while not job.has_ended(within=0.2):
        text = json.dumps({name: job.metrics()[name] for name in ("epochs", "state_moves", "restarts")})
        (directory / "metrics.tmp").write_text(text)
        (directory / "metrics.tmp").replace(directory / "metrics.json")
        if (directory / "stop").exists():
            job.cancel()
    job.wait()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
