"""Sum and count per key and 10 s by Flink SQL, in the JVM; a second window adds up the results of each window."""

from __future__ import annotations

import time

from pyflink.table import EnvironmentSettings, TableEnvironment

from common.contender import Result, parse_arguments
from common.flink_files import one_file_per_reader
from common.inputs import OUT_OF_ORDERNESS_MS, WINDOW_MS

RECORDS = """
CREATE TABLE records (
    k BIGINT, v BIGINT, ts BIGINT, t AS TO_TIMESTAMP_LTZ(ts, 3),
    WATERMARK FOR t AS t - INTERVAL '{delay}' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')
"""
SUMS = """
SELECT window_time AS t, k, SUM(v) AS total, COUNT(*) AS n
FROM TABLE(TUMBLE(TABLE records, DESCRIPTOR(t), INTERVAL '{size}' SECOND))
GROUP BY window_start, window_end, window_time, k
"""
COUNTED = """
SELECT window_start, COUNT(*), SUM(total), SUM(n)
FROM TABLE(TUMBLE(TABLE sums, DESCRIPTOR(t), INTERVAL '{size}' SECOND))
GROUP BY window_start, window_end
"""
SETTINGS = {
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "table.local-time-zone": "UTC",
    # No checkpoints: with them results are shown in bursts, and no rate could be told from when they come.
}


def main() -> None:
    arguments = parse_arguments()
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in SETTINGS.items():
        tables.get_config().set(name, value)
    tables.execute_sql(RECORDS.format(path=one_file_per_reader(arguments), delay=OUT_OF_ORDERNESS_MS // 1000))
    tables.create_temporary_view("sums", tables.sql_query(SUMS.format(size=WINDOW_MS // 1000)))
    result = Result()
    last = time.perf_counter()
    with tables.execute_sql(COUNTED.format(size=WINDOW_MS // 1000)).collect() as rows:
        for row in rows:
            now = time.perf_counter()
            result.add(row[1], row[2], now - last, row[3])
            last = now
    result.write(arguments.result)


if __name__ == "__main__":
    main()
