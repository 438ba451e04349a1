"""A running sum per key in Penstock: JSON files, a KeyedProcessFunction, state in LMDB, a manifest per epoch."""

from __future__ import annotations

from common.contender import parse_arguments
from common.penstock_job import KEY_AND_VALUE, make_environment, run_counted
from keyed_sum.running_sum import SUM_TYPE, RunningSum
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(KEY_AND_VALUE))
    sums = env.from_source(source, source_name="records").key_by("k").process(RunningSum(), SUM_TYPE)
    run_counted(env, sums, arguments)


if __name__ == "__main__":
    main()
