"""Sum and count per key and 10 s in Penstock, by names of aggregates: no Python for single records."""

from __future__ import annotations

from common.contender import parse_arguments
from common.penstock_job import make_environment, run_counted
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.expressions import count, sum_, window_start
from windows.timed_source import WINDOW, timed_records


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    windows = timed_records(env, arguments).key_by("k").window(TumblingEventTimeWindows.of(WINDOW))
    run_counted(env, windows.aggregate(start=window_start(), n=count(), total=sum_("v")), arguments)


if __name__ == "__main__":
    main()
