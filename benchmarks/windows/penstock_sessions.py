"""The sum per key and session in Penstock, by a function of two records."""

from __future__ import annotations

from common.contender import parse_arguments
from common.inputs import SESSION_GAP_MS
from common.penstock_job import RECORD_TYPE, make_environment, run_counted
from penstock.datastream.window import EventTimeSessionWindows
from penstock.expressions import col
from windows.penstock_reduce import add
from windows.timed_source import timed_records


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    sessions = timed_records(env, arguments).key_by("k").window(EventTimeSessionWindows.with_gap(SESSION_GAP_MS))
    sums = sessions.reduce(add, output_type=RECORD_TYPE)
    run_counted(env, sums.select(k=col("k"), total=col("v")), arguments)


if __name__ == "__main__":
    main()
