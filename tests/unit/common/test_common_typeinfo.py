from __future__ import annotations

import pickle
from collections import namedtuple
from dataclasses import InitVar, dataclass, field
from typing import Any

import pyarrow as pa
import pytest

from penstock.common.errors import InvalidTypeError, UnsupportedError
from penstock.common.typeinfo import DataclassTypeInfo, NamedTupleTypeInfo, TypeInformation, Types

Pair = namedtuple("Pair", ["a", "b"])


@dataclass
class Event:
    a: int
    b: str


AB = (["a", "b"], [Types.LONG(), Types.STRING()])
REPRS: list[tuple[TypeInformation, str]] = [
    (Types.STRING(), "String"),
    (Types.BYTE(), "Byte"),
    (Types.BOOLEAN(), "Boolean"),
    (Types.SHORT(), "Short"),
    (Types.INT(), "Integer"),
    (Types.LONG(), "Long"),
    (Types.FLOAT(), "Float"),
    (Types.DOUBLE(), "Double"),
    (Types.CHAR(), "Char"),
    (Types.BIG_INT(), "BigInteger"),
    (Types.BIG_DEC(), "BigDecimal"),
    (Types.INSTANT(), "Instant"),
    (Types.SQL_DATE(), "DateTypeInfo"),
    (Types.SQL_TIME(), "TimeTypeInfo"),
    (Types.SQL_TIMESTAMP(), "TimestampTypeInfo"),
    (Types.PICKLED_BYTE_ARRAY(), "PickledByteArrayTypeInfo"),
    (Types.ROW([Types.INT(), Types.STRING()]), "RowTypeInfo(Integer, String)"),
    (Types.ROW_NAMED(["a"], [Types.INT()]), "RowTypeInfo(a: Integer)"),
    (Types.TUPLE([Types.INT(), Types.STRING()]), "TupleTypeInfo(Integer, String)"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), "PrimitiveArrayTypeInfo<Integer>"),
    (Types.BASIC_ARRAY(Types.STRING()), "BasicArrayTypeInfo<String>"),
    (Types.OBJECT_ARRAY(Types.SQL_DATE()), "ObjectArrayTypeInfo<DateTypeInfo>"),
    (Types.MAP(Types.STRING(), Types.INT()), "MapTypeInfo<String, Integer>"),
    (Types.LIST(Types.INT()), "ListTypeInfo<Integer>"),
    (DataclassTypeInfo(Event, *AB), "DataclassTypeInfo<Event>(a: Long, b: String)"),
    (NamedTupleTypeInfo(Pair, *AB), "NamedTupleTypeInfo<Pair>(a: Long, b: String)"),
]


@pytest.mark.parametrize(("type_info", "text"), REPRS)
def test_a_type_is_shown_as_pyflink_shows_it(type_info: TypeInformation, text: str) -> None:
    assert repr(type_info) == text


@pytest.mark.parametrize("type_info", [type_info for type_info, _ in REPRS])
def test_types_are_values(type_info: TypeInformation) -> None:
    copy = pickle.loads(pickle.dumps(type_info))
    assert copy == type_info
    assert hash(copy) == hash(type_info)
    assert copy.exact_key() == type_info.exact_key()
    assert [other for other, _ in REPRS if other == type_info] == [type_info]


def test_field_names_do_not_count_in_equality_but_in_the_exact_key() -> None:
    one, other = Types.ROW_NAMED(["a"], [Types.INT()]), Types.ROW_NAMED(["b"], [Types.INT()])
    assert one == other == Types.ROW([Types.INT()])
    assert Types.LIST(one) == Types.LIST(other)
    assert Types.LIST(one).exact_key() != Types.LIST(other).exact_key()


def test_fields_of_a_row_type() -> None:
    row = Types.ROW([Types.INT(), Types.STRING()])
    assert row.get_field_names() == ["f0", "f1"]
    assert row.get_field_types() == [Types.INT(), Types.STRING()]
    assert (row.get_field_index("f1"), row.get_field_index("x")) == (1, -1)


def test_arrow_types_of_nested_types() -> None:
    inner = Types.ROW_NAMED(["a"], [Types.PICKLED_BYTE_ARRAY()])
    expected = pa.map_(pa.string(), pa.list_(pa.struct([("a", pa.binary())])))
    assert Types.MAP(Types.STRING(), Types.LIST(inner)).arrow_type() == expected


def test_a_pickled_type_has_no_arrow_type() -> None:
    assert Types.PICKLED_BYTE_ARRAY().is_pickled
    assert not Types.STRING().is_pickled
    with pytest.raises(UnsupportedError, match="declare one"):
        Types.PICKLED_BYTE_ARRAY().arrow_type()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Types.ROW_NAMED(["a"], [Types.INT(), Types.INT()]), "1 field names .* 2 field types"),
        (lambda: Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()]), "two fields of one name"),
        (lambda: Types.TUPLE([]), "at least one field"),
        (lambda: Types.LIST(Types.INT), "call it"),
        (lambda: Types.LIST(int), "such as Types.INT"),
        (lambda: Types.PRIMITIVE_ARRAY(Types.STRING()), "Types.PRIMITIVE_ARRAY takes one of .* got String"),
        (lambda: Types.BASIC_ARRAY(Types.SQL_DATE()), "Types.LIST takes any type"),
        (lambda: DataclassTypeInfo(Event, ["a"], [Types.INT()]), r"are \['a', 'b'\], got \['a'\]"),
        (lambda: NamedTupleTypeInfo(Pair, ["x", "y"], [Types.INT(), Types.INT()]), "Pair"),
        (lambda: DataclassTypeInfo(int, ["a"], [Types.INT()]), "no dataclass"),
    ],
)
def test_contradictory_types_are_refused(make: Any, says: str) -> None:
    with pytest.raises(InvalidTypeError, match=says):
        make()


@dataclass
class Validated:
    a: int

    def __post_init__(self) -> None:
        self.a *= 2


@dataclass
class Derived:
    a: int = field(init=False, default=0)


@dataclass
class WithInitVar:
    a: int
    seed: InitVar[int]


@dataclass
class OwnInit:
    a: int

    def __init__(self, a: int) -> None:
        self.a = a + 1


class Doubling:
    def __get__(self, instance: Any, owner: Any) -> int:
        return 0 if instance is None else vars(instance)["a"] * 2

    def __set__(self, instance: Any, value: int) -> None:
        vars(instance)["a"] = value


@dataclass
class WithProperty:
    a: int = Doubling()  # type: ignore[assignment]


class Raising(type):
    def __call__(cls, a: int) -> Any:
        return super().__call__(a + 1)


@dataclass
class MadeByItsMetaclass(metaclass=Raising):
    a: int


@pytest.mark.parametrize("cls", [Validated, Derived, WithInitVar, OwnInit, WithProperty, MadeByItsMetaclass])
def test_dataclasses_whose_copies_would_differ_are_refused(cls: type) -> None:
    with pytest.raises(InvalidTypeError, match=f"{cls.__name__} cannot be a DataclassTypeInfo"):
        DataclassTypeInfo(cls, ["a"], [Types.LONG()])
