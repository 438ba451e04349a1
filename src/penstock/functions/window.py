"""Functions that are called with the contents of a window."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from penstock.functions.function import Function, KeyedStateStore
from penstock.functions.output_tag import OutputTag

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W2 = TypeVar("W2")


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Makes any number of results of the records that one key has in a window.

    >>> class Count(WindowFunction):
    ...     def apply(self, key, window, inputs):
    ...         yield key, window.end, len(list(inputs))
    """

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Yields the results of a window that fires."""


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Makes any number of results of the records in a window of a stream without keys.

    >>> class Count(AllWindowFunction):
    ...     def apply(self, window, inputs):
    ...         yield len(list(inputs))
    >>> list(env.from_sequence(1, 4).count_window_all(2).apply(Count()).execute_and_collect())
    [2, 2]
    """

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None:
        """Yields the results of a window that fires."""


class WindowContext(ABC, Generic[W2]):
    """What a window function can ask while a window fires. Valid during the call only."""

    @abstractmethod
    def window(self) -> W2:
        """The window."""

    @abstractmethod
    def current_processing_time(self) -> int:
        """The processing time; it stands still within an epoch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come."""

    @abstractmethod
    def window_state(self) -> KeyedStateStore:
        """State of this key and window. It is not there for windows that merge; clear it in `clear`."""

    @abstractmethod
    def global_state(self) -> KeyedStateStore:
        """State of this key, shared by all its windows."""

    @abstractmethod
    def output(self, tag: OutputTag, value: Any) -> None:
        """Sends a record to a side output; the same as `yield tag, value`."""


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Like a `WindowFunction`, with a context: time, state of the window and of the key, side outputs.

    >>> class Firings(ProcessWindowFunction):
    ...     seen = ValueStateDescriptor("seen", Types.INT())
    ...     def process(self, key, context, elements):
    ...         seen = context.window_state().get_state(self.seen)
    ...         seen.update((seen.value() or 0) + 1)
    ...         yield key, context.window().start, seen.value(), sum(elements)
    ...     def clear(self, context):
    ...         context.window_state().get_state(self.seen).clear()
    """

    class Context(WindowContext[W2]):
        """What `process` and `clear` can ask."""

    @abstractmethod
    def process(
        self, key: KEY, context: ProcessWindowFunction.Context[Any], elements: Iterable[IN]
    ) -> Iterable[OUT] | None:
        """Yields the results of a window that fires."""

    def clear(self, context: ProcessWindowFunction.Context[Any]) -> None:
        """The window goes away: clear what it has in `window_state`."""
        return


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Like an `AllWindowFunction`, with a context.

    >>> class Numbered(ProcessAllWindowFunction):
    ...     count = ValueStateDescriptor("count", Types.LONG())
    ...
    ...     def process(self, context, elements):
    ...         count = context.global_state().get_state(self.count)
    ...         count.update((count.value() or 0) + 1)
    ...         yield count.value(), sum(elements)
    >>> list(env.from_sequence(1, 4).count_window_all(2).process(Numbered()).execute_and_collect())
    [(1, 3), (2, 7)]
    """

    class Context(WindowContext[W2]):
        """What `process` and `clear` can ask."""

    @abstractmethod
    def process(self, context: ProcessAllWindowFunction.Context[Any], elements: Iterable[IN]) -> Iterable[OUT] | None:
        """Yields the results of a window that fires."""

    def clear(self, context: ProcessAllWindowFunction.Context[Any]) -> None:
        """The window goes away: clear what it has in `window_state`."""
        return


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Emits what is in the window."""

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        """The contents."""
        return inputs


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W]):
    """Emits what is in the window."""

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        """The contents."""
        return inputs
