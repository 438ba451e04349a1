from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.codecs import codec_for
from penstock.common.errors import ConfigurationError
from penstock.common.row import Row
from penstock.common.time import Instant
from penstock.common.type_inference import infer_type
from penstock.common.typeinfo import Types
from penstock.connectors.json.columns import JsonColumns
from penstock.connectors.json.documents import JsonError

PAYMENT = Types.ROW_NAMED(["id", "cents", "card"], [Types.LONG(), Types.DOUBLE(), Types.STRING()])


def rows(type_info, *lines: str):
    columns, count = JsonColumns(type_info).of_lines("\n".join(lines).encode())
    values = codec_for(type_info).to_values(columns)
    assert len(values) == count
    return values


def one(type_info, text: str):
    return rows(Types.ROW_NAMED(["v"], [type_info]), f'{{"v": {text}}}')[0][0]


def test_fields_are_found_by_name_missing_ones_are_none_and_others_ignored():
    assert rows(PAYMENT, '{"card": "x", "id": 1, "extra": {"id": 7}}', '{"cents": 2}', "{}") == [
        Row(id=1, cents=None, card="x"),
        Row(id=None, cents=2.0, card=None),
        Row(id=None, cents=None, card=None),
    ]


def test_empty_lines_are_skipped():
    assert [row.id for row in rows(PAYMENT, "", '{"id": 1}', "  \r", '  {"id": 2}', "\r", "")] == [1, 2]


def test_no_lines_are_no_records():
    assert rows(PAYMENT, "") == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("null", "null is not an object"),
        ("[1]", "is not an object"),
        ("5", "5 is not an object"),
        ('{"id": 1} null', "Extra data at character 10"),
        ('{"id": 1} {"id": 2}', "Extra data at character 10"),
        ('{"id": 1', "no valid JSON"),
        ('{"id": "1"}', 'field id: "1" is not a whole number'),
        ('{"id": 1.5}', "field id: 1.5 is not a whole number"),
        ('{"id": true}', "field id: true is not a whole number"),
        ('{"id": 9223372036854775808}', "field id: 9223372036854775808 is not in the range of LONG"),
        ('{"cents": "x"}', 'field cents: "x" is not a number'),
        ('{"cents": 1e999}', "is not in the range of a float"),
        (f'{{"id": {"7" * 5000}}}', "77... is not a number that can be read: it has too many digits"),
        ('{"card": 5}', "field card: 5 is not a string"),
    ],
)
def test_the_first_line_that_is_wrong_is_named_with_the_reason(line, reason):
    with pytest.raises(JsonError) as caught:
        rows(PAYMENT, '{"id": 1}', "", line, '{"id": false}')
    assert caught.value.index == 2
    assert reason in caught.value.reason
    assert caught.value.shown() in (line, f"{line[:300]}...")


def test_a_null_as_the_first_document_does_not_crash_the_process():
    with pytest.raises(JsonError, match="null is not an object"):
        JsonColumns(PAYMENT).of_documents([b"null"])


@pytest.mark.parametrize(
    ("type_info", "text"),
    [
        (Types.STRING(), rb'"\ud800"'),
        (Types.CHAR(), rb'"\udc00"'),
        (Types.LIST(Types.STRING()), rb'["\ud83dx"]'),
        (Types.DOUBLE(), b"1e99999999999999999999"),
        (Types.DOUBLE(), b"1" + b"0" * 400),
        (Types.LIST(Types.DOUBLE()), b"[1.7976931348623159e308]"),
        (Types.DOUBLE(), b"-Inf"),
        (Types.SQL_TIMESTAMP(), b'"0001-01-01T00:00:00+14:00"'),
        (Types.SQL_TIMESTAMP(), b'"0000-12-31T00:00:00"'),
        (Types.SQL_DATE(), b'"0000-12-31"'),
        (Types.PICKLED_BYTE_ARRAY(), b"[" * 2000 + b"]" * 2000),
        (Types.LONG(), b'1, "ignored": "\xff"'),
        (Types.LONG(), b'1, "ignored": [0, -Inf]'),
        (Types.LONG(), b'1, "ignored": ' + b"[" * 501 + b"]" * 501),
        (Types.PICKLED_BYTE_ARRAY(), b"1" * 5000),
    ],
)
@pytest.mark.parametrize("others", [1, 40], ids=["few", "many"])
def test_what_no_value_can_be_made_of_is_a_broken_document_however_many_come_with_it(type_info, text, others):
    documents = [*[b"{}"] * others, b'{"v": ' + text + b"}", b"{}"]
    with pytest.raises(JsonError) as caught:
        JsonColumns(Types.ROW_NAMED(["v"], [type_info])).of_documents(documents)
    assert caught.value.index == others


