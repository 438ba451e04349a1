"""Floored division and modulo by a constant, against Python's."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types
from penstock.expressions import col
from unit.expressions.evaluation import evaluated

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])
INTEGERS = st.none() | st.integers(LEAST, GREATEST) | st.integers(-9, 9) | st.sampled_from([LEAST, GREATEST])
DIVISORS = st.integers(1, GREATEST) | st.sampled_from([1, 2, 7, 123, GREATEST, -1, -2, -7, LEAST])


@given(st.lists(INTEGERS, min_size=1), DIVISORS)
def test_modulo_has_the_sign_of_the_divisor(numbers: list[int | None], divisor: int) -> None:
    expected = [None if number is None else number % divisor for number in numbers]
    assert evaluated(col(0) % divisor, [(number, 0) for number in numbers], PAIR) == expected


@given(st.lists(INTEGERS, min_size=1), DIVISORS)
def test_quotients_are_rounded_down(numbers: list[int | None], divisor: int) -> None:
    kept = [None if divisor == -1 and number == LEAST else number for number in numbers]  # does not fit into 64 bits
    expected = [None if number is None else number // divisor for number in kept]
    assert evaluated(col(0) // divisor, [(number, 0) for number in kept], PAIR) == expected
