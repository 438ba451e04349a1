"""Avro messages that are read in step, against the same messages read one by one by fastavro."""

from __future__ import annotations

import datetime
import io
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.serialization import DeserializationError
from penstock.connectors.avro.column_reader import AvroColumnReader
from penstock.connectors.avro.rows import AvroMessages
from penstock.datastream.formats.avro import AvroDeserializationSchema, AvroSchema

DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 4}
FIELDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": ("int", st.integers(-(1 << 31), (1 << 31) - 1)),
    "long": ("long", st.integers(-(1 << 63), (1 << 63) - 1)),
    "float": ("float", st.floats(width=32, allow_nan=False)),
    "double": ("double", st.floats(allow_nan=False)),
    "boolean": ("boolean", st.booleans()),
    "string": ("string", st.text()),
    "bytes": ("bytes", st.binary()),
    "fixed": ({"type": "fixed", "name": "F", "size": 3}, st.binary(min_size=3, max_size=3)),
    "enum": ({"type": "enum", "name": "E", "symbols": ["A", "B", "C"]}, st.sampled_from("ABC")),
    "nullable_long": (["null", "long"], st.none() | st.integers(-5, 5)),
    "nullable_text": (["string", "null"], st.none() | st.text()),
    "day": ({"type": "int", "logicalType": "date"}, st.dates()),
    "time": ({"type": "int", "logicalType": "time-millis"}, st.times().map(lambda t: t.replace(microsecond=5000))),
    "moment": (
        {"type": "long", "logicalType": "timestamp-micros"},
        st.datetimes(timezones=st.just(datetime.UTC)),
    ),
    "decimal": (
        DECIMAL,
        st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**20), max_value=10**20),
    ),
    "nullable_decimal": (["null", DECIMAL], st.none() | st.just(Decimal("-0.0001"))),
    "record": (
        {
            "type": "record",
            "name": "R",
            "fields": [{"name": "x", "type": ["null", "int"]}, {"name": "y", "type": "string"}],
        },
        st.fixed_dictionaries({"x": st.none() | st.integers(0, 9), "y": st.text(max_size=3)}),
    ),
}
SCHEMA = AvroSchema(
    {"type": "record", "name": "All", "fields": [{"name": name, "type": each} for name, (each, _) in FIELDS.items()]}
)
RECORDS = st.lists(
    st.fixed_dictionaries({name: values for name, (_, values) in FIELDS.items()}), min_size=1, max_size=8
)


def message(record: dict[str, Any], schema: AvroSchema = SCHEMA) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema.parsed, record)
    return stream.getvalue()


def one_by_one(schema: AvroMessages, messages: list[bytes]) -> list[Any]:
    return schema._reading.batch(messages, [None] * len(messages), schema.read).values


def outcome(read: Callable[[], list[Any]]) -> str | int:
    """The records as text, for a NaN is not itself; or the place of the one that cannot be read."""
    try:
        return str(read())
    except DeserializationError as problem:
        return problem.index


@settings(max_examples=40, deadline=None)
@given(RECORDS)
def test_many_are_read_as_each_would_be(records: list[dict[str, Any]]) -> None:
    schema = AvroDeserializationSchema(SCHEMA)
    messages = [message(record) for record in records]
    assert schema.read_columns(messages) is not None
    batch = schema.to_batch(messages, [None] * len(messages))
    assert batch.was_made_of_columns
    assert batch.values == one_by_one(schema, messages)


@settings(max_examples=40, deadline=None)
@given(RECORDS, st.data())
def test_what_is_damaged_is_found_or_read_as_fastavro_does(records: list[dict[str, Any]], data: st.DataObject) -> None:
    schema = AvroDeserializationSchema(SCHEMA)
    messages = [message(record) for record in records]
    place = data.draw(st.integers(0, len(messages) - 1))
    damaged = bytearray(messages[place])
    at = data.draw(st.integers(0, len(damaged) - 1))
    if data.draw(st.booleans()):
        damaged[at] = data.draw(st.integers(0, 255))
    else:
        del damaged[at:]
    messages[place] = bytes(damaged)
    assert outcome(lambda: schema.to_batch(messages, [None] * len(messages)).values) == outcome(
        lambda: one_by_one(schema, messages)
    )


OLDER = AvroSchema(
    {
        "type": "record",
        "name": "P",
        "fields": [{"name": "gone", "type": "string"}, {"name": "x", "type": "int"}, {"name": "y", "type": "float"}],
    }
)
NEWER = AvroSchema(
    {
        "type": "record",
        "name": "P",
        "fields": [
            {"name": "y", "type": ["null", "double"]},
            {"name": "x", "type": "long"},
            {"name": "colour", "type": "string", "default": "red"},
            {"name": "size", "type": ["null", "int"], "default": None},
        ],
    }
)


def test_messages_of_an_older_schema_are_resolved_in_step() -> None:
    schema = AvroDeserializationSchema(NEWER, writer_schema=OLDER)
    messages = [message({"gone": "g", "x": n, "y": n / 2}, OLDER) for n in range(3)]
    assert schema.read_columns(messages) is not None
    values = schema.to_batch(messages, [None] * 3).values
    assert values == one_by_one(schema, messages)
    assert [(row.y, row.x, row.colour, row.size) for row in values] == [
        (0.0, 0, "red", None),
        (0.5, 1, "red", None),
        (1.0, 2, "red", None),
    ]


@pytest.mark.parametrize(
    "unusual",
    [
        {"type": "array", "items": "int"},
        {"type": "map", "values": "int"},
        {"type": "string", "logicalType": "uuid"},
    ],
)
def test_what_is_not_read_in_step_is_read_one_by_one(unusual: Any) -> None:
    text = json.dumps({"type": "record", "name": "U", "fields": [{"name": "u", "type": unusual}]})
    schema = AvroSchema.parse_string(text)
    deserialization = AvroDeserializationSchema(schema)
    assert AvroColumnReader.of(schema, schema, deserialization._reading.produced_type) is None
    value: Any = {"array": [1, 2], "map": {"a": 1}, "string": "7c9e6679-7425-40de-944b-e07fc1f90ae7"}[unusual["type"]]
    assert deserialization.to_batch([message({"u": value}, schema)], [None]).values[0].u == value