@pytest.mark.parametrize(
    ("type_info", "text", "value"),
    [
        (Types.DOUBLE(), b"-0", 0.0),
        (Types.DOUBLE(), b"1e-99999999999999999999", 0.0),
        (Types.LONG(), b'1, "ignored": ' + b"1" * 5000, 1),
        (Types.LONG(), b'1, "ignored": -1e-99999999999999999999', 1),
        (Types.LONG(), b'1, "ignored": "' + b"[" * 2000 + b'Inf"', 1),
    ],
)
@pytest.mark.parametrize("others", [1, 40], ids=["few", "many"])
def test_a_value_is_the_same_however_many_documents_come_with_it(type_info, text, value, others):
    documents = [*[b"{}"] * others, b'{"v": ' + text + b"}"]
    (column,) = JsonColumns(Types.ROW_NAMED(["v"], [type_info])).of_documents(documents)
    assert repr(column[others].as_py()) == repr(value)


@pytest.mark.parametrize("others", [1, 40], ids=["few", "many"])
def test_a_document_does_not_end_in_the_next_one(others):
    documents = [b'{"id": 1, "ignored": [', b'{"id": 5}]}', b'{"id": 2}{"id": 3}', *[b"{}"] * others]
    parser = JsonColumns(PAYMENT)
    for read in (lambda: parser.of_documents(documents), lambda: parser.of_lines(b"\n".join(documents))):
        with pytest.raises(JsonError) as caught:
            read()
        assert caught.value.index == 0


def test_documents_may_span_lines():
    columns = JsonColumns(PAYMENT).of_documents([b'{\n "id":\n 1}', b'{"id": 2}'])
    assert columns[0].to_pylist() == [1, 2]


def test_one_document_is_one_record():
    with pytest.raises(JsonError, match="Extra data") as caught:
        JsonColumns(PAYMENT).of_documents([b'{"id": 1}', b'{"id": 2}{"id": 3}'])
    assert caught.value.index == 1


@pytest.mark.parametrize(
    ("type_info", "text", "value"),
    [
        (Types.BOOLEAN(), "true", True),
        (Types.BYTE(), "-128", -128),
        (Types.FLOAT(), "1", 1.0),
        (Types.DOUBLE(), '"-Infinity"', float("-inf")),
        (Types.CHAR(), '"€"', "€"),
        (Types.BIG_INT(), "123456789012345678901234567890", 123456789012345678901234567890),
        (Types.BIG_DEC(), "12.340", Decimal("12.340")),
        (Types.BIG_DEC(), '"12.340"', Decimal("12.340")),
        (Types.SQL_DATE(), '"2024-12-31"', datetime.date(2024, 12, 31)),
        (Types.SQL_TIME(), '"12:34:56.789"', datetime.time(12, 34, 56, 789000)),
        (Types.SQL_TIMESTAMP(), '"2024-12-31 12:34:56"', datetime.datetime(2024, 12, 31, 12, 34, 56)),
        (Types.SQL_TIMESTAMP(), '"2024-12-31T12:34:56.5Z"', datetime.datetime(2024, 12, 31, 12, 34, 56, 500000)),
        (Types.INSTANT(), '"1970-01-01T00:00:01.123456789Z"', Instant(1, 123456789)),
        (Types.INSTANT(), '"1969-12-31T23:59:59.5Z"', Instant(-1, 500_000_000)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), '"AP8="', b"\x00\xff"),
        (Types.LIST(Types.INT()), "[1, null]", [1, None]),
        (Types.MAP(Types.STRING(), Types.INT()), '{"a": 1, "b": null}', {"a": 1, "b": None}),
        (Types.MAP(Types.INT(), Types.STRING()), '{"1": "x"}', {1: "x"}),
        (Types.ROW_NAMED(["x"], [Types.INT()]), '{"x": 1, "y": 2}', Row(x=1)),
        (Types.PICKLED_BYTE_ARRAY(), '{"a": [1.5, "b"]}', {"a": [1.5, "b"]}),
    ],
)
def test_each_type_has_its_json_form(type_info, text, value):
    assert one(type_info, text) == value


