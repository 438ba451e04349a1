"""A source function at work: its thread, its lock and the records that wait to be taken."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from penstock.common.by_value import pickled_by_value
from penstock.common.logs import about_the_same, logging_about
from penstock.connectors.source_runtime_context import SourceRuntimeContext
from penstock.functions.source_function import CheckpointedSourceFunction, SourceContext, SourceFunction

_WAITING_RECORDS = 50_000
_STOP_SECONDS = 5


class _SourceStopped(BaseException):
    """Ends a function that goes on emitting after `cancel`. No Exception: code of the program must not eat it."""


@dataclass
class Collected:
    """What a function has emitted since the last time, and its state at this point."""

    values: list[Any]
    timestamps: list[int | None] | None
    watermarks: list[tuple[int, int]]
    """After how many of the values which watermark."""
    state: bytes
    ended: bool
    failure: BaseException | None


@dataclass
class _Waiting:
    values: list[Any] = field(default_factory=list[Any])
    timestamps: list[int | None] = field(default_factory=list["int | None"])
    watermarks: list[tuple[int, int]] = field(default_factory=list["tuple[int, int]"])


class RunningSource(SourceContext):
    """Runs `open`, `run` and `close` of a function in a thread of its own.

    A function that is `limit` records ahead of the job, or ahead of what memory should hold, waits.
    """

    def __init__(self, function: SourceFunction, name: str, limit: int) -> None:
        self.function = function
        self._limit = min(limit, _WAITING_RECORDS)
        self._lock = _CheckpointLock(self)
        self._changed = threading.Condition()
        """Guards what is below; never held while user code runs."""
        self._waiting = _Waiting()
        self._stopped = False
        self._ended = False
        self._failure: BaseException | None = None
        self._name = name
        with logging_about(operator=name):
            run = about_the_same(self._run)
        self._thread = threading.Thread(target=run, name=f"penstock {name}", daemon=True)

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Cancels the function and waits a little for its end; what still waits is dropped."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self.function.cancel()
            self._thread.join(_STOP_SECONDS)

    def take(self, *, wait: bool) -> Collected:
        """All that was emitted so far; with `wait`, once there is much of it, or the function has ended."""
        if wait:
            with self._changed:
                self._changed.wait_for(lambda: self._is_full() or self._ended)
        # Under the user's lock, so that records and state belong together.
        with self._lock.held_by_driver():
            with self._changed:
                waiting, self._waiting = self._waiting, _Waiting()
                ended, failure = self._ended, self._failure
                self._changed.notify_all()
            state = b""
            if failure is None and isinstance(self.function, CheckpointedSourceFunction):
                try:
                    state = pickled_by_value(self.function.snapshot_state())
                except Exception as error:
                    failure = error
        has_times = any(time is not None for time in waiting.timestamps)
        return Collected(
            waiting.values, waiting.timestamps if has_times else None, waiting.watermarks, state, ended, failure
        )

    # --- for the function

    def collect(self, element: Any) -> None:
        """Emits a record."""
        self._add(element, None)

    def collect_with_timestamp(self, element: Any, timestamp: int) -> None:
        """Emits a record with its event time."""
        self._add(element, int(timestamp))

    def emit_watermark(self, watermark: Any) -> None:
        """Remembers a watermark and its place between the records."""
        time = int(getattr(watermark, "timestamp", watermark))
        with self._lock, self._changed:
            self._waiting.watermarks.append((len(self._waiting.values), time))

    def mark_as_temporarily_idle(self) -> None:
        """A source that emits nothing holds nothing back: there is nothing to do."""
        return

    def get_checkpoint_lock(self) -> _CheckpointLock:
        """The lock that the state is asked for under."""
        return self._lock

    def close(self) -> None:
        """Nothing is kept open."""
        return

    def _add(self, element: Any, timestamp: int | None) -> None:
        with self._lock, self._changed:
            if self._stopped:
                raise _SourceStopped
            self._waiting.values.append(element)
            self._waiting.timestamps.append(timestamp)
            if self._is_full():
                self._changed.notify_all()

    def wait_for_room(self) -> None:
        """Called by the lock when the function has let go of it: only then can the driver take records."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_full() or self._stopped)

    def _is_full(self) -> bool:
        return len(self._waiting.values) >= self._limit

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            self.function.open(SourceRuntimeContext(self._name))
            try:
                self.function.run(self)
            finally:
                self.function.close()
        except _SourceStopped:
            pass
        except BaseException as error:
            failure = error
        with self._changed:
            self._failure = None if self._stopped else failure
            self._ended = True
            self._changed.notify_all()


class _CheckpointLock:
    """A lock that one thread may take several times. A function that is too far ahead waits when it lets go of it."""

    def __init__(self, source: RunningSource) -> None:
        self._source = source
        self._lock = threading.RLock()
        self._depth = 0

    def __enter__(self) -> Self:
        self._lock.acquire()
        self._depth += 1
        return self

    def __exit__(
        self, exception_type: type[BaseException] | None, exception: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._depth -= 1
        is_free = self._depth == 0
        self._lock.release()
        if is_free and exception is None:
            self._source.wait_for_room()

    def held_by_driver(self) -> threading.RLock:
        """The lock itself, for the thread that takes records and must not wait for itself."""
        return self._lock
