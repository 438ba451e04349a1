"""Two keyed operators in a row: the running sum per key, and behind it one that keeps the last sum of each key."""

from __future__ import annotations

from collections.abc import Iterator

from common.contender import parse_arguments
from common.penstock_job import RECORD_TYPE, make_environment, run_counted
from keyed_sum.running_sum import SUM_TYPE, RunningSum
from penstock.common import Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat
from penstock.datastream.state import ValueStateDescriptor


class LastSum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: tuple[int, int], ctx: KeyedProcessFunction.Context) -> Iterator[tuple[int, int]]:
        key, total = value
        if total > (self.last.value() or 0):
            self.last.update(total)
        yield key, total


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(RECORD_TYPE))
    sums = env.from_source(source, source_name="records").key_by("k").process(RunningSum(), SUM_TYPE)
    run_counted(env, sums.key_by(0).process(LastSum(), SUM_TYPE), arguments)


if __name__ == "__main__":
    main()
