"""Traced functions at work on batches: columns where they suffice, the function where they do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import UserFunctionError
from penstock.runtime.traced_operator import TracedFilterOperator, TracedMapOperator
from unit.runtime.operator_harness import Harness

PAYMENT = Types.ROW_NAMED(["user", "cents"], [Types.STRING(), Types.LONG()])
PAYMENTS = [Row(user="a", cents=1), Row(user="b", cents=20), Row(user="c", cents=-3)]
LONG = Types.LONG()


class KeptBatches:
    """An output that keeps batches as they are."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def emit(self, batch: Batch) -> None:
        self.batches.append(batch)


def columnar(records: list[Row], **others: Any) -> Batch:
    return Batch(codec_for(PAYMENT), columns=codec_for(PAYMENT).to_columns(records), **others)


def run(operator: Any, *batches: Batch) -> list[Batch]:
    harness = Harness(lambda: operator)
    harness.context.output = output = KeptBatches()
    harness.operator.open(harness.context)
    for batch in batches:
        harness.operator.process(batch, 0)
    return output.batches


def mapped(function: Callable[[Any], Any], *batches: Batch) -> list[Batch]:
    return run(TracedMapOperator(function, codec_for(LONG), PAYMENT, LONG), *batches)


def filtered(function: Callable[[Any], Any], *batches: Batch) -> list[Batch]:
    return run(TracedFilterOperator(function, codec_for(PAYMENT), PAYMENT), *batches)


def test_columns_become_columns() -> None:
    (result,) = mapped(lambda r: r.cents * 2, columnar(PAYMENTS, timestamps=[1, 2, None]))
    assert result.is_columnar
    assert result.values == [2, 40, -6]
    assert result.timestamps == [1, 2, None]


def test_a_filter_keeps_columns_and_times() -> None:
    (result,) = filtered(lambda r: r.cents > 0, columnar(PAYMENTS, timestamps=[1, 2, 3]))
    assert result.is_columnar
    assert result.values == PAYMENTS[:2]
    assert result.timestamps == [1, 2]
    assert filtered(lambda r: r.cents > 100, columnar(PAYMENTS)) == []
    (everything,) = filtered(lambda r: r.user, columnar(PAYMENTS))
    assert everything.is_columnar
    assert everything.values == PAYMENTS


def test_records_that_are_values_go_through_the_function() -> None:
    # Behind another function they may be more than their type says: here an int where a text is declared.
    batch = Batch(codec_for(PAYMENT), values=[Row(user=5, cents=1)])
    seen: list[Any] = []
    (result,) = mapped(lambda r: r.cents + (len(seen) or 1), batch)
    assert not result.is_columnar
    assert result.values == [2]


def test_what_columns_cannot_say_the_function_says() -> None:
    greatest = (1 << 63) - 1
    (result,) = mapped(lambda r: r.cents + 1, columnar([*PAYMENTS, Row(user="d", cents=greatest)]))
    assert result.values == [2, 21, -2, 1 << 63]
    assert not result.is_columnar


def test_errors_are_those_of_the_function() -> None:
    with pytest.raises(UserFunctionError) as failure:
        mapped(lambda r: 10 // r.cents, columnar([*PAYMENTS, Row(user="d", cents=0)]))
    report = failure.value.report
    assert report.error_type == "ZeroDivisionError"
    assert report.record == "Row(user='d', cents=0)"
    assert "10 // r.cents" in report.traceback
    with pytest.raises(UserFunctionError, match="TypeError"):
        filtered(lambda r: r.cents > 0, columnar([Row(user="d", cents=None)]))


def test_batches_that_keep_failing_are_tried_less_often() -> None:
    bad = [columnar([Row(user="d", cents=None)]) for _ in range(40)]
    good = [columnar(PAYMENTS) for _ in range(70)]
    results = mapped(lambda r: -1 if r.cents is None else r.cents * r.cents, *bad, *good)
    assert [result.values for result in results] == [[-1]] * 40 + [[1, 400, 9]] * 70
    failing = mapped(lambda r: (r.cents or 0) + len(r.user), *[columnar([Row(user="x", cents=None)])] * 5)
    assert [result.values for result in failing] == [[1]] * 5


def test_a_filter_that_is_always_left_to_python() -> None:
    batches = [columnar([Row(user=None, cents=1)]) for _ in range(20)]
    with pytest.raises(UserFunctionError, match="TypeError"):
        filtered(lambda r: r.user < "x", *batches)


def test_results_of_no_declared_type_stay_columns_for_the_next() -> None:
    anything = Types.PICKLED_BYTE_ARRAY()
    pair = Types.TUPLE([Types.STRING(), LONG])
    (made,) = run(
        TracedMapOperator(lambda r: (r.user, r.cents * 2), codec_for(anything), PAYMENT, anything),
        columnar(PAYMENTS, timestamps=[1, 2, 3]),
    )
    assert made.codec.schema is None
    assert not made.is_columnar
    assert made.columns_of(codec_for(pair)) is not None
    (kept,) = run(TracedFilterOperator(lambda t: t[1] > 0, codec_for(anything), pair), made)
    assert kept.columns_of(codec_for(pair)) is not None
    assert (len(kept), kept.timestamps) == (2, [1, 2])
    assert kept.values == [("a", 2), ("b", 40)]
    assert made.part(1, 3).values == [("b", 40), ("c", -6)]
    assert made.part(1, 3).timestamps == [2, 3]
    (last,) = run(TracedMapOperator(lambda t: t[1] + 1, codec_for(LONG), pair, LONG), kept)
    assert last.is_columnar
    assert last.values == [3, 41]


def test_records_of_another_form_go_through_the_function() -> None:
    batch = Batch(codec_for(Types.PICKLED_BYTE_ARRAY()), values=[("a", 1.5)])
    pair = Types.TUPLE([Types.STRING(), LONG])
    (result,) = run(TracedMapOperator(lambda t: t[1] + 1, codec_for(LONG), pair, LONG), batch)
    assert result.values == [2.5]
