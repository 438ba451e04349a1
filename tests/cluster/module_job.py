"""A program that uses a function of the module beside it: `module_job.py OUTPUT KEY=VALUE...`."""

from __future__ import annotations

import sys

import worker_facts

from penstock.common import Configuration, Types
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment


def main(output: str, *options: str) -> None:
    configuration = Configuration()
    for option in options:
        configuration.set_string(*option.split("=", 1))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    stream = env.from_sequence(1, 10).map(worker_facts.facts, output_type=Types.STRING())
    stream.sink_to(FileSink(output, "json"))
    env.execute("facts")


if __name__ == "__main__":
    main(*sys.argv[1:])
