"""The sum per key and session by PyFlink's DataStream API, with a Python function of all records of a session.

Not with `reduce`: where two sessions merge, PyFlink then takes the value of one of them and loses that of the other.
"""

from __future__ import annotations

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream.window import EventTimeSessionWindows

from common.contender import parse_arguments
from common.inputs import SESSION_GAP_MS
from common.pyflink_job import PyFlinkJob
from windows.pyflink_process import Sum


def main() -> None:
    job = PyFlinkJob(parse_arguments())
    sessions = job.records.key_by(lambda record: record[0]).window(
        EventTimeSessionWindows.with_gap(Time.milliseconds(SESSION_GAP_MS))
    )
    job.run_counted(sessions.process(Sum(), Types.TUPLE([Types.LONG(), Types.LONG()])), value_field=1)


if __name__ == "__main__":
    main()
