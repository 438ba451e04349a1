"""Nothing is idle when a job starts: that nobody looked for a while is no silence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.common import Duration, Types, WatermarkStrategy
from penstock.common.batch import Batch
from penstock.connectors.live_source import LiveReader
from penstock.connectors.source import Json, SplitRead
from penstock.datastream import OutputTag
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.execution.job_client import JobClient
from penstock.testing.memory_sink import MemorySink
from pipelined import list_source
from pipelined.list_source import ListSource, timed
from pipelined.local_pipelined import environment

pytestmark = pytest.mark.usefixtures("virtual_time")

PAIRS = Types.PICKLED_BYTE_ARRAY()
IDLE_AFTER_MS = 200
CONNECTING_SECONDS = 0.02
"""Generators are asked twice meanwhile."""


class SlowToConnect(ListSource):
    """Its second split takes a while until the first record of a reader is there; the first split does not."""

    def create_live_reader(self) -> LiveReader:
        return _SlowReader(super().create_live_reader())


class _SlowReader(LiveReader):
    def __init__(self, reader: LiveReader) -> None:
        self._reader = reader
        self._has_connected = False
        self._kept: list[tuple[int, Batch]] = []

    def follow(self, reads: Sequence[SplitRead]) -> None:
        self._reader.follow(reads)

    def poll(self, seconds: float) -> list[tuple[int, Batch]]:
        arrived = self._reader.poll(seconds)
        if arrived and arrived[0][0] == 1 and not self._has_connected:
            self._has_connected = True
            self._kept = arrived
            list_source.time.sleep(CONNECTING_SECONDS)
            return self._reader.poll(seconds)
        kept, self._kept = self._kept, []
        return kept + arrived

    def position(self, place: int) -> Json:
        return self._reader.position(place)

    def finished(self, place: int) -> bool:
        return not self._kept and self._reader.finished(place)


def test_a_split_that_is_slow_to_connect_after_a_long_stop_is_not_idle(tmp_path: Path) -> None:
    late, results, too_late = OutputTag("late", PAIRS), MemorySink(), MemorySink()
    records = [timed([(f"split-{split}", number) for number in range(12)]) for split in range(2)]

    def start() -> JobClient:
        env = environment("pipelined", execution__checkpointing__dir=str(tmp_path / "checkpoint")).set_parallelism(1)
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(IDLE_AFTER_MS))
        windows = (
            env.from_source(SlowToConnect(*records, record_type=PAIRS, per_epoch=4), strategy, "pairs")
            .uid("pairs")
            .key_by(lambda pair: pair[0])
            .window(TumblingEventTimeWindows.of(1000))
            .side_output_late_data(late)
            .reduce(lambda left, right: left)
            .uid("windows")
        )
        windows.sink_to(results).uid("results")
        windows.get_side_output(late).sink_to(too_late).uid("too late")
        return env.execute_async("slow to connect")

    job = start()
    while not results.epochs:
        assert not job.has_ended(0.005), job.wait()
    job.cancel().result()
    list_source.time.sleep(10 * IDLE_AFTER_MS / 1000)
    start().wait(60)
    assert too_late.records == []
    assert sorted(results.records) == sorted(value for split in records for value, _ in split)
