from __future__ import annotations

import copy
import pickle

import pytest

from penstock.common.row import Row, RowKind


def test_fields_by_name_position_and_attribute() -> None:
    row = Row(name="Ada", age=36)
    assert (row.name, row["age"], row[0], row[-1], row[0:2]) == ("Ada", 36, "Ada", 36, ["Ada", 36])
    assert "name" in row
    assert "Ada" not in row
    assert list(row) == ["Ada", 36]
    assert len(row) == 2


def test_a_row_by_position_makes_rows_with_its_values_as_names() -> None:
    person = Row("name", "age")
    assert repr(person) == "<Row('name', 'age')>"
    assert person("Ada", 36) == Row(name="Ada", age=36)
    assert "name" in person
    with pytest.raises(ValueError, match="names 2 fields, got 3 values"):
        person(1, 2, 3)


def test_values_can_be_set_by_name_and_position_but_not_as_attributes() -> None:
    row = Row("name", "age")("Ada", 36)
    row["name"] = "Eve"
    row[1] = 37
    assert row == Row(name="Eve", age=37)
    with pytest.raises(AttributeError):
        row.name = "Bob"  # type: ignore[misc]


def test_names_that_are_not_there() -> None:
    row = Row(a=1)
    with pytest.raises(ValueError, match=r"no field 'b'; it has \['a'\]"):
        row["b"]
    with pytest.raises(AttributeError, match=r"no field 'b'; it has \['a'\]"):
        _ = row.b
    with pytest.raises(AttributeError, match="no field names, so none is called 'b'"):
        _ = Row(1).b
    with pytest.raises(KeyError):
        Row(1)["a"]
    with pytest.raises(ValueError, match=r"no fields \['b'\]"):
        row.get_fields_by_names(["a", "b"])
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)


def test_field_names_can_be_given_later() -> None:
    row = Row(1, 2)
    assert row.get_fields_by_names(["x"]) == [1, 2]
    row.set_field_names(["b", "a"])
    assert row.get_field_names() == ["b", "a"]
    assert row.get_fields_by_names(["a"]) == [2]


def test_equality_sees_names_values_and_kind_but_not_the_order_of_names() -> None:
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert Row(a=1, b=2) != Row(a=2, b=1)
    assert Row(a=1) != Row(b=1)
    assert Row(1) != Row(f0=1)
    assert Row(1) == Row(1)
    assert Row(1) != Row.of_kind(RowKind.DELETE, 1)
    assert Row(1) != (1,)
    assert hash(Row(a=1, b=2)) == hash((1, 2))


def test_kinds() -> None:
    row = Row.of_kind(RowKind.UPDATE_BEFORE, a=1)
    assert row.get_row_kind() is RowKind.UPDATE_BEFORE
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]
    assert Row(1).get_row_kind() is RowKind.INSERT


def test_as_dict() -> None:
    row = Row(key=1, value=Row(name="a"), many=[Row(x=1)], named={"k": Row(y=2)})
    assert row.as_dict()["value"] == Row(name="a")
    assert row.as_dict(True) == {"key": 1, "value": {"name": "a"}, "many": [{"x": 1}], "named": {"k": {"y": 2}}}
    with pytest.raises(TypeError, match="without field names"):
        Row(1).as_dict()


@pytest.mark.parametrize("row", [Row(1, "a"), Row(a=1), Row.of_kind(RowKind.DELETE, a=1), Row()])
def test_rows_survive_pickling_and_copying(row: Row) -> None:
    for again in (pickle.loads(pickle.dumps(row)), copy.copy(row), copy.deepcopy(row)):
        assert again == row
        assert repr(again) == repr(row)


def test_a_copy_does_not_share_its_values() -> None:
    row = Row(a=1)
    other = copy.copy(row)
    other["a"] = 2
    assert row.a == 1
