"""Keys of several columns are the bytes of the tuples of their values."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.codecs import codec_for
from penstock.common.typeinfo import TypeInformation
from penstock.state.columnar_keys import ColumnarKeys
from penstock.state.key_encoding import encode_key
from penstock.state.state_keys import StateKeys
from penstock.state.tuple_keys import encode_tuples, has_tuple_columns

LONG, INT, STRING, BOOLEAN, DATE = Types.LONG(), Types.INT(), Types.STRING(), Types.BOOLEAN(), Types.SQL_DATE()
VALUES: dict[TypeInformation, st.SearchStrategy[Any]] = {
    LONG: st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 2),
    INT: st.integers(-3, 3) | st.none(),
    STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=3) | st.none(),
    BOOLEAN: st.booleans() | st.none(),
    DATE: st.dates(),
}


@st.composite
def tuples(draw: st.DrawFn) -> tuple[list[TypeInformation], list[tuple[Any, ...]]]:
    types = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*(VALUES[each] for each in types)), max_size=12))
    return types, rows


@given(tuples())
def test_keys_of_columns_are_keys_of_tuples(given_tuples: tuple[list[TypeInformation], list[tuple[Any, ...]]]) -> None:
    types, rows = given_tuples
    key_type = Types.TUPLE(types)
    assert has_tuple_columns(key_type)
    found = encode_tuples(codec_for(key_type).to_columns(rows))
    assert found.to_list() == [encode_key(row) for row in rows]
    assert len(set(found.distinct)) == len(found.distinct)
    keys = ColumnarKeys(key_type, 0, 1, 128)
    column = keys.decode(found.distinct)
    assert isinstance(column, pa.Array)
    distinct, places = keys.encode(column)
    assert (distinct, places) == (found.distinct, None)
    assert [tuple(each.values()) for each in column.to_pylist()] == list(dict.fromkeys(rows))


def test_a_slice_of_columns_has_the_keys_of_its_rows() -> None:
    columns = [pa.array([9, 1, 2, 1]).slice(1), pa.array(["z", "a", "b", "a"]).slice(1)]
    assert encode_tuples(columns).to_list() == [encode_key((1, "a")), encode_key((2, "b")), encode_key((1, "a"))]
    numbers = [columns[0], columns[0]]
    assert encode_tuples(numbers).to_list() == [encode_key((1, 1)), encode_key((2, 2)), encode_key((1, 1))]


@pytest.mark.parametrize(
    "key_type",
    [
        LONG,
        None,
        Types.ROW([LONG, LONG]),
        Types.TUPLE([LONG, Types.DOUBLE()]),
        Types.TUPLE([LONG, Types.TUPLE([LONG])]),
        Types.TUPLE([Types.BIG_INT()]),
    ],
)
def test_other_keys_have_no_such_columns(key_type: TypeInformation | None) -> None:
    assert not has_tuple_columns(key_type)


def test_a_date_is_not_its_number() -> None:
    day = dt.date(2015, 7, 15)
    assert encode_tuples([pa.array([1]), pa.array([day])]).to_list() == [encode_key((1, day))]


@given(st.lists(st.binary(min_size=1, max_size=3), max_size=8), st.integers(1, 4))
def test_many_keys_lie_in_the_store_where_each_of_them_does(keys: list[bytes], length: int) -> None:
    in_store = StateKeys("uid", "name", 128)
    same = [key.ljust(length, b"\0")[:length] for key in keys]
    assert in_store.of_all(keys) == [in_store.of(key) for key in keys]
    assert in_store.of_all(same) == [in_store.of(key) for key in same]
