"""Compares what a stream gave with what it should have given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

_SHOWN = 20


def assert_stream_equal(
    actual: Iterable[Any],
    expected: Iterable[Any],
    *,
    ordered: bool = False,
    key: Callable[[Any], Any] | None = None,
) -> None:
    """Raises an `AssertionError` that says what is missing, what is unexpected and what is in another place.

    Without `ordered` the order does not matter, for a job with many subtasks has none; with `key` it matters among the
    records of the same key.

    >>> assert_stream_equal(iter([("a", 2), ("b", 1)]), [("b", 1), ("a", 2)])
    >>> assert_stream_equal([1, 3], [1, 2])
    Traceback (most recent call last):
    AssertionError: the stream is not as expected (2 records, expected 2)
      missing:
        2
      unexpected:
        3
    """
    __tracebackhide__ = True
    difference = stream_difference(list(actual), list(expected), ordered=ordered, key=key)
    if difference is not None:
        raise AssertionError(f"the stream is not as expected {difference}")


def stream_difference(
    actual: Sequence[Any], expected: Sequence[Any], *, ordered: bool = False, key: Callable[[Any], Any] | None = None
) -> str | None:
    """What is different, for a message; None where nothing is."""
    lines = [f"({len(actual)} records, expected {len(expected)})"]
    missing, unexpected = _left_over(expected, actual), _left_over(actual, expected)
    if missing or unexpected:
        lines += _listed("missing", missing) + _listed("unexpected", unexpected)
    elif ordered:
        lines += _first_difference("in another order", actual, expected)
    elif key is not None:
        for each, of_actual, of_expected in _by_key(actual, expected, key):
            lines += _first_difference(f"in another order, of the key {each!r}", of_actual, of_expected)
    return "\n".join(lines) if len(lines) > 1 else None


def _left_over(records: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """The records that are in the first more often than in the second."""
    try:
        counted = Counter(others)
        return [record for record in records if not _take(counted, record)]
    except TypeError:
        # Some cannot be hashed.
        waiting = list(others)
        left: list[Any] = []
        for record in records:
            waiting.remove(record) if record in waiting else left.append(record)
        return left


def _take(counted: Counter[Any], record: Hashable) -> bool:
    if counted[record] <= 0:
        return False
    counted[record] -= 1
    return True


def _by_key(
    actual: Sequence[Any], expected: Sequence[Any], key: Callable[[Any], Any]
) -> list[tuple[Any, list[Any], list[Any]]]:
    keys: list[Any] = []
    for record in expected:
        if (found := key(record)) not in keys:
            keys.append(found)
    return [
        (each, [record for record in actual if key(record) == each], [r for r in expected if key(r) == each])
        for each in keys
    ]


def _first_difference(title: str, actual: Sequence[Any], expected: Sequence[Any]) -> list[str]:
    for place, (got, wanted) in enumerate(zip(actual, expected, strict=True)):
        if got != wanted:
            return [f"  {title}: at place {place}", f"    got:      {got!r}", f"    expected: {wanted!r}"]
    return []


def _listed(title: str, records: Sequence[Any]) -> list[str]:
    if not records:
        return []
    lines = [f"  {title}:", *(f"    {record!r}" for record in records[:_SHOWN])]
    return lines if len(records) <= _SHOWN else [*lines, f"    ... and {len(records) - _SHOWN} more"]
