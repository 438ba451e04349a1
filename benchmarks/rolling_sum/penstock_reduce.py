"""A running sum per key by `reduce` with a lambda: JSON files."""

from __future__ import annotations

from common.contender import parse_arguments
from common.penstock_job import KEY_AND_VALUE, make_environment, run_counted
from penstock.datastream.connectors.file_system import FileSource, JsonLinesFormat


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    source = FileSource(f"{arguments.input}/part-*.json", JsonLinesFormat(KEY_AND_VALUE))
    records = env.from_source(source, source_name="records")
    run_counted(env, records.key_by("k").reduce(lambda a, b: (a[0], a[1] + b[1])), arguments)


if __name__ == "__main__":
    main()
