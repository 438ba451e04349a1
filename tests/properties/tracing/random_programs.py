"""Random functions of a row, as Python source, and random rows for them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.row import Row
from properties.expressions.python_twins import GREATEST, LEAST, RECORD

FIELDS = {"int": "bbinm", "float": "rxy", "str": "st", "bool": "pq"}
PLACES = {name: place for place, name in enumerate(RECORD.get_field_names())}
OUTPUTS = {"int": Types.LONG(), "float": Types.DOUBLE(), "str": Types.STRING(), "bool": Types.BOOLEAN()}

INTEGERS = (0, 1, -1, 2, 3, 7, -7, 10, 1 << 53, (1 << 53) + 1, -(1 << 53) - 1, 10**18, LEAST, GREATEST, 1 << 31)
FLOATS = (0.0, -0.0, 0.5, -1.5, 2.5, 0.1, 1.115, 2.675, 1e16, 1e308, 5e-324, 2.0**53, 2.0**63, -(2.0**63), 9.5, 1e22)
TEXTS = (
    "",
    "a",
    "A",
    "ab",
    "b,c",
    "Straße",
    "ΑΣ",
    "İi",
    "\x1c x\u00a0",
    "ŉ",
    "12",
    " -7 ",
    "1.5e3",
    "🙂b",
    "1_0",
    "٣",
    "e\u0301",
)

longs = st.one_of(st.sampled_from(INTEGERS), st.integers(-20, 20), st.integers(LEAST, GREATEST))
doubles = st.one_of(
    st.sampled_from((*FLOATS, float("nan"), float("inf"), float("-inf"))), st.floats(-100, 100), st.floats()
)
texts = st.one_of(st.sampled_from(TEXTS), st.text(max_size=6))
small = st.integers(-9, 9)
tame_floats = st.floats(-100, 100).map(lambda x: round(x, 3))
tame_texts = st.sampled_from(("a", "Ab", "b,c", "12", " x", "Ada", "-3", "0.5"))


def _rows(n: Any, x: Any, s: Any, some: Any) -> st.SearchStrategy[Row]:
    return st.builds(
        Row,
        b=some(st.integers(-128, 127)),
        i=some(st.integers(-(1 << 31), (1 << 31) - 1) if n is longs else small),
        n=some(n),
        m=some(n),
        r=some(st.floats(width=32) if x is doubles else st.sampled_from((0.5, -2.0, 0.25))),
        x=some(x),
        y=some(x),
        s=some(s),
        t=some(s),
        p=some(st.booleans()),
        q=some(st.booleans()),
    )


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy, strategy, strategy, strategy)


def always(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return strategy


# Wild values are mostly left to Python; tame ones show that what is computed over columns is right.
batches = st.one_of(
    st.lists(_rows(small, tame_floats, tame_texts, always), min_size=1, max_size=6),
    st.lists(_rows(longs, doubles, texts, always), min_size=1, max_size=4),
    st.lists(_rows(small, doubles, texts, maybe), min_size=1, max_size=6),
)


@st.composite
def constants(draw: st.DrawFn, kind: str) -> str:
    match kind:
        case "int":
            return repr(draw(st.one_of(small, st.sampled_from(INTEGERS))))
        case "float":
            return repr(draw(st.one_of(tame_floats, st.sampled_from(FLOATS))))
        case "str":
            return repr(draw(st.sampled_from(TEXTS)))
        case _:
            return repr(draw(st.booleans()))


KINDS = st.sampled_from(("int", "float", "str", "bool"))
_NUMBER = st.sampled_from(("int", "int", "float", "bool"))


@st.composite
def expressions(draw: st.DrawFn, kind: str, depth: int) -> str:
    """An expression that is mostly of a kind; Python itself says what it is."""
    if depth <= 0 or draw(st.integers(0, 9)) == 0:
        if draw(st.integers(0, 3)) == 0:
            return draw(constants(kind))
        name = draw(st.sampled_from(FIELDS[kind]))
        return draw(st.sampled_from((f"r.{name}", f"r[{name!r}]", f"r[{PLACES[name]}]")))

    def part(of: str) -> str:
        return draw(expressions(of, depth - 1))

    def number() -> str:
        return part(draw(_NUMBER))

    every = [
        lambda: f"({part(kind)} if {part(draw(KINDS))} else {part(kind)})",
        lambda: f"({part(kind)} and {part(kind)})",
        lambda: f"({part(kind)} or {part(kind)})",
        lambda: f"(None if {part('bool')} else {part(kind)})",
        lambda: f"({part(kind)}, {part(kind)})[{draw(st.sampled_from((0, 1, -1)))}]",
        lambda: f"({part(draw(KINDS))} and {part(kind)})",
        lambda: draw(st.sampled_from(CAPTURING)).format(kind=kind, one=part(kind), other=part(kind)),
    ]
    own = {"int": _integers, "float": _floats, "str": _texts, "bool": _booleans}[kind](draw, part, number)
    return draw(st.sampled_from([*own, *own, *every]))()


def _integers(draw: Any, part: Any, number: Any) -> list[Any]:
    symbols = st.sampled_from(("+", "-", "*", "//", "%", "&", "|", "^", "+", "-", "*"))
    return [
        lambda: f"({part('int')} {draw(symbols)} {part('int')})",
        lambda: f"({part('int')} {draw(symbols)} {part('int')})",
        lambda: f"({part('int')} {draw(symbols)} {part('bool')})",
        lambda: f"({part('int')} {draw(st.sampled_from(('**', '<<', '>>')))} {draw(st.integers(-1, 5))})",
        lambda: f"({draw(st.sampled_from('-+~'))}{part('int')})",
        lambda: f"abs({part('int')})",
        lambda: f"len({part('str')})",
        lambda: f"int({part(draw(KINDS))})",
        lambda: f"round({part('float')})",
        lambda: f"round({part('int')}, {draw(st.integers(-3, 2))})",
        lambda: f"{draw(st.sampled_from(('max', 'min')))}({part('int')}, {part('int')})",
        lambda: f"math.{draw(st.sampled_from(('floor', 'ceil', 'trunc')))}({number()})",
        lambda: f"{part('str')}.{draw(st.sampled_from(('find', 'count', 'rfind')))}({draw(constants('str'))})",
        lambda: f"half({part('int')})",
    ]


def _floats(draw: Any, part: Any, number: Any) -> list[Any]:
    symbols = st.sampled_from(("+", "-", "*", "/", "//", "%", "+", "*"))
    return [
        lambda: f"({part('float')} {draw(symbols)} {number()})",
        lambda: f"({number()} {draw(symbols)} {part('float')})",
        lambda: f"({part('int')} / {part('int')})",
        lambda: f"({draw(st.sampled_from('-+'))}{part('float')})",
        lambda: f"abs({part('float')})",
        lambda: f"float({part(draw(KINDS))})",
        lambda: f"round({part('float')}, {draw(st.integers(-3, 4))})",
        lambda: f"{draw(st.sampled_from(('max', 'min')))}({part('float')}, {part('float')})",
        lambda: f"math.{draw(st.sampled_from(('sqrt', 'fabs', 'log', 'sin', 'exp')))}({number()})",
        lambda: f"({part('float')} ** {draw(st.sampled_from((2, 0.5, -1)))})",
    ]


def _texts(draw: Any, part: Any, number: Any) -> list[Any]:
    bound = st.one_of(st.just(""), st.integers(-4, 4).map(str))
    plain = ("upper", "lower", "strip", "lstrip", "rstrip", "title", "capitalize", "swapcase", "casefold")
    return [
        lambda: f"({part('str')} + {part('str')})",
        lambda: f"str({part(draw(KINDS))})",
        lambda: f"{part('str')}.{draw(st.sampled_from(plain))}()",
        lambda: f"{part('str')}.strip({draw(constants('str'))})",
        lambda: f"{part('str')}.replace({draw(constants('str'))}, {draw(constants('str'))})",
        lambda: f"{part('str')}[{draw(bound)}:{draw(bound)}]",
        lambda: f"{part('str')}[{draw(bound)}:{draw(bound)}:{draw(st.sampled_from((1, 2, -1)))}]",
        lambda: f"{part('str')}[{draw(st.integers(-2, 2))}]",
        lambda: 'f"<{' + part(draw(KINDS)) + "}|{" + part(draw(KINDS)) + '}>"',
        lambda: 'f"{' + part("float") + ':.2f}"',
        lambda: 'f"{' + part("int") + ':>6}"',
        lambda: 'f"{' + part("str") + '!r}"',
        lambda: f"max({part('str')}, {part('str')})",
        lambda: f"classified({part('int')}, {part('str')})",
    ]


def _booleans(draw: Any, part: Any, number: Any) -> list[Any]:
    compare = st.sampled_from(("<", "<=", ">", ">=", "==", "!="))
    choices = st.sampled_from(("(1, 2, 7)", "{0, 1.0, -7}", "('a', None, 3)", "(0.5, -0.0)", "('Ab', '12')", "()"))
    return [
        lambda: f"({number()} {draw(compare)} {number()})",
        lambda: f"({number()} {draw(compare)} {number()})",
        lambda: f"({part('str')} {draw(compare)} {part('str')})",
        lambda: f"({number()} {draw(compare)} {number()} {draw(compare)} {number()})",
        lambda: f"(not {part(draw(KINDS))})",
        lambda: f"bool({part(draw(KINDS))})",
        lambda: f"({part(draw(KINDS))} is {draw(st.sampled_from(('', 'not ')))}None)",
        lambda: f"({part(draw(KINDS))} {draw(st.sampled_from(('==', '!=')))} None)",
        lambda: f"({part(draw(KINDS))} {draw(st.sampled_from(('', 'not ')))}in {draw(choices)})",
        lambda: f"({part('str')} in {part('str')})",
        lambda: f"({draw(constants('str'))} in {part('str')})",
        lambda: f"{part('str')}.{draw(st.sampled_from(('startswith', 'endswith')))}({draw(constants('str'))})",
        lambda: f"{part('str')}.{draw(st.sampled_from(('isdigit', 'isalpha', 'isupper', 'isspace')))}()",
        lambda: f"({part('bool')} {draw(st.sampled_from('&|^'))} {part('bool')})",
        lambda: f"math.{draw(st.sampled_from(('isnan', 'isinf', 'isfinite')))}({number()})",
        lambda: f"({part('bool')} is {draw(st.booleans())})",
    ]


CAPTURING = (
    "({one} if KEEP else {other})",
    "({one} if not KEEP else {other})",
    "({one} if LIMIT is None else {other})",
    "({one} if is_on() else {other})",
    "({one} if (PLACE, 1)[0] else {other})",
    "(KEEP and {one})",
    "({one}, {other})[PLACE]",
    "r[FIELD_{kind}]",
    "taken_{kind}(r)",
)
"""Where what is captured decides which fields are read."""

HELPERS = """
import math
from collections import namedtuple
from dataclasses import dataclass
from penstock.common.row import Row
Point = namedtuple("Point", "x y")
@dataclass
class Pair:
    x: int
    y: int
