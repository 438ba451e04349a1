"""State whose values expire: what every record saw, against a replay of the same records and times."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Time, Types
from penstock.common.errors import JobExecutionException
from penstock.connectors.files import FileSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.functions import AggregateFunction, KeyedProcessFunction, RuntimeContext
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)

TTL = 1
COUNT, KEYS = 120, 7
ROW = Types.ROW_NAMED(["key", "n", "time", "seen"], [Types.LONG(), Types.LONG(), Types.LONG(), Types.STRING()])


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Expiring(KeyedProcessFunction):
    """Says what it finds in every kind of state; `n` and the times are known from state that does not expire."""

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self.directory = directory
        self.at_once = at_once

    def open(self, runtime_context: RuntimeContext) -> None:
        config = StateTtlConfig.new_builder(Time.milliseconds(TTL)).cleanup_incrementally(2, True).build()
        descriptors = (
            ValueStateDescriptor("value", Types.LONG()),
            ListStateDescriptor("list", Types.LONG()),
            MapStateDescriptor("map", Types.LONG(), Types.LONG()),
            ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG()),
            AggregatingStateDescriptor("aggregate", Sum(), Types.LONG()),
        )
        for descriptor in descriptors:
            descriptor.enable_time_to_live(config)
        self.value = runtime_context.get_state(descriptors[0])
        self.list = runtime_context.get_list_state(descriptors[1])
        self.map = runtime_context.get_map_state(descriptors[2])
        self.sum = runtime_context.get_reducing_state(descriptors[3])
        self.aggregate = runtime_context.get_aggregating_state(descriptors[4])
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        is_due = self.at_once or any((self.directory / "out").glob("*.json"))
        if is_due and not (self.directory / "power is back").exists():
            raise RuntimeError("power cut")
        n = (self.count.value() or 0) + 1
        self.count.update(n)
        seen = [
            self.value.value(),
            list(self.list.get()),
            sorted(self.map.items()),
            self.sum.get(),
            self.aggregate.get(),
        ]
        self.value.update(n)
        self.list.add(n)
        self.map.put(n % 3, n)
        self.sum.add(n)
        self.aggregate.add(n)
        yield Row(ctx.get_current_key(), n, ctx.timer_service().current_processing_time(), json.dumps(seen))


def expected(times: list[int]) -> Iterator[list[Any]]:
    """What the n-th record of a key sees, from the times of the records before it."""
    total: int | None = None
    for place, now in enumerate(times):
        alive = [n for n, time in enumerate(times[:place], 1) if time + TTL > now]
        if place and times[place - 1] + TTL <= now:
            total = None
        entries = sorted({n % 3: n for n in alive}.items())
        yield [place if total is not None else None, alive, [list(entry) for entry in entries], total, total]
        total = (total or 0) + place + 1


def test_nothing_expired_is_seen_and_nothing_else_is_missed(
    env: StreamExecutionEnvironment, mode: str, tmp_path: Path
) -> None:
    env.configuration.set_string("execution.epoch.max-records", "30")
    function = Expiring(tmp_path, at_once=mode == "BATCH")  # batch is one epoch
    for attempt in range(2):
        stream = env.from_sequence(0, COUNT - 1).key_by(lambda n: n % KEYS).process(function, ROW)
        stream.uid("expiring").sink_to(FileSink(str(tmp_path / "out"), "json"))
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            (tmp_path / "power is back").touch()
        else:
            env.execute()
    by_key: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for path in (tmp_path / "out").glob("*.json"):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            by_key[record["key"]].append(record)
    assert sum(map(len, by_key.values())) == COUNT
    for records in by_key.values():
        records.sort(key=lambda record: record["n"])
        times = [record["time"] for record in records]
        assert [json.loads(record["seen"]) for record in records] == list(expected(times))
    has_expired = any(json.loads(record["seen"])[0] is None for records in by_key.values() for record in records[1:])
    assert has_expired is (mode == "STREAMING")
