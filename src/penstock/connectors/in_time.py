"""Calls into libraries that may wait for ever, whatever they are told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


def in_time(call: Callable[[], T], seconds: float, what: str) -> T:
    """What the call returns, or raises; `TimeoutError` when it takes longer.

    Then the call is left to itself, in a thread that nobody waits for: what it does late must be harmless.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as problem:
            done.set_exception(problem)

    threading.Thread(target=run, name=f"penstock-{what.replace(' ', '-')}", daemon=True).start()
    try:
        return done.result(seconds)
    except TimeoutError:
        if done.done():
            raise
        raise TimeoutError(f"{what}: no answer came within {seconds:g} s") from None
