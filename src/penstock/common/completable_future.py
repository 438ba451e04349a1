"""`CompletableFuture`: an answer that may come later, under PyFlink's name."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_LOOK_UP_SECONDS = 0.2
"""A signal that comes just before Python begins to wait is not noticed until it stops: Ctrl-C would be lost."""


class CompletableFuture(Generic[T]):
    """Wraps a `concurrent.futures.Future`."""

    def __init__(self, future: Future[T]) -> None:
        self._future = future

    @staticmethod
    def completed(value: Any) -> CompletableFuture[Any]:
        """A future whose answer is there."""
        future: Future[Any] = Future()
        future.set_result(value)
        return CompletableFuture(future)

    def done(self) -> bool:
        """Whether the answer is there."""
        return self._future.done()

    def cancel(self) -> bool:
        """Gives up waiting, unless the answer is there or on its way; tells whether it did."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Whether it was cancelled before it ended."""
        return self._future.cancelled()

    def result(self, timeout: float | None = None) -> T:
        """Waits for the answer; raises what went wrong."""
        self._wait(timeout)
        return self._future.result(0)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits; what went wrong, or None."""
        self._wait(timeout)
        return self._future.exception(0)

    def add_done_callback(self, function: Callable[[CompletableFuture[T]], object]) -> None:
        """Calls the function with this future when the answer is there."""
        self._future.add_done_callback(lambda _: function(self))

    def _wait(self, timeout: float | None) -> None:
        end = None if timeout is None else time.monotonic() + timeout
        while not self._future.done():
            left = _LOOK_UP_SECONDS if end is None else min(_LOOK_UP_SECONDS, end - time.monotonic())
            if left <= 0:
                return
            with suppress(TimeoutError, CancelledError):
                self._future.exception(left)
