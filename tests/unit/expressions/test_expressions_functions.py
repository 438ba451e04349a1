"""Functions of expressions: types that come out, and what is refused when they are written."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Row, Types
from penstock.common.errors import ArgumentError, PlanError
from penstock.expressions import Expression, array, col, concat_ws, explode, lit, text_kernels, this
from penstock.expressions.evaluator import Evaluator
from unit.expressions.evaluation import evaluated, of_values

RECORD = Types.ROW_NAMED(
    ["n", "x", "s", "at", "day", "time", "l", "m", "b"],
    [
        Types.INT(),
        Types.DOUBLE(),
        Types.STRING(),
        Types.SQL_TIMESTAMP(),
        Types.SQL_DATE(),
        Types.SQL_TIME(),
        Types.LIST(Types.INT()),
        Types.MAP(Types.STRING(), Types.SHORT()),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
    ],
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("n").sign(), "Long"),
        (col("x").sign(), "Double"),
        (col("n").sin(), "Double"),
        (col("n").bit_and(1), "Long"),
        (col("s").split(","), "ListTypeInfo<String>"),
        (col("s").regexp_extract("(a)"), "String"),
        (col("x").format_number(2), "String"),
        (col("s").json_value("$.a", int), "Long"),
        (col("s").json_value("$.a"), "String"),
        (col("n").from_unix_seconds(), "TimestampTypeInfo"),
        (col("day").unix_millis(), "Long"),
        (col("day").date_trunc("month"), "DateTypeInfo"),
        (col("at").date_trunc("month"), "TimestampTypeInfo"),
        (col("day") + dt.timedelta(days=1), "DateTypeInfo"),
        (col("time").hour(), "Long"),
        (col("l").element_at(0), "Integer"),
        (col("m").map_value("a"), "Short"),
        (array(col("n"), 1.5), "ListTypeInfo<Double>"),
        (array(None, col("s")), "ListTypeInfo<String>"),
        (col("b").md5(), "String"),
        (col("x").hash64(), "Long"),
        (col("n").if_null(0.5), "Double"),
        (concat_ws("-", col("s"), "x"), "String"),
    ],
    ids=repr,
)
def test_types(expression: Expression, expected: str) -> None:
    assert repr(Evaluator(expression, RECORD).type) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (col("s").bit_and(1), "needs integers"),
        (col("x").shift_left(1), "needs integers"),
        (col("n").reverse(), "needs a text"),
        (col("s").format_number(), "needs a number"),
        (col("x").from_unix_millis(), "needs an integer"),
        (col("time").unix_millis(), "needs a timestamp or a date"),
        (col("time").year(), "needs a timestamp or a date"),
        (col("day").hour(), "needs a timestamp or a time"),
        (col("day").date_trunc("hour"), "needs a timestamp,"),
        (col("day").floor_to(dt.timedelta(days=1)), "needs a timestamp,"),
        (col("day").date_format("HH"), "needs a timestamp or a time"),
        (col("time").date_format("dd"), "needs a timestamp or a date"),
        (col("s").date_format("yyyy"), "needs a timestamp, a date or a time"),
        (col("day") + dt.timedelta(hours=1), "no whole number of days"),
        (col("s") + dt.timedelta(hours=1), "needs a timestamp or a date"),
        (col("time") + dt.timedelta(hours=1), "needs a timestamp or a date"),
        (col("n").element_at(0), "needs a list"),
        (col("l").element_at("a"), "a place in the list"),
        (col("m").element_at(0), r"`\.map_value\(key\)`"),
        (col("m").map_value(1), "the keys of"),
        (col("l").array_contains("a"), "compares Integer with String"),
        (col("l").array_join(","), "needs a list of texts"),
        (col("l").hash64(), "needs a number, a text"),
        (array(col("n"), "a"), "have no common type"),
        (array(None), "has no type"),
        (col("n").json_value("$.a"), "needs a text"),
        (explode(col("l")), "pass it to `flat_map`"),
        (col("n").null_if("a"), "compares Integer with String"),
    ],
    ids=repr,
)
def test_types_that_do_not_suit(expression: Expression, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Evaluator(expression, RECORD)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda: col("s").lpad(3, "ab"), "fills up with one character"),
        (lambda: col("m").map_value(None), "takes a key, and None is none"),
        (lambda: col("s").repeat(-1), "repeat takes a number from 0"),
        (lambda: col("s").split(""), "split takes a text that is not empty"),
        (
            lambda: col("s").contains("\ud800"),
            r"contains takes a text of whole characters, and '\\ud800' has half of one",
        ),
        (lambda: col("s").regexp("\ud800"), "regexp takes a text of whole characters"),
        (lambda: col("s").alias("\ud800"), "alias takes a text of whole characters"),
        (lambda: col("s").regexp_extract("(a"), r"regexp_extract: '\(a' cannot be used"),
        (lambda: col("s").regexp_extract("(a)", 2), "has 1 groups, and group 2"),
        (lambda: col("s").regexp_replace("a", r"\1"), r"the groups of 'a' are"),
        (lambda: col("s").json_value("a"), "'a' is no path"),
        (lambda: col("s").json_value("$.a..b"), "is no path"),
        (lambda: col("s").json_value("$.a", dt.date), "gives str, int, float or bool"),
        (lambda: col("at").date_trunc("era"), "date_trunc takes one of year"),
        (lambda: col("at").floor_to(5), "floor_to takes a duration"),
        (lambda: col("at").floor_to(dt.timedelta(0)), "floor_to takes a duration"),
        (lambda: col("at").date_format("YYYY"), "'YYYY' means nothing; there are yyyy"),
        (lambda: col("at").date_format("'a"), "the quote at place 0 is not closed"),
        (lambda: explode([1]), "explode takes an expression that is a list"),
        (array, "needs at least one value"),
    ],
)
def test_what_cannot_be_written(write: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as refusal:
        write()
    assert f"at {__file__}:" in str(refusal.value)


@pytest.mark.parametrize(
    ("pattern", "group", "found"),
    [
        (r"[]()](.)", 1, "x"),
        (r"[^])](.)", 1, "("),
        (r"\Q(\E(.)", 1, "x"),
        (r"\((?P<inner>.)", 1, "x"),
        (r"(?i:A)(.)(.)", 2, "x"),
        (r"[[:alpha:]()]+?(x)", 1, "x"),
    ],
)
def test_groups_are_counted_as_the_kernel_does(pattern: str, group: int, found: str) -> None:
    assert of_values(this().regexp_extract(pattern, group), ["a(x)b"], Types.STRING()) == [found]


def test_functions_of_literals_alone() -> None:
    record = [Row(n=1, x=None, s=None, at=None, day=None, time=None, l=[7, 8], m={}, b=None)]
    parts = lit("a,b").split(",")
    assert evaluated(parts.element_at(col("n")), record, RECORD) == ["b"]
    assert evaluated(parts.size(), record, RECORD) == [2]
    assert evaluated(col("l").element_at(lit(0)), record, RECORD) == [7]
    assert evaluated(lit(dt.datetime(2024, 2, 29)).date_format("MM"), record, RECORD) == ["02"]


def test_texts_of_which_none_is_there_make_an_empty_one() -> None:
    both = Types.TUPLE([Types.STRING(), Types.STRING()])
    records = [("a", None), (None, None), (None, "b"), ("", "")]
    assert evaluated(concat_ws("-", col(0), col(1)), records, both) == ["a", "", "b", "-"]
    assert evaluated(concat_ws("-", col(1)), records, both) == ["", "", "b", ""]
    assert evaluated(concat_ws("-", lit(None).cast(str), col(1)), records, both) == ["", "", "b", ""]


def test_lists_that_lie_anywhere_in_memory() -> None:
    lists = Types.LIST(Types.LONG())
    evaluator = Evaluator(this().element_at(-1), lists)
    column = pa.array([[0], [1, 2], None, [], [3]], pa.list_(pa.int64())).slice(1)
    assert evaluator.columns([column], 4)[0].to_pylist() == [2, None, None, 3]
    assert Evaluator(this().array_contains(3), lists).columns([column], 4)[0].to_pylist() == [False, None, False, True]


def test_trimming_removes_what_python_calls_whitespace() -> None:
    whitespace = "".join(each for each in map(chr, range(sys.maxunicode + 1)) if each.isspace())
    assert set(text_kernels.WHITESPACE) == set(whitespace)
