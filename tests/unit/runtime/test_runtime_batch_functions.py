"""Functions of batches: what they get, what becomes of what they return, and the times of results."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock.common import Row, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import UserFunctionError
from penstock.functions.batches import BatchFormat
from penstock.runtime.batch_function_operator import MapBatchesOperator
from unit.runtime.operator_harness import Harness

PAY = Types.ROW_NAMED(["card", "cents"], [Types.STRING(), Types.LONG()])
ROWS = [Row(card="visa", cents=5), Row(card=None, cents=None), Row(card="amex", cents=7)]


def run(
    function: Callable[[Any], Any],
    *,
    given: BatchFormat = BatchFormat.ARROW,
    timestamps: list[int | None] | None = None,
    output_type: Any = PAY,
    timestamp_column: str | None = None,
) -> list[tuple[Any, int | None]]:
    harness = Harness(lambda: MapBatchesOperator(function, given, PAY, output_type, timestamp_column))
    harness.operator.process(Batch(codec_for(PAY), values=list(ROWS), timestamps=timestamps), 0)
    return harness.taken()


def values(taken: list[tuple[Any, int | None]]) -> list[Any]:
    return [value for value, _ in taken]


def seen(given: BatchFormat) -> Any:
    batches: list[Any] = []
    run(batches.append, given=given)
    (batch,) = batches
    return batch


def test_a_function_gets_its_batch_in_the_form_that_it_asks_for() -> None:
    arrow = seen(BatchFormat.ARROW)
    assert isinstance(arrow, pa.RecordBatch)
    assert arrow.to_pydict() == {"card": ["visa", None, "amex"], "cents": [5, None, 7]}
    frame = seen(BatchFormat.PANDAS)
    # Not floats, which would round what is beyond 2**53.
    assert str(frame["cents"].dtype) == "Int64"
    frame.loc[0, "cents"] = 6
    arrays = seen(BatchFormat.NUMPY)
    assert isinstance(arrays["cents"], np.ma.MaskedArray)
    assert arrays["cents"].sum() == 12
    assert arrays["card"].tolist() == ["visa", None, "amex"]


@pytest.mark.parametrize("given", list(BatchFormat))
def test_what_is_returned_as_it_came_is_the_same(given: BatchFormat) -> None:
    assert values(run(lambda batch: batch, given=given)) == ROWS


@pytest.mark.parametrize(
    "answer",
    [
        pa.record_batch({"cents": pa.array([1]), "card": pa.array(["a"])}),
        pa.table({"cents": pa.chunked_array([[1]]), "card": pa.chunked_array([["a"]])}),
        pd.DataFrame({"cents": [1], "card": ["a"]}, index=[17]),
        {"cents": np.array([1], np.int8), "card": ["a"]},
    ],
)
def test_a_function_may_answer_in_any_form(answer: Any) -> None:
    assert values(run(lambda _: answer)) == [Row(card="a", cents=1)]
    assert values(run(lambda _: [answer, answer])) == [Row(card="a", cents=1)] * 2


def test_any_number_of_rows_and_batches() -> None:
    def twice(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        yield batch.slice(0, 1)
        yield batch.slice(0, 0)
        yield batch.slice(2, 1)

    assert values(run(twice)) == [ROWS[0], ROWS[2]]
    assert run(lambda _: None) == []


def test_values_without_fields_are_the_column_value() -> None:
    numbers = Types.LONG()
    for answer in (lambda batch: batch["card"].is_valid().cast(pa.int64()), lambda _: {"value": [1, 0, 1]}):
        assert values(run(answer, output_type=numbers)) == [1, 0, 1]


def test_as_many_rows_as_records_keep_their_times() -> None:
    assert [time for _, time in run(lambda batch: batch, timestamps=[3, None, 5])] == [3, None, 5]
    assert [time for _, time in run(lambda batch: batch.slice(1))] == [None, None]
    assert [time for _, time in run(lambda batch: batch.slice(1), timestamps=[4, 4, 4])] == [4, 4]


def test_times_are_not_guessed() -> None:
    for answer in (lambda batch: batch.slice(1), lambda batch: iter([batch])):
        with pytest.raises(UserFunctionError, match=r"of 3 records with timestamps.*timestamp_column"):
            run(answer, timestamps=[3, 4, 5])


def test_a_column_of_times_goes_with_the_rows() -> None:
    taken = run(lambda batch: batch.slice(1), timestamps=[3, 4, 5], timestamp_column="at")
    assert taken == [(ROWS[1], 4), (ROWS[2], 5)]
    assert [time for _, time in run(lambda batch: batch, timestamp_column="at")] == [None] * 3


@pytest.mark.parametrize(
    ("timestamps", "given", "message"),
    [([3, 4, 5], [2, 4, 5], "time 2 in the column 'at', and the earliest.*3"), (None, [1, 2, 3], "have none")],
)
def test_times_before_those_of_the_records_are_refused(
    timestamps: list[int | None] | None, given: list[int], message: str
) -> None:
    def answer(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.set_column(2, "at", pa.array(given))

    with pytest.raises(UserFunctionError, match=message):
        run(answer, timestamps=timestamps, timestamp_column="at")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"card": ["a"]}, "has no column 'cents'; the declared type RowTypeInfo"),
        ({"card": ["a"], "cents": [1], "x": [1]}, "has the column 'x', which is not declared"),
        ({"card": ["a"], "cents": ["1"]}, "column 'cents' of the batch.*holds string.*Long"),
        ({"card": [1], "cents": [1]}, "column 'card' of the batch"),
        ({"card": ["a", "b"], "cents": [1]}, "differ in length: 'card' has 2, 'cents' has 1"),
        (pd.DataFrame([["a", "b"]], columns=["card", "card"]), "has a column twice"),
        (7, "results cannot be taken"),
        ([7], "the function returned int; expected a pyarrow RecordBatch"),
        (pa.array([1]), "the function returned Int64Array"),
    ],
)
def test_what_is_returned_must_have_the_declared_type(answer: Any, message: str) -> None:
    with pytest.raises(UserFunctionError, match=message) as failure:
        run(lambda _: answer)
    report = failure.value.report
    assert (report.operator, report.call_site) == ("Sessions", "program.py:7: stream.process(...)")


def test_a_failure_shows_the_users_own_lines() -> None:
    def divided(batch: pa.RecordBatch) -> Any:
        return 1 // 0

    with pytest.raises(UserFunctionError, match="ZeroDivisionError") as failure:
        run(divided)
    assert "return 1 // 0" in str(failure.value)
    assert "penstock/runtime" not in str(failure.value)


class Model:
    """An object that is opened in its task."""

    def open(self, runtime_context: Any) -> None:
        self.rate = int(runtime_context.get_job_parameter("rate", "3"))

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return batch | {"cents": batch["cents"] * self.rate}


def test_an_object_is_opened_before_it_is_called() -> None:
    assert [row.cents for row in values(run(Model(), given=BatchFormat.NUMPY))] == [15, None, 21]


def test_times_and_dates_survive_pandas_and_numpy() -> None:
    moments = Types.ROW_NAMED(["at", "day"], [Types.SQL_TIMESTAMP(), Types.SQL_DATE()])
    rows = [Row(at=dt.datetime(1969, 12, 31, 1, 2, 3, 4), day=dt.date(2024, 2, 29)), Row(at=None, day=None)]
    for given in BatchFormat:
        harness = Harness(lambda given=given: MapBatchesOperator(lambda b: b, given, moments, moments, None))
        harness.operator.process(Batch(codec_for(moments), values=rows), 0)
        assert harness.values() == rows
