"""How long a task waits for input: that is no work."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


class InputWaits:
    """A stopwatch that runs while a task has nothing to work on."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._began = self._ended = math.inf

    @contextmanager
    def waiting(self) -> Generator[None]:
        """The task waits for as long as the block takes."""
        started = perf_counter()
        yield
        self._seconds += perf_counter() - started

    def add(self, seconds: float) -> None:
        """The task has waited so long, as others have found."""
        self._seconds += seconds

    def before_each(self, rows: Iterable[T]) -> Iterator[T]:
        """The rows; the time until the next one is there, and until there are no more, is a wait."""
        iterator = iter(rows)
        self._began = perf_counter()
        while True:
            with self.waiting():
                try:
                    row = next(iterator)
                except StopIteration:
                    self._ended = perf_counter()
                    return
            yield row

    def among_rows(self, started: float, finished: float) -> float:
        """How many seconds of a time were between the wait for the first row and the end of the last one."""
        return max(0.0, min(finished, self._ended) - max(started, self._began))

    def take(self) -> float:
        """The seconds since the last call."""
        taken, self._seconds = self._seconds, 0.0
        return taken
