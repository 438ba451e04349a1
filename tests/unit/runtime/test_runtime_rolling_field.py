"""`sum`, `min` and `max` over a column give what `reduce` gives with rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.codecs import codec_for
from penstock.common.errors import UserFunctionError
from penstock.common.typeinfo import TypeInformation
from penstock.functions.field_aggregation import FieldAggregation, FieldReduceFunction
from penstock.runtime.rolling_field import RollingFieldOperator, reduce_operator
from penstock.testing import harness, local_environment


@dataclass
class Payment:
    card: str
    amount: int
    note: str | None


ROW = Types.ROW_NAMED(["card", "amount", "note"], [Types.STRING(), Types.LONG(), Types.STRING()])
TUPLE = Types.TUPLE([Types.STRING(), Types.LONG(), Types.STRING()])
SHAPES: dict[str, tuple[Any, Any]] = {
    "row": (ROW, Row),
    "tuple": (TUPLE, lambda *fields: fields),
    "dataclass": (Payment, Payment),
}
CHOICES = {"sum": lambda a, b: a + b, "min": min, "max": max}


def fields_of(record: Any) -> tuple[Any, ...]:
    return (record.card, record.amount, record.note) if isinstance(record, Payment) else tuple(record)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(SHAPES)),
    st.sampled_from(sorted(CHOICES)),
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from("abc"), st.integers(-1000, 1000), st.sampled_from([None, "x", "y"])),
            st.just("restore"),
        ),
        max_size=20,
    ),
)
def test_as_one_record_after_the_other(shape: str, method: str, steps: list[Any]) -> None:
    record_type, make = SHAPES[shape]
    field, key = (1, 0) if shape == "tuple" else ("amount", "card")
    test = harness(lambda stream: getattr(stream.key_by(key), method)(field), record_type)
    state: dict[str, tuple[Any, ...]] = {}
    for time, step in enumerate(steps):
        if step == "restore":
            test.restore(test.snapshot())
            continue
        card, amount, note = step
        before = state.get(card)
        state[card] = step if before is None else (card, CHOICES[method](before[1], amount), before[2])
        test.process_element(make(card, amount, note), time)
        ((result, stamp),) = test.output()
        assert (fields_of(result), stamp) == (state[card], time)


def test_a_missing_number_names_the_record_and_the_key() -> None:
    test = harness(lambda stream: stream.key_by("card").sum("amount"), ROW)
    test.process_element(Row("a", 1, None))
    with pytest.raises(UserFunctionError, match="'int' and 'NoneType'") as failure:
        test.process_element(Row("a", None, "lost"))
    assert failure.value.report.key == "'a'"
    assert "lost" in str(failure.value.report.record)


def test_a_sum_beyond_64_bits_is_no_other_number() -> None:
    test = harness(lambda stream: stream.key_by("card").sum("amount"), ROW)
    test.process_element(Row("a", 2**62, None))
    with pytest.raises(Exception, match="does not fit the declared type Long"):
        test.process_element(Row("a", 2**62, None))


@pytest.mark.parametrize(
    ("aggregation", "record_type", "field", "rolls"),
    [
        (FieldAggregation.SUM, ROW, 1, True),
        (FieldAggregation.SUM, TUPLE, 1, True),
        (FieldAggregation.MIN_BY, ROW, 1, False),
        (FieldAggregation.SUM, Types.TUPLE([Types.FLOAT()]), 0, False),
        (FieldAggregation.SUM, Types.PICKLED_BYTE_ARRAY(), 0, False),
    ],
)
def test_which_fields_roll_in_columns(
    aggregation: FieldAggregation, record_type: TypeInformation, field: int, rolls: bool
) -> None:
    codec = codec_for(record_type)
    function = FieldReduceFunction(aggregation, field)
    assert isinstance(reduce_operator(function, record_type, codec), RollingFieldOperator) is rolls
    assert not isinstance(reduce_operator(lambda a, b: a, record_type, codec), RollingFieldOperator)


@pytest.mark.parametrize("method", ["sum", "reduce"])
def test_of_zeros_that_are_one_key_the_first_record_is_kept(method: str) -> None:
    rows = [Row(key=0.0, amount=1, note="first"), Row(key=-0.0, amount=2, note="second")]
    types = Types.ROW_NAMED(["key", "amount", "note"], [Types.DOUBLE(), Types.LONG(), Types.STRING()])
    keyed = local_environment().from_collection(rows, types).key_by("key")
    summed = (
        keyed.sum("amount")
        if method == "sum"
        else keyed.reduce(lambda a, b: Row(key=a.key, amount=a.amount + b.amount, note=a.note))
    )
    found = [(str(row.key), row.amount, row.note) for row in summed.execute_and_collect()]
    assert found == [("0.0", 1, "first"), ("0.0", 3, "first")]
