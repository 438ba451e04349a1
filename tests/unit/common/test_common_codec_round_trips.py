"""Values -> columns -> Arrow IPC -> values, for every type."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.codecs import codec_for
from penstock.common.row import Row
from penstock.common.time import Instant
from penstock.common.typeinfo import (
    DataclassTypeInfo,
    NamedTupleTypeInfo,
    TypeInformation,
    Types,
    VariadicTupleTypeInfo,
)


@dataclass
class Payment:
    card: str | None
    cents: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Frozen:
    card: str | None
    cents: int | None


class Point(NamedTuple):
    x: float | None
    tags: list[str] | None


FIELDS = [Types.STRING(), Types.LONG()]
PAYMENT = DataclassTypeInfo(Payment, ["card", "cents"], FIELDS)
FROZEN = DataclassTypeInfo(Frozen, ["card", "cents"], FIELDS)
POINT = NamedTupleTypeInfo(Point, ["x", "tags"], [Types.DOUBLE(), Types.LIST(Types.STRING())])
ROW = Types.ROW_NAMED(["card", "cents"], FIELDS)

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
longs = st.integers(-(2**63), 2**63 - 1)
floats32 = st.floats(width=32)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def pairs(build: Any) -> st.SearchStrategy[Any]:
    return st.builds(build, optional(text), optional(longs))


decimals = st.decimals(allow_nan=False, allow_infinity=False)
instants = st.builds(Instant, longs, st.integers(0, 999_999_999))
payments = pairs(Payment)

SCALARS: dict[str, tuple[TypeInformation, st.SearchStrategy[Any]]] = {
    "string": (Types.STRING(), text),
    "byte": (Types.BYTE(), st.integers(-128, 127)),
    "boolean": (Types.BOOLEAN(), st.booleans()),
    "short": (Types.SHORT(), st.integers(-(2**15), 2**15 - 1)),
    "int": (Types.INT(), st.integers(-(2**31), 2**31 - 1)),
    "long": (Types.LONG(), longs),
    "float": (Types.FLOAT(), floats32),
    "double": (Types.DOUBLE(), st.floats()),
    "char": (Types.CHAR(), st.characters(exclude_categories=["Cs"])),
    "big_int": (Types.BIG_INT(), st.integers()),
    "big_dec": (Types.BIG_DEC(), decimals),
    "instant": (Types.INSTANT(), instants),
    "date": (Types.SQL_DATE(), st.dates()),
    "time": (Types.SQL_TIME(), st.times()),
    "timestamp": (Types.SQL_TIMESTAMP(), st.datetimes()),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), st.binary(max_size=5)),
    "primitive_array": (Types.PRIMITIVE_ARRAY(Types.INT()), st.lists(st.integers(0, 9), max_size=3)),
    "basic_array": (Types.BASIC_ARRAY(Types.STRING()), st.lists(optional(text), max_size=3)),
    "object_array": (Types.OBJECT_ARRAY(PAYMENT), st.lists(optional(payments), max_size=3)),
    "list_of_lists": (
        Types.LIST(Types.LIST(Types.LONG())),
        st.lists(optional(st.lists(optional(longs), max_size=3)), max_size=3),
    ),
    "variadic_tuple": (VariadicTupleTypeInfo(Types.LONG()), st.lists(longs, max_size=3).map(tuple)),
    "map": (
        Types.MAP(Types.STRING(), PAYMENT),
        st.dictionaries(text, optional(payments), max_size=3),
    ),
    "list_of_rows": (
        Types.LIST(ROW),
        st.lists(optional(pairs(lambda a, b: Row(card=a, cents=b))), max_size=3),
    ),
}
COMPOSITES: dict[str, tuple[TypeInformation, st.SearchStrategy[Any]]] = {
    "tuple": (Types.TUPLE(FIELDS), st.tuples(optional(text), optional(longs))),
    "row": (ROW, pairs(lambda a, b: Row(card=a, cents=b))),
    "unnamed_row": (Types.ROW(FIELDS), pairs(lambda a, b: Row(f0=a, f1=b))),
    "dataclass": (PAYMENT, payments),
    "frozen_slots_keyword_dataclass": (FROZEN, pairs(lambda a, b: Frozen(card=a, cents=b))),
    "named_tuple": (POINT, st.builds(Point, optional(st.floats()), optional(st.lists(text, max_size=3)))),
    "nested": (
        Types.TUPLE([PAYMENT, POINT, Types.ROW([Types.TUPLE([Types.INSTANT()])])]),
        st.tuples(
            optional(payments),
            optional(st.builds(Point, st.none(), st.none())),
            optional(st.builds(lambda v: Row(f0=v), optional(st.tuples(optional(instants))))),
        ),
    ),
    "pickled_field": (
        Types.TUPLE([Types.PICKLED_BYTE_ARRAY(), Types.LONG()]),
        st.tuples(optional(st.frozensets(longs, max_size=3) | text | longs), optional(longs)),
    ),
}


def through_ipc(type_info: TypeInformation, values: list[Any]) -> list[pa.Array]:
    codec = codec_for(type_info)
    batch = pa.record_batch(codec.to_columns(values), schema=codec.schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return pa.ipc.open_stream(sink.getvalue()).read_next_batch().columns


def exactly(value: Any) -> Any:
    """The value in a form whose equality sees classes, NaN and the sign of zero."""
    match value:
        case float():
            return ("float", struct.pack(">d", value) if not math.isnan(value) else b"nan")
        case Decimal():
            return ("decimal", str(value))
        case list():
            return [exactly(v) for v in value]
        case tuple():
            return (type(value), *(exactly(v) for v in value))
        case Row():
            return ("row", value.get_field_names(), [exactly(v) for v in value])
        case _:
            return (type(value), value)


@pytest.mark.parametrize("name", SCALARS | COMPOSITES)
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_values_come_back_from_arrow_as_they_went_in(name: str, data: st.DataObject) -> None:
    type_info, strategy = (SCALARS | COMPOSITES)[name]
    elements = strategy if name in COMPOSITES else optional(strategy)
    values = data.draw(st.lists(elements, max_size=6))

    columns = through_ipc(type_info, values)

    codec = codec_for(type_info)
    assert exactly(codec.to_values(columns)) == exactly(values)
    # Channels are cut out of bigger batches: slices must read the same.
    start = data.draw(st.integers(0, len(values)))
    stop = data.draw(st.integers(start, len(values)))
    sliced = [column.slice(start, stop - start) for column in columns]
    assert exactly(codec.to_values(sliced)) == exactly(values[start:stop])


@pytest.mark.parametrize("name", SCALARS)
def test_a_value_without_fields_is_one_column_named_value(name: str) -> None:
    type_info = SCALARS[name][0]
    assert codec_for(type_info).schema == pa.schema([("value", type_info.arrow_type())])


@pytest.mark.parametrize("name", COMPOSITES)
def test_a_composite_has_one_column_per_field(name: str) -> None:
    type_info = COMPOSITES[name][0]
    schema = codec_for(type_info).schema
    assert schema is not None
    assert schema.names == type_info.get_field_names()  # type: ignore[attr-defined]


def test_a_big_int_of_more_digits_than_python_prints() -> None:
    values = [10**6000, -(10**6000) + 1]
    assert codec_for(Types.BIG_INT()).to_values(through_ipc(Types.BIG_INT(), values)) == values


def test_the_ends_of_python_calendar() -> None:
    values = [datetime.min, datetime.max]
    assert codec_for(Types.SQL_TIMESTAMP()).to_values(through_ipc(Types.SQL_TIMESTAMP(), values)) == values
    dates = [date.min, date.max]
    assert codec_for(Types.SQL_DATE()).to_values(through_ipc(Types.SQL_DATE(), dates)) == dates
    assert codec_for(Types.SQL_TIME()).to_values(through_ipc(Types.SQL_TIME(), [time.max])) == [time.max]
