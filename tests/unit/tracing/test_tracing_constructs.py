"""Each construct that is traced gives what Python gives."""

# ruff: noqa: PLW0108 (lambdas are what is tested)

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple

import pytest

from penstock.common import Types
from penstock.common.row import Row
from penstock.common.type_inference import infer_type
from penstock.tracing import NotTraceable, Unproven, trace_filter, trace_map
from unit.tracing.traced_twins import assert_same_map, kept, mapped

LONG, DOUBLE, STRING, BOOLEAN = Types.LONG(), Types.DOUBLE(), Types.STRING(), Types.BOOLEAN()
RECORD = Types.ROW_NAMED(["n", "m", "x", "s", "p"], [LONG, Types.INT(), DOUBLE, STRING, BOOLEAN])
ROWS = [
    Row(n=7, m=2, x=1.5, s="Ada", p=True),
    Row(n=-7, m=2, x=-0.5, s="bob lee", p=False),
    Row(n=7, m=-2, x=2.5, s="Zoë ", p=True),
    Row(n=0, m=1, x=-0.0, s="x", p=False),
    Row(n=1 << 60, m=3, x=1e300, s="12", p=True),
]
RATE, CODES, LIMIT = 0.5, ("a", "x", 3), 5


def half(n: int) -> int:
    return n // 2 if n > 0 else -1


def first_two(n: int, m: int, x: float, s: str, p: bool = True) -> int:
    return n - m


class Backwards(NamedTuple):
    n: int
    m: int

    def __iter__(self) -> Any:
        return reversed((self.n, self.m))


def classified(r: Any) -> str:
    kind = "small"
    if r.n > LIMIT:
        kind = "large"
    elif r.n < 0:
        return f"negative {r.n}"
    return kind + "!"


@pytest.mark.parametrize(
    "function",
    [
        lambda r: r.n + r.m,
        lambda r: r.n - r.m * 2,
        lambda r: r.n // r.m,
        lambda r: r.n % r.m,
        lambda r: -r.m,
        lambda r: +r.p,
        lambda r: ~r.n,
        lambda r: r.m**2,
        lambda r: r.n & 5 | r.m ^ 1,
        lambda r: r.m >> 1,
        lambda r: r.m << 3,
        lambda r: r.p + r.p,
        lambda r: abs(r.n),
        lambda r: len(r.s),
        lambda r: max(r.n, r.m, 3),
        lambda r: min(1, 2, r.m),
        lambda r: int(r.m / 2),
        lambda r: round(r.x) if r.x < 100 else 0,
        lambda r: math.floor(r.x) if r.x < 100 else math.ceil(r.m),
        lambda r: r["n"] + r[1],
        lambda r: half(r.n) + half(n=r.m),
        lambda r: first_two(*r),
        lambda r: max(*(r.n, r.m)) + half(*(4,)),
        lambda r: None if r.p else r.n,
        lambda r: r.s.find("e"),
        lambda r: ord(r.s[0]),
        lambda r: (r.p and r.n) or r.m,
        lambda r, k=3: r.m * k,
    ],
)
def test_functions_to_integers(function: Callable[[Any], Any]) -> None:
    assert_same_map(function, RECORD, LONG, ROWS)


@pytest.mark.parametrize(
    "function",
    [
        lambda r: r.n / r.m,
        lambda r: r.x * RATE,
        lambda r: r.x // 0.7,
        lambda r: r.x % -0.7,
        lambda r: r.n + r.x,
        lambda r: -r.x,
        lambda r: r.x / r.m - 1,
        lambda r: float(r.n),
        lambda r: abs(r.x),
        lambda r: max(r.x, 0.0),
        lambda r: min(r.x, -0.0),
        lambda r: math.sqrt(abs(r.x)),
        lambda r: round(r.x, 1),
        lambda r: math.pi * r.m,
        lambda r: math.log(abs(r.m) + 1.0),
        lambda r: r.m**0.5 if r.m > 0 else 0.0,
    ],
)
def test_functions_to_floats(function: Callable[[Any], Any]) -> None:
    assert_same_map(function, RECORD, DOUBLE, ROWS)


