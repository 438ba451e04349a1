"""Calls that are tried again."""

from __future__ import annotations

import pytest

from penstock.connectors import retries
from penstock.connectors.retries import retry_transient


class Flaky:
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def __call__(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return "done"


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(retries, "_FIRST_WAIT_SECONDS", 0.0001)


def is_connection_error(error: BaseException) -> bool:
    return isinstance(error, ConnectionError)


def test_a_transient_error_is_told_and_passes():
    told: list[BaseException] = []
    errors = [ConnectionError("1"), ConnectionError("2")]
    call = Flaky(*errors)
    result = retry_transient(call, is_transient=is_connection_error, timeout_seconds=10, before_retry=told.append)
    assert (result, told) == ("done", errors)


def test_another_error_is_raised_at_once():
    call = Flaky(ConnectionError("1"), ValueError("broken"), ConnectionError("never"))
    with pytest.raises(ValueError, match="broken"):
        retry_transient(call, is_transient=is_connection_error, timeout_seconds=10)
    assert len(call.errors) == 1


def test_when_the_time_is_up_the_last_error_is_raised():
    calls: list[int] = []

    def always_fails() -> None:
        calls.append(len(calls))
        raise ConnectionError(str(calls[-1]))

    with pytest.raises(ConnectionError) as error:
        retry_transient(always_fails, is_transient=is_connection_error, timeout_seconds=0.05)
    assert str(error.value) == str(calls[-1])
    assert len(calls) > 1
