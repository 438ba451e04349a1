"""The sum per key and 10 s in Penstock, by a window function that gets all records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from common.contender import parse_arguments
from common.penstock_job import make_environment, run_counted
from penstock.common import Types
from penstock.datastream import ProcessWindowFunction
from penstock.datastream.window import TumblingEventTimeWindows
from windows.timed_source import WINDOW, timed_records

SUMS = Types.TUPLE([Types.LONG(), Types.LONG()])


class Sum(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterable[tuple[int, int]]:
        yield key, sum(record[1] for record in elements)


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    windows = timed_records(env, arguments).key_by("k").window(TumblingEventTimeWindows.of(WINDOW))
    run_counted(env, windows.process(Sum(), SUMS), arguments)


if __name__ == "__main__":
    main()
