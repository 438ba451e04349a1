"""Constant folding: fewer operations, the same values, types and errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.codecs import codec_for
from penstock.common.row import Row
from penstock.expressions import Expression, coalesce, col, concat, lit, row, when
from penstock.expressions.evaluator import Evaluator, RecordEvaluationError
from penstock.expressions.folding import folded
from properties.expressions.python_twins import RECORD, rows, twins


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (lit(2) * 3 + col("x"), '6 + col("x")'),
        (lit("a") + "b" + col("s"), '"ab" + col("s")'),
        (col("x") > lit(7) // 2, 'col("x") > 3'),
        (col("x") + 2 + 3, '(col("x") + 2) + 3'),
        (concat("a", lit(1).cast(str), col("s")), 'concat("a", "1", col("s"))'),
        (when(lit(1) > 2, col("x")).otherwise(lit(1) + 1), 'when(False, col("x")).otherwise(2)'),
        (coalesce(col("x"), lit(1) - 1), 'coalesce(col("x"), 0)'),
        (row(a=lit(1) + 1, b=col("x")), 'row(a=2, b=col("x"))'),
        ((lit(1) + 1).alias("two"), '2.alias("two")'),
        (lit(1.5).round() * lit("ß").upper().length(), "4"),
        # What cannot be computed stays, and fails when the job runs, if it is asked for at all.
        (col("x") + lit(1) // 0, 'col("x") + (1 // 0)'),
        (lit(1 << 62) * 2, "4611686018427387904 * 2"),
        # What a literal would have another type than.
        (lit(1).cast(Types.BYTE()), "1.cast(Byte)"),
        (lit(None).cast(int), "None.cast(Long)"),
        # A literal that is negative makes a float of the power; what is computed does not.
        (col("x") ** (lit(1) - 2), 'col("x") ** (1 - 2)'),
        (col("x") ** (lit(1) + 2), 'col("x") ** 3'),
    ],
    ids=repr,
)
def test_what_is_folded(expression: Expression, text: str) -> None:
    assert folded(expression).text == text


def test_nothing_to_fold_is_the_same_object() -> None:
    expression = when(col("x") > 1, col("x")).otherwise(0)
    assert folded(expression) is expression


def outcome(expression: Expression, records: list[Row]) -> tuple[Any, ...]:
    codec = codec_for(RECORD)
    evaluator = Evaluator(expression, RECORD)
    try:
        columns = evaluator.columns(codec.to_columns(records), len(records))
    except RecordEvaluationError as failure:
        return evaluator.type, failure.index, type(failure.cause)
    return evaluator.type, repr(codec_for(evaluator.type).to_values(columns))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kind=st.sampled_from(["int", "float", "text", "bool"]))
def test_folding_changes_neither_values_nor_types_nor_errors(data: st.DataObject, kind: str) -> None:
    expression = data.draw(twins(kind, 2)).expression
    records = data.draw(st.lists(rows, min_size=1, max_size=4))
    assert outcome(folded(expression), records) == outcome(expression, records)
