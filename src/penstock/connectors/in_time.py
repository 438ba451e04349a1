"""Calls into libraries that may wait for ever, whatever they are told."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from penstock.common.own_thread import in_own_thread

T = TypeVar("T")


def in_time(call: Callable[[], T], seconds: float, what: str) -> T:
    """What the call returns, or raises; `TimeoutError` when it takes longer.

    Then the call is left to itself, in a thread that nobody waits for: what it does late must be harmless.
    """
    done = in_own_thread(call, f"penstock-{what.replace(' ', '-')}")
    try:
        return done.result(seconds)
    except TimeoutError:
        if done.done():
            raise
        raise TimeoutError(f"{what}: no answer came within {seconds:g} s") from None