@pytest.mark.parametrize(
    "function",
    [
        lambda r: r.s + "!" + r.s,
        lambda r: f"{r.n}: {r.s} {r.p} {r.x} {r.m:>5} {r.x:.2f} {r.s!r}",
        lambda r: str(r.n) + str(r.p) + str(r.x),
        lambda r: r.s.upper(),
        lambda r: r.s.lower().strip(),
        lambda r: r.s[0],
        lambda r: r.s[1:3] + r.s[-2:] + r.s[::-1],
        lambda r: r.s.replace("e", "").title().zfill(5),
        lambda r: max(r.s, "b"),
        lambda r: "big" if r.n > LIMIT else "small",
        classified,
        lambda r: "positive" if r.n else r.s or "nothing",
        lambda r: str.upper(r.s),
    ],
)
def test_functions_to_texts(function: Callable[[Any], Any]) -> None:
    assert_same_map(function, RECORD, STRING, ROWS)


@pytest.mark.parametrize(
    "function",
    [
        lambda r: r.n > r.m,
        lambda r: -10 < r.n <= 7,
        lambda r: r.n == r.x,
        lambda r: r.n != 7.0,
        lambda r: r.p == 1,
        lambda r: r.p is True,
        lambda r: r.s is not None,
        lambda r: r.s == "x" or (r.n == 7 and not r.p),
        lambda r: r.s in CODES,
        lambda r: r.n in (7, 0.0),
        lambda r: r.n not in {7, True},
        lambda r: "e" in r.s,
        lambda r: r.s in "Ada x",
        lambda r: r.s < "b",
        lambda r: r.s.startswith(("A", "b")) and r.s.endswith("a"),
        lambda r: bool(r.n),
        lambda r: not r.s,
        lambda r: math.isnan(r.x) or math.isfinite(r.n),
        lambda r: r.s.isdigit(),
        lambda r: (r.n > 0) & (r.m > 0) | r.p,
        lambda r: r.x in (1.5, 0.0),
    ],
)
def test_conditions(function: Callable[[Any], Any]) -> None:
    assert_same_map(function, RECORD, BOOLEAN, ROWS)
    assert kept(function, RECORD, ROWS) == [bool(function(row)) for row in ROWS]


def test_a_filter_asks_for_truth_alone() -> None:
    assert kept(lambda r: r.n, RECORD, ROWS) == [True, True, True, False, True]
    assert kept(lambda r: r.s and r.x, RECORD, ROWS) == [True, True, True, False, True]
    assert kept(lambda r: None, RECORD, ROWS) == [False] * 5
    assert trace_filter(lambda r: r.s and r.n > 3, RECORD).text == "r.s and (r.n > 3)"


@dataclass
class Payment:
    card: str
    cents: int
    note: str | None = None


class Point(NamedTuple):
    x: float
    y: float


@dataclass
class Lucky:
    number: int

    @property
    def double(self) -> int:
        return self.number * 2


def test_records_with_fields() -> None:
    payment = infer_type(Payment)
    payments = [Payment("visa", 5, None), Payment("amex", -7, "late")]
    assert_same_map(lambda p: Payment(p.card.upper(), p.cents * 2, note=p.note), payment, payment, payments)
    assert_same_map(lambda p: p, payment, payment, payments)
    assert_same_map(lambda p: Payment(p.card, 0, None) if p.cents < 0 else p, payment, payment, payments)
    assert_same_map(lambda p: (p.card, p.cents), payment, Types.TUPLE([STRING, LONG]), payments)
    assert_same_map(
        lambda p: Row(card=p.card, twice=p.cents * 2),
        payment,
        Types.ROW_NAMED(["card", "twice"], [STRING, LONG]),
        payments,
    )
    point = infer_type(Point)
    assert_same_map(lambda p: Point(p.y, p[0]), point, point, [Point(1.0, 2.0), Point(-0.0, math.nan)])
    assert_same_map(lambda p: p.x + p[-1], point, DOUBLE, [Point(1.0, 2.0)])


def test_tuples_come_apart() -> None:
    pair = Types.TUPLE([LONG, STRING])

    def swapped(pair: Any) -> Any:
        number, text = pair
        return text, number + 1

    assert_same_map(swapped, pair, Types.TUPLE([STRING, LONG]), [(1, "a"), (2, "b")])
    nested = Types.TUPLE([pair, LONG])
    assert_same_map(lambda r: ((r[1], r[0][1]), r[0][0]), nested, nested, [((1, "a"), 5), ((2, "b"), 6)])
    assert_same_map(lambda r: r[0], nested, pair, [((1, "a"), 5), ((2, "b"), 6)])


def test_values_without_fields() -> None:
    assert_same_map(lambda n: n * 2, LONG, LONG, [1, -3])
    assert_same_map(lambda line: int(line), STRING, LONG, ["1", "-12", " 7 ", "1_0"])
    assert_same_map(lambda line: float(line), STRING, DOUBLE, ["1", "-12.25", "1e3", "nan", "0.1"])


