"""Window assigners say which windows a record belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, Generic, TypeVar

from penstock.common.errors import MissingTimestampError
from penstock.common.serializer import TypeSerializer
from penstock.common.watermark_generator import MIN_TIMESTAMP
from penstock.functions.function import RuntimeContext
from penstock.windows.serializers import TimeWindowSerializer
from penstock.windows.trigger import Trigger
from penstock.windows.window import TimeWindow

T = TypeVar("T")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowAssigner(ABC, Generic[T, W]):
    """Puts each record into any number of windows."""

    class WindowAssignerContext(ABC):
        """What an assigner can ask."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The processing time."""

        @abstractmethod
        def get_runtime_context(self) -> RuntimeContext:
            """Where the assigner runs; state of it belongs to the record's key."""

    @abstractmethod
    def assign_windows(
        self, element: T, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[W]:
        """The windows of a record."""

    @abstractmethod
    def get_default_trigger(self, env: Any) -> Trigger[T, W]:
        """The trigger where the program names none."""

    @abstractmethod
    def get_window_serializer(self) -> TypeSerializer[W]:
        """What the bytes of these windows are."""

    @abstractmethod
    def is_event_time(self) -> bool:
        """Whether windows follow the timestamps of records, or something else."""


class MergingWindowAssigner(WindowAssigner[T, W]):
    """An assigner whose windows may grow together."""

    class MergeCallback(ABC, Generic[W2]):
        """Takes what `merge_windows` finds."""

        @abstractmethod
        def merge(self, to_be_merged: Iterable[W2], merge_result: W2) -> None:
            """These windows become that one."""

    @abstractmethod
    def merge_windows(self, windows: Iterable[W], callback: MergingWindowAssigner.MergeCallback[W]) -> None:
        """Tells the callback which of the windows merge."""


class AlignedWindowAssigner(WindowAssigner[Any, TimeWindow]):
    """Windows that depend on a time alone, and are the same for all times within a bucket of a fixed width.

    So they need not be computed for every record. A subclass says which time counts.
    """

    bucket_width: int
    covers_all_time: bool = True
    """Whether every time is in a window."""

    @abstractmethod
    def bucket_offset(self, context: WindowAssigner.WindowAssignerContext) -> int:
        """Where buckets begin: one of them begins at this time."""

    @abstractmethod
    def windows_at(self, time: int, context: WindowAssigner.WindowAssignerContext) -> list[TimeWindow]:
        """The windows of a time."""

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        """The windows of the record's timestamp, or of the processing time."""
        if self.is_event_time():
            require_timestamp(timestamp, self)
            return self.windows_at(timestamp, context)
        return self.windows_at(context.get_current_processing_time(), context)

    def get_window_serializer(self) -> TypeSerializer[TimeWindow]:
        """The bytes of time windows."""
        return TimeWindowSerializer()


def is_known(assigner: WindowAssigner[Any, Any]) -> bool:
    """Whether the class of an assigner is one of ours: what a subclass of the program's does, only that one knows."""
    return type(assigner).__module__.startswith("penstock.windows.")


def require_timestamp(timestamp: int | None, assigner: WindowAssigner[Any, Any]) -> None:
    """Raises `MissingTimestampError` for a record without a timestamp."""
    if timestamp is None or timestamp <= MIN_TIMESTAMP:
        raise MissingTimestampError(
            f"a record without a timestamp came to {assigner!r}, whose windows follow event time; call "
            "`assign_timestamps_and_watermarks(WatermarkStrategy...with_timestamp_assigner(...))` on the stream before "
            "the window, or use windows of processing time"
        )
