"""The sum per key and 10 s by PyFlink's DataStream API, with a Python function of all records of a window."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows

from common.contender import parse_arguments
from common.inputs import WINDOW_MS
from common.pyflink_job import PyFlinkJob


class Sum(ProcessWindowFunction):
    def process(self, key: int, context: Any, elements: Iterable[Any]) -> Iterable[tuple[int, int]]:
        yield key, sum(record[1] for record in elements)


def main() -> None:
    job = PyFlinkJob(parse_arguments())
    windows = job.records.key_by(lambda record: record[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))
    )
    job.run_counted(windows.process(Sum(), Types.TUPLE([Types.LONG(), Types.LONG()])), value_field=1)


if __name__ == "__main__":
    main()
