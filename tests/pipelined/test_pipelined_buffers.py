"""Records on their way to the next stage wait for others, for as long as the buffer time-out says and no longer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.common.batch import Batch
from penstock.connectors.live_source import LiveReader
from penstock.connectors.source import Json, SplitRead
from penstock.datastream import DataStream
from penstock.datastream.functions import MapFunction
from pipelined import list_source
from pipelined.list_source import PAIRS, ListSource, pairs, timed
from pipelined.local_pipelined import environment

pytestmark = pytest.mark.usefixtures("virtual_time")

COUNT = 200
SIZES: list[int] = []
"""How many records were taken at a time."""


class Steady(ListSource):
    """A record for each millisecond."""

    def create_live_reader(self) -> LiveReader:
        return SteadyReader(self)


class SteadyReader(LiveReader):
    def __init__(self, source: ListSource) -> None:
        self._source = source

    def follow(self, reads: Sequence[SplitRead]) -> None:
        (self._read,) = reads
        self._position: int = self._read.start
        self._began = list_source.time.monotonic() - self._position / 1000

    def poll(self, seconds: float) -> list[tuple[int, Batch]]:
        come = min(COUNT, int((list_source.time.monotonic() - self._began) * 1000))
        start, self._position = self._position, come
        if come == start:
            list_source.time.sleep(seconds)
            return []
        SIZES.append(come - start)
        return [(0, self._source.batch(self._read.split_id, start, come))]

    def position(self, place: int) -> Json:
        return self._position

    def finished(self, place: int) -> bool:
        return self._position == COUNT


class Passed(MapFunction):
    def map(self, value: object) -> object:
        return value


def sizes(timeout: str, *, has_exchange: bool) -> list[int]:
    """How many records each buffer had, but for the last."""
    SIZES.clear()
    env = environment(
        "pipelined", execution__pipelined__epoch="10 s", **{"execution.buffer-timeout.interval": timeout}
    ).set_parallelism(1)
    source = Steady(timed(pairs(3, COUNT)), record_type=PAIRS, per_epoch=COUNT)
    stream: DataStream = env.from_source(source, None, "pairs")
    if has_exchange:
        stream = stream.key_by(lambda pair: pair[0])
    found = list(stream.map(Passed(), PAIRS).execute_and_collect())
    assert sorted(found) == sorted(pairs(3, COUNT))
    return SIZES[:-1]


def test_records_that_have_to_wait_are_worked_on_together() -> None:
    at_once, waiting = sizes("0", has_exchange=True), sizes("4", has_exchange=True)
    assert max(at_once) <= 3
    assert 4 <= max(waiting) <= 8
    assert len(waiting) < len(at_once) / 2


def test_records_that_go_to_no_other_stage_do_not_wait() -> None:
    assert max(sizes("4", has_exchange=False)) <= 3
