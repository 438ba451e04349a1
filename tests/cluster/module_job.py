"""A keyed program that uses a function of the module beside it: `module_job.py OUTPUT KEY=VALUE...`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import worker_facts

from penstock.common import Configuration, Types
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import ValueStateDescriptor


class Numbered(KeyedProcessFunction):
    """Yields the number of each record among those of its key, and what its worker is made of."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Iterator[str]:
        count = (self._count.value() or 0) + 1
        self._count.update(count)
        yield f"{value}|{count}|{worker_facts.facts()}"


def main(output: str, *options: str) -> None:
    configuration = Configuration()
    for option in options:
        configuration.set_string(*option.split("=", 1))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    numbers = env.from_sequence(1, 30).key_by(lambda number: number % 3, Types.LONG())
    numbers.process(Numbered(), Types.STRING()).sink_to(FileSink(output, "json"))
    env.execute("facts")


if __name__ == "__main__":
    main(*sys.argv[1:])
