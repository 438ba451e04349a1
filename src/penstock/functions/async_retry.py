"""When a call that went wrong is made again: retry strategies, and the predicates they ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from penstock.common.call_site import capture_call_site
from penstock.common.errors import ArgumentError

OUT = TypeVar("OUT")


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """Says which results and which exceptions of a call are a reason to make it again."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """A function that is True for results which are not good enough; None: all are."""

    @abstractmethod
    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """A function that is True for exceptions after which another attempt makes sense; None: there are none."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """Says whether a call is made again, and after how long. One object serves all calls at the same time.

    >>> strategy = AsyncRetryStrategy.fixed_delay(3, 100, None, lambda error: isinstance(error, ConnectionError))
    >>> [strategy.can_retry(attempts) for attempts in (1, 2, 3, 4)]
    [True, True, True, False]
    >>> strategy = AsyncRetryStrategy.exponential_backoff(5, 100, 1000, 3, None, None)
    >>> [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3, 4)]
    [100, 300, 900, 1000]
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether another attempt may follow so many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait after so many attempts, in ms."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """What is a reason for another attempt."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """No call is made again."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[Any]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[Any]:
        """Up to `max_attempts` further attempts, each after the same time."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[Any]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> AsyncRetryStrategy[Any]:
        """Up to `max_attempts` further attempts, each after `multiplier` times the wait before it."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[OUT], Generic[OUT]):
    """A predicate made of two functions, either of which may be None."""

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        for name, predicate in (("result_predicate", result_predicate), ("exception_predicate", exception_predicate)):
            if predicate is not None and not callable(predicate):  # pyright: ignore[reportUnnecessaryComparison]
                raise _refuse(name, predicate, "a function that returns True where to try again, or None")
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """The function for results."""
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """The function for exceptions."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """No call is made again."""

    def can_retry(self, current_attempts: int) -> bool:
        """Never."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """There is no wait."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Nothing is a reason."""
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """Up to `max_attempts` further attempts, each after the same time."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._max_attempts = _positive("max_attempts", max_attempts)
        self._backoff_time_millis = _positive("backoff_time_millis", backoff_time_millis)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """While there were not more attempts than that."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Always the same."""
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """The two functions that were given."""
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """Up to `max_attempts` further attempts, each after `multiplier` times the wait before it."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._max_attempts = _positive("max_attempts", max_attempts)
        self._initial_delay = _positive("initial_delay", initial_delay)
        self._max_retry_delay = _positive("max_retry_delay", max_retry_delay)
        self._multiplier = _positive("multiplier", multiplier)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """While there were not more attempts than that."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """The initial delay, then more and more up to the maximum."""
        # Computed anew each time: a delay kept in `self` would be that of another call of the many under way.
        delay = self._initial_delay
        for _ in range(1, current_attempts):
            delay = int(min(delay * self._multiplier, self._max_retry_delay))
        return delay

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """The two functions that were given."""
        return self._predicate


NO_RETRY_STRATEGY: AsyncRetryStrategy[Any] = NoRetryStrategy()


def empty_result_predicate(result: list[Any] | None) -> bool:
    """True for a call that found nothing.

    >>> empty_result_predicate([]), empty_result_predicate(["x"])
    (True, False)
    """
    return result is None or len(result) == 0


def has_exception_predicate(error: Exception | None) -> bool:
    """True for every exception."""
    return error is not None


def exception_type_predicate(error: Exception, expected_error_type: type[BaseException]) -> bool:
    """True for exceptions of a class; `functools.partial` fixes the class.

    >>> from functools import partial
    >>> partial(exception_type_predicate, expected_error_type=OSError)(TimeoutError())
    True
    """
    return isinstance(error, expected_error_type)


Number = TypeVar("Number", int, float)


def _positive(name: str, value: Number) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _refuse(name, value, "a number greater than 0")
    return value


def _refuse(name: str, value: object, expected: str) -> ArgumentError:
    return ArgumentError(f"`{name}` is {value!r}; expected {expected}\n  at {capture_call_site()}")
