from __future__ import annotations

from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.common.typeinfo import Types
from penstock.runtime.keyed_reduce import KeyedReduceOperator
from penstock.runtime.operator import MAX_WATERMARK
from unit.runtime.operator_harness import ANY, Harness


def add(first: tuple[str, int], second: tuple[str, int]) -> tuple[str, int]:
    return first[0], first[1] + second[1]


def key(record: tuple[str, int]) -> str:
    return record[0]


def reducing(function: Any = add, *, restarts: bool = False) -> Harness:
    value_type = Types.TUPLE([Types.STRING(), Types.LONG()])
    return Harness(lambda: KeyedReduceOperator(function, value_type, ANY), restarts=restarts)


@pytest.mark.parametrize("restarts", [False, True])
def test_the_combination_so_far_follows_every_record(restarts: bool) -> None:
    harness = reducing(restarts=restarts)
    harness.process([("a", 1), ("b", 5), ("a", 2)], key=key)
    harness.process([("a", 4), ("b", 1)], key=key, timestamps=[7, None])
    assert [value for _, value, _ in harness.output.sent] == [("a", 1), ("b", 5), ("a", 3), ("a", 7), ("b", 6)]
    assert [timestamp for _, _, timestamp in harness.output.sent] == [None, None, None, 7, None]


def test_batch_execution_sends_one_result_when_a_key_ends() -> None:
    harness = reducing()
    harness.context.batch = True
    for records in ([("a", 1), ("a", 2)], [("b", 5)]):
        harness.process(records, key=key)
        sent_before = len(harness.output.sent)
        harness.operator.end_key()
        assert len(harness.output.sent) == sent_before + 1
    assert harness.output.sent == [(None, ("a", 3), MAX_WATERMARK), (None, ("b", 5), MAX_WATERMARK)]


def test_a_failure_names_the_record_and_the_key() -> None:
    harness = reducing(lambda first, second: first[1] / second[1])
    harness.process([("a", 1)], key=key)
    with pytest.raises(UserFunctionError, match=r"ZeroDivisionError(.|\n)*'a'(.|\n)*\('a', 0\)"):
        harness.process([("b", 1), ("a", 0)], key=key)
