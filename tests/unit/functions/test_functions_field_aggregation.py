"""Aggregations over a field leave the records they were given as they are."""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import Any, NamedTuple

import cloudpickle
import pytest

from penstock.common import Row
from penstock.common.slot_rows import rows_of_columns
from penstock.functions.field_aggregation import FieldAggregation, FieldReduceFunction


class Pair(NamedTuple):
    name: str
    amount: int


@dataclass
class Item:
    name: str
    amount: int


@pytest.mark.parametrize(
    ("first", "second", "field", "expected"),
    [
        (("a", 2), ("b", 5), 1, ("a", 7)),
        (["a", 2], ["b", 5], 1, ["a", 7]),
        (Pair("a", 2), Pair("b", 5), 1, Pair("a", 7)),
        (Pair("a", 2), Pair("b", 5), "amount", Pair("a", 7)),
        (Item("a", 2), Item("b", 5), "amount", Item("a", 7)),
        (("a", 2), ("b", 5), -1, ("a", 7)),
        (*rows_of_columns(("name", "amount"), [["a", "b"], [2, 5]]), "amount", Row(name="a", amount=7)),
        (*rows_of_columns(("name", "amount"), [["a"], [2]]), Row(name="b", amount=5), 1, Row(name="a", amount=7)),
        (Row("a", 2), Row("b", 5), 1, Row("a", 7)),
        (Row(name="a", amount=2), Row(name="b", amount=5), "amount", Row(name="a", amount=7)),
        ({"name": "a", "amount": 2}, {"name": "b", "amount": 5}, "amount", {"name": "a", "amount": 7}),
        (2, 5, None, 7),
        (2, 5, 0, 7),
    ],
    ids=str,
)
def test_a_sum_makes_a_new_record(first: Any, second: Any, field: Any, expected: Any) -> None:
    before = copy.deepcopy((first, second))
    result = FieldReduceFunction(FieldAggregation.SUM, field).reduce(first, second)
    assert (type(result), result) == (type(first), expected)
    assert (first, second) == before


def test_an_aggregation_that_has_worked_can_be_sent() -> None:
    function = FieldReduceFunction(FieldAggregation.SUM, "v")
    first, second = rows_of_columns(("k", "v"), [[1, 1], [2, 3]])
    assert function.reduce(first, second).v == 5
    assert pickle.loads(cloudpickle.dumps(function)).reduce(first, second).v == 5


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        (FieldAggregation.MIN, ("a", 2)),
        (FieldAggregation.MAX, ("a", 5)),
        (FieldAggregation.MIN_BY, ("a", 2)),
        (FieldAggregation.MAX_BY, ("b", 5)),
    ],
)
def test_min_and_max_change_the_field_or_take_the_record(aggregation: FieldAggregation, expected: Any) -> None:
    assert FieldReduceFunction(aggregation, 1).reduce(("a", 2), ("b", 5)) == expected


@pytest.mark.parametrize("aggregation", [FieldAggregation.MIN_BY, FieldAggregation.MAX_BY])
def test_the_first_of_equal_records_stays(aggregation: FieldAggregation) -> None:
    assert FieldReduceFunction(aggregation, 1).reduce(("a", 2), ("b", 2)) == ("a", 2)
