"""A running sum per key by PySpark's transformWithState: rows, RocksDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import LongType, StructField, StructType

from common.contender import parse_arguments
from common.spark import ROCKSDB, make_session, run_counted, stream_of_files


class RunningSum(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.sum = handle.getValueState("sum", StructType([StructField("s", LongType())]))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        stored = self.sum.get()
        total = 0 if stored is None else stored[0]
        for row in rows:
            total += row.v
            yield Row(k=key[0], s=total)
        self.sum.update((total,))

    def close(self) -> None:
        return


def main() -> None:
    arguments = parse_arguments()
    spark = make_session(spark__sql__streaming__stateStore__providerClass=ROCKSDB)
    sums = (
        stream_of_files(spark, arguments)
        .groupBy("k")
        .transformWithState(RunningSum(), StructType.fromDDL("k long, s long"), "Append", "None")
    )
    run_counted(sums, "s", arguments)


if __name__ == "__main__":
    main()
