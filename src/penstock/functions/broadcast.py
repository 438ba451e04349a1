"""Functions of a stream and a broadcast stream, whose state is the same in all subtasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from penstock.functions.function import Function
from penstock.functions.output_tag import OutputTag
from penstock.functions.timer_service import TimeDomain, TimerService
from penstock.state.descriptors import MapStateDescriptor, StateDescriptor
from penstock.state.state import BroadcastState, ReadOnlyBroadcastState

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")


class BaseBroadcastProcessFunction(Function):
    """What both broadcast functions have in common."""

    class BaseContext(ABC):
        """What every method can ask. Valid during the call only."""

        @abstractmethod
        def timestamp(self) -> int | None:
            """The timestamp of the record or of the firing timer; None where records have none."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The processing time; it stands still within an epoch."""

        @abstractmethod
        def current_watermark(self) -> int:
            """How far event time has come."""

        @abstractmethod
        def output(self, tag: OutputTag, value: Any) -> None:
            """Sends a record to a side output; the same as `yield tag, value`."""

    class Context(BaseContext):
        """On the broadcast side: broadcast state can be read and written."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState:
            """The broadcast state of that name."""

    class ReadOnlyContext(BaseContext):
        """On the other side: broadcast state can be read."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
            """The broadcast state of that name, to read."""


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """Works on a stream, helped by what came on a broadcast stream.

    Every subtask sees all broadcast records. What `process_broadcast_element` writes must depend on them alone,
    so that the broadcast state stays the same in all subtasks.

    >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
    >>> class Limited(BroadcastProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         if value <= (ctx.get_broadcast_state(limits).get("most") or 10):
    ...             yield value
    ...
    ...     def process_broadcast_element(self, value, ctx):
    ...         ctx.get_broadcast_state(limits).put(*value)
    >>> rules = env.from_collection([("most", 10)]).broadcast(limits)
    >>> list(env.from_collection([7, 70]).connect(rules).process(Limited()).execute_and_collect())
    [7]
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """What `process_broadcast_element` can ask."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """What `process_element` can ask."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """Yields the results for a record of the stream."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: BroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """Yields the results for a broadcast record, and keeps what is needed of it in broadcast state."""


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """Works on a keyed stream, with state and timers by key, helped by what came on a broadcast stream.

    >>> limits = MapStateDescriptor("limits", Types.STRING(), Types.LONG())
    >>> class Often(KeyedBroadcastProcessFunction):
    ...     def open(self, runtime_context):
    ...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
    ...
    ...     def process_element(self, value, ctx):
    ...         self.count.update((self.count.value() or 0) + 1)
    ...         if self.count.value() > (ctx.get_broadcast_state(limits).get("most") or 2):
    ...             yield ctx.get_current_key(), self.count.value()
    ...
    ...     def process_broadcast_element(self, value, ctx):
    ...         ctx.get_broadcast_state(limits).put(*value)
    >>> rules = env.from_collection([("most", 2)]).broadcast(limits)
    >>> words = env.from_collection(["a", "b", "a", "a"]).key_by(lambda word: word)
    >>> list(words.connect(rules).process(Often()).execute_and_collect())
    [('a', 3)]
    """

    class Context(BaseBroadcastProcessFunction.Context):
        """What `process_broadcast_element` can ask."""

        @abstractmethod
        def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]) -> None:
            """Calls `function(key, state)` for every key of this subtask that has something in that state."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext):
        """What `process_element` can ask."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """The time, and timers of the current key."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the record, or of the firing timer."""

    class OnTimerContext(ReadOnlyContext):
        """What `on_timer` can ask."""

        @abstractmethod
        def time_domain(self) -> TimeDomain:
            """Which kind of timer fires."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[OUT] | None:
        """Yields the results for a record of the keyed stream."""

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: KeyedBroadcastProcessFunction.Context) -> Iterable[OUT] | None:
        """Yields the results for a broadcast record, and keeps what is needed of it in broadcast state."""

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterable[OUT] | None:
        """Yields the results of a timer that fires."""
        return None
