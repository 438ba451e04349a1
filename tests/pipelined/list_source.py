"""A source of lists, for epochs and for pipelined mode: some records of every split in an epoch."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.type_inference import infer_type_of_values
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.live_source import LiveReader, LiveSource
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Json,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)
from penstock.datastream import DataStream, StreamExecutionEnvironment

Records = Sequence[tuple[Any, int | None]]
"""Values and their timestamps."""


class ListSource(Source, LiveSource):
    """Each list is a split; an epoch brings `per_epoch` records of each, `per_poll` at a time."""

    def __init__(self, *splits: Records, record_type: TypeInformation, per_epoch: int = 5, per_poll: int = 2) -> None:
        self.splits = {str(number): list(records) for number, records in enumerate(splits)}
        self.record_type = record_type
        self.per_epoch = per_epoch
        self.per_poll = per_poll

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> TypeInformation:
        return self.record_type

    def batch(self, split: str, start: int, end: int) -> Batch:
        records = self.splits[split][start:end]
        stamps = [stamp for _, stamp in records]
        return Batch(
            codec_for(self.record_type),
            values=[value for value, _ in records],
            timestamps=None if None in stamps else stamps,
        )

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _Enumerator(self, context)

    def create_reader(self) -> SplitReader:
        return _Reader(self)

    def create_live_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return _Enumerator(self, context, is_live=True)

    def create_live_reader(self) -> LiveReader:
        return _LiveReader(self)


class _Enumerator(SplitEnumerator):
    def __init__(self, source: ListSource, context: EnumeratorContext, *, is_live: bool = False) -> None:
        self._source = source
        self._state = context.state
        self._is_live = is_live

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        return [self._order(split) for split in self.live_splits()]

    def live_splits(self) -> Collection[str]:
        return [split for split, records in self._source.splits.items() if self._state.get(split, 0) < len(records)]

    def is_exhausted(self) -> bool:
        return not self.live_splits()

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:
        self._state[split_id] = position

    def _order(self, split: str) -> SplitRead:
        start, last = self._state.get(split, 0), len(self._source.splits[split])
        end = last if self._is_live else min(last, start + self._source.per_epoch)
        return SplitRead(split, start, end, finishes=end == last)


class _Reader(SplitReader):
    def __init__(self, source: ListSource) -> None:
        self._source = source

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        assert read.end is not None
        yield self._source.batch(read.split_id, read.start, read.end)
        self.position, self.finished = read.end, read.finishes


class _LiveReader(LiveReader):
    """Splits take turns."""

    def __init__(self, source: ListSource) -> None:
        self._source = source
        self._reads: list[SplitRead] = []
        self._positions: list[int] = []

    def follow(self, reads: Sequence[SplitRead]) -> None:
        self._reads = list(reads)
        self._positions = [read.start for read in reads]
        self._turn = 0

    def poll(self, seconds: float) -> list[tuple[int, Batch]]:
        for _ in self._reads:
            place = self._turn = (self._turn + 1) % len(self._reads)
            read, start = self._reads[place], self._positions[place]
            assert read.end is not None
            end = min(start + self._source.per_poll, read.end, read.start + self._source.per_epoch)
            if end > start:
                self._positions[place] = end
                return [(place, self._source.batch(read.split_id, start, end))]
        time.sleep(seconds)
        self.waited += seconds
        return []

    def position(self, place: int) -> Json:
        return self._positions[place]

    def finished(self, place: int) -> bool:
        return self._positions[place] == self._reads[place].end


def _some_in_an_epoch(
    env: StreamExecutionEnvironment, collection: Iterable[Any], type_info: TypeInformation | None = None
) -> DataStream:
    values = list(collection)
    record_type = type_info or infer_type_of_values(values)
    source = ListSource([(value, None) for value in values], record_type=record_type, per_epoch=12)
    return env.from_source(source, None, "list").set_parallelism(1)


def spread_collections(patch: pytest.MonkeyPatch) -> None:
    """Collections of programs come over several epochs, 12 values in each."""
    patch.setattr(StreamExecutionEnvironment, "from_collection", _some_in_an_epoch)


def timed(values: Sequence[Any], *, step: int = 1000, start: int = 0) -> Records:
    """Values with rising timestamps."""
    return [(value, start + step * number) for number, value in enumerate(values)]


PAIRS = Types.TUPLE([Types.STRING(), Types.LONG()])


def pairs(keys: int, count: int, first: int = 0) -> list[tuple[str, int]]:
    """Records with known keys and values."""
    return [(f"key-{number % keys}", number) for number in range(first, first + count)]


def two_splits(per_epoch: int = 5) -> ListSource:
    """Two splits with the same keys, and other timestamps."""
    return ListSource(
        timed(pairs(3, 12)), timed(pairs(3, 12, first=100), step=700), record_type=PAIRS, per_epoch=per_epoch
    )
