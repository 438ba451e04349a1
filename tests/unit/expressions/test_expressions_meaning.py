"""What expressions give, where the comparison with random Python does not reach."""

from __future__ import annotations

import datetime as dt
import time
from decimal import Decimal
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import ArgumentError, PlanError
from penstock.common.typeinfo import TypeInformation
from penstock.expressions import Expression, coalesce, col, greatest, least, lit, this, when
from penstock.expressions.evaluator import Evaluator, RecordEvaluationError
from unit.expressions.evaluation import evaluated, of_values

PAIR = Types.TUPLE([Types.LONG(), Types.LONG()])
LEAST = -(1 << 63)


def failure_of(expression: Expression, records: list[Any], record_type: TypeInformation) -> RecordEvaluationError:
    with pytest.raises(RecordEvaluationError) as failure:
        evaluated(expression, records, record_type)
    return failure.value


@pytest.mark.parametrize(
    ("expression", "records", "error", "message"),
    [
        (col(0) / col(1), [(1, 1), (1, 0)], ZeroDivisionError, "division by zero in `col(0) / col(1)`"),
        (col(0) // 0, [(None, 1), (1, 0)], ZeroDivisionError, "division by zero in `col(0) // 0`"),
        (1.5 % col(0), [(2, 0), (0, 0)], ZeroDivisionError, "division by zero in `1.5 % col(0)`"),
        (col(0) + 1, [(0, 0), ((1 << 63) - 1, 0)], OverflowError, "does not fit into 64 bits in `col(0) + 1`"),
        (col(0) * 2, [(0, 0), (1 << 62, 0)], OverflowError, "does not fit into 64 bits"),
        (-col(0), [(0, 0), (LEAST, 0)], OverflowError, "does not fit into 64 bits"),
        (col(0).abs(), [(0, 0), (LEAST, 0)], OverflowError, "does not fit into 64 bits"),
        (col(0) // col(1), [(LEAST, 1), (LEAST, -1)], OverflowError, "does not fit into 64 bits"),
        (col(0) ** col(1), [(2, 62), (2, 63)], OverflowError, "does not fit into 64 bits"),
        (col(0) ** col(1), [(2, 0), (2, -1)], ValueError, "write `.cast(float)` on the base"),
        (col(0) ** -1, [(1, 0), (0, 0)], ZeroDivisionError, "division by zero"),
        ((col(0) * 1.0) ** 0.5, [(1, 0), (-1, 0)], ValueError, "no real number"),
        ((col(0) * 1.0) ** 400, [(1, 0), (10, 0)], OverflowError, "too large for a float"),
        (col(0).exp(), [(1, 0), (1000, 0)], OverflowError, "too large for a float"),
        (col(0).sqrt(), [(1, 0), (-1, 0)], ValueError, "negative number"),
        (col(0).log(), [(1, 0), (0, 0)], ValueError, "logarithm of zero"),
        ((col(0) * 1e300).floor(), [(0, 0), (1, 0)], OverflowError, "does not fit into 64 bits"),
        (col(0).cast(Types.BYTE()), [(127, 0), (128, 0)], ValueError, "not in range: -128 to 127"),
    ],
    ids=repr,
)
def test_what_python_raises_names_the_record(
    expression: Expression, records: list[Any], error: type[Exception], message: str
) -> None:
    failure = failure_of(expression, records, PAIR)
    assert failure.index == 1
    assert type(failure.cause) is error
    assert message in str(failure.cause)


def test_the_first_of_many_failures_is_found() -> None:
    records = [1 if n < 6_001 else n % 7 for n in range(10_000)]
    assert failure_of(1 / this(), records, Types.LONG()).index == next(i for i, n in enumerate(records) if n == 0)


def test_a_branch_is_computed_only_where_it_is_needed() -> None:
    ratio = col(0) / col(1)
    records = [(6, 2), (6, 0), (None, 0), (1, None)]
    assert evaluated(when(col(1) != 0, ratio).otherwise(-1.0), records, PAIR) == [3.0, -1.0, -1.0, -1.0]
    assert evaluated(when(col(1) == 0, None).when(ratio > 2, ratio), records, PAIR) == [3.0, None, None, None]
    assert evaluated((col(1) != 0) & (ratio > 2), records, PAIR) == [True, False, False, None]
    assert evaluated((col(1) == 0) | (ratio > 2), records, PAIR) == [True, True, True, None]
    assert evaluated(coalesce(col(1), 1 // (col(0) - 6)), [(6, 5), (7, None)], PAIR) == [5, 1]
    assert evaluated(when(col(0) > 0, 1).otherwise(lit(1) // 0), [(6, 5), (7, None)], PAIR) == [1, 1]
    assert failure_of(when(col(1) != 0, ratio).otherwise(ratio), records, PAIR).index == 1


def test_nothing_is_known_of_missing_values() -> None:
    values = [None, 0]
    number = Types.LONG()
    for expression in (this() + 1, this() == 0, this().isin([0]), least(this(), 1), greatest(1, this()), this().abs()):
        assert of_values(expression, values, number)[0] is None
    flag = Types.BOOLEAN()
    assert of_values(this() & False, [None, True], flag) == [False, False]
    assert of_values(this() | True, [None, False], flag) == [True, True]
    assert of_values(~this(), [None, False], flag) == [None, True]
    assert of_values(when(this(), "yes").otherwise("no"), [None, True], flag) == ["no", "yes"]
    assert of_values(this().is_null(), values, number) == [True, False]
    assert of_values(coalesce(this(), 5), values, number) == [5, 0]


def test_nothing_is_computed_of_no_records() -> None:
    assert evaluated(lit(1) / 0, [], PAIR) == []
    assert evaluated(col(0) / 0, [], PAIR) == []


@pytest.mark.parametrize(
    ("given", "given_type", "target", "expected"),
    [
        (2.9, Types.DOUBLE(), int, 2),
        (-2.9, Types.DOUBLE(), Types.SHORT(), -2),
        (7, Types.LONG(), float, 7.0),
        (True, Types.BOOLEAN(), int, 1),
        (True, Types.BOOLEAN(), float, 1.0),
        (0.0, Types.DOUBLE(), bool, False),
        (" +12 ", Types.STRING(), int, 12),
        ("007", Types.STRING(), int, 7),
        (" -1.5e3", Types.STRING(), float, -1500.0),
        ("+Infinity", Types.STRING(), float, float("inf")),
        (".5", Types.STRING(), Types.FLOAT(), 0.5),
        ("TRUE", Types.STRING(), bool, True),
        (1.0, Types.DOUBLE(), str, "1.0"),
        (1e16, Types.DOUBLE(), str, "1e+16"),
        (0.1, Types.FLOAT(), str, "0.10000000149011612"),
        (True, Types.BOOLEAN(), str, "True"),
        (-7, Types.BYTE(), str, "-7"),
        (dt.date(2024, 2, 29), Types.SQL_DATE(), str, "2024-02-29"),
        (dt.datetime(2024, 2, 29, 1, 2, 3), Types.SQL_TIMESTAMP(), str, "2024-02-29 01:02:03"),
        (dt.datetime(2024, 2, 29, 1, 2, 3, 40), Types.SQL_TIMESTAMP(), str, "2024-02-29 01:02:03.000040"),
        (dt.time(1, 2, 3), Types.SQL_TIME(), str, "01:02:03"),
        ("2024-02-29", Types.STRING(), dt.date, dt.date(2024, 2, 29)),
        ("2024-02-29T01:02:03.5", Types.STRING(), dt.datetime, dt.datetime(2024, 2, 29, 1, 2, 3, 500_000)),
        ("01:02:03", Types.STRING(), dt.time, dt.time(1, 2, 3)),
        (dt.datetime(1969, 12, 31, 23), Types.SQL_TIMESTAMP(), dt.date, dt.date(1969, 12, 31)),
        (dt.datetime(2024, 2, 29, 1, 2, 3, 4), Types.SQL_TIMESTAMP(), dt.time, dt.time(1, 2, 3, 4)),
        (dt.date(2024, 2, 29), Types.SQL_DATE(), dt.datetime, dt.datetime(2024, 2, 29)),
        (10**10, Types.BIG_INT(), int, 10**10),
        (10**30, Types.BIG_INT(), float, 1e30),
        (Decimal("1.5"), Types.BIG_DEC(), float, 1.5),
        (7, Types.INT(), Types.BIG_INT(), 7),
        (10**30, Types.BIG_INT(), Types.BIG_DEC(), Decimal(10**30)),
        ("x", Types.CHAR(), str, "x"),
    ],
)
def test_casts(given: Any, given_type: TypeInformation, target: Any, expected: Any) -> None:
    result, missing = of_values(this().cast(target), [given, None], given_type)
    assert missing is None
    assert (type(result), result) == (type(expected), expected)


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ("0x10", int),
        ("1_000", int),
        ("", int),
        ("1.5", int),
        ("9" * 30, int),
        ("1.5.2", float),
        ("nan(1)", float),
        ("yes", bool),
        ("2024-02-30", dt.date),
        ("2024-02-29T01:02:03Z", dt.datetime),
        ("0000-12-31", dt.date),
        ("0000-12-31 23:59:59", dt.datetime),
    ],
)
def test_a_text_that_is_not_what_it_is_cast_to(given: str, target: Any) -> None:
    assert failure_of(this().cast(target), [None, given], Types.STRING()).index == 1


def test_an_integer_that_is_too_large_for_a_float() -> None:
    failure = failure_of(this().cast(float), [10**308, 10**309], Types.BIG_INT())
    assert failure.index == 1
    assert isinstance(failure.cause, OverflowError)


def test_comparisons_of_times_and_bytes() -> None:
    day = dt.date(2024, 2, 29)
    assert of_values(this() >= day, [day, dt.date(2023, 1, 1)], Types.SQL_DATE()) == [True, False]
    assert of_values(this().between(day, day), [day], Types.SQL_DATE()) == [True]
    moment = dt.datetime(2024, 1, 1, 12)
    assert of_values(this().isin([moment]), [moment, None], Types.SQL_TIMESTAMP()) == [True, None]
    assert of_values(this() == b"a", [b"a", b"b"], Types.PRIMITIVE_ARRAY(Types.BYTE())) == [True, False]


def test_comparisons_of_integers_with_floats_round_neither() -> None:
    big = (1 << 53) + 1
    assert of_values(this() == float(1 << 53), [big, 1 << 53], Types.LONG()) == [False, True]
    assert of_values(this() < 2.0**63, [(1 << 63) - 1], Types.LONG()) == [True]
    assert of_values(this() > big, [float(1 << 53), 1e17], Types.DOUBLE()) == [False, True]


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [("a%", ["a", "abc", "a\nb", "a_c"]), ("a_c", ["abc", "a_c"]), (r"a\_c", ["a_c"]), ("%B%", []), ("", [""])],
)
def test_like(pattern: str, matched: list[str]) -> None:
    texts = ["", "a", "abc", "a\nb", "a_c", "xa"]
    answers = of_values(this().like(pattern), texts, Types.STRING())
    assert [text for text, answer in zip(texts, answers, strict=True) if answer] == matched


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        (r"%\\", ["\\", "a\\"]),
        (r"%a\\b", [r"a\b", r"xa\b"]),
        (r"a\\b%", [r"a\b"]),
        (r"%\\%", ["\\", "a\\", r"a\b", r"xa\b"]),
        (r"%a\b", ["ab"]),
        (r"\\%%", ["\\"]),
        (r"_\.", ["a."]),
    ],
)
def test_a_backslash_in_like_makes_plain_what_follows(pattern: str, matched: list[str]) -> None:
    texts = ["", "ab", "\\", "a\\", r"a\b", r"xa\b", "a.", "aa"]
    answers = of_values(this().like(pattern), texts, Types.STRING())
    assert [text for text, answer in zip(texts, answers, strict=True) if answer] == matched


def test_a_pattern_of_like_does_not_end_with_half_of_a_backslash() -> None:
    with pytest.raises(ArgumentError, match=r"like: .* ends with a backslash"):
        this().like("100%\\")


def test_regular_expressions_are_searched_for() -> None:
    texts = ["order 17", "17", "none", None]
    assert of_values(this().regexp(r"\d+$"), texts, Types.STRING()) == [True, True, False, None]


def test_the_least_integer_is_among_floats() -> None:
    assert of_values(this().isin([-(2.0**63), 2.0**63]), [-(1 << 63), 1 << 62], Types.LONG()) == [True, False]


def test_zero_to_the_power_of_minus_infinity() -> None:
    zeros, infinity = [0.0, -0.0], float("inf")
    assert of_values(this() ** -infinity, zeros, Types.DOUBLE()) == [zero**-infinity for zero in zeros]
    assert isinstance(failure_of(this() ** -2.0, zeros, Types.DOUBLE()).cause, ZeroDivisionError)


def test_a_float_of_32_bits_is_computed_with_as_it_is() -> None:
    assert of_values(this() * 3, [0.1], Types.FLOAT()) == [0.10000000149011612 * 3]


def test_a_long_chain_of_operands() -> None:
    total: Expression = this()
    for _ in range(200):
        total = total + 1
    assert of_values(total, [0, None], Types.LONG()) == [200, None]
    assert Evaluator(total, Types.LONG()).type == Types.LONG()


def test_integers_are_multiplied_by_a_decimal_number_exactly() -> None:
    values = [0, 1, -7, None, LEAST, (1 << 63) - 1]
    rate = Decimal("0.908")
    found = of_values(this() * rate, values, Types.LONG())
    assert found == [None if value is None else value * rate for value in values]
    assert [str(each) for each in found[:3]] == ["0.000", "0.908", "-6.356"]
    assert of_values(rate * this(), [3], Types.BYTE()) == [Decimal("2.724")]
    assert Evaluator(this() * rate, Types.INT()).type == Types.BIG_DEC()


@pytest.mark.parametrize(
    "expression", [this() * Decimal(-1), this() * Decimal("1E-7"), this() * 1.5 * Decimal(1), this() * Decimal(0)]
)
def test_other_products_of_decimal_numbers_are_refused(expression: Expression) -> None:
    with pytest.raises(PlanError, match="a Decimal is multiplied with integers"):
        Evaluator(expression, Types.LONG())


def test_a_broken_text_in_json_is_looked_through_once() -> None:
    """Looked for again behind each of its quotes, which are escaped, it would take minutes."""
    broken = "[" * 501 + '"' + '\\"' * 200_000
    started = time.perf_counter()
    assert of_values(this().is_json(), [broken], Types.STRING()) == [False]
    assert time.perf_counter() - started < 20
