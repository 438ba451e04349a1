"""A source of generated records, as many as are due by the clock."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pyarrow as pa

from penstock.common.batch import Batch, RecordCodec
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError, SourceError
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.arrow_columns import columns_of
from penstock.connectors.batches import MAX_BATCH_RECORDS
from penstock.connectors.record_size import RecordSize
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
from penstock.connectors.staged_records import pack_records

_NEXT = "next"
_SPLITS = "splits"
_POLL_INTERVAL_MS = 10
_ENDLESS = (1 << 63) - 1
_MEASURED_VALUES = 64
"""So many values of a batch, spread over it, tell how large the others are."""

GeneratedBatch = pa.RecordBatch | pa.Table | Sequence[Any]
"""What a batch function returns: columns of the source's type, or a list of its values."""


class DataGeneratorSource(Source):
    """Calls a function with the numbers 0, 1, 2, ... and emits what it returns.

    `count` None goes on for ever. `rate_per_second` is the rate of all subtasks together; None: as fast as the job
    takes them. Batch execution takes no notice of the rate. After a restart the numbers go on where the last committed
    epoch ended; the time in between is not caught up with. The function must give the same result for the same
    number, or a retry gives other records.

    For speed, pass `batch_function` instead: it is called with the first number and the one after the last and
    returns the records of all of them, as an Arrow batch or table with the columns of `type_info` or as a list.
    """

    def __init__(
        self,
        generator_function: Callable[[int], Any] | None = None,
        count: int | None = None,
        rate_per_second: float | None = None,
        type_info: TypeInformation | None = None,
        *,
        batch_function: Callable[[int, int], GeneratedBatch] | None = None,
    ) -> None:
        if type_info is None:
            raise ConfigurationError("a data generator needs the type of its records: pass type_info")
        if (generator_function is None) == (batch_function is None):
            raise ConfigurationError("a data generator needs either generator_function or batch_function")
        if count is not None and count < 0:
            raise ConfigurationError(f"a data generator's count is a number from 0 on, or None, got {count}")
        if rate_per_second is not None and not rate_per_second > 0:
            raise ConfigurationError(f"a data generator's rate is above 0, or None, got {rate_per_second}")
        self._generator_function = generator_function
        self._batch_function = batch_function
        self._type_info = type_info
        self.count = count
        self.rate_per_second = rate_per_second

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.CONTINUOUS_UNBOUNDED if self.count is None else Boundedness.BOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _GeneratorEnumerator(self.count, self.rate_per_second, context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        codec = codec_for(self._type_info)
        if self._batch_function is not None:
            return _BatchGeneratorReader(self._batch_function, codec)
        assert self._generator_function is not None
        return _GeneratorReader(self._generator_function, codec)

    def describe(self) -> str:  # noqa: D102
        count = "unbounded" if self.count is None else f"{self.count} records"
        rate = "" if self.rate_per_second is None else f", {self.rate_per_second:g}/s"
        return f"generator ({count}{rate})"


class _GeneratorEnumerator(SplitEnumerator):
    """One counter for all: each epoch's numbers are cut into one range per split."""

    def __init__(self, count: int | None, rate_per_second: float | None, context: EnumeratorContext) -> None:
        self._count = count
        # Batch execution reads everything at once: no clock, and nothing at all of what has no end.
        self._rate = None if context.bounded else rate_per_second
        self._never_ends = context.bounded and count is None
        self._state = context.state
        self._record_size = RecordSize(context)
        self._waiting = 0
        self._splits: int = context.state.get(_SPLITS, context.parallelism)
        self._origin: tuple[int, int] | None = None
        """When this run began, and with which number: the clock starts again with every run."""

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        if self._never_ends:
            return []
        start: int = self._state.get(_NEXT, 0)
        due = self._due(now, start)
        end = min(start + self._record_size.affordable(budget), due)
        # Without an end there is always as much again.
        self._waiting = budget.max_records if due == _ENDLESS else due - end
        if end <= start:
            return []
        self._state[_NEXT] = end
        self._state[_SPLITS] = self._splits
        finishes = end == self._count
        edges = [start + (end - start) * index // self._splits for index in range(self._splits + 1)]
        return [
            SplitRead(str(index), first, stop, finishes=finishes, size=max(1, stop - first))
            for index, (first, stop) in enumerate(pairwise(edges))
            # The last epoch names every split, with nothing to read for some, to say that all have ended.
            if first < stop or finishes
        ]

    def is_exhausted(self) -> bool:
        return self._count is not None and self._state.get(_NEXT, 0) >= self._count

    def advanced(self, split_id: str, position: Json, finished: bool) -> None:
        self._record_size.learn(position["measured"], position["bytes"])

    def lag(self) -> int | None:
        return self._waiting

    def next_poll(self, now: int) -> int:
        if self._rate is None or self._origin is None:
            return now + _POLL_INTERVAL_MS
        began, first = self._origin
        waiting_for: int = self._state.get(_NEXT, 0) - first
        return max(now + _POLL_INTERVAL_MS, began + int(waiting_for * 1000 / self._rate))

    def _due(self, now: int, start: int) -> int:
        unlimited = _ENDLESS if self._count is None else self._count
        if self._rate is None:
            return unlimited
        if self._origin is None:
            self._origin = (now, start)
        began, first = self._origin
        return min(unlimited, first + 1 + int((now - began) * self._rate / 1000))


class _RangeReader(SplitReader):
    """Generates the records of a range of numbers, batch by batch, and measures some of them."""

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        assert read.end is not None
        measured = size = 0
        for start in range(read.start, read.end, MAX_BATCH_RECORDS):
            batch = self._generated(start, min(start + MAX_BATCH_RECORDS, read.end))
            records, their_size = _measured(batch)
            measured, size = measured + records, size + their_size
            yield batch
        self.position = {"next": read.end, "measured": measured, "bytes": size}
        self.finished = read.finishes

    @abstractmethod
    def _generated(self, start: int, stop: int) -> Batch: ...


class _GeneratorReader(_RangeReader):
    def __init__(self, function: Callable[[int], Any], codec: RecordCodec) -> None:
        self._function = function
        self._codec = codec

    def _generated(self, start: int, stop: int) -> Batch:
        function = self._function
        return Batch(self._codec, values=[function(index) for index in range(start, stop)])


class _BatchGeneratorReader(_RangeReader):
    def __init__(self, function: Callable[[int, int], GeneratedBatch], codec: RecordCodec) -> None:
        self._function = function
        self._codec = codec

    def _generated(self, start: int, stop: int) -> Batch:
        generated = self._function(start, stop)
        records = len(generated)
        if records != stop - start:
            raise SourceError(
                f"the batch function was asked for the numbers {start} to {stop - 1} and returned {records} "
                f"records: it must return one for each number, {stop - start} in all"
            )
        if not isinstance(generated, pa.RecordBatch | pa.Table):
            return Batch(self._codec, values=list(generated))
        return Batch(self._codec, columns=columns_of(generated, self._codec.schema))


def _measured(batch: Batch) -> tuple[int, int]:
    """How many of the records were measured, and the bytes that they have."""
    if batch.is_columnar:
        return len(batch), sum(column.nbytes for column in batch.columns)
    sample = Batch(batch.codec, values=batch.values[:: -(-len(batch) // _MEASURED_VALUES)])
    try:
        return len(sample), len(pack_records(sample))
    except Exception:
        return 0, 0  # they may never have to travel; where they have to, it is said there what is wrong with them
