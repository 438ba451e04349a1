from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import ArgumentError
from penstock.functions import AsyncRetryStrategy
from penstock.functions.async_retry import NO_RETRY_STRATEGY, exception_type_predicate


def test_no_restart_never_retries() -> None:
    strategy = AsyncRetryStrategy.no_restart()
    assert strategy is NO_RETRY_STRATEGY
    assert not strategy.can_retry(1)
    predicate = strategy.get_retry_predicate()
    assert (predicate.result_predicate(), predicate.exception_predicate()) == (None, None)


def test_delays_grow_to_the_maximum_in_whole_milliseconds() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(9, 5, 30, 1.5, None, None)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in range(1, 8)] == [5, 7, 10, 15, 22, 30, 30]


def test_the_delay_of_one_call_is_not_changed_by_another() -> None:
    strategy = AsyncRetryStrategy.exponential_backoff(9, 10, 1000, 2, None, None)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (3, 1, 3, 2, 2)] == [40, 10, 40, 20, 20]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, None, None), "`max_attempts` is 0; expected a number greater than 0"),
        ((True, 5, None, None), "`max_attempts` is True"),
        ((3, "5", None, None), "`backoff_time_millis` is '5'"),
        ((3, 5, "empty", None), "`result_predicate` is 'empty'; expected a function"),
        ((3, 5, None, TimeoutError()), "`exception_predicate` is TimeoutError"),
    ],
)
def test_what_cannot_be_used_is_refused_at_the_users_line(arguments: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as refusal:
        AsyncRetryStrategy.fixed_delay(*arguments)
    assert "test_functions_async_retry.py" in str(refusal.value)


def test_a_multiplier_below_zero_is_refused() -> None:
    with pytest.raises(ArgumentError, match="`multiplier` is -1"):
        AsyncRetryStrategy.exponential_backoff(3, 5, 10, -1, None, None)


def test_exceptions_are_told_by_their_class() -> None:
    assert exception_type_predicate(ConnectionResetError(), OSError)
    assert not exception_type_predicate(KeyError(), OSError)
