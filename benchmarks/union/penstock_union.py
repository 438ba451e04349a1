"""A running sum per key over the union of three sources, each with a third of the JSON files."""

from __future__ import annotations

from common.contender import parse_arguments
from common.penstock_job import RECORD_TYPE, make_environment, run_counted
from keyed_sum.running_sum import SUM_TYPE, RunningSum
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat

LAST_DIGITS = ("0-3", "4-6", "7-9")


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    first, *others = (
        env.from_source(
            FileSource(f"{arguments.input}/part-*[{digits}].json", JsonLinesFormat(RECORD_TYPE)), source_name=digits
        )
        for digits in LAST_DIGITS
    )
    run_counted(env, first.union(*others).key_by("k").process(RunningSum(), SUM_TYPE), arguments)


if __name__ == "__main__":
    main()
