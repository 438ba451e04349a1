from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.row import Row, RowKind
from penstock.common.slot_rows import columns_of_rows, rows_of_columns

NAMES = st.lists(
    st.sampled_from(["k", "at0", "at_1", "_x", "as_dict", "class", "a b", "_values"]),
    min_size=1,
    max_size=5,
    unique=True,
)


def test_rows_of_columns_read_their_fields_by_name_until_they_are_renamed() -> None:
    (row,) = rows_of_columns(("k", "as_dict"), [[1], [2]])
    assert (row.k, row["as_dict"], row.as_dict()) == (1, 2, {"k": 1, "as_dict": 2})
    row.set_field_names(["a", "b"])
    assert (row.a, row.b) == (1, 2)
    with pytest.raises(AttributeError, match=r"no field 'k'; it has \['a', 'b'\]"):
        _ = row.k


def test_rows_of_columns_have_a_kind_of_their_own_once_it_is_set() -> None:
    first, second = rows_of_columns(("k",), [[1, 1]])
    first.set_row_kind(RowKind.DELETE)
    assert (first.get_row_kind(), second.get_row_kind()) == (RowKind.DELETE, RowKind.INSERT)
    assert first != second
    assert (first.k, copy.copy(first).k, pickle.loads(pickle.dumps(second))) == (1, 1, Row(k=1))


@given(NAMES, st.data())
def test_a_row_of_columns_is_like_the_row_of_its_values(names: list[str], data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(), min_size=len(names), max_size=len(names)))
    (row,) = rows_of_columns(tuple(names), [[value] for value in values])
    plain = Row(**dict(zip(names, values, strict=True)))
    assert (row == plain, hash(row) == hash(plain), repr(row) == repr(plain)) == (True, True, True)
    assert (list(row), len(row), row.as_dict()) == (values, len(values), plain.as_dict())
    assert (row[1:], row[-1], [row[name] for name in names]) == (values[1:], values[-1], values)
    place = data.draw(st.integers(0, len(names) - 1))
    for item in (place, names[place], place - len(names)):
        row[item] = plain[item] = data.draw(st.integers())
        assert row == plain
    assert copy.copy(row) == pickle.loads(pickle.dumps(row)) == plain


def test_a_row_of_columns_grows_and_shrinks_by_slices() -> None:
    (row,) = rows_of_columns(("a", "b"), [[1], [2]])
    row[1:] = [3, 4]
    assert (list(row), len(row), row.a) == ([1, 3, 4], 3, 1)


def test_a_copy_of_a_row_of_columns_does_not_share_its_values() -> None:
    (row,) = rows_of_columns(("a",), [[1]])
    other = copy.copy(row)
    other["a"] = 2
    assert row.a == 1


@pytest.mark.parametrize("item", ["missing", 2, -3])
def test_fields_that_are_not_there_are_named(item: int | str) -> None:
    (row,) = rows_of_columns(("a", "b"), [[1], [2]])
    with pytest.raises((ValueError, IndexError), match=r"missing|range"):
        row[item]


def test_rows_come_apart_into_columns_in_the_declared_order_only() -> None:
    rows = rows_of_columns(("a", "b"), [[1, 2], [3, 4]])
    assert columns_of_rows(rows, ("a", "b")) == [[1, 2], [3, 4]]
    assert columns_of_rows([*rows, Row(5, 6)], ("a", "b")) == [[1, 2, 5], [3, 4, 6]]
    assert columns_of_rows(rows, ("b", "a")) is None
    rows[0].set_row_kind(RowKind.DELETE)
    assert columns_of_rows(rows, ("a", "b")) is None
