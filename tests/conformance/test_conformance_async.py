"""Calls to other systems."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from penstock.common import Row, Time, Types
from penstock.common.errors import JobExecutionException
from penstock.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryStrategy,
    DataStream,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from penstock.datastream.async_retry_predicates import has_exception_predicate
from penstock.datastream.connectors.file_system import FileSink

COUNT = 1_000


class Slow(AsyncFunction[int, str]):
    """Takes more or less long for each record, and fails every fifth the first time."""

    def __init__(self, tag: str) -> None:
        self.tag = tag

    def open(self, runtime_context: RuntimeContext) -> None:
        self.failed: set[int] = set()

    async def async_invoke(self, value: int) -> list[str]:
        for _ in range(value % 4):
            await asyncio.sleep(0)
        if value % 5 == 0 and value not in self.failed:
            self.failed.add(value)
            raise ConnectionError(f"{value} is not ready")
        return [f"{self.tag}{value}"] * (value % 3)


def expected(tag: str) -> Counter[str]:
    return Counter(f"{tag}{n}" for n in range(COUNT) for _ in range(n % 3))


RETRY = AsyncRetryStrategy.fixed_delay(1, 1, None, has_exception_predicate)


def test_behind_a_source_an_exchange_and_by_key(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_sequence(0, COUNT - 1)
    calls: list[DataStream] = [
        AsyncDataStream.unordered_wait_with_retry(numbers, Slow("a"), "60 s", RETRY, 7, Types.STRING()),
        AsyncDataStream.ordered_wait_with_retry(numbers.rebalance(), Slow("b"), "60 s", RETRY, 7),
        AsyncDataStream.unordered_wait_with_retry(numbers.key_by(lambda n: n % 9), Slow("c"), "60 s", RETRY),
    ]
    results = calls[0].union(*calls[1:]).execute_and_collect()
    assert Counter(results) == expected("a") + expected("b") + expected("c")


def test_the_order_of_a_single_chain_is_kept(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(1)
    numbers = env.from_collection(list(range(COUNT)))
    called = AsyncDataStream.ordered_wait_with_retry(numbers, Slow("n"), Time.seconds(60), RETRY, capacity=9)
    assert list(called.execute_and_collect()) == [f"n{n}" for n in range(COUNT) for _ in range(n % 3)]


def test_a_failed_call_is_reported_with_its_record(env: StreamExecutionEnvironment) -> None:
    called = AsyncDataStream.unordered_wait(env.from_collection([1, 5, 2]), Slow("n"), Time.seconds(60))
    with pytest.raises(JobExecutionException, match="5 is not ready") as failure:
        list(called.execute_and_collect())
    assert failure.value.report is not None
    assert failure.value.report.record == "5"
    assert "test_conformance_async.py" in (failure.value.report.call_site or "")


class PowerCut(AsyncFunction[int, Row]):
    """Calls fail, at once or when some results are published, until the power is back."""

    def __init__(self, directory: Path, *, at_once: bool) -> None:
        self.directory = directory
        self.at_once = at_once

    async def async_invoke(self, value: int) -> list[Any]:
        await asyncio.sleep(0)
        is_due = self.at_once or any((self.directory / "out").glob("*.json"))
        if is_due and not (self.directory / "power is back").exists():
            raise RuntimeError("power cut")
        return [Row(value)]


def test_a_restart_loses_and_doubles_nothing(env: StreamExecutionEnvironment, mode: str, tmp_path: Path) -> None:
    env.configuration.set_string("execution.epoch.max-records", "300")
    row = Types.ROW_NAMED(["n"], [Types.LONG()])
    function = PowerCut(tmp_path, at_once=mode == "BATCH")  # batch is one epoch
    for attempt in range(2):
        numbers = env.from_sequence(0, COUNT - 1)
        called = AsyncDataStream.unordered_wait(numbers, function, Time.seconds(60), 20, row)
        called.sink_to(FileSink(str(tmp_path / "out"), "json"))
        if attempt == 0:
            with pytest.raises(JobExecutionException, match="power cut"):
                env.execute()
            (tmp_path / "power is back").touch()
        else:
            env.execute()
    lines = [line for path in (tmp_path / "out").glob("*.json") for line in path.read_text().splitlines()]
    assert Counter(json.loads(line)["n"] for line in lines) == Counter(range(COUNT))
