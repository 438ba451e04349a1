"""Functions of batches, with and without keys: the same rows and state on every engine, over restarts and rescaling."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.common import Types
from penstock.common.errors import JobExecutionException
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import KeyedBatchContext
from penstock.state import ValueStateDescriptor

SALE = Types.ROW_NAMED(["user", "cents"], [Types.LONG(), Types.LONG()])
TOTAL = Types.ROW_NAMED(["user", "total", "rows"], [Types.LONG(), Types.LONG(), Types.LONG()])
COUNT = 600
USERS = 37


def sales(batch: Any) -> Any:
    """pandas: numbers become sales; every seventh makes none."""
    batch = batch[batch["value"] % 7 != 0]
    return batch.assign(user=batch["value"] % USERS, cents=batch["value"] * 3).drop(columns="value")


class Totals:
    """Arrow: the sum and the number of rows of each user so far; fails once, where there is output of an epoch."""

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self.directory = directory
        self.at_once = at_once

    def open(self, runtime_context: Any) -> None:
        self.totals = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def __call__(self, batch: pa.RecordBatch, ctx: KeyedBatchContext) -> pa.RecordBatch:
        rows = ctx.get_state(ValueStateDescriptor("rows", Types.LONG()))
        added = np.zeros(len(ctx.distinct_keys), np.int64)
        np.add.at(added, ctx.key_codes, batch["cents"].to_numpy())
        total = self.totals.get_many(ctx.distinct_keys).fill_null(0).to_numpy() + added
        count = rows.get_many(ctx.distinct_keys).fill_null(0).to_numpy() + np.bincount(ctx.key_codes)
        self.totals.put_many(ctx.distinct_keys, total)
        rows.put_many(ctx.distinct_keys, count)
        is_due = self.at_once or any((self.directory / "out").glob("*.json"))
        if is_due and not (self.directory / "power is back").exists():
            raise RuntimeError("power cut")
        return pa.record_batch({"user": ctx.distinct_keys, "total": total, "rows": count})


def test_batches_with_state_over_a_restart_at_another_parallelism(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path
) -> None:
    env.configuration.set_string("execution.epoch.max-records", "200")
    totals = Totals(tmp_path, at_once=mode == "BATCH")
    for attempt in range(2):
        made = env.from_sequence(1, COUNT).map_batches(sales, SALE, "pandas")
        kept = made.key_by("user").process_batches(totals, TOTAL).uid("totals")
        kept.set_parallelism(3 if attempt == 1 and mode == "STREAMING" else 2)
        kept.sink_to(FileSink(str(tmp_path / "out"), "json"))
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            (tmp_path / "power is back").touch()
        else:
            env.execute()
    lines = [line for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    results = [json.loads(line) for line in lines]
    sums: Counter[int] = Counter()
    rows: Counter[int] = Counter()
    for number in (n for n in range(1, COUNT + 1) if n % 7):
        sums[number % USERS] += number * 3
        rows[number % USERS] += 1
    last: dict[int, tuple[int, int]] = {}
    for result in results:
        last[result["user"]] = max(last.get(result["user"], (0, 0)), (result["total"], result["rows"]))
    assert last == {user: (sums[user], rows[user]) for user in sums}
    # Every state of a user is sent once: nothing was done again.
    assert len({(each["user"], each["rows"]) for each in results}) == len(results)
