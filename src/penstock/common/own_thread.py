"""Calls in threads of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from penstock.common.logs import about_the_same

T = TypeVar("T")


def in_own_thread(call: Callable[[], T], name: str) -> Future[T]:
    """What the call will return or raise. A call that nobody waits for any more goes on until the program ends."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as problem:
            done.set_exception(problem)

    threading.Thread(target=about_the_same(run), name=name, daemon=True).start()
    return done
