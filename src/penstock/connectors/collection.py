"""A source of values that the program holds in memory."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.common.batch import Batch
from penstock.common.by_value import pickled_by_value
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.live_rows import LiveRowsEnumerator, LiveRowsReader
from penstock.connectors.live_source import LiveReader, LiveSource
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    EpochBudget,
    Source,
    SplitEnumerator,
    SplitRead,
    SplitReader,
)

_CHUNK_VALUES = 8_192
_POSITION = "position"


class CollectionSource(Source, LiveSource):
    """Reads a list of values, in order, as one split.

    The list is copied: what the program does to its own later changes nothing. It travels to the tasks pickled in
    chunks, and a task unpickles only the chunks that it reads.
    """

    def __init__(self, values: Sequence[Any], type_info: TypeInformation) -> None:
        values = list(values)
        if not type_info.is_pickled:
            # In the form that the type's records have: a tuple given for a row is that row. Misfits show here.
            codec = codec_for(type_info)
            values = codec.to_values(codec.to_columns(values))
        self._type_info = type_info
        self._count = len(values)
        # Pickled now, so that a value which cannot travel fails at the user's line and not in a task.
        self._chunks: list[bytes] = [
            pickled_by_value(values[start : start + _CHUNK_VALUES]) for start in range(0, self._count, _CHUNK_VALUES)
        ]

    def __len__(self) -> int:
        return self._count

    @property
    def boundedness(self) -> Boundedness:  # noqa: D102
        return Boundedness.BOUNDED

    @property
    def produced_type(self) -> TypeInformation:  # noqa: D102
        return self._type_info

    @property
    def bytes_per_value(self) -> int:
        """The mean size of a value in its pickled form."""
        return max(1, sum(map(len, self._chunks)) // max(1, self._count))

    def values(self, start: int, end: int) -> Iterator[list[Any]]:
        """The values from `start` up to `end`, in lists of a bounded length."""
        for number in range(start // _CHUNK_VALUES, len(self._chunks)):
            first = number * _CHUNK_VALUES
            if first >= end:
                return
            yield pickle.loads(self._chunks[number])[max(0, start - first) : end - first]

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return _CollectionEnumerator(self, context)

    def create_reader(self) -> SplitReader:  # noqa: D102
        return _CollectionReader(self)

    def create_live_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:  # noqa: D102
        return LiveRowsEnumerator(self._count, context)

    def create_live_reader(self) -> LiveReader:  # noqa: D102
        return LiveRowsReader(self.create_reader())

    def describe(self) -> str:  # noqa: D102
        return f"collection of {self._count} values"


class _CollectionEnumerator(SplitEnumerator):
    def __init__(self, source: CollectionSource, context: EnumeratorContext) -> None:
        self._source = source
        self._state = context.state

    def poll(self, now: int, budget: EpochBudget) -> list[SplitRead]:
        start: int = self._state.get(_POSITION, 0)
        if start >= len(self._source):
            return []
        affordable = max(1, min(budget.max_records, budget.max_bytes // self._source.bytes_per_value))
        end = min(len(self._source), start + affordable)
        self._state[_POSITION] = end
        return [SplitRead("0", start, end, finishes=end == len(self._source), size=end - start)]

    def is_exhausted(self) -> bool:
        return self._state.get(_POSITION, 0) >= len(self._source)


class _CollectionReader(SplitReader):
    def __init__(self, source: CollectionSource) -> None:
        self._source = source
        self._codec = codec_for(source.produced_type)

    def read(self, read: SplitRead, budget: EpochBudget) -> Iterator[Batch]:
        assert read.end is not None
        for values in self._source.values(read.start, read.end):
            yield Batch(self._codec, values=values)
        self.position = read.end
        self.finished = read.finishes
