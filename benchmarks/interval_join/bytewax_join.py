"""An interval join in bytewax, two processes: a stateful step that keeps the recent records of each key.

It counts on records that come in the order of time, and each process reads its files one after the other: records of
the two processes that are more than a file apart never meet in time, so the step keeps a file's worth of records.
"""

from __future__ import annotations

import bytewax.operators as op
from bytewax.dataflow import Dataflow

from common.bytewax_files import CountingSink, JsonFiles, Record, run_flow
from common.inputs import JOIN_BOUND_MS, is_left

KEPT_MS = 1_000_000
Kept = tuple[list[tuple[int, int]], list[tuple[int, int]]]


def key_and_value(record: Record) -> tuple[str, tuple[int, int]]:
    return str(record[0]), (record[1], record[2])


def pair(kept: Kept | None, value: tuple[int, int]) -> tuple[Kept, list[int]]:
    sides = kept or ([], [])
    amount, time = value
    own, other = sides if is_left(time) else (sides[1], sides[0])
    own.append(value)
    pairs = [amount + each[0] for each in other if abs(each[1] - time) <= JOIN_BOUND_MS]
    for side in sides:
        while side and side[0][1] < time - KEPT_MS:
            del side[0]
    return sides, pairs


flow = Dataflow("interval_join")
records = op.input("files", flow, JsonFiles())
keyed = op.map("key", records, key_and_value)
pairs = op.stateful_flat_map("join", keyed, pair)
op.output("count", op.map("value", pairs, lambda keyed_sum: keyed_sum[1]), CountingSink())

if __name__ == "__main__":
    run_flow("interval_join.bytewax_join:flow")
