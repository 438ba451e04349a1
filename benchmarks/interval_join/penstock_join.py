"""An interval join in Penstock: the input against itself, records of even times on the left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from common.contender import parse_arguments
from common.inputs import JOIN_BOUND_MS
from common.penstock_job import make_environment, run_counted
from penstock.common import Row, Types
from penstock.datastream.functions import ProcessJoinFunction
from penstock.expressions import col
from windows.timed_source import timed_records


class Pair(ProcessJoinFunction):
    def process_element(self, left: Row, right: Row, ctx: Any) -> Iterable[tuple[int, int]]:
        yield left[0], left[1] + right[1]


def main() -> None:
    arguments = parse_arguments()
    env = make_environment(arguments)
    records = timed_records(env, arguments)
    left = records.filter(col("ts") % 2 == 0).key_by("k")
    right = records.filter(col("ts") % 2 == 1).key_by("k")
    pairs = (
        left.interval_join(right)
        .between(-JOIN_BOUND_MS, JOIN_BOUND_MS)
        .process(Pair(), Types.TUPLE([Types.LONG(), Types.LONG()]))
    )
    run_counted(env, pairs, arguments)


if __name__ == "__main__":
    main()
