"""Expressions at work on batches: columns stay columns, values stay values, failures name the record."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Row, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import UserFunctionError
from penstock.expressions import Expression, col, row
from penstock.expressions.evaluator import Evaluator
from penstock.runtime.expression_operator import ExpressionFilterOperator, ExpressionMapOperator
from unit.runtime.operator_harness import Harness

PAYMENT = Types.ROW_NAMED(["user", "price"], [Types.STRING(), Types.DOUBLE()])
PAYMENTS = [Row(user="a", price=1.0), Row(user="b", price=20.0), Row(user="c", price=None), Row(user="d", price=40.0)]


class KeptBatches:
    """An output that keeps batches as they are."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def emit(self, batch: Batch) -> None:
        self.batches.append(batch)


def columnar(records: list[Row] = PAYMENTS, **others: Any) -> Batch:
    return Batch(codec_for(PAYMENT), columns=codec_for(PAYMENT).to_columns(records), **others)


def mapped(expression: Expression) -> ExpressionMapOperator:
    evaluator = Evaluator(expression, PAYMENT)
    return ExpressionMapOperator(evaluator, codec_for(evaluator.type))


def filtered(expression: Expression) -> ExpressionFilterOperator:
    return ExpressionFilterOperator(Evaluator(expression, PAYMENT))


def run(operator: Any, *batches: Batch) -> list[Batch]:
    harness = Harness(lambda: operator)
    harness.context.output = output = KeptBatches()
    for batch in batches:
        harness.operator.process(batch, 0)
    return output.batches


def test_a_map_makes_columns_of_columns() -> None:
    (result,) = run(mapped(col("price") * 2), columnar(timestamps=[1, 2, 3, None]))
    assert result.is_columnar
    assert result.values == [2.0, 40.0, None, 80.0]
    assert result.timestamps == [1, 2, 3, None]
    assert result.keys is None


def test_a_map_to_rows_has_a_column_per_field() -> None:
    (result,) = run(mapped(row(col("user"), half=col("price") / 2)), columnar())
    assert [column.type for column in result.columns] == [pa.string(), pa.float64()]
    assert result.values[1] == Row(user="b", half=10.0)


def test_a_map_takes_values_too() -> None:
    (result,) = run(mapped(col("user")), Batch(codec_for(PAYMENT), values=list(PAYMENTS)))
    assert result.values == ["a", "b", "c", "d"]


def test_a_filter_keeps_columns_and_drops_what_is_unknown() -> None:
    batch = columnar(timestamps=[1, 2, 3, 4], keys=[b"k"] * 4)
    (result,) = run(filtered(col("price") > 10), batch)
    assert result.is_columnar
    assert (result.values, result.timestamps, result.keys) == ([PAYMENTS[1], PAYMENTS[3]], [2, 4], None)


def test_a_filter_makes_no_python_values(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = columnar()

    def refuse(*_: Any) -> None:
        raise AssertionError("values were made")

    monkeypatch.setattr(type(batch.codec), "to_values", refuse)
    (result,) = run(filtered(col("price") > 10), batch)
    assert len(result) == 2


def test_a_filter_keeps_the_values_that_are_there() -> None:
    (result,) = run(filtered(col("price") > 10), Batch(codec_for(PAYMENT), values=list(PAYMENTS)))
    assert result.values[0] is PAYMENTS[1]


def test_a_filter_that_keeps_all_or_nothing() -> None:
    keep_all, keep_none = filtered(col("user").is_not_null()), filtered(col("user").is_null())
    (result,) = run(keep_all, columnar(keys=[b"k"] * 4))
    assert (result.values, result.keys) == (PAYMENTS, None)
    assert run(keep_none, columnar()) == []


@pytest.mark.parametrize("make", [mapped, filtered])
def test_nothing_comes_of_no_records(make: Any) -> None:
    assert run(make(col("price") > 1), columnar([])) == []


@pytest.mark.parametrize("make", [mapped, filtered])
def test_a_failure_names_the_record_and_the_key(make: Any) -> None:
    with pytest.raises(UserFunctionError) as failure:
        run(make(1 / (col("price") - 20) > 0), columnar(keys=[b"\x01", b"\x02", b"\x01", b"\x01"]))
    report = failure.value.report
    assert (report.error_type, report.record, report.key) == ("ZeroDivisionError", repr(PAYMENTS[1]), "True")
    assert report.message == 'division by zero in `1 / (col("price") - 20)`'
    assert report.operator == "Sessions"


def test_a_record_that_is_not_of_its_type_is_named() -> None:
    wrong = Row(user="e", price="much")
    with pytest.raises(UserFunctionError) as failure:
        run(mapped(col("user")), Batch(codec_for(PAYMENT), values=[*PAYMENTS, wrong]))
    assert failure.value.report.record == repr(wrong)
    assert "'much'" in failure.value.report.message
