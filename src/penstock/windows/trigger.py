"""Triggers say when a window is evaluated, and whether its contents are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any, Generic, TypeVar

from penstock.functions.metrics import MetricGroup
from penstock.state.descriptors import StateDescriptor

T_contra = TypeVar("T_contra", contravariant=True)
W_contra = TypeVar("W_contra", contravariant=True)


class TriggerResult(Enum):
    """What happens to a window now."""

    CONTINUE = (False, False)
    """Nothing."""
    FIRE_AND_PURGE = (True, True)
    """The window function is called, then the contents are removed."""
    FIRE = (True, False)
    """The window function is called; the contents stay."""
    PURGE = (False, True)
    """The contents are removed."""

    def is_fire(self) -> bool:
        """Whether the window function is called."""
        return self.value[0]

    def is_purge(self) -> bool:
        """Whether the contents are removed."""
        return self.value[1]


class Trigger(ABC, Generic[T_contra, W_contra]):
    """Decides for each key and window when the window function is called.

    One trigger object serves all keys and windows: what it must remember goes into
    `ctx.get_partitioned_state(...)`, which belongs to the key and the window.
    """

    class TriggerContext(ABC):
        """What a trigger can ask and do. Timers and state belong to the key and the window."""

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
        def register_processing_time_timer(self, time: int) -> None:
            """Asks for a call of `on_processing_time`."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Asks for a call of `on_event_time`."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None:
            """Takes a timer back."""

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None:
            """Takes a timer back."""

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """State of this key and window."""

    class OnMergeContext(TriggerContext):
        """What a trigger can do besides when windows merge."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Moves what the merged windows have in a state to the new window: lists, reduced and aggregated values."""

    @abstractmethod
    def on_element(
        self, element: T_contra, timestamp: int, window: W_contra, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        """A record has been added to the window."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W_contra, ctx: Trigger.TriggerContext) -> TriggerResult:
        """A processing-time timer of the window fires."""

    @abstractmethod
    def on_event_time(self, time: int, window: W_contra, ctx: Trigger.TriggerContext) -> TriggerResult:
        """An event-time timer of the window fires."""

    def can_merge(self) -> bool:
        """Whether the trigger works with windows that merge; it must then implement `on_merge`."""
        return False

    def on_merge(self, window: W_contra, ctx: Trigger.OnMergeContext) -> None:
        """Several windows have become this one."""
        raise NotImplementedError(f"{type(self).__name__} does not support windows that merge")

    @abstractmethod
    def clear(self, window: W_contra, ctx: Trigger.TriggerContext) -> None:
        """The window goes away: take back timers and clear state."""
