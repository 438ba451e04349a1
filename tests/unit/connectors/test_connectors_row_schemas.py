"""Rows as JSON and CSV messages: what Flink's own schemas give for the same rows and messages."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import Row, Types
from penstock.common.errors import ConfigurationError, UnsupportedError
from penstock.common.serialization import DeserializationError, DeserializationSchema
from penstock.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema
from penstock.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema

TYPE = Types.ROW_NAMED(["a", "b", "c"], [Types.STRING(), Types.INT(), Types.DOUBLE()])


def records(schema: DeserializationSchema, *messages: bytes | None) -> list[tuple[Any, ...]]:
    schema = pickle.loads(pickle.dumps(schema))
    return [tuple(row) for row in schema.to_batch(messages, [None] * len(messages)).values]


# What Flink 2.3 writes for these rows.
@pytest.mark.parametrize(
    ("row", "line"),
    [
        (("x", 1, 2.5), b"x,1,2.5\n"),
        (("a,b", None, 1e10), b'"a,b",,1.0E10\n'),
        (("hello world", 1, 0.1), b'"hello world",1,0.1\n'),
        (('q"u', 1, 1.0), b'"q""u",1,1.0\n'),
        (("abcdefghijklmnopqrstuvwxyz", 1, 1.0), b'"abcdefghijklmnopqrstuvwxyz",1,1.0\n'),
        (("", 1, 1.0), b",1,1.0\n"),
        ((None, 1, 1.0), b",1,1.0\n"),
        (("a;b\\c", 1, 1.0), b'"a;b\\c",1,1.0\n'),
        (("a\nb", 1, 100.0), b'"a\nb",1,100.0\n'),
    ],
)
def test_a_csv_line_is_flinks(row: tuple[Any, ...], line: bytes) -> None:
    assert CsvRowSerializationSchema.Builder(TYPE).build().serialize(Row(*row)) == line


def test_the_settings_of_a_csv_line() -> None:
    row = Row("a,b", None, 1e10)
    builder = CsvRowSerializationSchema.Builder(TYPE).set_field_delimiter(";").set_null_literal("n/a")
    assert builder.set_line_delimiter("\r\n").build().serialize(row) == b'"a,b";n/a;1.0E10\r\n'
    plain = CsvRowSerializationSchema.Builder(TYPE).disable_quote_character().set_line_delimiter("")
    assert plain.build().serialize(row) == b"a,b,,1.0E10"
    quoted = CsvRowSerializationSchema.Builder(TYPE).set_quote_character("'").set_escape_character("\\")
    assert quoted.build().serialize(Row("it's", 1, 1.0)) == b"'it\\'s',1,1.0\n"


# What Flink 2.3 reads from these messages; None: it refuses them.
@pytest.mark.parametrize(
    ("message", "row"),
    [
        (b"x,1,2.5", ("x", 1, 2.5)),
        (b"x,1,2.5\n", ("x", 1, 2.5)),
        (b" x , 1 , 2 ", (" x ", 1, 2.0)),
        (b"#c,1,2", ("#c", 1, 2.0)),
        (b'"a,b",,', None),
        (b"x,1", None),
        (b"x,y,1", None),
        (b"x,1,2,3", None),
        (b"", None),
        (b"x,99999999999,1", None),
        (b"x,0x10,1", None),
    ],
)
def test_a_csv_message_is_read_as_flink_reads_it(message: bytes, row: tuple[Any, ...] | None) -> None:
    schema = CsvRowDeserializationSchema.Builder(TYPE).build()
    if row is None:
        with pytest.raises(DeserializationError) as refused:
            schema.to_batch([None, message], [None, None])
        assert refused.value.index in (0, 1)
    else:
        assert records(schema, message, None) == [row]


def test_csv_messages_with_errors_can_be_tolerated() -> None:
    builder = CsvRowDeserializationSchema.Builder(TYPE).set_null_literal("").set_allow_comments(True)
    schema = builder.set_ignore_parse_errors(True).build()
    messages = [b'"a,b",,', b",,", b"x,1", b"x,y,1", b"x,1,2,3", b"#c,1,2"]
    expected = [("a,b", None, None), (None, None, None), ("x", 1, None), ("x", None, 1.0)]
    assert records(schema, *messages) == expected
    assert records(schema, b"x,1,1", b"x,2147483648,1") == [("x", 1, 1.0), ("x", None, 1.0)]


def test_a_csv_message_is_named_by_its_place_among_all() -> None:
    schema = CsvRowDeserializationSchema.Builder(TYPE).set_allow_comments(True).build()
    with pytest.raises(DeserializationError, match="2147483648") as refused:
        schema.to_batch([None, b"#c", b"x,1,1", b"x,2147483648,1"], [None] * 4)
    assert refused.value.index == 3


def test_a_csv_message_is_read_the_same_beside_others() -> None:
    schema = CsvRowDeserializationSchema.Builder(TYPE).build()
    marked = "\ufeffx,1,1".encode()
    assert records(schema, marked, b"x,1,1") == records(schema, marked, b'"x",1,1')


def test_csv_fields_of_other_types() -> None:
    names = ["flag", "day", "at", "price", "tags", "raw"]
    types = [
        Types.BOOLEAN(),
        Types.SQL_DATE(),
        Types.SQL_TIMESTAMP(),
        Types.BIG_DEC(),
        Types.BASIC_ARRAY(Types.STRING()),
        Types.PRIMITIVE_ARRAY(Types.BYTE()),
    ]
    type_info = Types.ROW_NAMED(names, types)
    row = (True, date(2026, 1, 31), datetime(2026, 1, 31, 12, 30), Decimal("1.50"), ["x", "y"], b"\x00\xff")
    line = CsvRowSerializationSchema.Builder(type_info).build().serialize(Row(*row))
    assert records(CsvRowDeserializationSchema.Builder(type_info).build(), line) == [row]


def test_a_list_is_quoted_where_a_text_would_be() -> None:
    type_info = Types.ROW_NAMED(["tags", "n"], [Types.BASIC_ARRAY(Types.STRING()), Types.BASIC_ARRAY(Types.INT())])
    line = CsvRowSerializationSchema.Builder(type_info).build().serialize(Row(["a,b", 'c"\n'], [1, 2]))
    assert line == b'"a,b;c""\n",1;2\n'
    assert records(CsvRowDeserializationSchema.Builder(type_info).build(), line) == [(["a,b", 'c"\n'], [1, 2])]


def test_what_csv_cannot_hold_is_refused_when_the_schema_is_made() -> None:
    with pytest.raises(UnsupportedError, match="field a"):
        CsvRowDeserializationSchema.Builder(Types.ROW_NAMED(["a"], [Types.MAP(Types.STRING(), Types.INT())])).build()
    with pytest.raises(ConfigurationError, match="type with fields"):
        CsvRowDeserializationSchema.Builder(Types.INT())
    with pytest.raises(ConfigurationError, match="one character"):
        CsvRowSerializationSchema.Builder(TYPE).set_field_delimiter("||")


@given(
    st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_characters="\r\n\0")),
            st.none() | st.integers(-(2**31), 2**31 - 1),
            st.none() | st.floats(allow_nan=False, allow_infinity=False),
        ),
        min_size=1,
    )
)
def test_rows_survive_json_and_csv(rows: list[tuple[Any, ...]]) -> None:
    json_out = JsonRowSerializationSchema.builder().with_type_info(TYPE).build()
    json_in = JsonRowDeserializationSchema.builder().type_info(TYPE).build()
    assert records(json_in, *(json_out.serialize(Row(*row)) for row in rows)) == rows
    csv_out = CsvRowSerializationSchema.Builder(TYPE).set_null_literal("\\N").build()
    csv_in = CsvRowDeserializationSchema.Builder(TYPE).set_null_literal("\\N").build()
    kept = [row for row in rows if row[0] != "\\N"]
    assert records(csv_in, *(csv_out.serialize(Row(*row)) for row in kept)) == kept


def test_json_fields_that_are_missing() -> None:
    lenient = JsonRowDeserializationSchema.builder().type_info(TYPE).build()
    assert records(lenient, b'{"a": "x"}') == [("x", None, None)]
    strict = JsonRowDeserializationSchema.builder().type_info(TYPE).fail_on_missing_field().build()
    assert records(strict, b'{"a": null, "b": 1, "c": 2}') == [(None, 1, 2.0)]
    with pytest.raises(DeserializationError, match="it has no field 'c'") as refused:
        strict.to_batch([None, b'{"a": "x", "b": 1, "c": 1}', b'{"a": "x", "b": 1}'], [None] * 3)
    assert refused.value.index == 2
    deep = b'{"a": "x", "b": 1, "c": 1, "ignored": ' + b"[" * 2000 + b"]" * 2000 + b"}"
    with pytest.raises(DeserializationError, match="lists and objects are in one another") as refused:
        strict.to_batch([b'{"a": "x", "b": 1, "c": 1}', deep] * 20, [None] * 40)
    assert refused.value.index == 1


def test_json_messages_with_errors_can_be_skipped() -> None:
    schema = JsonRowDeserializationSchema.builder().type_info(TYPE).ignore_parse_errors().build()
    good = [b'{"a":"%d","b":%d}' % (n, n) for n in range(100)]
    messages = [b"nope", *good[:50], b'{"b": "z"}', b"[1]", *good[50:], None, b"{"]
    batch = schema.to_batch(messages, list(range(len(messages))))
    assert [row[1] for row in batch.values] == list(range(100))
    assert batch.timestamps == [*range(1, 51), *range(53, 103)]
    assert schema.to_batch([b"nope"], [1]).values == []


def test_a_json_schema_is_a_type_as_flink_reads_it() -> None:
    builder = JsonRowDeserializationSchema.builder().json_schema(
        """{"type": "object", "properties": {
        "s": {"type": "string"}, "n": {"type": "number"}, "i": {"type": "integer"}, "b": {"type": "boolean"},
        "d": {"type": "string", "format": "date"}, "t": {"type": "string", "format": "date-time"},
        "o": {"$ref": "#/definitions/inner"}, "nn": {"type": ["string", "null"]}},
        "definitions": {"inner": {"type": "object", "properties": {"x": {"type": "integer"}}}}}"""
    )
    schema = builder.build()
    assert repr(schema.produced_type) == (
        "RowTypeInfo(s: String, n: BigDecimal, i: BigDecimal, b: Boolean, d: DateTypeInfo, t: TimestampTypeInfo, "
        "o: RowTypeInfo(x: BigDecimal), nn: String)"
    )
    ((*fields, inner, _),) = records(schema, b'{"s":"x","n":1.5,"i":2,"b":true,"d":"2026-01-31","o":{"x":7}}')
    assert fields == ["x", Decimal("1.5"), Decimal(2), True, date(2026, 1, 31), None]
    assert tuple(inner) == (Decimal(7),)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "no JSON"),
        ("[]", "an object"),
        ('{"type": ["string", "integer"]}', "one type and null"),
        ('{"type": "array"}', "items"),
        ('{"$ref": "#/nowhere"}', "does not lead"),
    ],
)
def test_a_json_schema_that_is_no_type_is_refused(text: str, reason: str) -> None:
    with pytest.raises((ConfigurationError, UnsupportedError), match=reason):
        JsonRowDeserializationSchema.builder().json_schema(text)


def test_builders_ask_for_a_type() -> None:
    with pytest.raises(ConfigurationError, match="type_info"):
        JsonRowDeserializationSchema.builder().build()
    with pytest.raises(ConfigurationError, match="with_type_info"):
        JsonRowSerializationSchema.builder().build()


@dataclass
class Pair:
    id: int
    name: str


@pytest.mark.parametrize("row", ["id BIGINT, name STRING", Pair])
def test_rows_may_be_described_by_ddl_text_or_a_class(row):
    json_rows = JsonRowDeserializationSchema.builder().type_info(row).build()
    csv_rows = CsvRowDeserializationSchema.Builder(row).build()
    read = json_rows.to_batch([b'{"id": 1, "name": "a"}'], [None]).values
    assert csv_rows.to_batch([b"1,a"], [None]).values == read
    assert read == ([Pair(1, "a")] if row is Pair else [Row(id=1, name="a")])
    assert JsonRowSerializationSchema.builder().with_type_info(row).build().serialize(read[0]) == b'{"id":1,"name":"a"}'
    assert CsvRowSerializationSchema.Builder(row).build().serialize(read[0]) == b"1,a\n"
