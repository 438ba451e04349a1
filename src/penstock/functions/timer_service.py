"""Time and timers as user functions see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum


class TimeDomain(Enum):
    """Whether a timer follows the time in the records or the clock."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class TimerService(ABC):
    """Tells the time and keeps timers. Timers belong to the current key; one per key, domain and timestamp.

    All times are in milliseconds since the epoch of Unix.

    >>> class Reminder(KeyedProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         ctx.timer_service().register_event_time_timer(value[1] + 5)
    ...
    ...     def on_timer(self, timestamp, ctx):
    ...         yield f"{ctx.get_current_key()} at {timestamp}"
    >>> list(env.from_collection([("a", 10)]).key_by(0).process(Reminder()).execute_and_collect())
    ['a at 15']
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """The processing time; it stands still within an epoch."""

    @abstractmethod
    def current_watermark(self) -> int:
        """How far event time has come: no record with a timestamp up to this one is expected any more."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """Asks for a call of `on_timer` when the clock has reached `timestamp`."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """Asks for a call of `on_timer` when the watermark has reached `timestamp`."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Takes a timer of the current key back; nothing happens when there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Takes a timer of the current key back; nothing happens when there is none."""
