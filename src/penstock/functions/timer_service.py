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