def test_builtins_and_getters() -> None:
    assert_same_map(int, STRING, LONG, ["1", "-12"])
    assert_same_map(len, STRING, LONG, ["", "Zoë"])
    assert_same_map(str.upper, STRING, STRING, ["a", "ß"])
    assert_same_map(str.strip, STRING, STRING, [" a", "ß "])
    pair = Types.TUPLE([LONG, STRING])
    assert_same_map(itemgetter(1), pair, STRING, [(1, "a"), (2, None)])
    assert_same_map(itemgetter(1, -2), pair, Types.TUPLE([STRING, LONG]), [(1, "a"), (2, None)])
    assert_same_map(attrgetter("x"), infer_type(Point), DOUBLE, [Point(1.0, 2.0)])
    assert kept(bool, LONG, [0, 1, None]) == [False, True, False]


def test_fields_of_any_type_are_handed_on() -> None:
    record = Types.TUPLE([Types.LIST(LONG), Types.SQL_DATE(), Types.FLOAT(), LONG])
    records = [([1, 2], None, 0.1, 1), (None, None, 0.2, -1), ([], None, None, 2)]
    out = Types.TUPLE([Types.FLOAT(), Types.LIST(LONG), Types.SQL_DATE()])
    assert_same_map(lambda r: (r[2], r[0], r[1]), record, out, records)
    assert_same_map(lambda r: (r[2], r[0] if r[3] > 0 else None, r[1]), record, out, records)
    assert kept(lambda r: r[0] is not None, record, records) == [True, False, True]


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda r: print(r), "it calls print, which is not known to be pure"),
        (lambda r: [r.n], "it makes a list"),
        (lambda r: sum(v for v in (1, 2)), "comprehension"),
        (lambda r: r.missing, "has no field 'missing'"),
        (lambda r: r.n + r.s, "+ of int and str"),
        (lambda r: r.s.split(","), "a method that is not traced"),
        (lambda r: r.n**r.m, "the exponent is not known to be positive"),
        (lambda r: undefined_name(r), "the name 'undefined_name' is not defined"),  # noqa: F821
        (lambda r: r.n < None, "< of int and None"),
        (lambda r: SETTINGS["rate"] * r.n, "what it captures must be a constant"),
        (lambda r: 1 // 0, "raises ZeroDivisionError"),
        (lambda r: (None if r.p else 0) ** 0, "raises TypeError"),
        (lambda r: (r.p and 2) ** (r.p and 10**6), "is too large"),
        (lambda *r: 1, "any number of arguments"),
        (lambda r: half(*r), "is called with other arguments than it takes"),
        (lambda r: half(**r), "it makes a dict"),
        (lambda r: half(*r.s), "unpacking `r.s`"),
        (lambda r, s: 1, "is called with other arguments than it takes"),
        (len, "the length of object"),
        (partial(max, 1), "an object of the class partial is no plain function"),
    ],
)
def test_what_is_not_traced_says_why(function: Any, reason: str) -> None:
    with pytest.raises(NotTraceable) as refusal:
        trace_map(function, RECORD, LONG)
    assert reason in refusal.value.reason


def test_what_unpacks_in_its_own_way_is_not_traced() -> None:
    for function in (lambda r: max(*r), lambda r: unpacked(r)):
        with pytest.raises(NotTraceable, match="unpacking"):
            trace_map(function, infer_type(Backwards), LONG)


def unpacked(r: Any) -> int:
    first, _ = r
    return first


SETTINGS = {"rate": 2}


def test_a_refusal_has_the_line() -> None:
    def long_one(r: Any) -> int:
        total = r.n + 1
        print(total)
        return total

    with pytest.raises(NotTraceable, match=rf"{__file__}:{long_one.__code__.co_firstlineno + 2}"):
        trace_map(long_one, RECORD, LONG)


def test_side_effects_are_not_traced() -> None:
    def counting(r: Any) -> int:
        global COUNTED  # noqa: PLW0603
        COUNTED = r.n
        return r.n

    def trying(r: Any) -> int:
        try:
            return 1 // r.n
        except ZeroDivisionError:
            return 0

    def changing(r: Any) -> Any:
        r.n = 1
        return r

    def looping(r: Any) -> int:
        total = 0
        while total < r.n:
            total += 1
        return total

    def yielding(r: Any) -> Any:
        yield r.n

    for function in (counting, trying, changing, looping, yielding):
        with pytest.raises(NotTraceable):
            trace_map(function, RECORD, LONG)


