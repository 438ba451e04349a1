"""What the tests of windows have in common whose program is another one after a restart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common import Types
from penstock.datastream import DataStream
from penstock.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from penstock.testing import Harness, harness
from penstock.windows import WindowAssigner

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
TEN = TumblingEventTimeWindows.of(10)
SLIDING = SlidingEventTimeWindows.of(10, 5)
LOG: list[Any] = []
"""The records that `logged_sum` was called with."""


def logged_sum(a: Any, b: Any) -> Any:
    LOG.append(b)
    return a[0], a[1] + b[1]


def windows_of_pairs(assigner: WindowAssigner[Any, Any], results: Callable[[Any], DataStream]) -> Harness:
    """What is made of windows over pairs, by the first of each."""
    return harness(lambda pairs: results(pairs.key_by(lambda pair: pair[0], Types.STRING()).window(assigner)), PAIR)


def left_over(test: Harness) -> list[bytes]:
    """What is in the state but descriptions."""
    stored = [key for found in test.snapshot().entries.values() for key, _ in found]
    return [key for key in stored if not key.startswith(b"\x00gate") and key[8:12] != b"\0cat"]
