from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.row import Row
from penstock.common.time import Instant
from penstock.state.key_encoding import decode_key, encode_column, encode_key
from penstock.state.key_groups import key_group, key_groups_of_keys


class Side(Enum):
    LEFT = 1
    RIGHT = 2


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass(frozen=True)
class Box:
    content: Any


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.decimals(),
    st.text(st.characters(codec=None)),
    st.binary(),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes(timezones=st.timezones()),
    st.timedeltas(),
    st.uuids(),
    st.sampled_from(Side),
    st.builds(Instant, st.integers(-(2**63), 2**63 - 1), st.integers(0, 999_999_999)),
)
keys = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(tuple),
        st.builds(Pair, inner, inner),
        st.builds(Box, inner),
        st.lists(inner, max_size=3).map(lambda values: Row(*values)),
        st.dictionaries(st.text(min_size=1, max_size=3), inner, min_size=1, max_size=3).map(lambda d: Row(**d)),
    ),
    max_leaves=8,
)


def canonical(value: Any) -> Any:
    """What tells keys apart, written independently of the encoding: a class and a comparable content."""
    if isinstance(value, float):
        return float, "nan" if math.isnan(value) else value + 0.0
    if type(value).__name__ == "Decimal":
        return "Decimal", "nan" if value.is_nan() else value
    if isinstance(value, dt.datetime):
        aware = value.tzinfo is not None and value.utcoffset() is not None
        return "aware" if aware else "naive", value.astimezone(dt.UTC) if aware else value.replace(fold=0)
    if isinstance(value, dt.time):
        return dt.time, value.replace(fold=0)
    if isinstance(value, Row):
        return Row, tuple(value.get_field_names() or ()), tuple(map(canonical, value))
    if isinstance(value, Box):
        return Box, canonical(value.content)
    if isinstance(value, tuple):
        return type(value), tuple(map(canonical, value))
    return type(value), value


@given(keys, keys)
def test_two_keys_have_the_same_bytes_exactly_if_they_are_the_same_key(a: Any, b: Any) -> None:
    assert (encode_key(a) == encode_key(b)) == (canonical(a) == canonical(b))


@given(keys)
def test_a_key_comes_back(key: Any) -> None:
    encoded = encode_key(key)
    decoded = decode_key(encoded)
    assert canonical(decoded) == canonical(key)
    assert encode_key(decoded) == encoded


@given(st.lists(keys, min_size=2, max_size=4), st.lists(keys, min_size=2, max_size=4))
def test_values_can_follow_each_other(a: list[Any], b: list[Any]) -> None:
    joined = [b"".join(map(encode_key, values)) for values in (a, b)]
    assert (joined[0] == joined[1]) == ([canonical(x) for x in a] == [canonical(x) for x in b])


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_ints_are_ordered_as_their_bytes(numbers: list[int]) -> None:
    assert [decode_key(key) for key in sorted(map(encode_key, numbers))] == sorted(numbers)


columns = st.one_of(
    *(
        st.lists(st.none() | values, max_size=30).map(lambda v, t=arrow_type: pa.array(v, t))
        for arrow_type, values in [
            (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
            (pa.int16(), st.integers(-(2**15), 2**15 - 1)),
            (pa.uint64(), st.integers(0, 2**64 - 1)),
            (pa.string(), st.text(max_size=3)),
            (pa.binary(), st.binary(max_size=3)),
            (pa.float64(), st.floats()),
            (pa.bool_(), st.booleans()),
            (pa.timestamp("us"), st.datetimes()),
            (pa.date32(), st.dates()),
        ]
    )
)


@settings(max_examples=200)
@given(columns)
def test_a_column_gives_the_keys_of_its_values(column: pa.Array) -> None:
    assert encode_column(column) == [encode_key(value) for value in column.to_pylist()]


@given(st.lists(st.binary(), max_size=20), st.integers(1, 32768))
def test_many_keys_have_the_groups_of_each(encoded: list[bytes], max_parallelism: int) -> None:
    groups = key_groups_of_keys(encoded, max_parallelism).tolist()
    assert groups == [key_group(key, max_parallelism) for key in encoded]
