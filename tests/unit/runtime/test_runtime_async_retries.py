"""Calls that are made again."""

from __future__ import annotations

import asyncio
import functools
import time
from collections import Counter
from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.functions import AsyncFunction, AsyncRetryPredicate, AsyncRetryStrategy
from penstock.functions.async_retry import (
    RetryPredicate,
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from penstock.runtime import AsyncOperator
from unit.runtime.operator_harness import ANY, Harness


class Flaky(AsyncFunction[int, Any]):
    """Fails, or finds nothing, as often as the record says; then returns it with the number of the attempt."""

    def __init__(self, error: type[Exception] | None) -> None:
        self.error = error
        self.attempts: Counter[int] = Counter()

    async def async_invoke(self, value: int) -> list[Any]:
        self.attempts[value] += 1
        await asyncio.sleep(0)
        if self.attempts[value] > value:
            return [(value, self.attempts[value])]
        if self.error is not None:
            raise self.error(f"attempt {self.attempts[value]}")
        return []

    def timeout(self, value: int) -> list[Any]:
        return [(value, "timed out")]


class AtOnce(AsyncRetryStrategy[Any]):
    """A user's own strategy: up to `limit` attempts, without waiting."""

    def __init__(self, limit: int, predicate: AsyncRetryPredicate[Any]) -> None:
        self.limit = limit
        self.predicate = predicate
        self.asked: list[int] = []

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts < self.limit

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        self.asked.append(current_attempts)
        return 0

    def get_retry_predicate(self) -> AsyncRetryPredicate[Any]:
        return self.predicate


ON_CONNECTION_ERROR = functools.partial(exception_type_predicate, expected_error_type=ConnectionError)


def run(
    function: AsyncFunction[Any, Any],
    strategy: AsyncRetryStrategy[Any],
    values: list[Any],
    *,
    ordered: bool = True,
    timeout_ms: int = 60_000,
) -> list[Any]:
    harness = Harness(
        lambda: AsyncOperator(
            function, ANY, capacity=3, timeout_ms=timeout_ms, retry_strategy=strategy, ordered=ordered
        )
    )
    try:
        harness.process(values)
        harness.end_epoch()
    finally:
        harness.operator.close()
    return harness.values()


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    ("error", "result_predicate", "exception_predicate"),
    [
        (None, empty_result_predicate, None),
        (ConnectionResetError, None, ON_CONNECTION_ERROR),
        (KeyError, None, has_exception_predicate),
        (KeyError, empty_result_predicate, has_exception_predicate),
    ],
)
def test_a_call_is_made_again_while_the_predicate_says_so(
    error: Any, result_predicate: Any, exception_predicate: Any, ordered: bool
) -> None:
    strategy = AsyncRetryStrategy.fixed_delay(3, 1, result_predicate, exception_predicate)
    results = run(Flaky(error), strategy, [3, 0, 2, 1], ordered=ordered)
    expected = [(3, 4), (0, 1), (2, 3), (1, 2)]
    assert results == expected if ordered else Counter(results) == Counter(expected)


def test_the_last_attempt_decides() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(2, 1, empty_result_predicate, None)
    function = Flaky(None)
    assert run(function, strategy, [9, 1]) == [(1, 2)]  # nothing is found for 9, even the third time
    assert function.attempts == {9: 3, 1: 2}


def test_the_last_exception_fails_the_job() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(2, 1, 2, 2, None, has_exception_predicate)
    with pytest.raises(UserFunctionError, match="attempt 3") as failure:
        run(Flaky(ConnectionError), strategy, [5])
    assert failure.value.report.record == "5"


def test_an_exception_that_the_predicate_does_not_name_fails_the_job_at_once() -> None:
    function = Flaky(KeyError)
    with pytest.raises(UserFunctionError, match="attempt 1"):
        run(function, AsyncRetryStrategy.fixed_delay(5, 1, None, ON_CONNECTION_ERROR), [5])
    assert function.attempts == {5: 1}


def test_a_strategy_of_the_users_own() -> None:
    strategy = AtOnce(3, RetryPredicate(empty_result_predicate, None))
    assert run(Flaky(None), strategy, [2]) == [(2, 3)]
    assert strategy.asked == [1, 2]


def test_a_predicate_that_fails_fails_the_job() -> None:
    with pytest.raises(UserFunctionError, match="ZeroDivisionError") as failure:
        run(Flaky(None), AtOnce(3, RetryPredicate(lambda results: 1 // 0 == 0, None)), [4])
    assert failure.value.report.record == "4"


def test_the_time_out_is_that_of_all_attempts_together() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(1_000_000, 1, empty_result_predicate, None)
    function = Flaky(None)
    assert run(function, strategy, [1_000_000, 1], timeout_ms=40) == [(1_000_000, "timed out"), (1, 2)]
    assert 1 < function.attempts[1_000_000] <= 41


def test_a_wait_between_attempts_ends_with_the_time_out() -> None:
    strategy = AsyncRetryStrategy.fixed_delay(5, 3_600_000, empty_result_predicate, None)
    started = time.monotonic()
    assert run(Flaky(None), strategy, [1], timeout_ms=5) == [(1, "timed out")]
    assert time.monotonic() - started < 60


def test_a_call_that_catches_its_cancellation_is_not_made_again() -> None:
    class Stubborn(Flaky):
        async def async_invoke(self, value: int) -> list[Any]:
            self.attempts[value] += 1
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return []
            return [value]

    function = Stubborn(None)
    strategy = AtOnce(100, RetryPredicate(empty_result_predicate, None))
    assert run(function, strategy, [1], timeout_ms=5) == [(1, "timed out")]
    assert function.attempts == {1: 1}
