"""The sum per key and 10 s in Penstock, by a function of two records."""

from __future__ import annotations

from common.contender import parse_arguments
from common.penstock_job import RECORD_TYPE, make_environment, run_counted
from penstock.common import Row
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.expressions import col
from windows.timed_source import WINDOW, timed_records


def add(a: Row, b: Row) -> Row:
    return Row(a[0], a[1] + b[1], a[2])


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    windows = timed_records(env, arguments).key_by("k").window(TumblingEventTimeWindows.of(WINDOW))
    sums = windows.reduce(add, output_type=RECORD_TYPE)
    run_counted(env, sums.select(k=col("k"), total=col("v")), arguments)


if __name__ == "__main__":
    main()
