"""Windows of a number of records."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from typing import Any

from penstock.common.serializer import TypeSerializer
from penstock.common.typeinfo import Types
from penstock.state.descriptors import ValueStateDescriptor
from penstock.windows.assigner import WindowAssigner
from penstock.windows.checks import positive_count
from penstock.windows.nesting_triggers import PurgingTrigger
from penstock.windows.record_triggers import CountTrigger
from penstock.windows.serializers import CountWindowSerializer
from penstock.windows.trigger import Trigger
from penstock.windows.window import CountWindow


class _CountWindows(WindowAssigner[Any, CountWindow]):
    """Numbers the records of each key."""

    _window_size: int
    _count: ValueStateDescriptor

    def assign_windows(
        self, element: Any, timestamp: int, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[CountWindow]:
        """The windows that the next number belongs to."""
        count = context.get_runtime_context().get_state(self._count)
        index = count.value() or 0
        count.update(index + 1)
        return self._windows_of(index)

    @abstractmethod
    def _windows_of(self, index: int) -> list[CountWindow]: ...

    def get_default_trigger(self, env: Any) -> Trigger[Any, CountWindow]:
        """Fires when the window is full. No other record comes to it then, so its contents go."""
        return PurgingTrigger(CountTrigger(self._window_size))

    def get_window_serializer(self) -> TypeSerializer[CountWindow]:
        """The bytes of count windows."""
        return CountWindowSerializer()

    def is_event_time(self) -> bool:
        """False."""
        return False


class CountTumblingWindowAssigner(_CountWindows):
    """Every so many records of a key are a window.

    >>> CountTumblingWindowAssigner.of(100)
    CountTumblingWindowAssigner(100)
    """

    def __init__(self, window_size: int) -> None:
        self._window_size = positive_count("CountTumblingWindowAssigner", "window_size", window_size)
        self._count = ValueStateDescriptor("tumble-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        """Windows of this many records."""
        return CountTumblingWindowAssigner(window_size)

    def _windows_of(self, index: int) -> list[CountWindow]:
        return [CountWindow(index // self._window_size)]

    def __repr__(self) -> str:
        return f"CountTumblingWindowAssigner({self._window_size})"


class CountSlidingWindowAssigner(_CountWindows):
    """Every so many records of a key a window begins; windows overlap where that is less than the size."""

    def __init__(self, window_size: int, window_slide: int) -> None:
        maker = "CountSlidingWindowAssigner"
        self._window_size = positive_count(maker, "window_size", window_size)
        self._window_slide = positive_count(maker, "window_slide", window_slide)
        self._count = ValueStateDescriptor("slide-count-assigner", Types.LONG())

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        """Windows of this many records, of which one begins every `window_slide` records."""
        return CountSlidingWindowAssigner(window_size, window_slide)

    def _windows_of(self, index: int) -> list[CountWindow]:
        last = index // self._window_slide
        first = max(0, -((self._window_size - 1 - index) // self._window_slide))
        return [CountWindow(number) for number in range(last, first - 1, -1)]

    def __repr__(self) -> str:
        return f"CountSlidingWindowAssigner({self._window_size}, {self._window_slide})"
