"""A running sum per key by `sum`: JSON files, the same output as the process function's."""

from __future__ import annotations

from common.contender import parse_arguments
from common.penstock_job import KEY_AND_VALUE, make_environment, run_counted
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(KEY_AND_VALUE))
    run_counted(env, env.from_source(source, source_name="records").key_by("k").sum("v"), arguments)


if __name__ == "__main__":
    main()
