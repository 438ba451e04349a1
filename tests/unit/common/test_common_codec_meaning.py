"""What a declared type accepts, what it makes of it, and what it says of the rest."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import IntEnum
from typing import Any

import cloudpickle
import numpy as np
import pytest

from penstock.common.codecs import codec_for
from penstock.common.errors import TypeMismatchError, UnsupportedError
from penstock.common.row import Row, RowKind
from penstock.common.typeinfo import DataclassTypeInfo, TypeInformation, Types, VariadicTupleTypeInfo


@dataclass
class Event:
    user: str
    score: float


@dataclass
class Login(Event):
    device: str


EVENT = DataclassTypeInfo(Event, ["user", "score"], [Types.STRING(), Types.DOUBLE()])
ROW = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


class Level(IntEnum):
    HIGH = 3


def round_trip(type_info: TypeInformation, values: list[Any]) -> list[Any]:
    codec = codec_for(type_info)
    return codec.to_values(codec.to_columns(values))


@pytest.mark.parametrize(
    ("type_info", "given", "becomes"),
    [
        (Types.FLOAT(), 0.1, 0.10000000149011612),
        (Types.FLOAT(), 1e300, float("inf")),
        (Types.DOUBLE(), 3, 3.0),
        (Types.DOUBLE(), 2**53 + 1, float(2**53)),
        (Types.FLOAT(), 2**24 + 1, float(2**24)),
        (Types.LONG(), np.int32(7), 7),
        (Types.LONG(), Level.HIGH, 3),
        (Types.DOUBLE(), np.float32(0.5), 0.5),
        (Types.BOOLEAN(), np.bool_(True), True),
        (Types.BOOLEAN(), 4, True),
        (Types.BOOLEAN(), np.int8(0), False),
        (Types.LONG(), True, 1),
        (Types.SHORT(), np.bool_(False), 0),
        (Types.DOUBLE(), True, 1.0),
        (Types.STRING(), np.str_("a"), "a"),
        (Types.BIG_DEC(), 5, Decimal(5)),
        (Types.BIG_DEC(), 1.5, Decimal("1.5")),
        (Types.BIG_DEC(), Decimal("1.10"), Decimal("1.10")),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), bytearray(b"ab"), b"ab"),
        (Types.TUPLE([Types.INT(), Types.STRING()]), [1, "a"], (1, "a")),
        (Types.TUPLE([Types.INT(), Types.STRING()]), Row(1, "a"), (1, "a")),
        (ROW, (1, "x"), Row(a=1, b="x")),
        (ROW, Row(1, "x"), Row(a=1, b="x")),
        (ROW, Row(b="x", a=1), Row(a=1, b="x")),
        (ROW, {"a": 1}, Row(a=1, b=None)),
        (Types.LIST(ROW), [(1, "x"), None], [Row(a=1, b="x"), None]),
    ],
)
def test_accepted_values_become_the_declared_type(type_info: Any, given: Any, becomes: Any) -> None:
    (result,) = round_trip(type_info, [given])
    assert result == becomes
    # Rows that come out of columns have a class of their own for their names.
    assert (Row if isinstance(result, Row) else type(result)) is type(becomes)


@pytest.mark.parametrize(
    ("type_info", "good", "bad", "says"),
    [
        (Types.INT(), 1, 2**31, "not between -2147483648 and 2147483647"),
        (Types.BYTE(), 1, -129, "not between -128 and 127"),
        (Types.LONG(), 1, 2**63, "Types.BIG_INT"),
        (Types.LONG(), 1, 1.0, "1.0 of Python type float"),
        (Types.LONG(), 1, "1", "'1' of Python type str does not fit the declared type Long"),
        (Types.DOUBLE(), 1.0, 10**400, "too large"),
        (Types.BOOLEAN(), True, 1.0, "float"),
        (Types.STRING(), "a", b"a", "bytes"),
        (Types.STRING(), "a", "\ud800", "surrogates"),
        (Types.CHAR(), "a", "ab", "2 characters"),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"a", "a", "str"),
        (Types.BIG_INT(), 1, 1.5, "float"),
        (Types.BIG_DEC(), Decimal(1), Decimal("NaN"), "finite"),
        (Types.SQL_DATE(), date(2020, 1, 1), datetime(2020, 1, 1), "datetime"),
        (Types.SQL_TIMESTAMP(), datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), "time zone"),
        (Types.SQL_TIME(), time(1), time(1, tzinfo=UTC), "time zone"),
        (Types.INSTANT(), None, datetime(2020, 1, 1), "datetime"),
        (Types.LIST(Types.LONG()), [1], (1,), "a list is expected"),
        (VariadicTupleTypeInfo(Types.LONG()), (1,), [1], "a tuple is expected"),
        (Types.LIST(Types.LONG()), [1], [2, "x"], "element 1: 'x'"),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}, {"a": "b"}, "element 0: 'b'"),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}, {None: 1}, "key cannot be None"),
        (Types.MAP(Types.STRING(), Types.LONG()), {"a": 1}, [("a", 1)], "list"),
        (Types.TUPLE([Types.INT()]), (1,), (1, 2), "it has 2 fields, expected 1: ['f0']"),
        (Types.TUPLE([Types.INT()]), (1,), 1, "int"),
        (Types.TUPLE([Types.INT()]), (1,), None, "cannot be None"),
        (ROW, Row(1, "x"), Row(a=1, c="x"), "its fields are ['a', 'c'], expected ['a', 'b']"),
        (ROW, Row(1, "x"), Row(1), "it has 1 fields"),
        (ROW, Row(1, "x"), {"a": 1, "z": 2}, "unknown fields ['z']"),
        (ROW, Row(1, "x"), Row.of_kind(RowKind.DELETE, 1, "x"), "its kind is -D"),
        (EVENT, Event("a", 1.0), {"user": "a"}, "dict"),
        (EVENT, Event("a", 1.0), Login("a", 1.0, "phone"), "subclass"),
    ],
)
def test_other_values_are_an_error_that_shows_them(type_info: Any, good: Any, bad: Any, says: str) -> None:
    codec = codec_for(type_info)
    codec.to_columns([good])
    with pytest.raises(TypeMismatchError) as caught:
        codec.to_columns([good, good, bad, good, bad])
    assert caught.value.index == 2
    assert says in str(caught.value)


def test_the_error_of_a_field_names_it() -> None:
    with pytest.raises(TypeMismatchError, match=r"field 'score': 'high' of Python type str .* Double") as caught:
        codec_for(EVENT).to_columns([Event("a", 1.0), Event("b", "high")])  # type: ignore[arg-type]
    assert (caught.value.index, caught.value.field) == (1, "score")


def test_the_first_bad_record_is_reported_whichever_field_or_form_is_wrong() -> None:
    codec = codec_for(Types.TUPLE([Types.INT(), Types.INT()]))
    for values in ([(1, 1), (1, "b"), ("a", 1)], [(1, 1), (1, "b"), (1, 2, 3)], [(1, 1), (1, "b"), None]):
        with pytest.raises(TypeMismatchError) as caught:
            codec.to_columns(values)
        assert (caught.value.index, caught.value.field) == (1, "f1")


def test_errors_inside_nested_values_give_the_record_and_the_path() -> None:
    inner = Types.ROW_NAMED(["city"], [Types.STRING()])
    codec = codec_for(Types.ROW_NAMED(["id", "address"], [Types.INT(), inner]))
    values = [Row(id=1, address=None), Row(id=2, address=Row(city="Oslo")), Row(id=3, address=Row(city=4))]
    with pytest.raises(TypeMismatchError) as caught:
        codec.to_columns(values)
    assert (caught.value.index, caught.value.field) == (2, "address.city")


def test_a_value_that_cannot_be_pickled_in_a_pickled_field() -> None:
    codec = codec_for(Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.INT()]))
    with pytest.raises(TypeMismatchError, match="cannot be pickled") as caught:
        codec.to_columns([(1, 1), (iter([]).__class__, 1), ((i for i in ()), 1)])
    assert caught.value.index == 2


@pytest.mark.parametrize("type_info", [None, Types.PICKLED_BYTE_ARRAY()])
def test_records_of_no_declared_type_have_no_columns(type_info: TypeInformation | None) -> None:
    codec = codec_for(type_info)
    assert codec.schema is None
    with pytest.raises(UnsupportedError, match="declare a type"):
        codec.to_columns([object()])


@pytest.mark.parametrize("type_info", [None, Types.LONG(), ROW, EVENT])
def test_codecs_are_cached_and_survive_pickling(type_info: TypeInformation | None) -> None:
    codec = codec_for(type_info)
    assert codec_for(type_info) is codec
    assert cloudpickle.loads(cloudpickle.dumps(codec)) is codec
    assert pickle.loads(pickle.dumps(codec)) is codec


def test_rows_that_differ_in_names_only_have_their_own_codecs() -> None:
    one = Types.ROW_NAMED(["a"], [Types.INT()])
    other = Types.ROW_NAMED(["b"], [Types.INT()])
    assert one == other
    assert round_trip(one, [Row(1)]) == [Row(a=1)]
    assert round_trip(other, [Row(1)]) == [Row(b=1)]
    assert round_trip(Types.LIST(other), [[Row(1)]]) == [[Row(b=1)]]


def test_no_records_make_empty_columns() -> None:
    columns = codec_for(EVENT).to_columns([])
    assert [len(column) for column in columns] == [0, 0]
    assert codec_for(EVENT).to_values(columns) == []


def test_an_int_too_long_to_be_printed_is_still_reported() -> None:
    with pytest.raises(TypeMismatchError, match="a value whose repr fails") as caught:
        codec_for(Types.LONG()).to_columns([1, 10**5000])
    assert caught.value.index == 1
