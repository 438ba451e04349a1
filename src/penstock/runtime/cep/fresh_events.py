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
_WORTH_LOOKING_AT = 64
"""To put one event by takes longer than to look at so many that wait."""
_LARGEST_SMALL_CODE = 0xFFFF
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

    def part(self, chosen: np.ndarray[Any, Any]) -> _Segment:
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
        return self.values_of(self.rows)

    def values_of(self, rows: Numbers) -> list[Any]:
        if self.has_values:
            values = self.batch.values
            return [values[row] for row in rows.tolist()]
        taken = pa.array(rows)
        return self.batch.codec.to_values([column.take(taken) for column in self.batch.columns])


class DueEvents:
    """Events that event time has passed, by key, and of a key by time; they become values when they are asked for."""

    def __init__(self, segments: list[_Segment]) -> None:
        self._segments = segments
        codes = np.concatenate([segment.codes for segment in segments])
        times = np.concatenate([segment.times for segment in segments])
        order = _by_key_and_time(codes, times)
        self._numbers = np.repeat(np.arange(len(segments)), [len(segment.rows) for segment in segments])[order]
        self._rows: Numbers = np.concatenate([segment.rows for segment in segments])[order]
        self._values: dict[int, Any] = {}
        """Those that were made beforehand."""
        self.masks = [
            np.concatenate([segment.masks[place] for segment in segments])[order]
            for place in range(len(segments[0].masks))
        ]
        codes = codes[order]
        self.starts: Numbers = np.flatnonzero(np.diff(codes, prepend=-1))
        """Where the events of each key begin."""
        self.ends: Numbers = np.append(self.starts[1:], len(codes))
        self.codes: Numbers = codes[self.starts]
        """Which keys they are."""
        self.times: Numbers = times[order]

    def make_values(self, places: Numbers) -> None:
        """Makes the events at some places values: for many at once it takes far less than for one after the other."""
        numbers = self._numbers[places]
        for number in np.unique(numbers).tolist():
            at = places[numbers == number]
            self._values.update(zip(at.tolist(), self._segments[number].values_of(self._rows[at]), strict=True))

    def __getitem__(self, place: int) -> Any:
        """The event at a place."""
        if place in self._values:
            return self._values[place]
        return self._segments[self._numbers[place]].value(int(self._rows[place]))


def _by_key_and_time(codes: Numbers, times: Numbers) -> Numbers:
    """The places of events by key, and of a key by time; of the same time as they came."""
    if codes.max() > _LARGEST_SMALL_CODE:
        return np.lexsort((times, codes))
    small = codes.astype(np.uint16)  # which numpy sorts without comparing
    if (times[1:] >= times[:-1]).all():
        return np.argsort(small, kind="stable")
    by_time = np.argsort(times, kind="stable")
    return by_time[np.argsort(small[by_time], kind="stable")]


class FreshEvents:
    """The events that have come in this epoch and were not worked on yet."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        """By code."""
        self.rests: np.ndarray[Any, np.dtype[np.bool_]] = np.zeros(_FEW, np.bool_)
        """By code, whether the key is known to have no partial match; that may end only where it is looked at."""
        self._codes: dict[bytes, int] = {}
        self._segments: list[_Segment] = []
        self._earliest = MAX_TIMESTAMP

    def add(
        self, batch: Batch, times: Numbers, masks: Sequence[Masks], rows: Numbers | None, *, has_values: bool
    ) -> None:
        """Takes in the events of a batch, or those at some places."""
        segment = self._segment(batch, times, masks, has_values)
        if rows is not None:
            segment = segment.part(rows)
        if len(segment.rows):
            self._segments.append(segment)
            self._earliest = min(self._earliest, int(segment.times.min()))

    def _segment(self, batch: Batch, times: Numbers, masks: Sequence[Masks], has_values: bool) -> _Segment:
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
        if len(known) > len(self.rests):
            self.rests = np.concatenate([self.rests, np.zeros(len(known), np.bool_)])
        all_codes = np.array(of_distinct, np.int64)[keys.codes]
        return _Segment(batch, all_codes, times, masks, np.arange(len(batch)), has_values)

    def wake(self, key: bytes) -> None:
        """A key is looked at for another reason than events that have come: it may not rest any more."""
        code = self._codes.get(key)
        if code is not None:
            self.rests[code] = False

    def has_until(self, time: int) -> bool:
        """Whether there are events up to a time."""
        return bool(self._segments) and time >= self._earliest

    def take_until(self, time: int, before: Batch | None, masks: Sequence[Masks]) -> DueEvents:
        """Takes out the events up to a time; those of a batch with their masks, which all came before, join them."""
        due: list[_Segment] = []
        if before is not None and before.timestamp_column is not None:
            times = before.timestamp_column.to_numpy(zero_copy_only=False)
            due.append(self._segment(before, times, masks, has_values=True))
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
        return waiting < max(_FEW, _WORTH_LOOKING_AT * taken)

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
