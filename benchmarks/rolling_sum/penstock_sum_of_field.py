"""A running sum per key by `sum`: JSON files, the same output as the process function's."""

from __future__ import annotations

from common.contender import parse_arguments
from common.penstock_job import make_environment, run_counted
from penstock.common import Types
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat

RECORD_TYPE = Types.ROW_NAMED(["k", "v"], [Types.LONG(), Types.LONG()])


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(RECORD_TYPE))
    run_counted(env, env.from_source(source, source_name="records").key_by("k").sum("v"), arguments)


if __name__ == "__main__":
    main()
