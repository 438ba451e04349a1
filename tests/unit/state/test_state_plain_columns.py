"""Columns of values with parts are stored as the very bytes that single values are."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.codecs import codec_for
from penstock.common.type_inference import infer_type
from penstock.common.typeinfo import TupleTypeInfo, TypeInformation
from penstock.state import KeyedStateBackend, MemoryStore, ValueStateDescriptor
from penstock.state.columnar_keys import ColumnarKeys
from penstock.state.key_encoding import encode_key
from penstock.state.plain_columns import plain_column
from penstock.state.plain_values import _PlainPickler, plain_from_bytes, plain_to_bytes
from penstock.state.value_serializers import serializer_for

LONG, STRING = Types.LONG(), Types.STRING()


class Bid(NamedTuple):
    """A named tuple."""

    auction: int
    price: float
    channel: str | None


@dataclass
class Auction:
    """A dataclass."""

    id: int
    bids: list[Bid]


INTEGERS = st.integers(-(1 << 63), (1 << 63) - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
BIDS = st.builds(Bid, INTEGERS, st.floats(allow_nan=False), TEXTS | st.none())
NESTED = Types.TUPLE([LONG, Types.TUPLE([STRING, Types.BOOLEAN()])])
CASES: list[tuple[TypeInformation, st.SearchStrategy[Any]]] = [
    (infer_type(Bid), BIDS),
    (infer_type(Auction), st.builds(Auction, INTEGERS, st.lists(BIDS, max_size=3))),
    (NESTED, st.tuples(INTEGERS, st.tuples(TEXTS, st.booleans()) | st.none())),
    (Types.LIST(infer_type(Bid)), st.lists(BIDS | st.none(), max_size=3)),
    (Types.LIST(Types.LIST(LONG)), st.lists(st.lists(INTEGERS, max_size=2), max_size=3)),
    (
        Types.ROW_NAMED(["a", "b"], [LONG, Types.PRIMITIVE_ARRAY(Types.BYTE())]),
        st.builds(lambda a, b: Row(a=a, b=b), INTEGERS, st.binary(max_size=3)),
    ),
]


@given(st.data())
@pytest.mark.parametrize(("type_info", "values"), CASES, ids=lambda case: repr(case)[:40])
def test_values_come_back_whoever_has_stored_them(
    type_info: TypeInformation, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    given_values = data.draw(st.lists(values | st.none(), min_size=1, max_size=5))
    (column,) = codec_for(TupleTypeInfo([type_info])).to_columns([(value,) for value in given_values])
    keys = [f"k{number}" for number in range(len(given_values))]
    backend = KeyedStateBackend(MemoryStore(), "op", 128)
    descriptor = ValueStateDescriptor("value", type_info)
    in_columns = backend.get_columnar_state(descriptor, ColumnarKeys(STRING, 0, 1, 128).encode)
    one_by_one = KeyedStateBackend(backend._store, "op", 128)
    single = one_by_one.get_state(descriptor)
    in_columns.put_many(keys, column)
    for key, value in zip(keys, given_values, strict=True):
        one_by_one.current_key = encode_key(key)
        assert single.value() == value
        single.update(value)
    one_by_one.flush()
    assert in_columns.get_many(keys).equals(column)


@pytest.mark.parametrize(("type_info", "values"), CASES, ids=lambda case: repr(case)[:40])
def test_these_types_have_plain_columns(type_info: TypeInformation, values: Any) -> None:
    assert plain_column(type_info) is not None


@pytest.mark.parametrize(
    "type_info",
    [Types.TUPLE([Types.FLOAT()]), Types.TUPLE([Types.BIG_DEC()]), Types.MAP(LONG, LONG), Types.INSTANT()],
    ids=repr,
)
def test_others_have_not(type_info: TypeInformation) -> None:
    assert plain_column(type_info) is None


def test_what_is_stored_of_another_type_is_told() -> None:
    store = MemoryStore()
    backend = KeyedStateBackend(store, "op", 128)
    state = backend.get_columnar_state(
        ValueStateDescriptor("value", Types.TUPLE([LONG, LONG])), ColumnarKeys(STRING, 0, 1, 128).encode
    )
    state.put_many(["a"], [{"f0": 1, "f1": 2}])
    (store_key,) = [key for key, _ in store.scan(b"", b"\xff" * 40)]
    store.put(store_key, serializer_for(Types.TUPLE([LONG])).dumps((1,)))
    with pytest.raises(Exception, match="a stored value of type"):
        state.get_many(["a"])


@given(st.tuples(INTEGERS, TEXTS, st.floats(allow_nan=False), st.booleans() | st.none(), st.binary(max_size=3)))
def test_tuples_of_numbers_and_texts_have_the_bytes_of_any_plain_value(value: tuple[Any, ...]) -> None:
    buffer = BytesIO()
    _PlainPickler(buffer, 5).dump(value)  # what others, numbers of Decimal say, are made bytes by
    assert plain_to_bytes(value) == buffer.getvalue()
    assert plain_from_bytes(buffer.getvalue()) == value
