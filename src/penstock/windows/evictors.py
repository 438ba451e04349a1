"""Evictors take records out of a window before or after its function is called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from penstock.common.errors import MissingTimestampError
from penstock.common.time import DurationLike
from penstock.functions.metrics import MetricGroup
from penstock.windows.checks import lateness_millis, number, refuse, refuse_argument
from penstock.windows.delta import DeltaLike, delta_callable

T = TypeVar("T")
W = TypeVar("W")


class TimestampedValue(Generic[T]):
    """A record of a window, with its timestamp."""

    __slots__ = ("timestamp", "value")

    def __init__(self, value: T, timestamp: int | None = None) -> None:
        self.value = value
        self.timestamp = timestamp

    def get_value(self) -> T:
        """The record."""
        return self.value

    def get_timestamp(self) -> int:
        """The record's timestamp; raises where it has none."""
        if self.timestamp is None:
            raise MissingTimestampError(
                f"the record {self.value!r} has no timestamp; call `assign_timestamps_and_watermarks(...)` on the "
                "stream before the window"
            )
        return self.timestamp

    def has_timestamp(self) -> bool:
        """Whether the record has a timestamp."""
        return self.timestamp is not None

    def __repr__(self) -> str:
        return f"TimestampedValue({self.value!r}, {self.timestamp})"


class Evictor(ABC, Generic[T, W]):
    """Takes records out of a window when it fires. What is taken out is gone for later firings too.

    `elements` are the records in the order in which they came; an evictor changes this list in place. A window with
    an evictor keeps all its records: `reduce` and `aggregate` work on what is left when it fires.
    """

    class EvictorContext(ABC):
        """What an evictor can ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The processing time."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """The operator's metrics."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """How far event time has come."""

    @abstractmethod
    def evict_before(
        self, elements: list[TimestampedValue[T]], size: int, window: W, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Takes records out before the window function sees them."""

    @abstractmethod
    def evict_after(
        self, elements: list[TimestampedValue[T]], size: int, window: W, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Takes records out after the window function has seen them."""


class _OneTimeEvictor(Evictor[Any, Any]):
    """Evicts either before or after."""

    _after: bool

    def evict_before(
        self, elements: list[TimestampedValue[Any]], size: int, window: Any, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Evicts, unless it is to be done afterwards."""
        if not self._after:
            self._evict(elements)

    def evict_after(
        self, elements: list[TimestampedValue[Any]], size: int, window: Any, evictor_context: Evictor.EvictorContext
    ) -> None:
        """Evicts, if it is to be done afterwards."""
        if self._after:
            self._evict(elements)

    @abstractmethod
    def _evict(self, elements: list[TimestampedValue[Any]]) -> None: ...


class CountEvictor(_OneTimeEvictor):
    """Keeps the newest records, so many of them."""

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        if isinstance(max_count, bool) or not isinstance(max_count, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise refuse_argument("CountEvictor", "max_count", max_count, "a number of records")
        if max_count < 0:
            raise refuse(f"CountEvictor: `max_count` is {max_count}; expected a number of records from 0")
        self._max_count = max_count
        self._after = do_evict_after

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Keeps this many records."""
        return CountEvictor(max_count, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        del elements[: max(0, len(elements) - self._max_count)]

    def __repr__(self) -> str:
        return f"CountEvictor({self._max_count})"


class TimeEvictor(_OneTimeEvictor):
    """Keeps the records that are less than some time older than the newest one."""

    def __init__(self, window_size: int, do_evict_after: bool = False) -> None:
        self._window_size = lateness_millis("TimeEvictor", "window_size", window_size)
        self._after = do_evict_after

    @staticmethod
    def of(window_size: DurationLike, do_evict_after: bool = False) -> TimeEvictor:
        """Keeps the records of the last `window_size`, counted back from the newest one."""
        return TimeEvictor(lateness_millis("TimeEvictor", "window_size", window_size), do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        if not elements or not elements[0].has_timestamp():
            return
        cutoff = max(element.get_timestamp() for element in elements) - self._window_size
        elements[:] = [element for element in elements if element.get_timestamp() > cutoff]

    def __repr__(self) -> str:
        return f"TimeEvictor({self._window_size})"


class DeltaEvictor(_OneTimeEvictor):
    """Keeps the records that are nearer than a threshold to the last one."""

    def __init__(self, threshold: float, delta_function: DeltaLike, do_evict_after: bool = False) -> None:
        self._threshold = number("DeltaEvictor", "threshold", threshold)
        self._delta = delta_callable("DeltaEvictor", delta_function)
        self._after = do_evict_after

    @staticmethod
    def of(threshold: float, delta_function: DeltaLike, do_evict_after: bool = False) -> DeltaEvictor:
        """Takes out records with `delta_function(record, last) >= threshold`."""
        return DeltaEvictor(threshold, delta_function, do_evict_after)

    def _evict(self, elements: list[TimestampedValue[Any]]) -> None:
        if elements:
            last = elements[-1].value
            # Not `<`: what is no number is not far, and stays.
            elements[:] = [each for each in elements if not self._delta(each.value, last) >= self._threshold]

    def __repr__(self) -> str:
        return f"DeltaEvictor({self._threshold})"
