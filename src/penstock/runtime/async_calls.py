"""Calls of an asynchronous function that are under way: capacity, order, time-outs and retries."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.functions.async_function import AsyncFunction
from penstock.functions.async_retry import AsyncRetryStrategy
from penstock.runtime.event_loop_thread import EventLoopThread

READY_AT_ONCE = 1_000
"""With so many results at hand, the operator sends them on while other calls are still under way."""

_STOP_SECONDS = 5.0


class Call:
    """The call for one record."""

    __slots__ = ("key", "results", "task", "timer", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int | None, key: bytes | None) -> None:
        self.value = value
        self.timestamp = timestamp
        self.key = key
        self.results: list[Any] | None = None
        self.task: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None


class CallFailure(Exception):
    """A call raised."""

    def __init__(self, call: Call, error: BaseException) -> None:
        super().__init__("an asynchronous call failed")
        self.call = call
        self.error = error


class AsyncCalls:
    """Makes calls on an event loop, at most `capacity` at a time, and hands out what they return.

    The operator's thread submits calls by the batch and waits for many results at once; all else happens in the
    loop's thread. Between the two there is one lock.
    """

    def __init__(
        self,
        function: AsyncFunction[Any, Any],
        *,
        name: str,
        capacity: int,
        timeout_ms: int,
        retry_strategy: AsyncRetryStrategy[Any],
        ordered: bool,
    ) -> None:
        self._function = function
        self._invoke = function.async_invoke
        self._capacity = capacity
        self._timeout_seconds = timeout_ms / 1000
        self._strategy = retry_strategy
        predicate = retry_strategy.get_retry_predicate()
        self._retries_result = predicate.result_predicate()
        self._retries_exception = predicate.exception_predicate()
        self._ordered = ordered
        # Used in the loop's thread alone:
        self._waiting: deque[Call] = deque()
        self._running: set[Call] = set()
        self._in_order: deque[Call] = deque()
        # Shared, under the lock of the condition:
        self._changed = threading.Condition()
        self._ready: list[Call] = []
        self._not_ready = 0
        self._awaited = -1
        self._failure: CallFailure | None = None
        self._has_ended = False
        self._thread = EventLoopThread(name, self._loop_ended)

    def submit(self, calls: list[Call]) -> None:
        """Takes calls to be made as soon as there is room."""
        with self._changed:
            self._not_ready += len(calls)
            self._raise_failure()
        self._thread.call(self._accept, calls)

    def ready(self, until_at_most: int) -> Iterator[list[Call]]:
        """Yields finished calls, waiting until at most so many are not finished (or not next in order)."""
        is_reached = False
        while not is_reached:
            with self._changed:
                self._awaited = until_at_most
                self._changed.wait_for(self._can_go_on)
                self._awaited = -1
                self._raise_failure()
                is_reached = self._not_ready <= until_at_most
                calls, self._ready = self._ready, []
            yield calls

    def stop(self) -> None:
        """Ends the loop; calls under way are cancelled. Returns at once."""
        self._thread.stop()

    def join(self) -> None:
        """Waits a moment until the loop has ended."""
        self._thread.join(_STOP_SECONDS)

    def _can_go_on(self) -> bool:
        return (
            self._not_ready <= self._awaited
            or len(self._ready) >= READY_AT_ONCE
            or self._failure is not None
            or self._has_ended
        )

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._has_ended:
            raise RuntimeError(
                "the event loop of an asynchronous function has ended; the function, or something it started, "
                "stopped it or raised SystemExit"
            )

    # --- in the loop's thread

    def _accept(self, calls: list[Call]) -> None:
        if self._failure is None:
            self._waiting.extend(calls)
            if self._ordered:
                self._in_order.extend(calls)
            self._start_waiting()

    def _start_waiting(self) -> None:
        loop = self._thread.loop
        while self._waiting and len(self._running) < self._capacity:
            call = self._waiting.popleft()
            self._running.add(call)
            if self._timeout_seconds:
                call.timer = loop.call_later(self._timeout_seconds, self._time_out, call)
            call.task = loop.create_task(self._attempts(call))

    async def _attempts(self, call: Call) -> None:
        attempt = 1
        try:
            while True:
                try:
                    results = await self._invoke(call.value)
                except Exception as error:
                    if not self._is_retried(self._retries_exception, error, attempt):
                        raise
                else:
                    if results is None or not self._is_retried(self._retries_result, results, attempt):  # pyright: ignore[reportUnnecessaryComparison]
                        self._finish(call, results, "async_invoke")
                        return
                if call not in self._running:
                    return  # it has timed out, and caught its cancellation
                await asyncio.sleep(self._strategy.get_backoff_time_millis(attempt) / 1000)
                attempt += 1
        except BaseException as error:
            self._fail(call, error)

    def _is_retried(self, predicate: Callable[[Any], bool] | None, outcome: Any, attempt: int) -> bool:
        return predicate is not None and predicate(outcome) and self._strategy.can_retry(attempt)

    def _time_out(self, call: Call) -> None:
        try:
            self._finish(call, self._function.timeout(call.value), "timeout")
        except Exception as error:
            self._fail(call, error)
        if call.task is not None:
            call.task.cancel()

    def _finish(self, call: Call, results: Iterable[Any] | None, method: str) -> None:
        if call not in self._running:
            return  # it has timed out before
        if not isinstance(results, Iterable):
            raise TypeError(
                f"{type(self._function).__name__}.{method} returned {results!r} ({type(results).__name__}); "
                "expected a list of results, which may be empty"
            )
        call.results = results if isinstance(results, list) else list(results)
        self._settle(call)
        with self._changed:
            before = len(self._ready)
            if self._ordered:
                in_order = self._in_order
                while in_order and in_order[0].results is not None:
                    self._ready.append(in_order.popleft())
            else:
                self._ready.append(call)
            self._not_ready -= len(self._ready) - before
            if self._can_go_on():
                self._changed.notify()
        self._start_waiting()

    def _fail(self, call: Call, error: BaseException) -> None:
        """The first failure ends all: what else is under way is cancelled, what waits is dropped."""
        if call not in self._running:
            return
        self._settle(call)
        for other in list(self._running):
            self._settle(other)
            if other.task is not None:
                other.task.cancel()
        self._waiting.clear()
        with self._changed:
            self._failure = CallFailure(call, error)
            self._changed.notify()

    def _settle(self, call: Call) -> None:
        self._running.discard(call)
        if call.timer is not None:
            call.timer.cancel()

    def _loop_ended(self) -> None:
        for call in list(self._running):
            self._settle(call)
        self._waiting.clear()
        with self._changed:
            self._has_ended = True
            self._changed.notify()