@pytest.mark.parametrize(
    "type_info",
    [
        Types.BOOLEAN(),
        Types.LONG(),
        Types.BIG_DEC(),
        Types.SQL_TIME(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
        Types.LIST(Types.INT()),
        Types.MAP(Types.STRING(), Types.INT()),
        Types.ROW_NAMED(["x"], [Types.BIG_INT()]),
        Types.PICKLED_BYTE_ARRAY(),
    ],
)
def test_null_is_none_in_every_type(type_info):
    assert one(type_info, "null") is None


@pytest.mark.parametrize(
    ("type_info", "text"),
    [
        (Types.CHAR(), '"ab"'),
        (Types.BIG_DEC(), '"NaN"'),
        (Types.SQL_DATE(), '"2024-13-01"'),
        (Types.SQL_TIME(), '"12:00+01:00"'),
        (Types.SQL_TIMESTAMP(), "5"),
        (Types.INSTANT(), '"2024-12-31T00:00:00"'),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), '"%"'),
        (Types.LIST(Types.INT()), "{}"),
        (Types.LIST(Types.INT()), '["x"]'),
        (Types.MAP(Types.STRING(), Types.INT()), "[]"),
        (Types.ROW_NAMED(["x"], [Types.INT()]), '{"x": "1"}'),
    ],
)
def test_what_does_not_fit_a_type_is_refused(type_info, text):
    with pytest.raises(JsonError, match="field v: "):
        one(type_info, text)


@dataclass
class Point:
    x: int
    label: str | None


class Pair(NamedTuple):
    left: float
    right: list[int]


def test_dataclasses_and_named_tuples_are_types_too():
    assert rows(infer_type(Point), '{"x": 1, "label": "a"}', '{"x": 2}') == [Point(1, "a"), Point(2, None)]
    assert rows(infer_type(Pair), '{"left": 1, "right": [2]}') == [Pair(1.0, [2])]


def test_a_type_without_fields_is_refused():
    with pytest.raises(ConfigurationError, match="named fields"):
        JsonColumns(Types.LONG())


_values = st.fixed_dictionaries(
    {},
    optional={
        "id": st.one_of(st.none(), st.integers(-(1 << 63), (1 << 63) - 1)),
        "cents": st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False), st.integers(-1000, 1000)),
        "card": st.one_of(st.none(), st.text('aß€𝄞"\\\n', max_size=5)),
        "other": st.one_of(st.text('aß€𝄞"\\\n', max_size=5), st.lists(st.booleans()), st.none()),
    },
)


@settings(deadline=None)
@given(st.lists(_values, max_size=5))
def test_arrow_and_python_read_the_same(objects):
    lines = [json.dumps(each).encode() for each in objects]
    parser = JsonColumns(PAYMENT)
    by_arrow = parser.of_documents(lines * 20)  # few documents are not worth its while
    by_python = parser._parsed_by_python(list(enumerate(lines * 20)))
    assert [column.to_pylist() for column in by_arrow] == [column.to_pylist() for column in by_python]


def test_texts_of_other_types_are_parsed_by_arrow_too():
    names = ["price", "big", "letter", "at", "time", "data"]
    types = [
        Types.BIG_DEC(),
        Types.BIG_INT(),
        Types.CHAR(),
        Types.INSTANT(),
        Types.SQL_TIME(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
    ]
    full = ["12.340", "-7", "€", "1970-01-01T00:00:01.5Z", "12:34:56", "AP8="]
    lines = [json.dumps(dict(zip(names, full, strict=True))).encode(), b'{"price": null}']
    parser = JsonColumns(Types.ROW_NAMED(names, types))
    by_arrow = parser._parsed_by_arrow(b"\n".join(lines), 2)
    assert by_arrow is not None
    by_python = parser._parsed_by_python(list(enumerate(lines)))
    assert [column.to_pylist() for column in by_arrow] == [column.to_pylist() for column in by_python]
    assert parser._parsed_by_arrow(b'{"letter": "ab"}', 1) is None, "Python says what is wrong"
