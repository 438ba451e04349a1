"""Windows that begin together and end one step after the other: what has come since midnight, every hour."""

from __future__ import annotations

from typing import Any, Self

from penstock.common.time import DurationLike
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner
from penstock.windows.checks import checked_offset, offset_millis, positive_millis, refuse
from penstock.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.trigger import Trigger
from penstock.windows.window import TimeWindow, window_in_time


class CumulativeWindows(AlignedWindowAssigner):
    """What cumulative windows of both times have in common."""

    def __init__(self, max_size: int, step: int, offset: int = 0) -> None:
        maker = type(self).__name__
        max_size, step = positive_millis(maker, "max_size", max_size), positive_millis(maker, "step", step)
        if max_size % step:
            raise refuse(
                f"{maker}: `max_size` is {max_size} ms and `step` {step} ms; expected a size that is a multiple of "
                "the step"
            )
        offset = checked_offset(maker, offset, max_size, "max_size")
        self._max_size = max_size
        self._step = step
        self._offset = offset
        self.bucket_width = step

    @classmethod
    def of(cls, max_size: DurationLike, step: DurationLike, offset: DurationLike | None = None) -> Self:
        """Windows that begin every `max_size` and have the lengths `step`, 2 x `step`, ... `max_size`."""
        maker = cls.__name__
        shift = 0 if offset is None else offset_millis(maker, "offset", offset)
        return cls(positive_millis(maker, "max_size", max_size), positive_millis(maker, "step", step), shift)

    def bucket_offset(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """The offset."""
        return self._offset

    def windows_at(self, time: int, context: WindowAssigner.WindowAssignerContext) -> list[TimeWindow]:
        """The windows that a time is in, the shortest first."""
        start = TimeWindow.get_window_start_with_offset(time, self._offset, self._max_size)
        first_end = TimeWindow.get_window_start_with_offset(time, self._offset, self._step) + self._step
        ends = range(first_end, start + self._max_size + 1, self._step)
        # Those that time ends before are one.
        return list(dict.fromkeys(window_in_time(start, end) for end in ends))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._max_size}, {self._step}, {self._offset})"


class CumulativeEventTimeWindows(CumulativeWindows):
    """Cumulative windows over the timestamps of records, like `CUMULATE` of Flink SQL.

    >>> CumulativeEventTimeWindows.of("1 d", "1 h")
    CumulativeEventTimeWindows(86400000, 3600000, 0)
    """

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the watermark passes the end of the window."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """True."""
        return True


class CumulativeProcessingTimeWindows(CumulativeWindows):
    """Cumulative windows over the clock."""

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the clock passes the end of the window."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """False."""
        return False
