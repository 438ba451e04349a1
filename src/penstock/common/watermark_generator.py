"""How far event time has come: generators look at records and say so with watermarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

MIN_TIMESTAMP = -(1 << 63)
"""No time at all: what an assigner gets for a record that has no timestamp yet."""
MAX_TIMESTAMP = (1 << 63) - 1


@dataclass(frozen=True, order=True)
class Watermark:
    """Says that no record with this timestamp (ms) or an earlier one is expected any more."""

    timestamp: int

    MAX_WATERMARK: ClassVar[Watermark]
    """The end of time: no record at all is expected."""

    def get_timestamp(self) -> int:
        """The time in ms."""
        return self.timestamp


Watermark.MAX_WATERMARK = Watermark(MAX_TIMESTAMP)


class WatermarkOutput(ABC):
    """Where a generator sends its watermarks."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark | int) -> None:
        """Sends a watermark. One that is not above the last is ignored: event time never goes back."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Says that nothing is to be expected for now, so that others need not wait for these records."""

    @abstractmethod
    def mark_active(self) -> None:
        """Takes `mark_idle` back; a new watermark does so too."""


class WatermarkGenerator(ABC):
    """Makes watermarks of the records it sees. One object per source split, or per subtask of an operator.

    Periodic generators emit in `on_periodic_emit`, punctuated ones in `on_event`, right behind the record.

    A generator is saved after every epoch and made anew before the next, on whatever machine that runs. What is saved
    are its attributes: numbers, texts, booleans, None, and lists and dicts (with texts as keys) of those. One that
    holds anything else overrides `snapshot` and `restore`.

    >>> class Punctuated(WatermarkGenerator):
    ...     def on_event(self, event, event_timestamp, output):
    ...         if event["last_of_its_minute"]:
    ...             output.emit_watermark(Watermark(event_timestamp))
    """

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for every record, after it was sent on."""

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called after the records of every epoch, and in silence every `pipeline.auto-watermark-interval`."""
        return

    def snapshot(self) -> Any:
        """What `restore` needs to go on: plain data, as `json` writes it."""
        return dict(vars(self))

    def restore(self, snapshot: Any) -> None:
        """Goes on from what `snapshot` returned; called on a new object."""
        vars(self).update(snapshot)


class BoundedOutOfOrdernessWatermarks(WatermarkGenerator):
    """Behind the highest timestamp so far by a fixed time."""

    def __init__(self, out_of_orderness_ms: int) -> None:
        self._delay = out_of_orderness_ms + 1
        self._highest = MIN_TIMESTAMP + self._delay

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Keeps the highest timestamp."""
        self.on_highest(event_timestamp)

    def on_highest(self, timestamp: int) -> None:
        """The same for many records at once: only the highest timestamp among them matters."""
        self._highest = max(self._highest, timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emits the watermark."""
        output.emit_watermark(self._highest - self._delay)

    def snapshot(self) -> int:
        """The highest timestamp; the bound is the program's to change."""
        return self._highest

    def restore(self, snapshot: int) -> None:
        """The highest timestamp again."""
        self._highest = max(snapshot, MIN_TIMESTAMP + self._delay)


class NoWatermarksGenerator(WatermarkGenerator):
    """Emits nothing."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Nothing."""
