"""Processing time for tests: it passes without anybody waiting."""

from __future__ import annotations

import threading

from penstock.common.clock import Clock
from penstock.common.configuration import Configuration
from penstock.common.errors import ArgumentError
from penstock.common.time import DurationLike, parse_duration
from penstock.datastream import StreamExecutionEnvironment


class VirtualClock(Clock):
    """Stands still while a job has something to do, and jumps when the job would wait.

    So a timer in an hour, a pause of a day, a restart delay take no time, and every run sees the same times.
    """

    def __init__(self, start: int = 0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> int:
        """Milliseconds since 1970-01-01T00:00Z."""
        return self._now

    def advance(self, duration: DurationLike) -> None:
        """Sets the clock forward."""
        with self._lock:
            self._now += parse_duration(duration)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Sets the clock forward by what was to be waited."""
        if not event.is_set():
            self.advance(max(1, round(seconds * 1000)))
        return event.is_set()


def local_environment(
    configuration: Configuration | None = None, *, clock: Clock | None = None, parallelism: int = 1
) -> StreamExecutionEnvironment:
    """An environment on the local engine with a clock of its own.

    Without a clock it has a `VirtualClock` that begins at 0.

    >>> env = local_environment()
    >>> list(env.from_collection([1, 2]).map(lambda number: number + 1).execute_and_collect())
    [2, 3]
    """
    if clock is not None and not isinstance(clock, Clock):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(f"local_environment: clock is {clock!r}; expected a VirtualClock or None")
    options = Configuration(configuration)
    options.set_string("execution.engine", "local")
    return StreamExecutionEnvironment(options, clock=clock or VirtualClock()).set_parallelism(parallelism)
