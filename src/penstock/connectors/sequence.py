"""A source of consecutive whole numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError
from penstock.common.typeinfo import TypeInformation, Types
from penstock.connectors.batches import MAX_BATCH_RECORDS
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)

_BYTES_PER_NUMBER = 8


class NumberSequenceSource(Source):
    """The numbers from `start` to `end`, both included.

    There are as many parallel ranges as the source has subtasks, each in ascending order; with parallelism 1 the
    whole sequence is in order.
    """

    def __init__(self, start: int, end: int) -> None:
        if start > end:
            raise ConfigurationError(f"a number sequence needs start <= end, got start={start}, end={end}")
        if not -(1 << 63) <= start <= end < (1 << 63):
            raise ConfigurationError(f"a number sequence has 64-bit numbers, got start={start}, end={end}")
        self.start = start
        self.end = end

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return Types.LONG()

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _SequenceEnumerator(self.start, self.end + 1, context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _SequenceReader()

    def describe(self) -> str:  # noqa: D102
        return f"numbers {self.start} to {self.end}"


class _SequenceEnumerator(SplitEnumerator):
    """State: per split, the next number and the first one that is not its own."""

    def __init__(self, start: int, stop: int, context: EnumeratorContext) -> None:
        self._start = start
        self._stop = stop
        self._parallelism = context.parallelism
        self._state = context.state

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        if not self._state:
            # Decided once: a restart with another parallelism goes on with the ranges that are half read.
            self._state.update(self._ranges())
        unfinished = {split: bounds for split, bounds in self._state.items() if bounds[0] < bounds[1]}
        affordable = min(budget.max_records, budget.max_bytes // _BYTES_PER_NUMBER)
        share = max(1, affordable // max(1, len(unfinished)))
        reads: list[SplitRead] = []
        for split, (position, stop) in unfinished.items():
            end = min(stop, position + share)
            self._state[split] = [end, stop]
            reads.append(SplitRead(split, position, end, finishes=end == stop, size=end - position))
        return reads

    def is_exhausted(self) -> bool:
        return bool(self._state) and all(position >= stop for position, stop in self._state.values())

    def _ranges(self) -> dict[str, list[int]]:
        count = self._stop - self._start
        splits = min(self._parallelism, count)
        edges = [self._start + count * index // splits for index in range(splits + 1)]
        return {str(index): [edges[index], edges[index + 1]] for index in range(splits)}


class _SequenceReader(SplitReader):
    def __init__(self) -> None:
        self._codec = codec_for(Types.LONG())

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        assert read.end is not None
        for start in range(read.start, read.end, MAX_BATCH_RECORDS):
            count = min(MAX_BATCH_RECORDS, read.end - start)
            # arange from 0: its stop would not fit into 64 bits at the upper end of the range.
            yield Batch(self._codec, columns=[pa.array(np.arange(count, dtype=np.int64) + start)])
        self.position = read.end
        self.finished = read.finishes
