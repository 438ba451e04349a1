"""Windows of a fixed size, end to end."""

from __future__ import annotations

from typing import Any, Self

from penstock.common.time import DurationLike
from penstock.windows.assigner import AlignedWindowAssigner, WindowAssigner
from penstock.windows.checks import checked_offset, offset_millis, positive_millis, refuse_argument
from penstock.windows.stagger import WindowStagger
from penstock.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.trigger import Trigger
from penstock.windows.window import TimeWindow, window_in_time


class TumblingWindows(AlignedWindowAssigner):
    """What tumbling windows of both times have in common."""

    stagger_offset: int | None
    """The shift of this subtask; None before its first record. The operator keeps it in state."""

    def __init__(self, size: int, offset: int = 0, window_stagger: WindowStagger = WindowStagger.ALIGNED) -> None:
        maker = type(self).__name__
        size = positive_millis(maker, "size", size)
        offset = checked_offset(maker, offset, size, "size")
        if not isinstance(window_stagger, WindowStagger):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refuse_argument(maker, "window_stagger", window_stagger, "a WindowStagger")
        self._size = size
        self._offset = offset
        self._stagger = window_stagger
        self.bucket_width = size
        self.stagger_offset = 0 if window_stagger is WindowStagger.ALIGNED else None

    @classmethod
    def of(
        cls,
        size: DurationLike,
        offset: DurationLike | None = None,
        window_stagger: WindowStagger = WindowStagger.ALIGNED,
    ) -> Self:
        """Windows of this size. They begin at 1970-01-01T00:00:00Z plus `offset`, which may be negative."""
        maker = cls.__name__
        shift = 0 if offset is None else offset_millis(maker, "offset", offset)
        return cls(positive_millis(maker, "size", size), shift, window_stagger)

    def bucket_offset(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """The offset, with the shift of this subtask."""
        if self.stagger_offset is None:
            # Without the attempt: another attempt makes the same windows.
            seed = context.get_runtime_context().get_task_name_with_subtasks().rpartition("#")[0]
            self.stagger_offset = self._stagger.get_stagger_offset(
                context.get_current_processing_time(), self._size, seed
            )
        return self._offset + self.stagger_offset

    def windows_at(self, time: int, context: WindowAssigner.WindowAssignerContext) -> list[TimeWindow]:
        """The one window of a time."""
        start = TimeWindow.get_window_start_with_offset(time, self.bucket_offset(context), self._size)
        return [window_in_time(start, start + self._size)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._size}, {self._offset})"


class TumblingEventTimeWindows(TumblingWindows):
    """Windows of a fixed size, end to end, over the timestamps of records.

    >>> from penstock.common.time import Time
    >>> TumblingEventTimeWindows.of(Time.minutes(1))
    TumblingEventTimeWindows(60000, 0)
    """

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the watermark passes the end of the window."""
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        """True."""
        return True


class TumblingProcessingTimeWindows(TumblingWindows):
    """Windows of a fixed size, end to end, over the clock."""

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the clock passes the end of the window."""
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        """False."""
        return False
