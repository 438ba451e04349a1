"""How long a task waits for input: that is no work."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TypeVar

T = TypeVar("T")


class InputWaits:
    """A stopwatch that runs while a task has nothing to work on."""

    def __init__(self) -> None:
        self._seconds = 0.0

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
        while True:
            with self.waiting():
                try:
                    row = next(iterator)
                except StopIteration:
                    return
            yield row

    def take(self) -> float:
        """The seconds since the last call."""
        taken, self._seconds = self._seconds, 0.0
        return taken
