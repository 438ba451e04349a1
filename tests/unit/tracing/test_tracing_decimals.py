"""Products of integers and a constant Decimal are computed over columns; all else of decimals stays Python."""

from __future__ import annotations

import decimal
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.type_inference import infer_type
from penstock.tracing import NotTraceable, trace_map
from unit.tracing.traced_twins import assert_same_map, mapped

LONG, BIG_DEC = Types.LONG(), Types.BIG_DEC()
RATE = Decimal("0.908")
INTEGERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 3)
FACTORS = st.integers(1, 10**9 - 1).flatmap(
    lambda digits: st.integers(-6, 0).map(lambda exponent: Decimal(digits).scaleb(exponent))
)


class Priced(NamedTuple):
    """What a function makes of a number."""

    number: int
    price: Decimal


def priced(number: int) -> Priced:
    return Priced(number, number * RATE)


@given(st.lists(INTEGERS, min_size=1), FACTORS)
def test_products_have_the_digits_that_python_gives_them(numbers: list[int], factor: Decimal) -> None:
    assert_same_map(lambda n: n * factor, LONG, BIG_DEC, numbers)
    assert_same_map(lambda n: factor * n, LONG, BIG_DEC, numbers)


def test_a_product_is_a_field_of_a_result() -> None:
    output = infer_type(Priced)
    assert trace_map(priced, LONG, output).text == "Priced(number, number * RATE)"
    assert mapped(priced, LONG, output, [0, 1000]) == [Priced(0, Decimal("0.000")), Priced(1000, Decimal("908.000"))]
    assert_same_map(lambda n: n * RATE if n > 0 else None, LONG, BIG_DEC, [-1, 0, 7])


@pytest.mark.parametrize(
    "function",
    [
        lambda n: n * Decimal("0.5"),
        lambda n: n * -RATE,
        lambda n: n + RATE,
        lambda n: n / RATE,
        lambda n: n * RATE * RATE,
        lambda n, rate=Decimal("-0.5"): n * rate,
        lambda n, rate=Decimal(0): n * rate,
        lambda n, rate=Decimal("1E+2"): n * rate,
        lambda n, rate=Decimal("1234567890"): n * rate,
        lambda n, rate=Decimal("0.0000001"): n * rate,
        lambda n, rate=Decimal("NaN"): n * rate,
        lambda n: (n * 1.0) * RATE,
        lambda n: RATE,
        lambda n: str(n * RATE),
        lambda n: n * RATE > 1,
        lambda n: n in (RATE, 1),
        lambda n: abs(RATE) * n,
        lambda n: f"{RATE}{n}",
        lambda n: n if RATE == 1 else 2,
    ],
)
def test_what_is_left_to_python(function: Callable[[Any], Any]) -> None:
    with pytest.raises(NotTraceable):
        trace_map(function, LONG, None)


@pytest.mark.parametrize("setting", [{"prec": 27}, {"Emax": 500}, {"Emin": -500}])
def test_where_python_would_round_it_is_asked(setting: dict[str, int]) -> None:
    with decimal.localcontext() as context:
        for name, value in setting.items():
            setattr(context, name, value)
        with pytest.raises(Exception):  # noqa: B017, PT011  whatever it is: the function is asked
            mapped(priced, LONG, infer_type(Priced), [1])
    assert mapped(priced, LONG, infer_type(Priced), [1]) == [priced(1)]


@given(st.lists(st.text("abé\0", max_size=6), min_size=1), st.text("abé\0", min_size=1, max_size=2))
def test_how_often_a_text_is_in_another(texts: list[str], part: str) -> None:
    assert_same_map(lambda text: text.count(part), Types.STRING(), LONG, texts)
