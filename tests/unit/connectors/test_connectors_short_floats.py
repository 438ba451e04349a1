"""32-bit floats as Flink prints and collects them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.connectors.short_floats import declared_numbers_in, short_float, short_floats_in

TENTH = float(np.float32(0.1))
FLOAT = Types.FLOAT()


@pytest.mark.parametrize("number", [0.1, -2.5e-7, 123456.79, 16777216.0, 3.4e38, 1.4e-45, 0.0, -0.0, math.inf])
def test_the_text_is_that_of_java(number: float) -> None:
    assert repr(short_float(float(np.float32(number)))) == repr(number)


@given(st.floats(width=32, allow_nan=False))
def test_it_is_the_same_number_in_32_bits(number: float) -> None:
    assert np.float32(short_float(number)) == np.float32(number)
    assert len(repr(short_float(number))) <= len(repr(number))


@pytest.mark.parametrize(
    ("type_info", "value", "short"),
    [
        (FLOAT, None, None),
        (Types.TUPLE([Types.STRING(), FLOAT]), ("a", TENTH), ("a", 0.1)),
        (Types.TUPLE([Types.DOUBLE(), Types.TUPLE([FLOAT])]), (TENTH, (TENTH,)), (TENTH, (0.1,))),
        (Types.ROW_NAMED(["a", "b"], [FLOAT, FLOAT]), Row(a=TENTH, b=None), Row(a=0.1, b=None)),
        (Types.LIST(FLOAT), [TENTH, None], [0.1, None]),
        (Types.MAP(Types.STRING(), FLOAT), {"k": TENTH}, {"k": 0.1}),
    ],
)
def test_floats_inside_other_values(type_info, value, short) -> None:
    convert = short_floats_in(type_info)
    assert convert is not None
    assert repr(convert(value)) == repr(short)


@pytest.mark.parametrize("type_info", [None, Types.DOUBLE(), Types.TUPLE([Types.DOUBLE()]), Types.PICKLED_BYTE_ARRAY()])
def test_a_type_without_them_costs_nothing(type_info) -> None:
    assert short_floats_in(type_info) is None


DOUBLE = Types.DOUBLE()


@pytest.mark.parametrize(
    ("type_info", "value", "shown"),
    [
        (DOUBLE, 1, 1.0),
        (DOUBLE, None, None),
        (Types.TUPLE([Types.INT(), DOUBLE, FLOAT]), (1, 1, TENTH), (1, 1.0, 0.1)),
        (Types.TUPLE([Types.ROW([DOUBLE])]), (Row(1),), (Row(1.0),)),
        (Types.TUPLE([Types.ROW([DOUBLE])]), ((1,),), ((1,),)),
        (Types.TUPLE([Types.INT(), Types.BOOLEAN(), DOUBLE]), (True, 1, False), (1, True, 0.0)),
        (Types.LIST(DOUBLE), [1, None], [1.0, None]),
        (Types.MAP(DOUBLE, Types.INT()), {1: 1}, {1.0: 1}),
    ],
)
def test_numbers_and_truth_are_shown_as_what_is_declared(type_info, value, shown) -> None:
    convert = declared_numbers_in(type_info)
    assert convert is not None
    assert repr(convert(value)) == repr(shown)
