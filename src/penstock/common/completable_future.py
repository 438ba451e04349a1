"""`CompletableFuture`: an answer that may come later, under PyFlink's name."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")


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
        return self._future.result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Waits; what went wrong, or None."""
        return self._future.exception(timeout)

    def add_done_callback(self, function: Callable[[CompletableFuture[T]], object]) -> None:
        """Calls the function with this future when the answer is there."""
        self._future.add_done_callback(lambda _: function(self))
