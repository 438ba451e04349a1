"""Comparing streams."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.testing import assert_stream_equal


def message_of(actual: Any, expected: Any, **how: Any) -> str:
    with pytest.raises(AssertionError) as caught:
        assert_stream_equal(actual, expected, **how)
    return str(caught.value)


@pytest.mark.parametrize("value", [("a", 1), ["a", 1], {"a": 1}], ids=["tuple", "list", "dict"])
def test_the_order_matters_only_if_asked_for(value: Any) -> None:
    assert_stream_equal(iter([value, 2, value]), [2, value, value])
    assert_stream_equal([value, 2], [value, 2], ordered=True)
    message = message_of([value, 2], [2, value], ordered=True)
    assert message.endswith(f"in another order: at place 0\n    got:      {value!r}\n    expected: 2")


@pytest.mark.parametrize("value", [("a", 1), ["a", 1]], ids=["hashable", "unhashable"])
def test_records_are_counted(value: Any) -> None:
    assert message_of([value, value, 3], [value, 2]) == (
        f"the stream is not as expected (3 records, expected 2)\n  missing:\n    2\n  unexpected:\n    {value!r}\n    3"
    )


def test_the_order_of_each_key() -> None:
    expected = [("a", 1), ("b", 1), ("a", 2)]
    assert_stream_equal([("b", 1), ("a", 1), ("a", 2)], expected, key=lambda v: v[0])
    message = message_of([("b", 1), ("a", 2), ("a", 1)], expected, key=lambda v: v[0])
    assert "in another order, of the key 'a': at place 0" in message
    assert "'b'" not in message


def test_many_differences_are_cut() -> None:
    assert "... and 80 more" in message_of(range(100), [])
