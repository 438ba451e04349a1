"""Protobuf messages that are read in step, against the same messages read one by one by the library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common.serialization import DeserializationError
from penstock.datastream.formats.protobuf import ProtobufDeserializationSchema

FIELD = descriptor_pb2.FieldDescriptorProto
INT32, INT64 = st.integers(-(1 << 31), (1 << 31) - 1), st.integers(-(1 << 63), (1 << 63) - 1)
UINT32, UINT64 = st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 64) - 1)
FIELDS: dict[str, tuple[int, st.SearchStrategy[Any]]] = {
    "int32": (FIELD.TYPE_INT32, INT32),
    "int64": (FIELD.TYPE_INT64, INT64),
    "uint32": (FIELD.TYPE_UINT32, UINT32),
    "uint64": (FIELD.TYPE_UINT64, UINT64),
    "sint32": (FIELD.TYPE_SINT32, INT32),
    "sint64": (FIELD.TYPE_SINT64, INT64),
    "fixed32": (FIELD.TYPE_FIXED32, UINT32),
    "fixed64": (FIELD.TYPE_FIXED64, UINT64),
    "sfixed32": (FIELD.TYPE_SFIXED32, INT32),
    "sfixed64": (FIELD.TYPE_SFIXED64, INT64),
    "float": (FIELD.TYPE_FLOAT, st.floats(width=32, allow_nan=False)),
    "double": (FIELD.TYPE_DOUBLE, st.floats(allow_nan=False)),
    "bool": (FIELD.TYPE_BOOL, st.booleans()),
    "string": (FIELD.TYPE_STRING, st.text()),
    "bytes": (FIELD.TYPE_BYTES, st.binary()),
    "enum": (FIELD.TYPE_ENUM, st.sampled_from([0, 1])),
}


def message_class(name: str, *, optional: bool, fields: Any = FIELDS) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", package="steps", syntax="proto3")
    kind = file.enum_type.add(name=f"Kind{name}")
    kind.value.add(name="UNKNOWN", number=0)
    kind.value.add(name="CARD", number=1)
    message = file.message_type.add(name=name)
    for number, (field, (type_number, _)) in enumerate(fields.items(), 1):
        added = message.field.add(name=field, number=number, type=type_number, label=FIELD.LABEL_OPTIONAL)
        if type_number == FIELD.TYPE_ENUM:
            added.type_name = f".steps.Kind{name}"
        if optional:
            added.proto3_optional = True
            added.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"steps.{name}"))


SCHEMAS = [
    ProtobufDeserializationSchema(message_class("Plain", optional=False)),
    ProtobufDeserializationSchema(message_class("Optional", optional=True)),
]
RECORDS = st.lists(
    st.fixed_dictionaries({}, optional={name: values for name, (_, values) in FIELDS.items()}), min_size=1, max_size=8
)


def messages_of(schema: ProtobufDeserializationSchema, records: list[dict[str, Any]]) -> list[bytes]:
    return [schema._message.cls(**record).SerializeToString() for record in records]


def one_by_one(schema: ProtobufDeserializationSchema, messages: list[bytes]) -> list[Any]:
    slow = ProtobufDeserializationSchema(schema._message)
    slow._columns = None
    return slow.to_batch(messages, [None] * len(messages)).values


def outcome(read: Callable[[], list[Any]]) -> str | int:
    """The records as text, for a NaN is not itself; or the place of the one that cannot be read."""
    try:
        return str(read())
    except DeserializationError as problem:
        return problem.index


@pytest.mark.parametrize("schema", SCHEMAS, ids=["plain", "optional"])
@settings(max_examples=40, deadline=None)
@given(records=RECORDS)
def test_many_are_read_as_each_would_be(schema: ProtobufDeserializationSchema, records: list[dict[str, Any]]) -> None:
    messages = messages_of(schema, records)
    assert schema._columns is not None
    assert schema._columns.columns(messages) is not None
    assert schema.to_batch(messages, [None] * len(messages)).values == one_by_one(schema, messages)


@pytest.mark.parametrize("schema", SCHEMAS, ids=["plain", "optional"])
@settings(max_examples=40, deadline=None)
@given(records=RECORDS, data=st.data())
def test_what_is_damaged_is_found_or_read_as_the_library_does(
    schema: ProtobufDeserializationSchema, records: list[dict[str, Any]], data: st.DataObject
) -> None:
    messages = messages_of(schema, records)
    place = data.draw(st.integers(0, len(messages) - 1))
    damaged = bytearray(messages[place])
    damaged.insert(data.draw(st.integers(0, len(damaged))), data.draw(st.integers(0, 255)))
    messages[place] = bytes(damaged[: data.draw(st.integers(0, len(damaged)))])
    assert outcome(lambda: schema.to_batch(messages, [None] * len(messages)).values) == outcome(
        lambda: one_by_one(schema, messages)
    )


def test_fields_that_are_not_known_or_come_twice() -> None:
    newer = message_class(
        "Newer", optional=False, fields={"a": FIELDS["int32"], "b": FIELDS["string"], "c": FIELDS["double"]}
    )
    older = ProtobufDeserializationSchema(message_class("Older", optional=False, fields={"a": FIELDS["int32"]}))
    message = newer(a=1, b="new", c=0.5).SerializeToString() + newer(a=2).SerializeToString()
    assert older._columns is not None
    assert [column.to_pylist() for column in older._columns.columns([message, b""]) or []] == [[2, 0]]
