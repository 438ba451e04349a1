"""Windows of activity: they end when nothing has come for some time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from typing import Any

from penstock.common.errors import ConfigurationError
from penstock.common.serializer import TypeSerializer
from penstock.common.time import DurationLike
from penstock.windows.assigner import MergingWindowAssigner, WindowAssigner, require_timestamp
from penstock.windows.checks import positive_millis, refuse_argument
from penstock.windows.serializers import TimeWindowSerializer
from penstock.windows.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from penstock.windows.trigger import Trigger
from penstock.windows.window import TimeWindow, window_in_time


class SessionWindowTimeGapExtractor(ABC):
    """Says how long after a record its session stays open."""

    @abstractmethod
    def extract(self, element: Any) -> int:
        """The gap in milliseconds: more than zero."""


GapExtractor = SessionWindowTimeGapExtractor | Callable[[Any], int]
"""A `SessionWindowTimeGapExtractor`, or a plain function of a record."""


class SessionWindows(MergingWindowAssigner[Any, TimeWindow]):
    """What all sessions have in common: every record opens a window, and windows that overlap or touch merge."""

    @abstractmethod
    def gap_of(self, element: Any) -> int:
        """The gap after a record, in ms."""

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """From the record to the end of its gap."""
        if self.is_event_time():
            require_timestamp(timestamp, self)
            start = timestamp
        else:
            start = context.get_current_processing_time()
        return [window_in_time(start, start + self.gap_of(element))]

    def merge_windows(
        self, windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        """Windows that overlap or touch are one."""
        TimeWindow.merge_windows(windows, callback)

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """The bytes of time windows."""
        return TimeWindowSerializer()


def are_plain_sessions(assigner: WindowAssigner[Any, Any]) -> bool:
    """Whether a record's window is its gap, and those that overlap or touch merge: a subclass may say otherwise."""
    kind = type(assigner)
    return (
        issubclass(kind, SessionWindows)
        and kind.assign_windows is SessionWindows.assign_windows
        and kind.merge_windows is SessionWindows.merge_windows
    )


class _EventTime(SessionWindows):
    def is_event_time(self) -> bool:
        """True."""
        return True

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the watermark passes the end of the session."""
        return EventTimeTrigger()


class _ProcessingTime(SessionWindows):
    def is_event_time(self) -> bool:
        """False."""
        return False

    def get_default_trigger(self, env: Any) -> Trigger[Any, TimeWindow]:
        """Fires when the clock passes the end of the session."""
        return ProcessingTimeTrigger()


class _StaticGap(SessionWindows):
    def __init__(self, session_gap: int) -> None:
        self._session_gap = positive_millis(type(self).__name__, "session_gap", session_gap)

    def gap_of(self, element: Any) -> int:
        """The same for every record."""
        return self._session_gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._session_gap})"


class _DynamicGap(SessionWindows):
    def __init__(self, session_window_time_gap_extractor: GapExtractor) -> None:
        extractor = session_window_time_gap_extractor
        if isinstance(extractor, SessionWindowTimeGapExtractor):
            extractor = extractor.extract
        elif not callable(extractor) or isinstance(extractor, type):
            expected = "a SessionWindowTimeGapExtractor or a function of a record"
            raise refuse_argument(type(self).__name__, "session_window_time_gap_extractor", extractor, expected)
        self._extract: Callable[[Any], int] = extractor

    def gap_of(self, element: Any) -> int:
        """What the extractor says."""
        gap = self._extract(element)
        if isinstance(gap, bool) or not isinstance(gap, int) or gap <= 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ConfigurationError(
                f"the session gap of {element!r} is {gap!r}; expected a number of milliseconds, at least 1"
            )
        return gap

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class DynamicEventTimeSessionWindows(_DynamicGap, _EventTime):
    """Sessions over the timestamps of records, with a gap that depends on the record."""

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicEventTimeSessionWindows:
        """A session ends when nothing has come for as long as its records say."""
        return DynamicEventTimeSessionWindows(extractor)


class DynamicProcessingTimeSessionWindows(_DynamicGap, _ProcessingTime):
    """Sessions over the clock, with a gap that depends on the record."""

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicProcessingTimeSessionWindows:
        """A session ends when nothing has come for as long as its records say."""
        return DynamicProcessingTimeSessionWindows(extractor)


class EventTimeSessionWindows(_StaticGap, _EventTime):
    """Sessions over the timestamps of records.

    >>> EventTimeSessionWindows.with_gap("30 min")
    EventTimeSessionWindows(1800000)
    """

    @staticmethod
    def with_gap(size: DurationLike) -> EventTimeSessionWindows:
        """A session ends when nothing has come for this long."""
        return EventTimeSessionWindows(positive_millis("EventTimeSessionWindows", "size", size))

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicEventTimeSessionWindows:
        """A session ends when nothing has come for as long as its records say."""
        return DynamicEventTimeSessionWindows(extractor)


class ProcessingTimeSessionWindows(_StaticGap, _ProcessingTime):
    """Sessions over the clock."""

    @staticmethod
    def with_gap(size: DurationLike) -> ProcessingTimeSessionWindows:
        """A session ends when nothing has come for this long."""
        return ProcessingTimeSessionWindows(positive_millis("ProcessingTimeSessionWindows", "size", size))

    @staticmethod
    def with_dynamic_gap(extractor: GapExtractor) -> DynamicProcessingTimeSessionWindows:
        """A session ends when nothing has come for as long as its records say."""
        return DynamicProcessingTimeSessionWindows(extractor)
