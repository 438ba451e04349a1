"""Events of the current epoch that wait for event time, as they came: in whole batches.

Most events are passed by the watermark in the epoch in which they come. These are sorted by key and time all at once,
and those that can change nothing are never made Python objects. What is left at the end of the epoch goes to the
`EventBuffer`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.batch import Batch
from penstock.common.watermark_generator import MAX_TIMESTAMP

Numbers = np.ndarray[Any, np.dtype[np.int64]]
Masks = np.ndarray[Any, Any]
_FEW = 1_000
"""It is not worth a thought whether so many events are looked at again and again."""
_COST_OF_A_SINGLE_VALUE = 20
"""To make one event a value takes as long as to make so many of a batch at once, about."""


class _Segment:
    """Events of one batch that wait."""

    __slots__ = ("_single_values", "batch", "codes", "has_values", "masks", "rows", "times")

    def __init__(
        self, batch: Batch, codes: Numbers, times: Numbers, masks: Sequence[Masks], rows: Numbers, has_values: bool
    ) -> None:
        self.batch = batch
        self.codes = codes
        self.times = times
        self.masks = masks
        self.rows = rows
        """Where they are in the batch."""
        self.has_values = has_values
        self._single_values = 0

    def part(self, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> _Segment:
        masks = [mask[chosen] for mask in self.masks]
        return _Segment(self.batch, self.codes[chosen], self.times[chosen], masks, self.rows[chosen], self.has_values)

    def value(self, row: int) -> Any:
        if self.has_values:
            return self.batch.values[row]
        self._single_values += 1
        if self._single_values * _COST_OF_A_SINGLE_VALUE > len(self.batch):
            self.has_values = True
        return self.batch.codec.to_values([column.slice(row, 1) for column in self.batch.columns])[0]

    def values(self) -> list[Any]:
        if self.has_values:
            values = self.batch.values
            return [values[row] for row in self.rows.tolist()]
        taken = pa.array(self.rows)
        return self.batch.codec.to_values([column.take(taken) for column in self.batch.columns])


class DueEvents:
    """Events that event time has passed, by key, and of a key by time; they become values when they are asked for."""

    def __init__(self, segments: list[_Segment]) -> None:
        self._segments = segments
        codes = np.concatenate([segment.codes for segment in segments])
        times = np.concatenate([segment.times for segment in segments])
        order = np.lexsort((times, codes))
        self._numbers = np.repeat(np.arange(len(segments)), [len(segment.rows) for segment in segments])[order].tolist()
        self._rows: list[int] = np.concatenate([segment.rows for segment in segments])[order].tolist()
        self.masks = [
            np.concatenate([segment.masks[place] for segment in segments])[order]
            for place in range(len(segments[0].masks))
        ]
        codes = codes[order]
        self.starts: Numbers = np.flatnonzero(np.diff(codes, prepend=-1))
        """Where the events of each key begin."""
        self.ends: Numbers = np.append(self.starts[1:], len(codes))
        self.codes: list[int] = codes[self.starts].tolist()
        """Which keys they are."""
        self.times: Numbers = times[order]

    def __getitem__(self, place: int) -> Any:
        """The event at a place."""
        return self._segments[self._numbers[place]].value(self._rows[place])


class FreshEvents:
    """The events that have come in this epoch and were not worked on yet."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        """By code."""
        self._codes: dict[bytes, int] = {}
        self._segments: list[_Segment] = []
        self._earliest = MAX_TIMESTAMP

    def add(
        self, batch: Batch, times: Numbers, masks: Sequence[Masks], rows: Numbers | None, *, has_values: bool
    ) -> None:
        """Takes in the events of a batch, or those at some places."""
        keys = batch.dictionary_keys
        assert keys is not None
        codes, known = self._codes, self.keys
        of_distinct: list[int] = []
        for key in keys.distinct:
            code = codes.get(key)
            if code is None:
                code = codes[key] = len(known)
                known.append(key)
            of_distinct.append(code)
        all_codes = np.array(of_distinct, np.int64)[keys.codes]
        segment = _Segment(batch, all_codes, times, masks, np.arange(len(batch)), has_values)
        if rows is not None:
            segment = _Segment(batch, all_codes[rows], times[rows], [mask[rows] for mask in masks], rows, has_values)
        if len(segment.rows):
            self._segments.append(segment)
            self._earliest = min(self._earliest, int(segment.times.min()))

    def take_until(self, time: int) -> DueEvents | None:
        """Takes out the events up to a time."""
        if not self._segments or time < self._earliest:
            return None
        due: list[_Segment] = []
        waiting: list[_Segment] = []
        for segment in self._segments:
            is_due = segment.times <= time
            if is_due.all():
                due.append(segment)
            elif is_due.any():
                due.append(segment.part(is_due))
                waiting.append(segment.part(~is_due))
            else:
                waiting.append(segment)
        self._segments = waiting
        self._earliest = min((int(segment.times.min()) for segment in waiting), default=MAX_TIMESTAMP)
        return DueEvents(due)

    def is_worth_keeping(self, taken: int) -> bool:
        """Whether what still waits is not much more than what was taken: with many watermarks each takes little."""
        waiting = sum(len(segment.rows) for segment in self._segments)
        return waiting < max(_FEW, 4 * taken)

    def take_all(self) -> Iterator[tuple[bytes, int, Any, tuple[int, ...]]]:
        """Takes out all: keys, times, events and their masks, in the order in which they came."""
        segments, self._segments, self._earliest = self._segments, [], MAX_TIMESTAMP
        for segment in segments:
            masks = zip(*(mask.tolist() for mask in segment.masks), strict=True) if segment.masks else None
            values, times = segment.values(), segment.times.tolist()
            for code, time, value in zip(segment.codes.tolist(), times, values, strict=True):
                yield self.keys[code], time, value, next(masks) if masks is not None else ()

    def clear(self) -> None:
        """Forgets everything."""
        self.__init__()
