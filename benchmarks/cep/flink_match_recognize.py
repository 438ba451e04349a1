"""The patterns by Flink SQL's MATCH_RECOGNIZE. SQL is strict: what is passed over is a variable, too."""

from __future__ import annotations

import time

from pyflink.table import EnvironmentSettings, TableEnvironment

from cep.events import KINDS, WITHIN_MS, A, B, C
from common.contender import Arguments, Result
from common.flink_files import one_file_per_reader
from common.inputs import OUT_OF_ORDERNESS_MS, WINDOW_MS, records_of

RECORDS = """
CREATE TABLE records (
    k BIGINT, v BIGINT, ts BIGINT, t AS TO_TIMESTAMP_LTZ(ts, 3),
    WATERMARK FOR t AS t - INTERVAL '{delay}' SECOND
) WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'json')
"""
MATCHES = """
SELECT t, took FROM records MATCH_RECOGNIZE (
    PARTITION BY k ORDER BY t
    MEASURES B.ts - A.ts AS took, MATCH_ROWTIME() AS t
    ONE ROW PER MATCH
    AFTER MATCH SKIP TO NEXT ROW
    {pattern}
    DEFINE {definitions}
)
"""
COUNTED = """
SELECT window_start, COUNT(*), SUM(took)
FROM TABLE(TUMBLE(TABLE found, DESCRIPTOR(t), INTERVAL '{size}' SECOND))
GROUP BY window_start, window_end
"""
SETTINGS = {
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "2",
    "table.local-time-zone": "UTC",
    "execution.checkpointing.interval": "10 s",
}


def _is(variable: str, kind: tuple[int, int]) -> str:
    return f"MOD({variable}.ts, {KINDS}) >= {kind[0]} AND MOD({variable}.ts, {KINDS}) < {kind[1]}"


A_AND_B = f"A AS {_is('A', A)}, B AS {_is('B', B)}"
FOLLOWED_BY = (
    f"PATTERN (A X* B) WITHIN INTERVAL '{WITHIN_MS // 1000}' SECOND",
    f"{A_AND_B}, X AS NOT ({_is('X', B)}) AND NOT ({_is('X', C)})",
)
STRICTLY_NEXT = ("PATTERN (A B)", A_AND_B)


def run(query: tuple[str, str], arguments: Arguments) -> None:
    pattern, definitions = query
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name, value in SETTINGS.items():
        tables.get_config().set(name, value)
    tables.execute_sql(RECORDS.format(path=one_file_per_reader(arguments), delay=OUT_OF_ORDERNESS_MS // 1000))
    matches = tables.sql_query(MATCHES.format(pattern=pattern, definitions=definitions))
    tables.create_temporary_view("found", matches)
    result = Result()
    started = time.perf_counter()
    outputs = checksum = 0
    with tables.execute_sql(COUNTED.format(size=WINDOW_MS // 1000)).collect() as rows:
        for row in rows:
            outputs += row[1]
            checksum += row[2]
    result.add(outputs, checksum, time.perf_counter() - started, records_of(arguments.input))
    result.write(arguments.result)
