"""Which type comes out, and what is refused when the plan is built."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from penstock.common import Row, Types
from penstock.common.errors import ArgumentError, PlanError
from penstock.common.type_inference import infer_type
from penstock.expressions import Expression, coalesce, col, concat, greatest, least, lit, row, this, when
from penstock.expressions.evaluator import Evaluator, RecordEvaluationError
from unit.expressions.evaluation import evaluated


@dataclass
class Address:
    city: str
    number: int


class Point(NamedTuple):
    x: float
    y: float


RECORD = Types.ROW_NAMED(
    ["b", "i", "n", "f", "x", "s", "c", "p", "d", "big", "home", "obj"],
    [
        Types.BYTE(),
        Types.INT(),
        Types.LONG(),
        Types.FLOAT(),
        Types.DOUBLE(),
        Types.STRING(),
        Types.CHAR(),
        Types.BOOLEAN(),
        Types.SQL_DATE(),
        Types.BIG_INT(),
        infer_type(Address),
        Types.PICKLED_BYTE_ARRAY(),
    ],
)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("b"), "Byte"),
        (col(1), "Integer"),
        (col("b") + col("i"), "Long"),
        (-col("b"), "Long"),
        (col("i") / col("i"), "Double"),
        (col("f") * 2, "Double"),
        (col("i") ** 2, "Long"),
        (col("i") ** -2, "Double"),
        (col("x").round(), "Long"),
        (col("x").round(2), "Double"),
        (col("i").round(-1), "Long"),
        (col("x").floor(), "Long"),
        (col("s") + col("c"), "String"),
        (col("s").length(), "Long"),
        (col("x") > col("b"), "Boolean"),
        (when(col("p"), col("b")).otherwise(col("i")), "Integer"),
        (when(col("p"), col("i")).otherwise(0.5), "Double"),
        (when(col("p"), col("d")), "DateTypeInfo"),
        (coalesce(col("c"), col("s")), "String"),
        (least(col("f"), col("x")), "Double"),
        (greatest(col("i"), col("i")), "Integer"),
        (col("s").cast(Types.SHORT()), "Short"),
        (lit(None).cast(int), "Long"),
        (col("home").field("number"), "Long"),
        ((col("x")).alias("y"), "Double"),
        (row(col("i"), twice=col("i") * 2), "RowTypeInfo(i: Integer, twice: Long)"),
    ],
    ids=repr,
)
def test_the_type_of_an_expression(expression: Expression, expected: str) -> None:
    assert repr(Evaluator(expression, RECORD).type) == expected


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (col("price"), "there is no field 'price'; there are b, i, n, f,"),
        (col(99), "there is no field 99"),
        (col("s") * 2, '`col("s") * 2` needs numbers, but `col("s")` is String'),
        (col("s") + 1, "needs texts on both sides, but `1` is Long"),
        (col("p") + 1, '`col("p")` is Boolean'),
        (col("i") + lit(None), "`None` is None"),
        (col("big") + 1, '`col("big")` is BigInteger'),
        (col("big") > 1, "write `.cast(float)` or `.cast(int)` on it"),
        (col("s") > 1, "compares String with Long"),
        (col("p") == 1, "compares Boolean with Long"),
        (col("d") < dt.datetime(2020, 1, 1), "compares DateTypeInfo with TimestampTypeInfo"),
        (col("i").isin(["a"]), "compares Integer with 'a', which is String"),
        (col("i") & col("p"), "needs booleans on both sides"),
        (~col("i"), "needs a boolean"),
        (col("i").upper(), 'needs a text, but `col("i")` is Integer'),
        (concat(col("s"), col("i")), "needs texts; `.cast(str)` makes one of any value"),
        (col("s").sqrt(), "needs a number"),
        (when(col("i"), 1).otherwise(2), "needs conditions that are true or false"),
        (when(col("p"), 1).otherwise("no"), "have no common type"),
        (coalesce(col("d"), "never"), "have no common type"),
        (least(col("home"), col("home")), "compares DataclassTypeInfo"),
        (col("d").cast(int), "DateTypeInfo cannot be cast to Long"),
        (col("home").field("street"), "there is no field 'street'; there are city, number"),
        (col("i").field("x"), "needs a row, a tuple, a dataclass or a named tuple"),
        (lit(None), "`None` has no type"),
        (row(a=None), "`None` in `row(a=None)` has no type"),
    ],
    ids=repr,
)
def test_what_does_not_fit_together_is_refused(expression: Expression, message: str) -> None:
    with pytest.raises(PlanError) as refusal:
        Evaluator(expression, RECORD)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: col(1.5), "a field is named by a text or by its place, got 1.5"),
        (lambda: lit([1]), "cannot stand in an expression"),
        (lambda: lit(1 << 63), "an integer of an expression has 64 bits"),
        (lambda: col("a") + object(), "cannot stand in an expression"),
        (lambda: col("a") == None, "is never true; write `.is_null()`"),  # noqa: E711
        (lambda: bool(col("a") > 1), "write `&`, `|` and `~` instead of `and`, `or` and `not`"),
        (lambda: 1 < col("a") < 2, "instead of `a < b < c`"),
        (lambda: "x" in col("a"), "write `.contains(text)`"),
        (lambda: col("a").isin("abc"), "isin takes a list of values, got 'abc'"),
        (lambda: col("a").isin([1, None]), "write `.is_null()`"),
        (lambda: col("a").cast("int"), "cast takes a type such as Types.INT() or int, got 'int'"),
        (lambda: col("a").cast(object), "has no columns"),
        (lambda: col("a").alias(""), "alias takes a text that is not empty"),
        (lambda: col("a").round("2"), "round takes a number of digits"),
        (lambda: col("a").substring(0, -1), "a length from 0, got -1"),
        (lambda: col("a").contains(col("b")), "contains takes a text"),
        (lambda: col("a").replace("", "x"), "replace takes a text that is not empty"),
        (lambda: col("a").regexp("("), "cannot be used"),
        (lambda: when(1, 2), "when takes a condition"),
        (coalesce, "coalesce() needs at least one value"),
        (row, "a row needs fields"),
        (lambda: row(col("a"), a=1), "fields of different names"),
        (lambda: row(col("a") + 1), "has no name; write `.alias(...)`"),
    ],
)
def test_misuse_is_refused_at_the_users_line(make: Any, message: str) -> None:
    with pytest.raises(ArgumentError) as refusal:
        make()
    assert message in str(refusal.value)
    assert f"at {__file__}:" in str(refusal.value)


def test_iteration_is_refused() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(col("a"))


@pytest.mark.parametrize(
    ("records", "record_type"),
    [
        ([(1, "a")], Types.TUPLE([Types.LONG(), Types.STRING()])),
        ([Row(1, "a")], Types.ROW([Types.LONG(), Types.STRING()])),
    ],
)
def test_fields_by_place_have_flinks_names(records: list[Any], record_type: Any) -> None:
    assert evaluated(col("f0") + col(0), records, record_type) == [2]


def test_fields_of_classes_go_by_their_names() -> None:
    assert evaluated(col("city").upper(), [Address("Bonn", 1)], infer_type(Address)) == ["BONN"]
    assert evaluated(col("x") - col("y"), [Point(3.0, 1.0)], infer_type(Point)) == [2.0]


def test_a_record_without_fields_is_this() -> None:
    assert evaluated(this() * 2, [1, None], Types.INT()) == [2, None]
    with pytest.raises(PlanError, match=r"have no fields; `this\(\)` stands for the record itself"):
        Evaluator(col("value"), Types.INT())


def test_the_whole_record_and_its_parts() -> None:
    place = Types.ROW_NAMED(["home", "n"], [infer_type(Address), Types.LONG()])
    records = [Row(home=Address("Bonn", 5), n=1), Row(home=None, n=2)]
    assert evaluated(this(), records, place) == records
    nested = evaluated(row(all=this(), city=col("home").field("city"), n=this().field("n")), records, place)
    assert [(each.all, each.city, each.n) for each in nested] == [(records[0], "Bonn", 1), (records[1], None, 2)]
    assert evaluated(row(a=row(b=col("n"))).field("a").field("b"), records, place) == [1, 2]


def test_a_record_with_fields_cannot_become_none() -> None:
    place = Types.ROW_NAMED(["home"], [infer_type(Address)])
    assert evaluated(col("home"), [Row(home=Address("Bonn", 5))], place) == [Address("Bonn", 5)]
    with pytest.raises(RecordEvaluationError, match="cannot be None") as failure:
        evaluated(col("home"), [Row(home=Address("Bonn", 5)), Row(home=None)], place)
    assert failure.value.index == 1


def test_a_declared_result_is_fitted() -> None:
    pair = Types.TUPLE([Types.LONG(), Types.STRING()])
    records = [(7, "Bonn")]
    assert evaluated(col("f0"), records, pair, Types.DOUBLE()) == [7.0]
    assert evaluated(col("f0") * 2, records, pair, Types.BYTE()) == [14]
    made = row(number=col("f0"), city=col("f1"))
    assert evaluated(made, records, pair, infer_type(Address)) == [Address("Bonn", 7)]
    assert evaluated(made, records, pair, Types.TUPLE([Types.INT(), Types.STRING()])) == [(7, "Bonn")]
    assert evaluated(row(city=col("f1"), number=7), records, pair, infer_type(Address)) == [Address("Bonn", 7)]
    with pytest.raises(RecordEvaluationError, match="not in range"):
        evaluated(col("f0") * 100, records, pair, Types.BYTE())
    for expression, declared in ((col("f0") / 2, Types.LONG()), (col("f1"), Types.LONG()), (made, Types.LONG())):
        with pytest.raises(PlanError, match="and the declared type is Long"):
            Evaluator(expression, pair, declared)
    with pytest.raises(PlanError, match="gives RowTypeInfo"):
        Evaluator(row(number=col("f0")), pair, infer_type(Address))


def test_undeclared_records_are_refused_with_advice() -> None:
    with pytest.raises(PlanError, match=r"`output_type=` or an annotation .* `type_info=` of `from_collection`"):
        Evaluator(col("a"), Types.PICKLED_BYTE_ARRAY())


def test_numbers_of_numpy_are_numbers() -> None:
    assert evaluated(np.float64(0.5) * this() + np.int64(1), [2], Types.INT()) == [2.0]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (1 - col("a") * 2, '1 - (col("a") * 2)'),
        (-(col("a") + 1), '-(col("a") + 1)'),
        (~(col("a") == "x"), '~(col("a") == "x")'),
        (abs(col("a") - 1), '(col("a") - 1).abs()'),
        (round(col("a"), 2), 'col("a").round(2)'),
        (when(col("a") > 1, "x").when(True, None), 'when(col("a") > 1, "x").when(True, None).otherwise(None)'),
        (least(col("a") + 1, 2), 'least(col("a") + 1, 2)'),
        (col("a").cast(Types.INT()).is_not_null(), 'col("a").cast(Integer).is_not_null()'),
        (col('say "hi"'), "col('say \"hi\"')"),
    ],
)
def test_an_expression_shows_as_it_is_written(expression: Expression, text: str) -> None:
    assert repr(expression) == text
