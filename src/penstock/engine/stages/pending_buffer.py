"""Records on their way to one subtask that do not fill a buffer yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import RecordCodec
from penstock.common.dictionary_keys import DictionaryKeys
from penstock.common.errors import TypeMismatchError
from penstock.engine.stages import payload
from penstock.engine.stages.keying import RecordFailure


@dataclass(frozen=True, slots=True)
class Part:
    """Some records, or what was made of them, as columns (typed) or values (undeclared types)."""

    count: int
    columns: Sequence[pa.Array] | None
    values: list[Any] | None
    timestamps: pa.Array | None
    keys: DictionaryKeys | None
    is_combined: bool = False
    record_counts: pa.Array | None = None
    """How many records each was made of, where they are records still."""

    def at(self, places: np.ndarray[Any, np.dtype[np.int64]]) -> Part:
        """Those at some places."""
        indices = pa.array(places)
        return Part(
            len(places),
            None if self.columns is None else [column.take(indices) for column in self.columns],
            None if self.values is None else [self.values[place] for place in places.tolist()],
            None if self.timestamps is None else self.timestamps.take(indices),
            None if self.keys is None else _select_keys(self.keys, places),
            self.is_combined,
            None if self.record_counts is None else self.record_counts.take(indices),
        )


class PendingBuffer:
    """Parts that will be one buffer: all with timestamps or all without, all combined or none."""

    __slots__ = ("_parts", "count")

    def __init__(self) -> None:
        self.count = 0
        self._parts: list[Part] = []

    @property
    def is_combined(self) -> bool:
        """Whether it holds what was made of records."""
        return self._parts[0].is_combined

    def takes(self, part: Part) -> bool:
        """Whether a part may go into the same buffer."""
        first = self._parts[0]
        return first.is_combined == part.is_combined and (first.timestamps is None) == (part.timestamps is None)

    def append(self, part: Part) -> None:
        """Adds a part."""
        self.count += part.count
        self._parts.append(part)

    def combine(self, merged: Callable[[Part], Part]) -> None:
        """Makes one part of several that were combined."""
        if len(self._parts) > 1:
            stamps, counts = self._timestamps(), self._record_counts()
            part = merged(Part(self.count, self._columns(), None, stamps, self._keys(), True, counts))
            self._parts = [part]
            self.count = part.count

    def encode(self, codec: RecordCodec) -> bytes:
        """The bytes of the buffer. Raises `RecordFailure` where a record has none."""
        parts = self._parts
        columns = None if parts[0].columns is None else self._columns()
        values = [value for part in parts for value in part.values or ()]
        keys = None if parts[0].keys is None else self._keys()
        stamps, counts = self._timestamps(), self._record_counts()
        try:
            return payload.encode(codec, self.count, columns, values, stamps, keys, counts)
        except TypeMismatchError as error:
            raise RecordFailure(values[error.index or 0]) from error

    def _columns(self) -> list[pa.Array]:
        parts = [part.columns for part in self._parts if part.columns is not None]
        if len(parts) == 1:
            return list(parts[0])
        return [pa.concat_arrays(columns) for columns in zip(*parts, strict=True)]

    def _timestamps(self) -> pa.Array | None:
        stamps = [part.timestamps for part in self._parts if part.timestamps is not None]
        return pa.concat_arrays(stamps) if stamps else None

    def _record_counts(self) -> pa.Array | None:
        counts = [part.record_counts for part in self._parts if part.record_counts is not None]
        return pa.concat_arrays(counts) if counts else None

    def _keys(self) -> DictionaryKeys:
        return _merge_keys([part.keys for part in self._parts if part.keys is not None])


def _select_keys(keys: DictionaryKeys, selected: Any) -> DictionaryKeys:
    """The keys of some records, with a dictionary of only those."""
    codes = keys.codes[selected]
    is_used = np.zeros(len(keys.distinct), np.bool_)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    places = np.empty(len(keys.distinct), np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    return DictionaryKeys(places[codes], [keys.distinct[i] for i in used.tolist()])


def _merge_keys(parts: list[DictionaryKeys]) -> DictionaryKeys:
    if len(parts) == 1:
        return parts[0]
    positions: dict[bytes, int] = {}
    codes = [
        np.array([positions.setdefault(key, len(positions)) for key in part.distinct], np.int32)[part.codes]
        for part in parts
    ]
    return DictionaryKeys(np.concatenate(codes), list(positions))
