"""The sum per key and 10 s by PyFlink's DataStream API, with a Python function of two records.

Flink's JVM reads and parses the files; Python gets rows.
"""

from __future__ import annotations

from pyflink.common import Row, Types
from pyflink.common.time import Time
from pyflink.datastream.window import TumblingEventTimeWindows

from common.contender import parse_arguments
from common.inputs import WINDOW_MS
from common.pyflink_job import PyFlinkJob


def add(a: Row, b: Row) -> Row:
    return Row(a[0], a[1] + b[1], a[2])


def main() -> None:
    job = PyFlinkJob(parse_arguments())
    windows = job.records.key_by(lambda record: record[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))
    )
    sums = windows.reduce(add, output_type=Types.ROW([Types.LONG()] * 3))
    job.run_counted(sums, value_field=1)


if __name__ == "__main__":
    main()