def half(n):
    return n // 2 if n > 0 else -n
def classified(n, s):
    kind = "small"
    if n > 3:
        kind = "large"
    elif n < 0:
        return s + "!"
    return kind
KEEP, LIMIT, PLACE = True, None, 0
FIELD_int, FIELD_float, FIELD_str, FIELD_bool = "n", "x", "s", "p"
taken_int, taken_float, taken_str, taken_bool = lambda r: r.n, lambda r: r.x, lambda r: r.s, lambda r: r.p
def is_on():
    return True
"""

CHANGED = """
KEEP, LIMIT, PLACE = False, 3, 1
FIELD_int, FIELD_float, FIELD_str, FIELD_bool = "m", "y", "t", "q"
taken_int, taken_float, taken_str, taken_bool = lambda r: r.m, lambda r: r.y, lambda r: r.t, lambda r: r.q
def is_on():
    return False
"""
"""Other values of what is captured, as where the job runs."""


@st.composite
def composites(draw: st.DrawFn) -> str:
    """The source of a function that returns a tuple, a row, a dataclass or a named tuple, sometimes one of two."""
    first, second = draw(KINDS), draw(KINDS)
    form = draw(st.sampled_from(("({}, {})", "Row(x={}, y={})", "Pair({}, y={})", "Point({}, {})", "(({},), {})")))

    def one() -> str:
        return form.format(draw(expressions(first, 2)), draw(expressions(second, 2)))

    if draw(st.booleans()):
        return f"function = lambda r: {one()}"
    return f"function = lambda r: {one()} if {draw(expressions('bool', 2))} else {one()}"


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, str]:
    """The kind that a function is meant to return, and its source."""
    kind = draw(KINDS)
    depth = draw(st.integers(1, 4))
    form = draw(st.integers(0, 3))
    if form == 0:
        first, second = draw(KINDS), draw(KINDS)
        lines = [
            f"    u = {draw(expressions(first, depth - 1))}",
            f"    if {draw(expressions('bool', depth - 1))}:",
            f"        return {draw(expressions(kind, depth - 1))}",
            *draw(st.sampled_from(((), (f"    assert {draw(expressions('bool', depth - 1))}, (1, r)",)))),
            f"    v = {draw(expressions(second, depth - 1))}",
            f"    if u {draw(st.sampled_from(('and', 'or', '==', 'is not None and')))} v:",
            f"        u = {draw(expressions(kind, depth - 1))}",
            f"        return {draw(st.sampled_from(('u', 'u', 'v')))}",
            f"    return {draw(expressions(kind, depth - 1))}",
        ]
        return kind, "def function(r):\n" + "\n".join(lines)
    return kind, f"function = lambda r: {draw(expressions(kind, depth))}"
