from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from penstock.functions.lost_results import telling_lost_results


def mixed(value: int, ctx: Any = None) -> Any:
    if value > 1:
        return [value]
    yield value


def left_early(value: int) -> Any:
    if value > 1:
        return []
    yield value


def only_yields(value: int) -> Iterator[int]:
    if value > 1:
        return
    yield value


class Object:
    def process_element(self, value: int, ctx: Any) -> Any:
        yield from mixed(value)
        return value


def test_what_a_generator_returns_is_told_once(penstock_log: pytest.LogCaptureFixture) -> None:
    told = telling_lost_results(mixed)
    assert [list(told(value)) for value in (1, 2, 3)] == [[1], [], []]
    (line,) = penstock_log.messages
    assert line.startswith(f"mixed ({__file__}:")
    assert "such as [2]: yield it" in line


def test_methods_are_told_of_too(penstock_log: pytest.LogCaptureFixture) -> None:
    assert list(telling_lost_results(Object().process_element)(1, None)) == [1]
    assert "Object.process_element" in penstock_log.text


def test_to_leave_early_is_no_mistake(penstock_log: pytest.LogCaptureFixture) -> None:
    assert list(telling_lost_results(left_early)(2)) == []
    assert penstock_log.messages == []


@pytest.mark.parametrize("function", [only_yields, partial(mixed, ctx=1), lambda value: [value], str])
def test_other_functions_are_what_they_were(function: Any) -> None:
    assert telling_lost_results(function) is function