COUNTED = 0


def test_a_property_is_more_than_a_field() -> None:
    lucky = infer_type(Lucky)
    assert mapped(lambda r: r.number, lucky, LONG, [Lucky(3)]) == [3]
    with pytest.raises(NotTraceable):
        trace_map(lambda r: r.double, lucky, LONG)


def test_a_method_of_rows_is_no_field() -> None:
    row = Types.ROW_NAMED(["as_dict", "n"], [LONG, LONG])
    with pytest.raises(NotTraceable, match="an attribute of every Row"):
        trace_map(lambda r: r.as_dict, row, LONG)
    assert mapped(lambda r: r["as_dict"], row, LONG, [Row(as_dict=1, n=2)]) == [1]


def test_results_keep_their_class_or_are_left_to_python() -> None:
    for declared in (DOUBLE, Types.FLOAT(), STRING, BOOLEAN, Types.CHAR(), Types.BIG_DEC()):
        with pytest.raises(NotTraceable):
            trace_map(lambda r: r.n, RECORD, declared)
    assert mapped(lambda r: r.n, RECORD, Types.BIG_INT(), ROWS[:2]) == [7, -7]
    assert mapped(lambda r: r.n * 2, RECORD, Types.BYTE(), ROWS[:2]) == [14, -14]
    with pytest.raises(NotTraceable):
        trace_map(lambda r: 0 if r.p else r.x, RECORD, DOUBLE)
    with pytest.raises(NotTraceable):
        trace_map(lambda r: (r.n, r.s), RECORD, Types.ROW([LONG, STRING]))


def test_fields_that_are_read() -> None:
    assert trace_filter(lambda r: r.n > 0 and r.s == "a", RECORD).read_fields == {"n", "s"}
    assert trace_map(lambda r: (r[1], 1), RECORD, Types.TUPLE([Types.INT(), LONG])).read_fields == {"m"}
    assert trace_map(lambda r: r, RECORD, RECORD).read_fields is None
    assert trace_filter(lambda n: n > 0, LONG).read_fields is None


def test_what_is_captured_is_shown_by_name() -> None:
    assert trace_map(lambda r: r.x * RATE + (RATE - 1), RECORD, DOUBLE).text == "(r.x * RATE) + (RATE - 1)"
    assert trace_filter(lambda r: r.s in CODES or f"{LIMIT}!" == r.s, RECORD).text == (
        "(r.s in CODES) or (f'{LIMIT}!' == r.s)"
    )


def test_names_of_two_modules_are_not_mixed_up() -> None:
    scopes: list[dict[str, Any]] = [{"X": "a"}, {"X": "b"}]
    for scope in scopes:
        exec("def starts(s):\n    return s.startswith(X) + (s[1:] == X)", scope)
    first, second = (scope["starts"] for scope in scopes)
    assert_same_map(lambda s: first(s) * 10 + second(s), STRING, LONG, ["a", "b", "aa", "ab", "bb", ""])


def test_the_record_inside_another() -> None:
    pair = Types.TUPLE([LONG, STRING])
    assert_same_map(lambda r: (r, r[0] + 1), pair, Types.TUPLE([pair, LONG]), [(1, "a"), (2, None)])


def test_values_that_are_not_used_are_computed_too() -> None:
    def unused(r: Any) -> int:
        quotient = 1 // r.n  # noqa: F841
        return r.m

    def dropped(r: Any) -> int:
        return (r.m, 1 // r.n)[0]

    def condition(r: Any) -> int:
        return 1 if 1 // r.n else 1  # noqa: RUF034

    for function in (unused, dropped, condition):
        assert_same_map(function, RECORD, LONG, ROWS[:3])
        with pytest.raises(Exception):  # noqa: B017, PT011  the function itself is asked, and raises
            mapped(function, RECORD, LONG, ROWS)


def test_what_is_unpacked_for_a_call_is_there_though_the_function_looks_at_none_of_it() -> None:
    def always(_: Any, __: Any) -> int:
        return 7

    pairs = Types.ROW_NAMED(["pair"], [Types.TUPLE([LONG, STRING])])
    assert_same_map(lambda r: always(*r.pair), pairs, LONG, [Row(pair=(1, "a"))])
    with pytest.raises(Unproven):
        mapped(lambda r: always(*r.pair), pairs, LONG, [Row(pair=(1, "a")), Row(pair=None)])
