"""Random expressions, each with the plain Python function that it stands for."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.row import Row
from penstock.expressions import Expression, coalesce, col, concat, greatest, least, lit, when

RECORD = Types.ROW_NAMED(
    ["b", "i", "n", "m", "r", "x", "y", "s", "t", "p", "q"],
    [
        Types.BYTE(),
        Types.INT(),
        Types.LONG(),
        Types.LONG(),
        Types.FLOAT(),
        Types.DOUBLE(),
        Types.DOUBLE(),
        Types.STRING(),
        Types.STRING(),
        Types.BOOLEAN(),
        Types.BOOLEAN(),
    ],
)
FIELDS = {"int": ("b", "i", "n", "m"), "float": ("r", "x", "y"), "text": ("s", "t"), "bool": ("p", "q")}

LEAST, GREATEST = -(1 << 63), (1 << 63) - 1
EDGES = (0, 1, -1, 2, 7, -7, LEAST, LEAST + 1, GREATEST, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, 10**18)
longs = st.one_of(st.sampled_from(EDGES), st.integers(-20, 20), st.integers(LEAST, GREATEST))
FLOAT_EDGES = (0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 1.115, 2.675, 0.1, 1e308, 5e-324, 2.0**53, 2.0**63, -(2.0**63))
doubles = st.one_of(st.sampled_from(FLOAT_EDGES), st.floats(-100, 100), st.floats())
texts = st.one_of(
    st.sampled_from(("", "a", "Straße", "ΑΣ", "İstanbul", "\x1c x\u00a0", "ŉ", "12", " -7 ", "1.5e3", "🙂b")),
    st.text(max_size=6),
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy, strategy, strategy)


rows = st.builds(
    Row,
    b=maybe(st.integers(-128, 127)),
    i=maybe(st.integers(-(1 << 31), (1 << 31) - 1)),
    n=maybe(longs),
    m=maybe(longs),
    r=maybe(st.floats(width=32)),
    x=maybe(doubles),
    y=maybe(doubles),
    s=maybe(texts),
    t=maybe(texts),
    p=maybe(st.booleans()),
    q=maybe(st.booleans()),
)


@dataclass
class Twin:
    """An expression and the function that gives the same, and raises where the expression does."""

    expression: Expression
    function: Callable[[Row], Any]

    def __repr__(self) -> str:
        return repr(self.expression)


def strict(function: Callable[..., Any], *operands: Twin) -> Callable[[Row], Any]:
    """None in, None out; integers of 64 bits."""

    def call(record: Row) -> Any:
        values = [operand.function(record) for operand in operands]
        return None if None in values else in_64_bits(function(*values))

    return call


def in_64_bits(value: Any) -> Any:
    if isinstance(value, complex):
        raise ValueError(value)
    if isinstance(value, int) and not LEAST <= value <= GREATEST:
        raise OverflowError(value)
    return value


def power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        if exponent < 0:
            raise ValueError(exponent)
        if abs(base) > 1 and exponent > 64:
            raise OverflowError(exponent)
    return base**exponent


ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod)
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def binary(function: Callable[[Any, Any], Any], left: Twin, right: Twin) -> Twin:
    return Twin(function(left.expression, right.expression), strict(function, left, right))


def fields(kind: str) -> st.SearchStrategy[Twin]:
    return st.sampled_from(FIELDS[kind]).map(lambda name: Twin(col(name), operator.itemgetter(name)))


def leaf(kind: str) -> st.SearchStrategy[Twin]:
    values = {"int": longs, "float": doubles, "text": texts, "bool": st.booleans()}[kind]
    named = fields(kind)
    return st.one_of(named, named, named, values.map(lambda value: Twin(lit(value), lambda _: value)))


@cache
def twins(kind: str, depth: int) -> st.SearchStrategy[Twin]:
    """Expressions of a kind of result: int, float, text, bool."""
    if depth == 0:
        return leaf(kind)
    inner = {each: twins(each, depth - 1) for each in ("int", "float", "text", "bool")}
    number = st.one_of(inner["int"], inner["float"])
    return st.one_of(
        leaf(kind),
        st.builds(case, inner["bool"], inner[kind], inner[kind]),
        st.builds(first_present, inner[kind], inner[kind]),
        *{"int": integers, "float": floats, "text": text_results, "bool": conditions}[kind](inner, number),
    )


Inner = dict[str, st.SearchStrategy[Twin]]


def integers(inner: Inner, number: st.SearchStrategy[Twin]) -> list[st.SearchStrategy[Twin]]:
    one = inner["int"]
    return [
        st.builds(binary, st.sampled_from(ARITHMETIC), one, one),
        st.builds(binary, st.sampled_from(ARITHMETIC), one, one),
        st.builds(lambda base, to: Twin(base.expression**to, strict(lambda v: power(v, to), base)), one, small),
        st.builds(lambda base, to: Twin(base.expression**to.expression, strict(power, base, to)), one, fields("int")),
        st.builds(lambda v: Twin(-v.expression, strict(operator.neg, v)), one),
        st.builds(lambda v: Twin(v.expression.abs(), strict(abs, v)), one),
        st.builds(lambda v, d: Twin(v.expression.round(d), strict(lambda n: round(n, d), v)), one, digits),
        st.builds(lambda v: Twin(v.expression.round(), strict(round, v)), number),
        st.builds(lambda v: Twin(v.expression.floor(), strict(math.floor, v)), number),
        st.builds(lambda v: Twin(v.expression.ceil(), strict(math.ceil, v)), number),
        st.builds(lambda v: Twin(v.expression.cast(int), strict(int, v)), st.one_of(number, inner["bool"])),
        st.builds(lambda v: Twin(v.expression.length(), strict(len, v)), inner["text"]),
        st.builds(extreme, st.booleans(), one, one),
    ]


def floats(inner: Inner, number: st.SearchStrategy[Twin]) -> list[st.SearchStrategy[Twin]]:
    one = inner["float"]
    return [
        st.builds(binary, st.sampled_from(ARITHMETIC), one, number),
        st.builds(binary, st.sampled_from(ARITHMETIC), number, one),
        st.builds(binary, st.just(operator.truediv), number, number),
        st.builds(binary, st.just(operator.truediv), number, number),
        st.builds(lambda base, to: Twin(base.expression**to.expression, strict(power, base, to)), one, number),
        st.builds(lambda base: Twin(base.expression**-2, strict(lambda v: v**-2, base)), inner["int"]),
        st.builds(lambda v: Twin(-v.expression, strict(operator.neg, v)), one),
        st.builds(lambda v: Twin(v.expression.abs(), strict(abs, v)), one),
        st.builds(lambda v, d: Twin(v.expression.round(d), strict(lambda n: round(n, d), v)), one, digits),
        st.builds(lambda v: Twin(v.expression.sqrt(), strict(math.sqrt, v)), number),
        st.builds(lambda v: Twin(v.expression.exp(), strict(math.exp, v)), number),
        st.builds(lambda v: Twin(v.expression.log(), strict(math.log, v)), number),
        st.builds(lambda v: Twin(v.expression.cast(float), strict(float, v)), st.one_of(number, inner["bool"])),
        st.builds(extreme, st.booleans(), one, one),
    ]


def text_results(inner: Inner, number: st.SearchStrategy[Twin]) -> list[st.SearchStrategy[Twin]]:
    one = inner["text"]
    small_texts = st.sampled_from(("a", "1", "ß", " "))
    return [
        st.builds(lambda v: Twin(v.expression.upper(), strict(str.upper, v)), one),
        st.builds(lambda v: Twin(v.expression.lower(), strict(str.lower, v)), one),
        st.builds(lambda v: Twin(v.expression.trim(), strict(str.strip, v)), one),
        st.builds(lambda v: Twin(v.expression.rtrim("a1"), strict(lambda s: s.rstrip("a1"), v)), one),
        st.builds(binary, st.just(operator.add), one, one),
        st.builds(lambda v, w: Twin(concat(v.expression, "-", w.expression), strict("{}-{}".format, v, w)), one, one),
        st.builds(
            lambda v, start, length: Twin(
                v.expression.substring(start, length), strict(lambda s: s[start:][:length], v)
            ),
            one,
            st.integers(-8, 8),
            st.one_of(st.none(), st.integers(0, 5)),
        ),
        st.builds(
            lambda v, old, new: Twin(v.expression.replace(old, new), strict(lambda s: s.replace(old, new), v)),
            one,
            small_texts,
            st.text(max_size=2),
        ),
        st.builds(lambda v: Twin(v.expression.cast(str), strict(str, v)), st.one_of(number, inner["bool"])),
    ]


def conditions(inner: Inner, number: st.SearchStrategy[Twin]) -> list[st.SearchStrategy[Twin]]:
    one = inner["bool"]
    compared = st.sampled_from(COMPARISONS)
    small_texts = st.sampled_from(("", "a", "1", "ß"))
    values = st.lists(st.one_of(st.sampled_from(EDGES), st.sampled_from(FLOAT_EDGES)), max_size=4)
    return [
        st.builds(binary, compared, number, number),
        st.builds(binary, compared, number, number),
        st.builds(binary, compared, inner["text"], inner["text"]),
        st.builds(binary, compared, one, one),
        st.builds(junction, st.booleans(), one, one),
        st.builds(junction, st.booleans(), one, one),
        st.builds(lambda v: Twin(~v.expression, strict(operator.not_, v)), one),
        st.builds(lambda v: Twin(v.expression.is_null(), lambda r: v.function(r) is None), number),
        st.builds(lambda v: Twin(v.expression.is_not_null(), lambda r: v.function(r) is not None), one),
        st.builds(lambda v: Twin(v.expression.is_nan(), strict(math.isnan, v)), number),
        st.builds(
            lambda v, among: Twin(v.expression.isin(among), strict(lambda x: any(x == a for a in among), v)),
            number,
            values,
        ),
        st.builds(lambda v, t: Twin(v.expression.contains(t), strict(lambda s: t in s, v)), inner["text"], small_texts),
        st.builds(
            lambda v, t: Twin(v.expression.startswith(t), strict(lambda s: s.startswith(t), v)),
            inner["text"],
            small_texts,
        ),
        st.builds(
            lambda v, t: Twin(v.expression.endswith(t), strict(lambda s: s.endswith(t), v)), inner["text"], small_texts
        ),
        st.builds(lambda v: Twin(v.expression.cast(bool), strict(bool, v)), number),
    ]


small = st.integers(0, 70)
digits = st.integers(-25, 25)


def extreme(is_least: bool, left: Twin, right: Twin) -> Twin:
    choose = least if is_least else greatest
    return Twin(choose(left.expression, right.expression), strict(min if is_least else max, left, right))


def case(condition: Twin, value: Twin, otherwise: Twin) -> Twin:
    return Twin(
        when(condition.expression, value.expression).otherwise(otherwise.expression),
        lambda record: value.function(record) if condition.function(record) else otherwise.function(record),
    )


def first_present(left: Twin, right: Twin) -> Twin:
    def function(record: Row) -> Any:
        value = left.function(record)
        return right.function(record) if value is None else value

    return Twin(coalesce(left.expression, right.expression), function)


def junction(is_and: bool, left: Twin, right: Twin) -> Twin:
    """SQL's three values; the right side is not asked where the left side decides."""

    def function(record: Row) -> bool | None:
        one = left.function(record)
        if one is (not is_and):
            return one
        other = right.function(record)
        if other is (not is_and):
            return other
        return None if None in (one, other) else is_and

    combined = left.expression & right.expression if is_and else left.expression | right.expression
    return Twin(combined, function)
