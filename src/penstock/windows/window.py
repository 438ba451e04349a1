"""Windows: the finite pieces that a stream is cut into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from penstock.common.watermark_generator import MAX_TIMESTAMP

if TYPE_CHECKING:
    from penstock.windows.assigner import MergingWindowAssigner


class Window(ABC):
    """A piece of a stream. Windows are equal when they are the same piece."""

    @abstractmethod
    def max_timestamp(self) -> int:
        """The last millisecond that belongs to the window: it is also the timestamp of its results."""


class TimeWindow(Window):
    """The time from `start` up to, but without, `end`, in ms.

    >>> window = TimeWindow(0, 5000)
    >>> window.max_timestamp(), window.intersects(TimeWindow(5000, 6000)), window.cover(TimeWindow(5000, 6000))
    (4999, True, TimeWindow(start=0, end=6000))
    """

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end

    def max_timestamp(self) -> int:
        """The last millisecond of the window."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Whether the windows overlap or touch."""
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """The smallest window that has both in it."""
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """The start of the window that a time is in, where windows of that size are laid end to end from `offset`.

        >>> TimeWindow.get_window_start_with_offset(7, 1, 5), TimeWindow.get_window_start_with_offset(-7, 0, 5)
        (6, -10)
        """
        return timestamp - (timestamp - offset) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]) -> None:
        """Tells the callback which windows overlap or touch, and what they are together."""
        together: TimeWindow | None = None
        group: list[TimeWindow] = []
        for window in sorted(set(windows)):
            if together is not None and together.intersects(window):
                together = together.cover(window)
                group.append(window)
                continue
            if together is not None and len(group) > 1:
                callback.merge(group, together)
            together, group = window, [window]
        if together is not None and len(group) > 1:
            callback.merge(group, together)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.start == other.start and self.end == other.end

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __lt__(self, other: TimeWindow) -> bool:
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: TimeWindow) -> bool:
        return (self.start, self.end) <= (other.start, other.end)

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"


def window_in_time(start: int, end: int) -> TimeWindow:
    """A window that ends with time, at the latest: no watermark comes after it, and 64 bits say no more.

    What batch execution reduces has the greatest of all timestamps, and its windows would end behind it.
    """
    return TimeWindow(start, min(end, MAX_TIMESTAMP))


class CountWindow(Window):
    """A number of records of a key; `id` counts the windows of the key from 0."""

    __slots__ = ("id",)

    def __init__(self, id: int) -> None:  # noqa: A002 (PyFlink's name)
        self.id = id

    def max_timestamp(self) -> int:
        """The end of time: records do not end such a window by their timestamps."""
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class GlobalWindow(Window):
    """The one window that holds everything."""

    __slots__ = ()

    @staticmethod
    def get() -> GlobalWindow:
        """The window."""
        return _GLOBAL_WINDOW

    def max_timestamp(self) -> int:
        """The end of time."""
        return MAX_TIMESTAMP

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self)

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"

    def __reduce__(self) -> tuple[Any, ...]:
        return GlobalWindow.get, ()


_GLOBAL_WINDOW = GlobalWindow()
