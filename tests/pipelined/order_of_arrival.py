"""What of a result does not depend on the order in which the records of several channels arrive.

In epochs that order is always the same; in pipelined mode, as in Flink, it is as it happens to be. Most programs of
`conformance.operators` give the same results all the same. Those of the others are taken apart here, into facts that
are the same in any order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from conformance.operator_inputs import OTHERS

Facts = Callable[[Any], Iterable[Any]]

_RULES_SO_FAR = [sorted(dict(OTHERS[:count]).items()) for count in range(len(OTHERS) + 1)]


def contents(result: Any) -> Iterable[Any]:
    """Of what a window holds: the elements, in any order."""
    key, window, elements, firings = result
    return [(key, window, sorted(elements), firings)]


def evicted(result: Any) -> Iterable[Any]:
    """The newest element is another one."""
    key, window, elements, firings = result
    return [(key, window, len(elements), firings)]


def newest_of_all(result: Any) -> Iterable[Any]:
    """The reduce function keeps the newest."""
    return ["." if result[0] == "." else result]


def counted(result: Any) -> Iterable[Any]:
    """The records of a key are numbered in another order."""
    (key, number), count = result
    return [(key, number), (number % 3, count)]


def counted_of_both(result: Any) -> Iterable[Any]:
    """The records of both inputs are numbered together; those of the first come twice."""
    key, count = result
    return [(key, "first" if count > 0 else "second")]


def matched(result: Any) -> Iterable[Any]:
    """The same, with timers that know how many there were."""
    if result[0] == "timer":
        return [result]
    (key, number), count = result
    return [(key, number), (key, "is", count)]


def ruled(result: Any) -> Iterable[Any]:
    """Records meet the rules that have come so far: those, and no others."""
    *facts, rules = result
    return [(*facts, "ruled" if rules in _RULES_SO_FAR else rules)]


def seen(result: Any) -> Iterable[Any]:
    """Which records are too late depends on when the watermarks of all channels come: each is in a window, or late."""
    return [result[1][1]] if result[0] == "late" else result[2]


def fired(result: Any) -> Iterable[Any]:
    """So does what a timer finds in the state."""
    key, timestamp, _ = result
    return [(key, timestamp)]


FACTS: dict[str, Facts] = {
    "two keyed operators": counted,
    "connect, keyed flat_map": counted_of_both,
    "connect, keyed process": matched,
    "broadcast process": ruled,
    "keyed broadcast process": ruled,
    "event-time timers": fired,
    "tumbling windows": contents,
    "sliding windows": contents,
    "cumulative windows": contents,
    "session windows": contents,
    "late records": seen,
    "evictor": evicted,
    "windows of all records": newest_of_all,
}


class FactsOf:
    """A function for `flat_map`."""

    def __init__(self, operator: str) -> None:
        self._facts = FACTS.get(operator, lambda result: [result])

    def __call__(self, result: Any) -> Iterable[Any]:
        return self._facts(result)
