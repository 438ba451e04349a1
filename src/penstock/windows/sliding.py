"""Windows of a fixed size that begin at fixed distances, and overlap where the distance is less than the size."""

from __future__ import annotations

from math import gcd
from typing import Any, Self

from penstock.common.time import DurationLike
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner
from penstock.windows.checks import checked_offset, offset_millis, positive_millis, refuse
from penstock.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.trigger import Trigger
from penstock.windows.window import TimeWindow, window_in_time

_MOST_WINDOWS = 10_000_000
"""Flink's limit of the windows that one record can be in."""


class SlidingWindows(AlignedWindowAssigner):
    """What sliding windows of both times have in common."""

    def __init__(self, size: int, slide: int, offset: int = 0) -> None:
        maker = type(self).__name__
        size, slide = positive_millis(maker, "size", size), positive_millis(maker, "slide", slide)
        offset = checked_offset(maker, offset, slide, "slide")
        if size // slide > _MOST_WINDOWS:
            raise refuse(
                f"{maker}: every record would be in {size // slide} windows; expected size / slide to be at most "
                f"{_MOST_WINDOWS}: make `slide` longer"
            )
        self._size = size
        self._slide = slide
        self._offset = offset
        self.bucket_width = gcd(size, slide)
        self.covers_all_time = slide <= size

    @classmethod
    def of(cls, size: DurationLike, slide: DurationLike, offset: DurationLike | None = None) -> Self:
        """Windows of this size, of which one begins every `slide`, counted from 1970-01-01T00:00:00Z plus `offset`."""
        maker = cls.__name__
        shift = 0 if offset is None else offset_millis(maker, "offset", offset)
        return cls(positive_millis(maker, "size", size), positive_millis(maker, "slide", slide), shift)

    def bucket_offset(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """The offset."""
        return self._offset

    def windows_at(self, time: int, context: WindowAssigner.WindowAssignerContext) -> list[TimeWindow]:
        """The windows that a time is in, the last one first."""
        last = TimeWindow.get_window_start_with_offset(time, self._offset, self._slide)
        starts = range(last, time - self._size, -self._slide)
        return [window_in_time(start, start + self._size) for start in starts]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._slide}, {self._offset})"


class SlidingEventTimeWindows(SlidingWindows):
    """Windows over the timestamps of records that overlap.

    >>> SlidingEventTimeWindows.of("1 min", "10 s")
    SlidingEventTimeWindows(60000, 10000, 0)
    """

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the watermark passes the end of the window."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """True."""
        return True


class SlidingProcessingTimeWindows(SlidingWindows):
    """Windows over the clock that overlap."""

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the clock passes the end of the window."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """False."""
        return False
