"""Columns of a program in the columns of a declared type: without loss, or refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.errors import TypeMismatchError
from penstock.common.foreign_columns import fitted_column
from penstock.common.typeinfo import TypeInformation


@pytest.mark.parametrize(
    ("values", "type_info", "expected"),
    [
        (pa.array([1, None], pa.int32()), Types.LONG(), [1, None]),
        (pa.array([1.0, None]), Types.INT(), [1, None]),
        (pa.chunked_array([[1], [2]]), Types.DOUBLE(), [1.0, 2.0]),
        (pa.array(["a", None, "a"]).dictionary_encode(), Types.STRING(), ["a", None, "a"]),
        (pa.array(["a"], pa.large_string()), Types.STRING(), ["a"]),
        (pa.array([None, None]), Types.STRING(), [None, None]),
        (pa.array([b"a"], pa.large_binary()), Types.PRIMITIVE_ARRAY(Types.BYTE()), [b"a"]),
        (np.array([1, 2], np.uint8), Types.SHORT(), [1, 2]),
        (np.array(["a", "b"]), Types.STRING(), ["a", "b"]),
        (np.array(["a", None], object), Types.STRING(), ["a", None]),
        (np.ma.MaskedArray([1, 2], [False, True]), Types.LONG(), [1, None]),
        (np.array(["2024-02-29T01:00"], "datetime64[ns]"), Types.SQL_TIMESTAMP(), [dt.datetime(2024, 2, 29, 1)]),
        (pd.Series([1, None], dtype="Int64"), Types.LONG(), [1, None]),
        (pd.Series([1.0, None]), Types.LONG(), [1, None]),
        (pd.Series(["a", None]), Types.STRING(), ["a", None]),
        (pd.Series([True, None], dtype="boolean"), Types.BOOLEAN(), [True, None]),
        (pd.Series(["x", "y"], dtype="category"), Types.CHAR(), ["x", "y"]),
        ([[1], None, []], Types.LIST(Types.LONG()), [[1], None, []]),
        (pd.Series([np.array([1, 2]), None]), Types.LIST(Types.INT()), [[1, 2], None]),
        ([{"a": 1}, None], Types.ROW_NAMED(["a"], [Types.INT()]), [{"a": 1}, None]),
        ([Row(a=1), None], Types.ROW_NAMED(["a"], [Types.INT()]), [{"a": 1}, None]),
        (
            [(1, "x"), (2, None)],
            Types.TUPLE([Types.INT(), Types.STRING()]),
            [{"f0": 1, "f1": "x"}, {"f0": 2, "f1": None}],
        ),
        ([{"a": 1}], Types.MAP(Types.STRING(), Types.LONG()), [[("a", 1)]]),
        ([10**30, None], Types.BIG_INT(), [str(10**30), None]),
        (pa.array(["7", None]), Types.BIG_INT(), ["7", None]),
        ([Decimal("1.50")], Types.BIG_DEC(), ["1.50"]),
        (pa.array([Decimal("1.50"), None, Decimal("0.00")]), Types.BIG_DEC(), ["1.50", None, "0.00"]),
        (pa.array([7, None]), Types.BIG_DEC(), ["7", None]),
        (np.array([7, -7]), Types.BIG_INT(), ["7", "-7"]),
    ],
)
def test_what_fits(values: Any, type_info: TypeInformation, expected: list[Any]) -> None:
    column = fitted_column(values, type_info)
    assert column.type == type_info.column_type()
    assert column.to_pylist() == expected


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=9, min_value=-1000, max_value=1000)))
def test_decimal_numbers_keep_their_digits(numbers: list[Decimal]) -> None:
    column = fitted_column(pa.array(numbers, pa.decimal128(20, 9)), Types.BIG_DEC())
    assert [Decimal(text).as_tuple() for text in column.to_pylist()] == [abs_zero(each).as_tuple() for each in numbers]


def abs_zero(number: Decimal) -> Decimal:
    """Arrow's decimal numbers have no negative zero."""
    return number if number else abs(number)


def test_nan_is_a_number_to_numpy_and_a_missing_value_to_pandas() -> None:
    values = np.array([1.0, np.nan])
    assert fitted_column(values, Types.DOUBLE()).null_count == 0
    assert fitted_column(pd.Series(values), Types.DOUBLE()).to_pylist() == [1.0, None]


@pytest.mark.parametrize(
    ("values", "type_info"),
    [
        (pa.array([1]), Types.STRING()),
        (pa.array(["1"]), Types.LONG()),
        (pa.array([True]), Types.LONG()),
        (pa.array([1]), Types.BOOLEAN()),
        (pa.array([1.5]), Types.LONG()),
        (np.array([np.nan]), Types.LONG()),
        (pa.array([1 << 40]), Types.INT()),
        (pa.array([(1 << 53) + 1]), Types.DOUBLE()),
        (pa.array(["ab"]), Types.CHAR()),
        (pa.array(["x"]), Types.BIG_INT()),
        (pa.array([dt.datetime(2024, 1, 1, 5)]), Types.SQL_DATE()),
        (pa.array([0], pa.timestamp("us", "UTC")), Types.SQL_TIMESTAMP()),
        (pa.array([1], pa.timestamp("ns")), Types.SQL_TIMESTAMP()),
        (np.array(["10000-01-01"], "datetime64[us]"), Types.SQL_TIMESTAMP()),
        ([[1.5]], Types.LIST(Types.LONG())),
        ([(1,)], Types.TUPLE([Types.STRING()])),
        ([{"b": 1}], Types.ROW_NAMED(["a"], [Types.INT()])),
        (7, Types.LONG()),
        ("abc", Types.STRING()),
        (np.array(7), Types.LONG()),
        ([1, "a"], Types.LONG()),
    ],
)
def test_what_does_not_fit_is_refused(values: Any, type_info: TypeInformation) -> None:
    with pytest.raises(TypeMismatchError):
        fitted_column(values, type_info)
