"""A running sum per key in bytewax, two processes."""

from __future__ import annotations

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from common.bytewax_files import CountingSink, JsonFiles, Record, run_flow


def add(total: int | None, value: int) -> tuple[int, int]:
    total = (total or 0) + value
    return total, total


def key_and_value(record: Record) -> tuple[str, int]:
    return str(record[0]), record[1]


flow = Dataflow("keyed_sum")
records = op.input("files", flow, JsonFiles("k", "v"))
keyed = op.map("key", records, key_and_value)
sums = op.stateful_map("sum", keyed, add)
op.output("count", op.map("value", sums, lambda keyed_sum: keyed_sum[1]), CountingSink())

if __name__ == "__main__":
    run_flow("keyed_sum.bytewax_sum:flow")
