"""Timer services of keyed operators, and of those that have no key to set a timer for."""

from __future__ import annotations

from penstock.common.errors import StateError
from penstock.functions.timer_service import TimeDomain, TimerService
from penstock.runtime.operator import MAX_WATERMARK, Operator, OperatorContext
from penstock.runtime.timers import TimerQueue
from penstock.state.keyed import KeyedStateBackend


class UnkeyedTimerService(TimerService):
    """Tells the time; refuses timers."""

    def __init__(self, operator: Operator, context: OperatorContext) -> None:
        self._operator = operator
        self._context = context

    def current_processing_time(self) -> int:
        """The processing time of the epoch."""
        return self._context.processing_time

    def current_watermark(self) -> int:
        """How far event time has come."""
        return self._operator.current_watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Refused: there is no key."""
        raise self._refusal()

    def register_event_time_timer(self, timestamp: int) -> None:
        """Refused: there is no key."""
        raise self._refusal()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Refused: there is no key."""
        raise self._refusal()

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Refused: there is no key."""
        raise self._refusal()

    def _refusal(self) -> StateError:
        return StateError(
            f"operator '{self._context.name}' uses a timer, but timers belong to keys and its input is not "
            "keyed; put key_by(...) before it"
        )


class KeyedTimerService(TimerService):
    """Tells the time and keeps the timers of all keys of a subtask; `state` knows the current key."""

    def __init__(self, operator: Operator, context: OperatorContext, state: KeyedStateBackend) -> None:
        self._operator = operator
        self._context = context
        self._state = state
        self.event_time, self.processing_time = (
            TimerQueue(context.store, context.uid, domain, context.max_parallelism)
            for domain in (TimeDomain.EVENT_TIME, TimeDomain.PROCESSING_TIME)
        )

    def current_processing_time(self) -> int:
        """The processing time of the epoch."""
        return self._context.processing_time

    def current_watermark(self) -> int:
        """How far event time has come."""
        return self._operator.current_watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Sets a timer of the current key; in batch execution not when the key has ended, as in Flink."""
        if not self._key_has_ended():
            self.processing_time.register(timestamp, self._current_key())

    def register_event_time_timer(self, timestamp: int) -> None:
        """Sets a timer of the current key; in batch execution not when the key has ended, as in Flink."""
        if not self._key_has_ended():
            self.event_time.register(timestamp, self._current_key())

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Takes a timer of the current key back."""
        self.processing_time.delete(timestamp, self._current_key())

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Takes a timer of the current key back."""
        self.event_time.delete(timestamp, self._current_key())

    def flush(self) -> None:
        """Writes changes to the store."""
        self.event_time.flush()
        self.processing_time.flush()

    def drop_caches(self) -> None:
        """Forgets what was read from the store."""
        self.event_time.drop_caches()
        self.processing_time.drop_caches()

    def _key_has_ended(self) -> bool:
        """All timers fire at the end of a key, whatever their time: new ones could go on for ever."""
        return self._context.batch and self._operator.current_watermark == MAX_WATERMARK

    def _current_key(self) -> bytes:
        key = self._state.current_key
        if key is None:
            raise StateError(
                f"operator '{self._context.name}' uses a timer where there is no current key; timers can be "
                "used while a keyed record is processed or a timer fires"
            )
        return key
