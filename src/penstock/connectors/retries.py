"""Calls to other systems that may fail for a while: tried again, with back-off, within a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

T = TypeVar("T")

_FIRST_WAIT_SECONDS = 0.1
_LONGEST_WAIT_SECONDS = 5.0


def retry_transient(
    call: Callable[[], T],
    *,
    is_transient: Callable[[BaseException], bool],
    timeout_seconds: float,
    before_retry: Callable[[BaseException], None] | None = None,
) -> T:
    """Calls until it works, or raises an error that is not transient, or the time is up; then raises the last error.

    `before_retry` is called with the error before the wait, to log it or to drop a broken connection. The waits grow
    from about 0.1 s to 5 s and are random, so that many subtasks do not come back at the same moment.
    """

    def tell(state: RetryCallState) -> None:
        error = None if state.outcome is None else state.outcome.exception()
        if before_retry is not None and error is not None:
            before_retry(error)

    retrying = Retrying(
        retry=retry_if_exception(is_transient),
        stop=stop_after_delay(timeout_seconds),
        wait=wait_random_exponential(_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS),
        before_sleep=tell,
        reraise=True,
    )
    return retrying(call)
