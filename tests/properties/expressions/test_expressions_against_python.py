"""Expressions give what the same Python gives, value by value, and fail where it fails."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common.codecs import codec_for
from penstock.common.row import Row
from penstock.expressions.evaluator import Evaluator, RecordEvaluationError
from properties.expressions.python_twins import RECORD, Twin, rows, twins

FAILURES = (ArithmeticError, ValueError)


def expected(twin: Twin, records: list[Row]) -> tuple[list[Any], int | None]:
    """The results up to the first record that fails, and which one that is."""
    results: list[Any] = []
    for index, record in enumerate(records):
        try:
            results.append(twin.function(record))
        except FAILURES:
            return results, index
    return results, None


def check(twin: Twin, records: list[Row]) -> None:
    codec = codec_for(RECORD)
    # The records as a function would get them: a FLOAT has 32 bits.
    columns = codec.to_columns(records)
    results, failed_at = expected(twin, codec.to_values(columns))
    evaluator = Evaluator(twin.expression, RECORD)
    if failed_at is not None:
        with pytest.raises(RecordEvaluationError) as failure:
            evaluator.columns(columns, len(records))
        assert failure.value.index == failed_at
        columns = [column.slice(0, failed_at) for column in columns]
    computed = codec_for(evaluator.type).to_values(evaluator.columns(columns, len(results)))
    # repr tells -0.0 from 0.0 and 1 from 1.0, and NaN from nothing but itself.
    assert list(map(repr, computed)) == list(map(repr, results))


@pytest.mark.parametrize("kind", ["int", "float", "text", "bool"])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_an_operation_is_pythons(kind: str, data: st.DataObject) -> None:
    check(data.draw(twins(kind, 1)), data.draw(st.lists(rows, min_size=1, max_size=8)))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kind=st.sampled_from(["int", "float", "text", "bool"]))
def test_nested_operations_are_pythons(data: st.DataObject, kind: str) -> None:
    check(data.draw(twins(kind, 3)), data.draw(st.lists(rows, min_size=1, max_size=8)))
