from __future__ import annotations

import datetime
import json
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.batch import Batch
from penstock.common.codecs import codec_for
from penstock.common.errors import SinkError
from penstock.common.row import Row
from penstock.common.time import Instant
from penstock.common.type_inference import infer_type
from penstock.common.typeinfo import Types
from penstock.connectors.json.columns import JsonColumns
from penstock.connectors.json.encoding import json_lines, jsonable


def lines(type_info, *values) -> list[str]:
    return json_lines(Batch(codec_for(type_info), values=list(values))).decode().splitlines()


@dataclass
class Point:
    x: int
    when: datetime.date


class Pair(NamedTuple):
    left: int
    right: str


def test_records_with_fields_are_objects():
    row_type = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])
    assert lines(row_type, Row(a=1, b="ü"), (2, None)) == ['{"a":1,"b":"ü"}', '{"a":2,"b":null}']
    assert lines(Types.TUPLE([Types.INT(), Types.INT()]), (1, 2)) == ['{"f0":1,"f1":2}']
    assert lines(infer_type(Point), Point(1, datetime.date(2024, 1, 2))) == ['{"x":1,"when":"2024-01-02"}']
    assert lines(infer_type(Pair), Pair(1, "x")) == ['{"left":1,"right":"x"}']


def test_records_without_fields_are_values():
    assert lines(Types.LONG(), 1, None) == ["1", "null"]
    assert lines(None, {"a": (1, Pair(1, "x"))}, "t\n") == ['{"a":[1,{"left":1,"right":"x"}]}', '"t\\n"']


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Decimal("12.340"), "12.340"),
        (datetime.datetime(2024, 1, 2, 3, 4, 5, 6), "2024-01-02T03:04:05.000006"),
        (datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC), "2024-01-02T00:00:00+00:00"),
        (datetime.time(1, 2), "01:02:00"),
        (datetime.timedelta(minutes=1, milliseconds=500), "PT60.5S"),
        (Instant(1, 500_000_000), "1970-01-01T00:00:01.5Z"),
        (b"\x00\xff", "AP8="),
        (math.nan, "NaN"),
        (-math.inf, "-Infinity"),
        ({1: 3, datetime.date(2024, 1, 2): [b"\x00"]}, {"1": 3, "2024-01-02": ["AA=="]}),
        ({"c", "a", "b"}, ["a", "b", "c"]),
        (np.int32(5), 5),
        (Row(1, 2), [1, 2]),
        (Point(1, datetime.date(2024, 1, 2)), {"x": 1, "when": "2024-01-02"}),
    ],
)
def test_each_kind_of_value_has_its_form(value, plain):
    assert jsonable(value) == plain


def test_a_nan_in_a_column_does_not_make_invalid_json():
    row_type = Types.ROW_NAMED(["v"], [Types.DOUBLE()])
    assert lines(row_type, (math.nan,), (1.5,)) == ['{"v":"NaN"}', '{"v":1.5}']


FLAT = Types.ROW_NAMED(
    ["n", "f", 'a "text"', "b", "dec", "big", "d", "ts"],
    [
        Types.LONG(),
        Types.DOUBLE(),
        Types.STRING(),
        Types.BOOLEAN(),
        Types.BIG_DEC(),
        Types.BIG_INT(),
        Types.SQL_DATE(),
        Types.SQL_TIMESTAMP(),
    ],
)
_texts = st.text('aß€𝄞 \\"\n\t\x00\x7f\u2028/', max_size=6)
_rows = st.tuples(
    *(
        st.none() | values
        for values in (
            st.integers(-(1 << 63), (1 << 63) - 1),
            st.floats(),
            _texts,
            st.booleans(),
            st.decimals(allow_nan=False, allow_infinity=False),
            st.integers(),
            st.dates(),
            st.datetimes(),
        )
    )
)


@settings(deadline=None)
@given(st.lists(_rows, min_size=1, max_size=4))
def test_columns_are_written_as_their_values_are(rows):
    names = FLAT.get_field_names()
    expected = [json.loads(json.dumps(jsonable(dict(zip(names, row, strict=True))))) for row in rows]
    few = json_lines(Batch(codec_for(FLAT), values=rows))
    assert [json.loads(line) for line in few.splitlines()] == expected
    assert json_lines(Batch(codec_for(FLAT), values=rows * 20)) == few * 20


@pytest.mark.parametrize("count", [1, 100])
def test_a_slice_of_columns_is_written_without_the_rest(count):
    codec = codec_for(FLAT)
    columns = [column.slice(1, count) for column in codec.to_columns([(n,) + (None,) * 7 for n in range(count + 2)])]
    written = json_lines(Batch(codec, columns=columns)).splitlines()
    assert [json.loads(line)["n"] for line in written] == list(range(1, count + 1))


def test_a_program_may_give_dicts_where_it_declared_rows():
    row_type = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LIST(Types.INT())])
    assert lines(row_type, {"b": [1], "a": 1}, (2, None)) == ['{"a":1,"b":[1]}', '{"a":2,"b":null}']


def test_what_has_no_form_is_refused():
    with pytest.raises(SinkError, match="class object cannot be written as JSON"):
        jsonable(object())


def test_what_is_written_can_be_read_again():
    row_type = Types.ROW_NAMED(
        ["dec", "ts", "i", "bytes", "map", "inner", "nan", "big"],
        [
            Types.BIG_DEC(),
            Types.SQL_TIMESTAMP(),
            Types.INSTANT(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.MAP(Types.LONG(), Types.SQL_DATE()),
            infer_type(Pair),
            Types.DOUBLE(),
            Types.BIG_INT(),
        ],
    )
    row = Row(
        dec=Decimal("1.10"),
        ts=datetime.datetime(2024, 1, 2, 3, 4, 5, 6),
        i=Instant(-5, 7),
        bytes=b"abc",
        map={1: datetime.date(2024, 1, 2)},
        inner=Pair(1, "x"),
        nan=math.inf,
        big=1 << 100,
    )
    (line,) = lines(row_type, row)
    json.loads(line)
    columns, _ = JsonColumns(row_type).of_lines(line.encode())
    assert codec_for(row_type).to_values(columns) == [row]
