"""Types as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.errors import InvalidTypeError
from penstock.common.type_inference import infer_type
from penstock.common.type_json import type_from_json, type_to_json
from penstock.common.typeinfo import CompositeTypeInfo


@dataclass
class Point:
    x: int
    y: float


class Pair(NamedTuple):
    a: str
    b: list[int]


SCALARS = [
    Types.STRING(),
    Types.BYTE(),
    Types.BOOLEAN(),
    Types.SHORT(),
    Types.INT(),
    Types.LONG(),
    Types.FLOAT(),
    Types.DOUBLE(),
    Types.CHAR(),
    Types.BIG_INT(),
    Types.BIG_DEC(),
    Types.INSTANT(),
    Types.SQL_DATE(),
    Types.SQL_TIME(),
    Types.SQL_TIMESTAMP(),
    Types.PICKLED_BYTE_ARRAY(),
    Types.PRIMITIVE_ARRAY(Types.BYTE()),
    Types.BASIC_ARRAY(Types.STRING()),
]
types = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.one_of(
        inner.map(Types.LIST),
        inner.map(Types.OBJECT_ARRAY),
        st.tuples(inner, inner).map(lambda pair: Types.MAP(*pair)),
        st.lists(inner, min_size=1, max_size=3).map(Types.TUPLE),
        st.lists(inner, min_size=1, max_size=3).map(lambda t: Types.ROW_NAMED([f"n{i}" for i in range(len(t))], t)),
    ),
    max_leaves=6,
)


@given(types)
def test_a_type_comes_back(type_info: Any) -> None:
    form = json.loads(json.dumps(type_to_json(type_info)))
    assert type_from_json(form).exact_key() == type_info.exact_key()


def test_classes_are_named_and_not_looked_up() -> None:
    for cls in (Point, Pair):
        form = type_to_json(infer_type(cls))
        assert form["class"] == f"{cls.__module__}:{cls.__qualname__}"
        again = type_from_json(form | {"class": "os:system"})
        assert type(again) is CompositeTypeInfo
        assert again.get_field_names() == infer_type(cls).get_field_names()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "form", [None, 1, [], {}, "X", {"list": "X"}, {"map": ["LONG"]}, {"row": [["a"]]}, {"row": []}, {"a": 1, "b": 2}]
)
def test_what_is_no_type_is_refused(form: Any) -> None:
    with pytest.raises(InvalidTypeError):
        type_from_json(form)


def test_types_are_not_too_deep() -> None:
    form: Any = "LONG"
    for _ in range(100):
        form = {"list": form}
    with pytest.raises(InvalidTypeError, match="levels"):
        type_from_json(form)
