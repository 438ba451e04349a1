"""Waiting for an answer: what comes back, and that a signal ends it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future

import pytest

from penstock.common.completable_future import CompletableFuture


class Interrupted(Exception):
    """What the signal raises."""


@pytest.fixture
def interrupting() -> Iterator[signal.Signals]:
    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    yield signal.SIGUSR1
    signal.signal(signal.SIGUSR1, before)


def test_a_signal_that_does_not_wake_the_main_thread_ends_its_waiting(interrupting):
    """As where it comes just before the thread begins to wait: another one takes it, and this one sleeps on."""
    future: Future[int] = Future()
    other = threading.Timer(0.3, lambda: signal.pthread_kill(threading.get_ident(), interrupting))
    too_late = threading.Timer(10, future.set_result, [7])
    for timer in (other, too_late):
        timer.start()
    with pytest.raises(Interrupted):
        CompletableFuture(future).result()
    assert not future.done()
    too_late.cancel()


def test_the_answer_of_another_thread_is_waited_for():
    future: Future[int] = Future()
    answer = threading.Timer(0.5, future.set_result, [7])
    answer.start()
    assert CompletableFuture(future).result() == 7
    assert CompletableFuture(future).exception() is None


@pytest.mark.parametrize("timeout", [0, 0.01])
def test_an_answer_that_does_not_come_in_time_is_a_timeout(timeout):
    with pytest.raises(TimeoutError):
        CompletableFuture(Future()).result(timeout)


def test_a_failure_that_is_a_timeout_itself_is_raised_as_it_is():
    future: Future[int] = Future()
    future.set_exception(TimeoutError("the database"))
    with pytest.raises(TimeoutError, match="the database"):
        CompletableFuture(future).result()
    assert isinstance(CompletableFuture(future).exception(), TimeoutError)


def test_a_future_that_was_given_up_says_so():
    waiting: CompletableFuture[int] = CompletableFuture(Future())
    assert waiting.cancel()
    with pytest.raises(CancelledError):
        waiting.result()
